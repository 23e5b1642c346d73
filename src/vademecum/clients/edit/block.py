"""A marked block in a text that a person writes: AGENTS.md, SOUL.md, a rule of an editor.

Idea: the block has a first and a last line of its own, comments of Markdown; it goes to the end of the text and is
found again by them. Invariant: not one byte outside the block changes; marks inside a fenced code are somebody's
example, and a block without its end or several of them are refused.
"""

from __future__ import annotations

from pathlib import Path

from vademecum.errors import UnreadableError
from vademecum.late import pattern

_FIRST = pattern(r"<!-- vademecum (\w+)(?::[^\n]*)? -->[ \t]*\r?")
_FENCE = pattern(r" {0,3}(`{3,}|~{3,})")


def find(raw: bytes | None, path: Path, what: str = "rules") -> str | None:
    """The block that is there, in the line ends of `\\n`; raises UnreadableError for a broken one or several.

    `what` is the word in its marks: a file may hold a block of each kind.
    """
    span = _span(_text(raw), path, what)
    return None if span is None else _text(raw)[slice(*span)].replace("\r\n", "\n")


def put(raw: bytes | None, block: str, path: Path, *, header: str = "", what: str = "rules") -> bytes:
    """With `block` in the place of the one that is there, else at the end, parted by a blank line.

    `header` is what a new file begins with (the front matter that makes a rule always loaded).
    """
    text = _text(raw)
    bom, text = (text[0], text[1:]) if text.startswith("\ufeff") else ("", text)
    newline = "\r\n" if "\r\n" in text else "\n"
    ours = block.strip("\n").replace("\n", newline) + newline
    span = _span(text, path, what)
    if span is not None:
        return _bytes(bom + text[: span[0]] + ours + text[span[1] :])
    if not text.strip():
        return _bytes(bom + text + header.replace("\n", newline) + ours)
    lead = newline if text.endswith("\n") else newline * 2
    return _bytes(bom + text + lead + ours)


def take_out(raw: bytes, path: Path, what: str = "rules") -> bytes:
    """Without the block and the blank line before it."""
    text = _text(raw)
    span = _span(text, path, what)
    if span is None:
        return raw
    before, after = text[: span[0]], text[span[1] :]
    for blank in ("\r\n\r\n", "\n\n"):
        if before.endswith(blank):
            before = before[: -len(blank) // 2]
            break
    return _bytes(before + after)


def _span(text: str, path: Path, what: str) -> tuple[int, int] | None:
    found, at, fence, begun = list[tuple[int, int]](), 0, "", -1
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if begun < 0 and mark is not None and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence and (first := _FIRST.fullmatch(line.lstrip("\ufeff"))) and first[1] == what:
            if begun >= 0:
                raise _broken(path, what)
            begun = at + (line.startswith("\ufeff"))
        elif begun >= 0 and line.rstrip() == f"<!-- /vademecum {what} -->":
            found.append((begun, min(at + len(line) + 1, len(text))))
            begun = -1
        at += len(line) + 1
    if begun >= 0 or len(found) > 1:
        raise _broken(path, what)
    return found[0] if found else None


def _broken(path: Path, what: str) -> UnreadableError:
    return UnreadableError(
        f"{path} has a block of vademecum's {what} without its end, or more than one. It was left as it is.",
        f"Leave one block, from its first comment to `<!-- /vademecum {what} -->`, then try again.",
    )


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode("utf-8", "surrogateescape")  # a byte order mark stays: it is one character


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
