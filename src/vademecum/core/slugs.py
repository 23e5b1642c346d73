"""Names of notes as file names.

Idea: letters and digits of any script stay, everything else becomes a hyphen. Invariant: a slug is one safe path
component on every system, whatever the name was.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from urllib.parse import quote, unquote

from vademecum.errors import UsageError
from vademecum.late import pattern

_BYTES = 120
_DEVICES = pattern(r"(?:con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)
_UNSAFE = pattern(r"[/\\\x00-\x1f:*?\"<>|]")


def slug_of(name: str) -> str:
    """The slug for a new thing called `name`: lower case, at most 120 bytes. Raises UsageError for an empty name."""
    text = unicodedata.normalize("NFC", name.strip())
    if not text:
        raise UsageError("A note needs a name. Nothing was written.", "Give a short name that says what the fact is.")
    kept = [c if c.isalnum() or unicodedata.category(c) in {"Mn", "Mc"} else "-" for c in text.lower()]
    slug = re.sub(r"-{2,}", "-", "".join(kept)).strip("-")
    if len(slug.encode()) > _BYTES or not slug:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        slug = f"{slug.encode()[: _BYTES - 9].decode('utf-8', 'ignore').rstrip('-') or 'note'}-{digest}"
    return f"{slug}-note" if slug == "index" or _DEVICES.fullmatch(slug) else slug


def check_slug(slug: str) -> str:
    """`slug` without `.md`, when it is one plain file name. Raises UsageError for a path or a hidden file."""
    plain = slug.strip().removesuffix(".md")
    if not plain or plain.startswith(".") or _UNSAFE.search(plain) or len(plain.encode("utf-8", "surrogatepass")) > 240:
        raise UsageError(
            f"{slug[:80]!r} is not the name of a note. Nothing was read or written.",
            "Use a name as `list` gives it, without a folder.",
        )
    return plain


def same(one: str, other: str) -> bool:
    """Whether two slugs would be one file on a system that folds case or Unicode forms."""
    return _folded(one) == _folded(other)


def _folded(slug: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", slug).casefold())


def link_to(path: str) -> str:
    """A relative path as the target of a Markdown link."""
    return "".join(quote(c) if c in " ()<>%" else c for c in path)


def linked(target: str) -> str:
    """The path that a Markdown link's target names."""
    return unquote(target.strip().removeprefix("<").removesuffix(">")).removeprefix("./")
