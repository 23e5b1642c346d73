"""What of a question stands in each passage of a conversation, alone and with what was said around it.

Idea: an answer is often split over turns ("Where did you go?" "To Porto."), so short turns are also read with the two
before and the one after; a long one stands for itself, piece by piece. Invariant: strengths are between 0 and 1, and
neighbours lend nothing across conversations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from vademecum.search.asked import Asked
from vademecum.search.kinds import holds
from vademecum.search.rank import Reader, Wanted

SHORT = 300
"""Characters up to which a turn lends to its neighbours and borrows from them."""
PIECE = 600
"""Characters of a long turn that are read as one passage."""
_USUAL, _K1, _B = 220, 1.2, 0.5
_STATES = 150  # characters of statements from which on a turn says as much as any
_AROUND = ((-2, 0.5), (-1, 1.0), (1, 0.95))
_SENTENCE = re.compile(r"(?<=[.!?…。！？])\s+|\n+")
_MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905


@dataclass(frozen=True, slots=True)
class Spoken:
    """A turn: `group` is its conversation, `time` UTC ms, `speaker` empty when the role says who spoke."""

    id: int
    group: int
    text: str
    time: int
    role: str
    speaker: str


class Passages:
    """The candidates `ids` of `spoken`, read for one question; `before` and `after` name the neighbours of a turn."""

    def __init__(
        self,
        wanted: Sequence[Wanted],
        words: Callable[[str], list[str]],
        spoken: Mapping[int, Spoken],
        ids: Sequence[int],
        before: Mapping[int, int],
        after: Mapping[int, int],
    ) -> None:
        self._all = spoken
        self._reader = Reader(wanted, "", words)
        self._weights = [one.weight for one in wanted]
        self._total = sum(self._weights) or 1.0
        self._read: dict[int, list[int]] = {}
        self._dates: dict[int, list[int]] = {}
        self.spoken = [spoken[one] for one in ids]
        self.groups = [one.group for one in self.spoken]
        self.windows = {one: self._window(spoken[one], before, after) for one in ids}

    def _window(self, one: Spoken, before: Mapping[int, int], after: Mapping[int, int]) -> list[tuple[int, float]]:
        """The turns that are read with `one`, itself included, with how much each counts."""
        members = [(one.id, 1.0)]
        if len(one.text) > SHORT:
            return members
        first = before.get(one.id)
        near = {-1: first, -2: before.get(first) if first is not None else None, 1: after.get(one.id)}
        for distance, share in _AROUND:
            other = self._all.get(near[distance] or 0)
            if other is not None and len(other.text) <= SHORT:
                members.append((other.id, share))
        return members

    def fits(self) -> dict[str, list[float]]:
        """Strength of the words: of a turn alone, with the turn before, with all around it."""
        words, pair, window = list[float](), list[float](), list[float]()
        for one in self.spoken:
            members = self.windows[one.id]
            words.append(self._alone(one))
            pair.append(self._strength([n for n, share in members if share == 1.0]) if len(members) > 1 else words[-1])
            window.append(self._strength([n for n, _ in members]) if len(members) > 1 else words[-1])
        return {"words": words, "window": window, "pair": pair}

    def shares(self) -> list[float]:
        """The share of the question, by weight, of which something stands in a turn or around it."""
        found: list[float] = []
        for one in self.spoken:
            counts = [self._counts(self._all[n]) for n, _ in self.windows[one.id]]
            there = (any(column) for column in zip(*counts, self._date(one), strict=True))
            found.append(sum(w for w, here in zip(self._weights, there, strict=True) if here) / self._total)
        return found

    def besides(self, question: Asked) -> dict[str, list[float]]:
        """What makes a turn a likely answer whatever its words."""
        return {
            "speaker": [float(_speaks(one, question)) for one in self.spoken],
            "states": [min(1.0, _stated(one.text) / _STATES) for one in self.spoken],
            "kind": [float(holds(one.text, question.kind)) for one in self.spoken],
        }

    # --- words

    def _alone(self, one: Spoken) -> float:
        if len(one.text) <= PIECE:
            return self._strength([one.id])
        counts = self._counts(one)
        if not any(counts):
            return 0.0
        return max(self._saturated(self._reader.counts(piece), len(piece)) for piece in pieces(one.text))

    def _strength(self, ids: Sequence[int]) -> float:
        each = [self._counts(self._all[n]) for n in ids]
        dates = self._date(self._all[ids[0]])
        counts = [max(sum(column), date) for *column, date in zip(*each, dates, strict=True)]
        return self._saturated(counts, sum(len(self._all[n].text) for n in ids))

    def _saturated(self, counts: Sequence[int], length: int) -> float:
        """The weighted share of the terms, each the more often the more, in a longer text the less (as bm25 has it)."""
        norm = _K1 * (1 - _B + _B * length / _USUAL)
        return sum(w * n / (n + norm) for w, n in zip(self._weights, counts, strict=True) if n) / self._total

    def _counts(self, one: Spoken) -> list[int]:
        found = self._read.get(one.id)
        if found is None:
            found = self._read[one.id] = self._reader.counts(one.text)
        return found

    def _date(self, one: Spoken) -> list[int]:
        """Which terms the day of a turn answers: "on 3 June 2023" is a question to what was said on that day."""
        day = one.time // 86_400_000
        if day not in self._dates:
            at = datetime.fromtimestamp(one.time / 1000, tz=UTC)
            self._dates[day] = self._reader.counts(f"{at.day} {_MONTHS[at.month - 1]} {at.year}")
        return self._dates[day]


def pieces(text: str) -> Iterator[str]:
    """A long text in pieces of about PIECE characters, cut between sentences and lines where there are any."""
    piece = ""
    for sentence in _SENTENCE.split(text):
        if piece and len(piece) + len(sentence) > PIECE:
            yield piece
            piece = ""
        piece = f"{piece} {sentence}" if piece else sentence
        while len(piece) > 2 * PIECE:
            yield piece[:PIECE]
            piece = piece[PIECE:]
    if piece:
        yield piece


def _stated(text: str) -> int:
    """Characters of the sentences that do not ask."""
    if len(text) > 4 * _STATES:
        return _STATES
    return sum(len(sentence) for sentence in _SENTENCE.split(text) if not sentence.rstrip().endswith(("?", "？", "؟")))


def _speaks(one: Spoken, question: Asked) -> bool:
    if question.speakers:
        return one.speaker in question.speakers
    return bool(question.role) and one.role == question.role and not one.speaker
