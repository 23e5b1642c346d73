"""What pages, headings and links are called, in the form in which they are compared.

Idea: Obsidian does not tell cases apart in a link, and a person types a heading without its punctuation. Invariant:
two names that differ in more than case, white space and Unicode's several spellings have two keys.
"""

from __future__ import annotations

import unicodedata

from vademecum.late import pattern

_HEADING = pattern(r"[#|^:%\[\]\\*_`~=!\"'.,;?()]+")


def name_key(text: str) -> str:
    """A page's name, title or alias as it is compared."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return " ".join(text.casefold().split())


def without_suffix(path: str, suffixes: frozenset[str]) -> str:
    """`path` without the end that says that it is a page."""
    stem, dot, end = path.rpartition(".")
    return stem if dot and f".{end.lower()}" in suffixes and stem and stem[-1] != "/" else path


def parted(ref: str) -> list[tuple[str, str]]:
    """The ways to read `ref` as a name and a place behind a `#`, the longest name first: names may hold one too."""
    found = [(ref.strip(), "")]
    while "#" in found[-1][0]:
        name = found[-1][0].rpartition("#")[0].strip()
        found.append((name, ref.strip()[len(name) :].strip().removeprefix("#").strip()))
    return found


def heading_key(text: str) -> str:
    """A heading as links say it: without marks and punctuation."""
    return name_key(_HEADING.sub(" ", text))
