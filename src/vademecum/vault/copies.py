"""What names sync tools give to copies that they could not merge, and the marks that git leaves in a file.

Idea: only the exact shapes count, and those that a person might type as well (`nexus 2`) are no more than a guess that
the content has to bear out. Invariant: `sides` and `without_marks` take away nothing but git's own lines.
"""

from __future__ import annotations

import re
from typing import Literal

from vademecum.late import pattern

_WORD = "conflict|konflikt|conflit|конфликт|冲突|衝突|競合|충돌"
_COPY = r"cop[iyí]|cópia|kopi|копи|副本|コピー|사본|\d{4}"
_SURE = pattern(
    r"(?i)\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]{7})?"  # Syncthing
    rf"| \((?=[^()]*(?:{_WORD}))(?=[^()]*(?:{_COPY}))[^()]*(?:\(\d{{1,3}}\))?\)"  # Dropbox, Nextcloud, Obsidian
    r"|_conflict-\d{8}-\d{6}"  # ownCloud
)
_MAYBE = pattern(
    r"(?i) \d{1,3}| ?\(\d{1,3}\)"  # iCloud, Google Drive, OneDrive
    r"|(?: -)? (?:copy|kopie|copie|copia|cópia)(?: \(?\d{1,3}\)?)?"  # what Windows and macOS call a duplicate
)
_BEGIN, _MIDDLE, _BASE, _END = (pattern(rf"{mark}(?: |\r?$)") for mark in ("<{7}", "={7}", r"\|{7}", ">{7}"))

Shape = Literal["", "maybe", "sure"]


def shape(name: str, own: str) -> Shape:
    """Whether `name` is what a sync tool calls a copy of `own` (both without suffix), or may be that as well as what
    a person calls a file."""
    if name == own or not name.startswith(own):
        return ""
    rest = name[len(own) :]
    return "sure" if _SURE.fullmatch(rest) else "maybe" if _MAYBE.fullmatch(rest) else ""


def is_copy(name: str, own: str) -> bool:
    """Whether `name` is, or may be, what a sync tool calls a copy of `own`."""
    return shape(name, own) != ""


def without_marks(data: bytes) -> bytes:
    """`data` without the lines by which git marks what it could not merge; both sides stay."""
    if b"<<<<<<<" not in data:
        return data
    kept: list[bytes] = []
    inside = False
    for line in data.splitlines(keepends=True):
        text = line.decode("latin-1").rstrip("\n")
        if not inside and _BEGIN.match(text):
            inside = True
        elif inside and _END.match(text):
            inside = False
        elif not (inside and (_MIDDLE.match(text) or _BASE.match(text))):
            kept.append(line)
    return b"".join(kept)


def sides(text: str) -> tuple[str, str] | None:
    """Both sides of a page in which git left what it could not merge; None when there are no such marks, or not in
    their order. What both sides had before (`|||||||`) belongs to neither."""
    if "<<<<<<<" not in text:
        return None
    made: tuple[list[str], list[str]] = ([], [])
    place, found = "both", False
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        bare = line.rstrip("\n")
        if place == "both" and _BEGIN.match(bare):
            place = "ours"
        elif place == "ours" and _BASE.match(bare):
            place = "base"
        elif place in ("ours", "base") and _MIDDLE.match(bare):
            place = "theirs"
        elif place == "theirs" and _END.match(bare):
            place, found = "both", True
        else:
            for side, name in zip(made, ("ours", "theirs"), strict=True):
                if place in ("both", name):
                    side.append(line)
    return ("".join(made[0]), "".join(made[1])) if found and place == "both" else None
