"""The index of notes: one line a note, always in the prompt, bounded.

Idea: a line is ours as long as it reads as we wrote it; every other line belongs to a person. Invariant: a change adds,
rewrites or takes out the one line that it means and keeps every other byte.
"""

from __future__ import annotations

import re

from vademecum.core.slugs import link_to, linked
from vademecum.frontmatter import one_line
from vademecum.late import dataclass, pattern

HOOK_CHARACTERS = 150
"""Longest hook of a line that we write, in characters."""

_LINK = pattern(r"^\s*(?:[-*+]\s+)?\[(?:\\.|[^\]\\])*\]\((<[^>]*>|[^)\s]*)\)")


def index_line(title: str, path: str, hook: str) -> str:
    """`- [Title](slug.md) — one-line hook`; `path` is relative to the folder of the notes."""
    name = re.sub(r"([\[\]\\])", r"\\\1", one_line(title))
    text = one_line(hook)
    text = text if len(text) <= HOOK_CHARACTERS else text[: HOOK_CHARACTERS - 1] + "…"
    return f"- [{name}]({link_to(path)})" + (f" — {text}" if text else "")


@dataclass(frozen=True, slots=True)
class Index:
    """The text of INDEX.md, line by line with the line ends."""

    lines: tuple[str, ...]
    bom: str = ""

    @staticmethod
    def parse(text: str) -> Index:
        """The index of a file's text."""
        bom = "\ufeff" if text.startswith("\ufeff") else ""
        return Index(tuple(re.findall(r"[^\n]*\n|[^\n]+\Z", text[len(bom) :])), bom)

    @property
    def text(self) -> str:
        """The file's text."""
        return self.bom + "".join(self.lines)

    @property
    def plain(self) -> str:
        """The text as it is shown and counted: no byte order mark, `\\n` line ends, no white space at the ends."""
        return "".join(self.lines).replace("\r\n", "\n").strip()

    @property
    def used(self) -> int:
        """Characters that count against the limit."""
        return len(self.plain)

    @property
    def paths(self) -> tuple[str, ...]:
        """The relative paths that lines link to."""
        return tuple(linked(found.group(1)) for line in self.lines if (found := _LINK.match(line)))

    def with_line(self, path: str, line: str, ours: str) -> Index:
        """With `line` for the note at `path`. A line that a person has changed (not `ours`) stays as it is."""
        for number, old in enumerate(self.lines):
            found = _LINK.match(old)
            if found and linked(found.group(1)) == path:
                if old.rstrip("\r\n") != ours:
                    return self
                end = old[len(old.rstrip("\r\n")) :]
                return Index((*self.lines[:number], line + end, *self.lines[number + 1 :]), self.bom)
        eol = "\r\n" if self.lines and self.lines[0].endswith("\r\n") else "\n"
        kept = self.lines
        if kept and not kept[-1].endswith("\n"):
            kept = (*kept[:-1], kept[-1] + eol)
        return Index((*kept, line + eol), self.bom)

    def without(self, path: str) -> Index:
        """Without the lines that link to `path`."""
        kept = [line for line in self.lines if not ((m := _LINK.match(line)) and linked(m.group(1)) == path)]
        return Index(tuple(kept), self.bom)
