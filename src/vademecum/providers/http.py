"""JSON over HTTP for every provider that is a service: one client, one way to fail.

Idea: a provider says method, path and body and gets the answer as data; whatever goes wrong is a `ProviderError` that
says whether to try again. Invariant: keys travel to the configured host only, encrypted or within this machine, and
stand in no message; an answer is never larger nor slower than allowed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urljoin, urlsplit

from vademecum.clock import Clock, now_ms
from vademecum.errors import ConfigError, ProviderError
from vademecum.wire import PASSING, is_loopback, retry_after, words

if TYPE_CHECKING:
    import httpx2

LARGEST = 8_000_000
"""Most bytes of an answer's body, unpacked."""

_QUOTED = 200  # characters of the vendor's own words in a message
_REDIRECTS = 3


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer with a status below 400, or one that the call said it expects."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Http:
    """The connection to one vendor's API. Thread-safe. Nothing is sent before the first request."""

    def __init__(
        self,
        vendor: str,
        base: str,
        *,
        headers: Mapping[str, str],
        seconds: float,
        clock: Clock = now_ms,
    ) -> None:
        """`base` is the API's address; `headers` go with each request; `seconds` is the longest that one may take.

        Raises ConfigError for an address that is neither https nor this machine's own.
        """
        self.vendor = vendor
        self.base = checked(vendor, base)
        self._headers = dict(headers)
        self._seconds = seconds
        self._clock = clock

    @cached_property
    def _client(self) -> httpx2.Client:
        import httpx2  # 60 ms

        local = is_loopback(urlsplit(self.base).hostname or "")
        return httpx2.Client(headers=self._headers, trust_env=not local, verify=not local or _is_tls(self.base))

    def close(self) -> None:
        """Let go of the connections."""
        if "_client" in self.__dict__:
            self._client.close()

    def json(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str | int] | None = None,
        seconds: float | None = None,
        expected: tuple[int, ...] = (),
    ) -> Any:
        """Send `body` as JSON and return the answer's JSON (None for an empty one).

        A status in `expected` is no error; its answer is returned like any other. Raises ProviderError.
        """
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
        reply = self.send(
            method,
            path,
            content,
            headers={"Content-Type": "application/json"} if content is not None else {},
            query=query,
            seconds=seconds,
            expected=expected,
        )
        if not reply.body.strip():
            return None
        try:
            return json.loads(reply.body)
        except (ValueError, RecursionError) as error:
            raise ProviderError(
                f"{self.vendor} answered {_place(method, path)} with something that is not JSON, or is cut off.",
                "Nothing was lost; the request is tried again. Check the address if it stays so.",
                passing=True,
                status=reply.status,
            ) from error

    def send(
        self,
        method: str,
        path: str,
        content: bytes | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str | int] | None = None,
        seconds: float | None = None,
        expected: tuple[int, ...] = (),
        files: Mapping[str, tuple[str, bytes, str]] | None = None,
    ) -> Reply:
        """One request, its answer whole. `files` are form fields: name, content, media type. Raises ProviderError."""
        import httpx2

        limit = seconds or self._seconds
        url = self.base + path

        def request(url: str) -> Reply:
            deadline = time.monotonic() + limit
            with self._client.stream(
                method,
                url,
                content=content,
                files=dict(files) if files else None,
                params=dict(query) if query and url == self.base + path else None,
                headers={"Accept": "application/json", **(headers or {})},
                timeout=httpx2.Timeout(limit),
            ) as answer:
                return Reply(answer.status_code, dict(answer.headers), self._body(answer, deadline))

        try:
            reply = self._followed(method, url, request)
        except httpx2.TimeoutException as error:
            raise ProviderError(
                f"{self.vendor} did not answer {_place(method, path)} within {limit:g} s.",
                "It is tried again later.",
                passing=True,
            ) from error
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            said = self._without_keys(str(error) or type(error).__name__)
            raise ProviderError(
                f"{self.vendor} could not be reached at {_host(self.base)}: {said.rstrip('.')}.",
                "Check that it runs, the address, and the network.",
                passing=not isinstance(error, httpx2.InvalidURL | httpx2.UnsupportedProtocol),
            ) from error
        if reply.status < 400 or reply.status in expected:
            return reply
        raise self._refusal(_place(method, path), reply)

    def _followed(self, method: str, url: str, request: Callable[[str], Reply]) -> Reply:
        """The answer behind redirects that stay with the same host; another host never gets the key."""
        for _ in range(_REDIRECTS):
            reply = request(url)
            if reply.status not in (301, 302, 303, 307, 308):
                return reply
            target = urljoin(url, reply.headers.get("location", ""))
            if urlsplit(target)[:2] != urlsplit(url)[:2] or (method != "GET" and reply.status < 307):
                break
            url = target
        raise ProviderError(
            f"{self.vendor} sends the request on to another place ({_host(url)}), which gets neither key nor data.",
            "If its address has changed, correct it in the settings.",
        )

    def _body(self, answer: httpx2.Response, deadline: float) -> bytes:
        import httpx2

        parts: list[bytes] = []
        size = 0
        for part in answer.iter_bytes():
            size += len(part)
            if size > LARGEST:
                raise ProviderError(f"{self.vendor} answered with more than {LARGEST:,} bytes; nothing of it was used.")
            if time.monotonic() > deadline:
                raise httpx2.ReadTimeout("the answer goes on for too long")
            parts.append(part)
        return b"".join(parts)

    def _refusal(self, place: str, reply: Reply) -> ProviderError:
        status, passing = reply.status, reply.status in PASSING
        wait = retry_after(reply.headers, self._clock()) if passing else None
        if status == 401:
            said, hint = "refused the key", "Check the key in .env; `vademecum memory setup` asks for a new one."
        elif status in (402, 403):
            said, hint = "does not allow it", "Check the plan and the rights of the key with the vendor."
        elif status == 404:
            said, hint = "does not know that", "Check the id; if all fails, the address or the API's version."
        elif status == 429:
            said, hint = (
                "asks to slow down",
                f"It is tried again in {wait:g} s." if wait else "It is tried again later.",
            )
        elif passing or status >= 500:
            said, hint = "has a fault of its own at present", "It is tried again later; nothing was lost."
        else:
            said, hint = "refused the request", "The vendor's words say why."
        said_by_it = self._without_keys(words(reply.body))[:_QUOTED]
        return ProviderError(
            f"{self.vendor} {said} ({place}: HTTP {status}){': ' + said_by_it if said_by_it else '.'}",
            hint,
            passing=passing or status >= 500,
            status=status,
            retry_after=wait,
        )

    def _without_keys(self, text: str) -> str:
        from vademecum.gate.secrets import without_keys  # only on the way to an error

        return without_keys(text, self._headers)


