"""What went wrong with a request, and what the person can do about it.

Idea: the library sorts failures into kinds; each kind has one sentence and one way out. Invariant: the vendor's words
are quoted short, and only after keys were taken out of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from pydantic_ai import exceptions as library

from vademecum.errors import ModelError

_QUOTED = 300


def explain(error: Exception, name: str, where: str, redacted: Callable[[str], str]) -> ModelError:
    """The ModelError for `error`, which the library raised for the model `name` at the address `where`."""
    status: int | None = getattr(error, "status_code", None)
    wait: float | None = getattr(error, "retry_after", None)
    if isinstance(error, library.ModelTimeoutError | library.ModelRequestTimeout):
        said, hint = "did not answer in time", "Try again, or raise models.timeout_seconds in config.yaml."
    elif isinstance(error, library.ModelConnectionError):
        said, hint = f"could not be reached at {where}", "Check that the server runs, the address, and the network."
    elif isinstance(error, library.ModelAuthenticationError):
        said, hint = "refused the key", "Check the key in .env of the home, and that it may use this model."
    elif isinstance(error, library.ModelQuotaExceededError):
        said, hint = "says that the account's quota is used up", "Add credit with the vendor, or choose another model."
    elif isinstance(error, library.ModelRateLimitError):
        said = "asks to slow down"
        hint = f"Try again in {wait:g} s." if wait else "Try again in a minute."
    elif isinstance(error, library.ModelContextWindowExceededError):
        said = "has no room for so long a conversation"
        hint = "Start a new session (`/new`), or set models.context_tokens to the model's real window."
    elif isinstance(error, library.ModelNotFoundError):
        said, hint = "is not known there", f"Check `model` in config.yaml, and the address {where}."
    elif isinstance(error, library.ModelRequestRejectedError):
        said, hint = "refused the request", "The vendor's words above say why."
    elif isinstance(error, library.ModelUnavailableError | library.ModelServerError):
        said, hint = "has a fault of its own at present", "Try again later; nothing here needs to be changed."
    elif isinstance(error, library.UserError):
        said, hint = "cannot be used as it is configured", "Check `model` in config.yaml and the key in .env."
    else:
        said, hint = "gave an answer that cannot be read", "Try again, or choose another model."
    quoted = redacted(_vendor_words(error))[:_QUOTED]
    code = f" (HTTP {status})" if status else ""
    return ModelError(f"The model {name} {said}{code}{': ' + quoted if quoted else '.'}", hint, status, wait)


def _vendor_words(error: Exception) -> str:
    """The sentence in the vendor's error body, where there is one; never the request."""
    body: Any = getattr(error, "body", None)
    for _ in range(3):  # bodies come as {"error": {"message": ...}}, {"message": ...} and plain text
        if not isinstance(body, Mapping):
            break
        found = cast("Mapping[str, Any]", body)
        body = found.get("message") or found.get("error") or found.get("detail")
    if isinstance(body, str):
        return " ".join(body.split())
    return "" if isinstance(error, library.ModelAPIError) else " ".join(str(error).split())
