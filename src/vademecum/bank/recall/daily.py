"""Daily notes as recall sees them: an index of the parts of the files, brought up to date before each question.

Idea: the files are the truth; a file whose size or time changed is hashed, one whose hash changed is read again, and
only the index is written. Invariant: nothing here writes a file; a hit carries the origin that the history knows, is
labelled when it came from outside, and is left out when that is in quarantine.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vademecum.bank.types import Evidence, RecallHit
from vademecum.gate.dailies import FILE_NAME, Sources, written
from vademecum.gate.trust import CLASSES, Trust
from vademecum.model import Origin
from vademecum.search.prepare import fold, prepare
from vademecum.search.stopwords import stop_words
from vademecum.store import daily
from vademecum.store.message_index import tokenizer

if TYPE_CHECKING:
    from vademecum.bank.bank import Bank

PART = 1_200
"""Characters of a part, about; a longer section is cut at its paragraphs."""
LEAST = 0.45
"""The share of a question's words, by how rare they are, that a part must have."""
_TERMS, _LOOKED_AT = 12, 60
_FRESH_NS = 2_000_000_000  # a file changed so lately may change again within one tick of its clock
_HEADING = re.compile(r"#{1,6} ")
_TIME = re.compile(r"#{1,6} (\d\d):(\d\d)\b")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a daily note: the file's name, its first line (from 0), its text, where it came from, when."""

    name: str
    line: int
    text: str
    origin: Origin
    trust: Trust
    at: int
    session: str | None = None
    score: float = 0.0

    @property
    def id(self) -> str:
        """`daily:2026-11-29#12`: the day and the line, counted from 1."""
        return f"daily:{self.name.removesuffix('.md')}#{self.line + 1}"


class _File(NamedTuple):
    rows: list[str]
    begins: list[int]
    """Where each row begins, in characters."""
    sources: Sources


class DailyIndex:
    """The daily notes of the bank's agent, in `folder`."""

    def __init__(self, bank: Bank, folder: Path) -> None:
        self._bank = bank
        self._folder = folder
        self._agent = bank.actor.agent
        self._files: dict[str, _File] = {}
        self._check = bank.gate.quarantine.check(self._agent)

    def reconcile(self) -> int:
        """Bring the index in line with the files; returns how many were read again. 2 ms for a thousand files."""
        db, there = self._bank.db, daily.files(self._bank.db, self._agent)
        read = 0
        for entry in _files(self._folder):
            known, state = there.pop(entry.name, None), _state(entry)
            if known is not None and known.state == state:
                continue
            data = Path(entry.path).read_bytes()
            digest = hashlib.sha256(data).hexdigest()
            if known is not None and known.sha256 == digest:
                daily.set_state(db, known.n, state)
                continue
            text = data.decode("utf-8", "replace")
            parts = [(line, lines, prepare(said)) for line, lines, said in parted(text)]
            daily.put(db, self._agent, entry.name, state, digest, parts)
            read += 1
        for name in there:
            daily.remove(db, self._agent, name)
        return read

    def find(self, query: str) -> list[Part]:
        """Parts that fit, best first; none when the best one has too few of the words."""
        self.reconcile()
        db = self._bank.db
        tokens = tokenizer(db)
        words: list[str] = re.findall(r"[^\W_]+(?:'[^\W_]+)?", fold(query).lower())
        stops = stop_words(words)
        asked = list(dict.fromkeys(tokens(" ".join(word for word in words if word not in stops))))[:_TERMS]
        known = daily.frequencies(db, asked)
        telling = [word for word in asked if known[word]]
        if not telling:
            return []
        weights = {word: 1 / math.log(2 + known[word]) for word in asked}
        total = sum(weights.values())
        found: list[Part] = []
        for row in daily.matching(db, self._agent, telling, _LOOKED_AT):
            text = "".join(self._file(row.name).rows[row.line : row.line + row.lines])
            there = set(tokens(fold(text)))
            share = sum(weights[word] for word in telling if word in there) / total
            if share >= LEAST and (part := self._part(row.name, row.line, text, share)) is not None:
                found.append(part)
        return sorted(found, key=lambda one: (-round(one.score, 3), -one.at, one.id))

    def parts(self, *, since: int) -> Iterator[Part]:
        """Every part of the files of the days from `since` (UTC ms) on that may be shown, the oldest first."""
        for entry in sorted(_files(self._folder), key=lambda one: one.name):
            if _day(entry.name) >= since:
                for line, _, text in parted("".join(self._file(entry.name).rows)):
                    part = self._part(entry.name, line, text, 1.0)
                    if part is not None:
                        yield part

    def _part(self, name: str, line: int, text: str, score: float) -> Part | None:
        """The part with where it came from; None when that is in quarantine, or the text is unfit for a prompt."""
        gate, file = self._bank.gate, self._file(name)
        from_ = file.sources.of(file.begins[line], file.begins[line] + len(text))
        if self._check and any(self._check(one.origin, one.session, one.user) for one in from_):
            return None
        shown = "\n".join(row for row in text.splitlines() if not _TIME.match(row)).strip()
        if not shown or gate.inspect(shown):
            return None
        origin = from_[0].origin.joined(*(one.origin for one in from_[1:])) if from_ else Origin.file()
        reader, users = self._bank.ledger.reader, {one.user for one in from_} or {self._bank.actor.user}
        trust = CLASSES[max(CLASSES.index(reader.trust(str(origin), self._agent, user)) for user in users)]
        session = next((one.session for one in from_ if one.session), None)
        return Part(name, line, gate.redactor.clean(shown), origin, trust, _at(name, text), session, score)

    def _file(self, name: str) -> _File:
        if name not in self._files:
            whole = (self._folder / name).read_bytes().decode("utf-8", "replace")
            rows = whole.splitlines(keepends=True)
            entries = written(self._bank.gate.audit.store, self._agent, name.removesuffix(".md"))
            begins = [0, *accumulate(map(len, rows))]
            self._files[name] = _File(rows, begins, Sources(entries, whole))
        return self._files[name]


