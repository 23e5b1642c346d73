"""The part of a page that a compile writes: between two comments, with what it was made from and a seal.

Idea: `<!-- vademecum:begin wiki by=lyra inputs=... sha256=... -->` says who wrote the lines below, from which inputs
and with which bytes, so that a change by hand is seen. Invariant: what stands before and behind is never touched; marks
that do not fit together make the page nobody's but the person's.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from urllib.parse import quote, unquote

from vademecum.gate.proposals import sha256_of
from vademecum.model import Origin
from vademecum.obsidian import lines
from vademecum.page import eol_of

BEGIN = "<!-- vademecum:begin "
_BEGIN = re.compile(r"[ \t]*<!-- vademecum:begin wiki((?: [a-z0-9]+=[^\s>]*)*) -->[ \t]*")
_VALUE = re.compile(r"([a-z0-9]+)=([^\s>]*)")
_END = re.compile(r"[ \t]*<!-- vademecum:end wiki -->[ \t]*")
_ANY = re.compile(r"[ \t]*<!-- vademecum:(?:begin|end)\b")
KEPT = "**Written by hand in the part above, and kept:**"


@dataclass(frozen=True, slots=True)
class Block:
    """A managed block in a text: `start` to `end` with its comments, `inner` what stands between them, in line feeds.

    `inputs` names what it was made from; `sha256` is that of `inner` as it was written; `origin` that of what it says.
    """

    start: int
    end: int
    inner: str
    by: str
    inputs: str
    sha256: str
    origin: Origin

    @property
    def edited(self) -> bool:
        """Whether somebody changed what stands inside."""
        return sha256_of(self.inner) != self.sha256


def find(text: str) -> tuple[Block | None, str]:
    """The managed block of a page, and what is wrong with its comments (there is no block then)."""
    marks: list[tuple[int, int, re.Match[str] | None]] = []
    for line in lines(text):
        if line.hidden or not _ANY.match(line.text):
            continue
        begin = _BEGIN.fullmatch(line.text)
        if begin is None and not _END.fullmatch(line.text):
            return None, f"line {line.number} is no comment of a managed block as it is written"
        marks.append((line.start, line.start + len(line.text), begin))
    if not marks:
        return None, ""
    begin = marks[0][2]
    if len(marks) != 2 or begin is None or marks[1][2] is not None:
        return None, "the comments of its managed block do not come in one pair"
    (start, inside, _), (behind, end, _) = marks
    inner = text[inside:behind].replace("\r\n", "\n").removeprefix("\n")
    values: dict[str, str] = dict(_VALUE.findall(begin[1] or ""))
    return (
        Block(
            start, end, inner, unquote(values.get("by", "")), values.get("inputs", ""), values.get("sha256", ""),
            _origin(values.get("origin", "")),
        ),
        "",
    )  # fmt: skip


def render(inner: str, *, by: str, inputs: str, origin: Origin) -> str:
    """The block with its comments, in line feeds; `inner` begins and ends with a blank line."""
    told = f" origin={_quoted(str(origin))}" if origin != Origin.assistant() else ""
    mark = f"wiki by={_quoted(quote(by, safe=''))} inputs={inputs}{told} sha256={sha256_of(inner)}"
    return f"<!-- vademecum:begin {mark} -->\n{inner}<!-- vademecum:end wiki -->"


def replaced(text: str, block: Block, made: str, kept: str = "") -> str:
    """The page with another block, in its line ends, and behind it what was `kept` of the block before."""
    eol = eol_of(text)
    if kept:
        made = f"{made}\n\n{KEPT}\n\n{kept}"
        made += "" if not text[block.end :].strip() or text[block.end :].startswith(("\n\n", "\r\n\r\n")) else "\n"
    return text[: block.start] + made.replace("\n", eol) + text[block.end :]


def by_hand(before: str, now: str, after: str) -> str:
    """The lines that a person wrote into a block: those of `now` that neither `before` nor `after` has."""
    known = Counter(_bare(line) for line in before.split("\n"))
    for line, count in Counter(_bare(line) for line in after.split("\n")).items():
        known[line] = max(known[line], count)
    found: list[str] = []
    for line in now.split("\n"):
        bare = _bare(line)
        if not bare:
            if found and found[-1]:
                found.append("")
        elif known[bare] > 0:
            known[bare] -= 1
        else:
            found.append(line.rstrip())
    return "\n".join(found).strip("\n")


def is_bare(text: str, block: Block, title: str) -> bool:
    """Whether nothing stands on the page but the block and its title."""
    around = f"{text[: block.start]}\n{text[block.end :]}".removeprefix("\ufeff")
    return not [line for line in around.splitlines() if line.strip() and line.strip() != f"# {title}"]


def _bare(line: str) -> str:
    return line.strip()


def _quoted(text: str) -> str:
    """A value of a comment: nothing in it ends the comment."""
    return text.replace("-", "%2D").replace(">", "%3E") if "--" in text or ">" in text else text


def _origin(text: str) -> Origin:
    try:
        return Origin.parse(text) if text else Origin.assistant()
    except ValueError:
        return Origin.file()
