"""A marked block in a text that a person writes: AGENTS.md, SOUL.md, a rule of an editor.

Idea: the block has a first and a last line of its own, comments of Markdown; it goes to the end of the text and is
found again by them. Where the text ends inside a code or a comment that nobody closed, it goes before that. Invariant:
not one byte outside the block changes; marks inside a fenced code are somebody's example, but not in one without an
end; a block without its end or several of them are refused, and so is a text in which ours would not be found again.
"""

from __future__ import annotations

from pathlib import Path

from vademecum.errors import UnreadableError
from vademecum.late import pattern

_FIRST = pattern(r"<!-- vademecum (\w+)(?::[^\n]*)? -->[ \t]*\r?")
_OPENS = pattern(r" {0,3}(?:(`{3,})[^`]*|(~{3,}).*)")
_CLOSES = pattern(r"[ \t]*(`{3,}|~{3,})[ \t\r]*")
_COMMENT = pattern(r" {0,3}<!--")


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
    span, end = _layout(text, path, what)
    if span is not None:
        made = bom + text[: span[0]] + ours + text[span[1] :]
    elif not text.strip():
        made = bom + text + header.replace("\n", newline) + ours
    else:
        before = text[:end]
        lead = "" if not before.strip() else newline if before.endswith("\n") else newline * 2
        made = bom + before + lead + ours + text[end:]
    if find(_bytes(made), path, what) != ours.replace("\r\n", "\n"):
        raise UnreadableError(
            f"{path} is written in such a way that a block in it would not be found again. It was left as it is.",
            "Close the code and the comments that are open in it, then try again.",
        )
    return _bytes(made)


def take_out(raw: bytes, path: Path, what: str = "rules") -> bytes:
    """Without the block and the blank line before it."""
    text = _text(raw)
    span = _span(text, path, what)
    if span is None:
        return raw
    before, after = text[: span[0]], text[span[1] :]
    for blank in ("\r\n", "\n") if before.strip() else ():  # a text of blanks alone was not parted
        if before.endswith(f"\n{blank}"):
            before = before.removesuffix(blank)
            break
    return _bytes(before + after)


def _span(text: str, path: Path, what: str) -> tuple[int, int] | None:
    return _layout(text, path, what)[0]


def _layout(text: str, path: Path, what: str) -> tuple[tuple[int, int] | None, int]:
    """Where the block is, and where a new one may go: the end, or the code or comment that is never closed."""
    marks, opened = _marks(text, what)
    if opened is not None:  # what is never closed hides nothing
        marks += _marks(text, what, opened, fences=False)[0]
    if not marks:
        return None, len(text) if opened is None else opened
    if [first for *_, first in marks] != [True, False]:
        raise _broken(path, what)
    return (marks[0][0], marks[1][1]), len(text)


def _marks(
    text: str, what: str, begin: int = 0, *, fences: bool = True
) -> tuple[list[tuple[int, int, bool]], int | None]:
    """Each mark from `begin` on as `(start, end, is the first)`, and where a code or comment begins that has no end."""
    found, at, inside, opened, fence = list[tuple[int, int, bool]](), begin, False, -1, ""
    for line in text[begin:].split("\n"):
        end = min(at + len(line) + 1, len(text))
        first = _FIRST.fullmatch(line.lstrip("\ufeff"))
        if fence:
            closing = _CLOSES.fullmatch(line)
            if closing is not None and closing[1].startswith(fence):
                fence, opened = "", -1
        elif first is not None and first[1] == what:  # it ends a comment, too
            found.append((at + line.startswith("\ufeff"), end, True))
            inside, opened = True, -1
        elif line.rstrip() == f"<!-- /vademecum {what} -->" and inside:
            found.append((at, end, False))
            inside = False
        elif opened >= 0:
            opened = -1 if "-->" in line else opened
        elif fences and not inside:
            opening = _OPENS.fullmatch(line)
            if opening is not None:
                fence, opened = opening[1] or opening[2], at
            elif _COMMENT.match(line) and "-->" not in line:
                opened = at
        at += len(line) + 1
    return found, opened if opened >= 0 else None


def _broken(path: Path, what: str) -> UnreadableError:
    return UnreadableError(
        f"{path} has a block of vademecum's {what} without its end, or more than one. It was left as it is.",
        f"Leave one block, from its first comment to `<!-- /vademecum {what} -->`, then try again.",
    )


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode("utf-8", "surrogateescape")  # a byte order mark stays: it is one character


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