def recall_daily(bank: Bank, query: str, *, since: int | None, until: int | None, limit: int) -> list[RecallHit]:
    """At most `limit` parts of daily notes that answer `query`, best first; none without a folder of such notes."""
    folder = bank.daily()
    if folder is None or not query.strip() or not folder.is_dir():
        return []
    found = DailyIndex(bank, folder).find(query)
    fit = [one for one in found if (since is None or one.at >= since) and (until is None or one.at < until)]
    return [_hit(one) for one in fit[:limit]]


def _hit(part: Part) -> RecallHit:
    return RecallHit(
        id=part.id,
        kind="daily",
        text=part.text,
        origin=part.origin,
        trust=part.trust,
        score=round(part.score, 3),
        why=f"daily note {part.name.removesuffix('.md')}",
        time=part.at,
        evidence=(Evidence(part.text, part.origin, part.at, part.session),),
        arms={"words": round(part.score, 3)},
    )


def parted(text: str) -> Iterator[tuple[int, int, str]]:
    """The parts of a file: first line, number of lines, text. A part begins at a heading, or at a paragraph when the
    one before is long; headings alone are none."""
    begin, held = 0, list[str]()
    rows = text.splitlines(keepends=True)
    for n, row in enumerate([*rows, ""]):
        long = sum(map(len, held)) + len(row) > PART
        new = n == len(rows) or _HEADING.match(row) or (long and (not rows[n - 1].strip() or len(row) > PART // 2))
        if new and held:
            said = "".join(held)
            if any(line.strip() and not _HEADING.match(line) for line in held):
                yield begin, len(held), said
            begin, held = n, []
        held.append(row)


def _files(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [one for one in entries if FILE_NAME.fullmatch(one.name) and one.is_file()]
    except OSError:
        return []


def _state(entry: os.DirEntry[str]) -> str:
    """Size and time; nothing that would be recognised again for a file that was changed just now."""
    import time

    found = entry.stat()
    fresh = "" if time.time_ns() - found.st_mtime_ns > _FRESH_NS else f"?{time.monotonic_ns()}"
    return f"{found.st_size}:{found.st_mtime_ns}{fresh}"


def _day(name: str) -> int:
    try:
        return round(datetime.strptime(name[:10], "%Y-%m-%d").astimezone().timestamp() * 1000)
    except ValueError:  # no day of the calendar
        return 0


def _at(name: str, text: str) -> int:
    """When a part was written: the day, and the time of its heading."""
    found = _TIME.match(text)
    return _day(name) + (int(found[1]) * 60 + int(found[2])) * 60_000 if found else _day(name)
