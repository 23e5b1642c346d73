"""What the history knows of daily notes: which entries were appended to a day's file, and where each came from.

Idea: the file is the person's and carries no marks; the history has the exact text of every entry. Invariant: a part of
a file that no entry covers is the person's own, unless an entry from elsewhere was changed there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from vademecum.model import Origin
from vademecum.store.audit import AuditStore

TIER = "daily"
FILE_NAME = re.compile(r"\d{4}-\d\d-\d\d(?:-[\w-]{1,60})?\.md")
"""What a daily note's file may be called; a person may add a word to the date."""
_HEADING = re.compile(r"## \d\d:\d\d\n\n")


@dataclass(frozen=True, slots=True)
class Written:
    """An entry as it was appended: the block of the file, and where it came from."""

    block: str
    origin: Origin
    session: str | None
    user: str

    @property
    def text(self) -> str:
        """The block without its heading."""
        return _HEADING.sub("", self.block, count=1).strip("\n")


def written(store: AuditStore, agent: str, day: str) -> list[Written]:
    """The entries of that day's file that were not taken out again, the newest first."""
    where = "agent = :agent AND tier = :tier AND target = :target AND state <> ''"
    rows = store.rows(where, {"agent": agent, "tier": TIER, "target": day})
    texts = store.texts([row.after_sha256 for row in rows if row.after_sha256])
    gone: Counter[str] = Counter()
    found: list[Written] = []
    for row in rows:
        if row.action != "add":
            gone[row.before_sha256] += 1
        elif gone[row.after_sha256]:
            gone[row.after_sha256] -= 1
        elif row.after_sha256 in texts:
            found.append(Written(texts[row.after_sha256], Origin.parse(row.origin), row.session, row.user))
    return found


class Sources:
    """Where the characters of one file come from: `entries` as they stand in `whole`."""

    def __init__(self, entries: Sequence[Written], whole: str) -> None:
        self._spans: list[tuple[int, int, Written]] = []
        self._anywhere: list[Written] = []
        for one in entries:
            places = [found.start() for found in re.finditer(re.escape(one.text), whole)] if one.text else []
            self._spans += [(at, at + len(one.text), one) for at in places]
            if not places:  # it was changed by hand
                self._anywhere.append(one)

    def of(self, begin: int, end: int) -> list[Written]:
        """The entries that the characters `begin` to `end` come from; [] for what a person wrote there."""
        here = [one for first, last, one in self._spans if first < end and begin < last]
        return list(dict.fromkeys([*here, *self._anywhere]))
