"""From a text to a vector, whoever computes it.

Idea: `open_embedder(spec)` gives an `Embedder` by its name in the configuration; what it needs is loaded, and a server
first spoken to, with the first `embed`. Invariant: opening reads no file and sends nothing; vectors of embedders with
different names are never compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from vademecum.config import EMBEDDER
from vademecum.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LOCAL, OFF = "local", "off"
TEXT_CHARS = 2_000
"""How much of a text is embedded, in characters from its beginning: a vector of more says less of each part."""

TIMEOUT_SECONDS = 30.0
_OPENAI = "https://api.openai.com/v1"


class Embedder(Protocol):
    """What turns texts into vectors. Thread-safe."""

    @property
    def name(self) -> str:
        """Model and version; vectors of one name can be compared."""
        ...

    @property
    def spec(self) -> str:
        """How to open it again."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of a vector; 0 as long as an endpoint has not answered yet."""
        ...

    @property
    def ready(self) -> bool:
        """True when `embed` answers without loading anything first, and the process was said to have time for it."""
        ...

    def warm_up(self) -> None:
        """Get ready: load the weights, in about a second. Sends nothing. Raises ModelError."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row of unit length a text; what is longer than TEXT_CHARS is cut. Raises ModelError."""
        ...


def open_embedder(
    spec: str, *, env: Mapping[str, str], timeout: float = TIMEOUT_SECONDS, dimensions: int = 0
) -> Embedder | None:
    """The embedder that `spec` names: `local`, `openai:MODEL`, or `http://host/v1#MODEL`; None for `off`.

    The key of `openai:` is OPENAI_API_KEY, that of an address VADEMECUM_EMBEDDER_KEY, both looked up in `env`;
    `timeout` is the longest that a request may take, in seconds; `dimensions` is what an endpoint's vectors must have
    (0: what its first answer has). Raises ConfigError for another spec.
    """
    spec = spec.strip()
    if not re.fullmatch(EMBEDDER, spec):
        raise ConfigError(
            f"embedder: {spec!r} is not known.",
            "Write `local`, `off`, `openai:MODEL`, or the address of a server followed by #MODEL.",
        )
    if spec == OFF:
        return None
    if spec == LOCAL:
        from vademecum.models.embedder_local import LocalEmbedder

        return LocalEmbedder()
    from vademecum.models.embedder_endpoint import EndpointEmbedder

    if spec.startswith("openai:"):
        base, model = env.get("OPENAI_BASE_URL") or _OPENAI, spec.removeprefix("openai:")
        key = env.get("OPENAI_API_KEY", "")
    else:
        base, _, model = spec.partition("#")
        key = env.get("VADEMECUM_EMBEDDER_KEY", "")
    return EndpointEmbedder(spec, base, model, key=key, timeout=timeout, dimensions=dimensions)


def prepared(text: str) -> str:
    """What of `text` is embedded: its first TEXT_CHARS characters, to the end of a word, as valid Unicode."""
    text = text.strip()
    if len(text) > TEXT_CHARS:
        cut = text[: TEXT_CHARS + 1]
        head, space, _ = cut.rpartition(" ")
        text = head if space and len(head) > TEXT_CHARS // 2 else cut[:TEXT_CHARS]
    return text.encode("utf-8", "replace").decode() or "."  # servers refuse an empty text
