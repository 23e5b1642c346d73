"""The natural parts of a document in Markdown: what stands below the headings of its highest level.

Idea: pages, sheets, slides and chapters all become such headings, so one rule serves all. Invariant: the parts follow
one another and together are the whole text; no two have one name.
"""

from __future__ import annotations

from dataclasses import dataclass

from vademecum.wiki.scan import scan


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a text: characters `start` up to `end`."""

    name: str
    start: int
    end: int


def stretches(text: str, most: int) -> list[Stretch]:
    """The parts of `text`, none longer than `most` characters; empty when it has no two headings of one level."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    headings = scan(lines, _behind_matter(lines)).headings
    levels = [heading.level for heading in headings]
    level = next((one for one in range(1, 7) if levels.count(one) > 1), 0)
    found = [(heading.text, starts[heading.line]) for heading in headings if heading.level == level]
    if found and text[: found[0][1]].strip():
        found.insert(0, ("beginning", 0))
    if not found and len(text) > most:
        found = [("beginning", 0)]
    ends = [start for _, start in found[1:]] + [len(text)]
    parts: list[Stretch] = []
    names: set[str] = set()
    for (name, start), end in zip(found, ends, strict=False):
        for number, at in enumerate(range(start, end, most)):
            own = _own(name if not number else f"{name}, part {number + 1}", names)
            parts.append(Stretch(own, at, min(at + most, end)))
    return parts


def _own(name: str, taken: set[str]) -> str:
    name = " ".join(name.replace("@", " at ").split())[:120] or "untitled"
    own, number = name, 2
    while own in taken:
        own, number = f"{name} ({number})", number + 1
    taken.add(own)
    return own


def _behind_matter(lines: list[str]) -> int:
    """The line behind the front matter."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    return next((number + 1 for number, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), 0)
