"""Opening a settings file in the format that its client reads.

Idea: one function for all formats. Invariant: an absent file is an empty document; a parser is loaded only for a file
of its format.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vademecum.clients.catalogue.types import Format
    from vademecum.clients.edit.document import Document


def opened(raw: bytes | None, path: Path, kind: Format) -> Document:
    """The document with the bytes `raw` (None: there is no file yet). Raises UnreadableError."""
    if kind == "toml":
        from vademecum.clients.edit.toml import Document as Toml

        return Toml(raw or b"", path)
    if kind == "yaml":
        from vademecum.clients.edit.yaml import Document as Yaml

        return Yaml(raw or b"", path)
    from vademecum.clients.edit.json import Document as Json

    return Json(b"\n" if raw is None else raw, path, kind)
