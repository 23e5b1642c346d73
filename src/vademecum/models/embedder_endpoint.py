"""Vectors from a server that speaks OpenAI's `/embeddings`.

Idea: one POST a batch; base64 is asked for, plain numbers are read as well. Invariant: a key travels encrypted or
within this machine, stands in no message, and goes to the configured address only; an answer that is not one finite
vector of the known length for each text is an error, and nothing of it is used.
"""

from __future__ import annotations

import base64
import binascii
import json
import threading
import time
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from vademecum.errors import ConfigError, ModelError
from vademecum.models.embedder import prepared

if TYPE_CHECKING:
    import httpx2
    import numpy as np
    from numpy.typing import NDArray

BATCH = 32
"""Texts a request: the default limit of the strictest server in use."""
LARGEST = 64_000_000
"""Most bytes of an answer."""
_QUOTED = 200
_LONGEST_WAIT = 86_400.0
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_KEPT = "Search goes on by words meanwhile; stored vectors were kept."


class EndpointEmbedder:
    """The model `model` at `base`. Thread-safe; connects with the first `embed`."""

    def __init__(self, spec: str, base: str, model: str, *, key: str, timeout: float, dimensions: int = 0) -> None:
        """Raises ConfigError when the key would travel in clear to another machine."""
        self.spec = spec
        self.name = (
            spec if spec.startswith("openai:") and base.startswith("https://api.openai.com/") else f"{base}#{model}"
        )
        self.dimensions = dimensions
        self.ready = False
        self._url = base.rstrip("/") + "/embeddings"
        self._model = model
        self._key = key
        self._timeout = timeout
        self._lock = threading.Lock()
        self._client: httpx2.Client | None = None
        parts = urlsplit(base)
        self._local = parts.hostname in _LOOPBACK
        if key and parts.scheme != "https" and not self._local:
            raise ConfigError(
                f"embedder: the key would travel unencrypted to {parts.hostname}. Nothing was sent.",
                "Use an https address, or take the key out of .env when the server needs none.",
            )

    def warm_up(self) -> None:
        """From now on questions may be sent to the server: this process lives long enough to wait for it."""
        self.ready = True

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row of unit length a text, in requests of at most BATCH texts.

        Raises ModelError; `status` is the server's, `retry_after` how long it asks to wait, in seconds.
        """
        import numpy as np

        found = [self._batch(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)]
        return np.concatenate(found) if found else np.empty((0, self.dimensions), dtype=np.float32)

    def _batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        body = {"model": self._model, "input": [prepared(text) for text in texts], "encoding_format": "base64"}
        try:
            answer: Any = json.loads(self._post(json.dumps(body).encode()))
            ordered = sorted(answer["data"], key=lambda one: one.get("index", 0))
            vectors = [_vector(one["embedding"]) for one in ordered]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, binascii.Error) as error:
            raise self._fault(
                "gave an answer that cannot be read.", "Check the address and the model's name."
            ) from error
        lengths = {len(vector) for vector in vectors}
        if len(vectors) != len(texts) or len(lengths) != 1 or 0 in lengths:
            raise self._fault("gave not one vector for each text.", "Check the address and the model's name.")
        if self.dimensions not in (0, *lengths):
            raise self._fault(
                f"gave vectors of {lengths.pop()} dimensions, where it gave {self.dimensions} before.",
                "The server runs another model under that name: name it anew in `embedder`.",
            )
        matrix = np.stack(vectors)
        norms = np.linalg.norm(matrix, axis=1, keepdims=True)
        if not np.isfinite(norms).all() or (norms == 0).any():
            raise self._fault("gave a vector that is no direction.", "Try another model.")
        self.dimensions, self.ready = lengths.pop(), True
        return matrix / norms

    def _post(self, content: bytes) -> bytes:
        import httpx2

        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self._key}"} if self._key else {})
        deadline = time.monotonic() + self._timeout
        try:
            with self._connection().stream("POST", self._url, content=content, headers=headers) as answer:
                body = bytearray()
                for piece in answer.iter_bytes():
                    body += piece
                    if len(body) > LARGEST or time.monotonic() > deadline:
                        raise self._fault("sent an answer too large or too slow.", "Check the server.")
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            said = "did not answer in time" if isinstance(error, httpx2.TimeoutException) else "could not be reached"
            raise self._fault(f"{said} ({self._where}).", "Check the address and whether the server runs.") from error
        if answer.status_code != 200:
            raise self._refused(answer.status_code, bytes(body), answer.headers.get("retry-after", ""))
        return bytes(body)

    def _connection(self) -> httpx2.Client:
        with self._lock:
            if self._client is None:
                import httpx2  # 60 ms

                # a proxy of the environment has no business with this machine's own servers
                self._client = httpx2.Client(
                    timeout=self._timeout,
                    trust_env=not self._local,
                    verify=not self._local or self._url.startswith("https:"),
                )
                weakref.finalize(self, self._client.close)
            return self._client

    @property
    def _where(self) -> str:
        parts = urlsplit(self._url)
        return f"{parts.scheme}://{parts.netloc}"

    def _refused(self, status: int, body: bytes, retry_after: str) -> ModelError:
        hint = {
            401: "Check the key in .env.",
            403: "Check the key in .env.",
            404: "Check the address and the model's name in `embedder`.",
            429: "It is asked again later.",
        }.get(status, "Its words above say why." if status < 500 else "It is asked again later.")
        said = "" if status == 401 else self._clean(_words(body))  # vendors quote a part of the key there
        try:
            wait = min(float(retry_after), _LONGEST_WAIT)
        except ValueError:
            wait = None
        return self._fault(f"refused (HTTP {status}){': ' + said if said else '.'}", hint, status, wait)

    def _fault(self, said: str, hint: str, status: int | None = None, wait: float | None = None) -> ModelError:
        return ModelError(f"The embedder {self.name} {said}", f"{hint} {_KEPT}", status, wait)

    def _clean(self, text: str) -> str:
        return " ".join((text.replace(self._key, "***") if self._key else text).split())[:_QUOTED]


def _vector(given: object) -> NDArray[np.float32]:
    import numpy as np

    if isinstance(given, str):
        return np.frombuffer(base64.b64decode(given, validate=True), dtype="<f4").astype(np.float32)
    found = np.asarray(given, dtype=np.float32)
    if found.ndim != 1:
        raise ValueError("a vector is a list of numbers")
    return found


def _words(body: bytes) -> str:
    """The sentence in the server's error body."""
    try:
        found: Any = json.loads(body)
    except (ValueError, RecursionError):
        return body[:1000].decode("utf-8", "replace")
    for _ in range(2):
        if not isinstance(found, dict):
            break
        known = cast("dict[str, Any]", found)
        found = known.get("message") or known.get("error") or known.get("detail") or ""
    return found if isinstance(found, str) else ""