def checked(vendor: str, base: str) -> str:
    """`base` without a slash at its end. Raises ConfigError unless it is https, or http to this machine itself."""
    try:
        parts = urlsplit(base.strip())
        host, _port = parts.hostname or "", parts.port
    except ValueError as error:
        raise ConfigError(f"The address of {vendor} cannot be read: {error}.", "Write it as https://host.") from error
    if parts.username or parts.password or not host or parts.scheme not in ("http", "https"):
        raise ConfigError(f"The address of {vendor} is not of the form https://host:port/path.", "Keys go to .env.")
    if parts.scheme == "http" and not is_loopback(host):
        raise ConfigError(
            f"The address of {vendor} (http://{host}) is not encrypted: the key and all that is said could be read.",
            "Use https, or a tunnel to a port of this machine (ssh -L).",
        )
    return base.strip().rstrip("/")


def fields(vendor: str, data: object, *keys: str) -> dict[str, Any]:
    """`data` when it is an object with all of `keys`; else a ProviderError: the API is another version."""
    found = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    missing = [key for key in keys if key not in found]
    if not isinstance(data, dict) or missing:
        raise schema_error(vendor, f"without {', '.join(missing)}" if missing else "in another form")
    return found


def schema_error(vendor: str, what: str) -> ProviderError:
    """An answer that is JSON and not what the API promised."""
    return ProviderError(
        f"{vendor} answered {what}: its API is not the version that this provider speaks.",
        "Update vademecum, or the server if it is your own.",
    )


def _is_tls(url: str) -> bool:
    return url.startswith("https:")


def _host(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _place(method: str, path: str) -> str:
    return f"{method} {path.partition('?')[0]}"
