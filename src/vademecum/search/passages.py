"""What of a question stands in each passage of a conversation, alone and with what was said around it.

Idea: an answer is often split over turns ("Where did you go?" "To Porto."), so short turns are also read with the two
before and the one after; a long one stands for itself, piece by piece. Invariant: strengths are between 0 and 1, and
neighbours lend nothing across conversations.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from vademecum.clock import utc
from vademecum.search.asked import Asked
from vademecum.search.kinds import holds
from vademecum.search.rank import Reader, Wanted

SHORT = 300
"""Characters up to which a turn lends to its neighbours and borrows from them."""
PIECE = 600
"""Characters of a long turn that are read as one passage."""
_USUAL, _K1, _B = 220, 1.2, 0.5
_OWN, _MANY = 4, 6  # candidates in which a word of its own may stand, and how many such words a telling turn has
_TOLD = re.compile(r"[^\W\d_]{3,}|\d+")
AROUND = ((0, 1.0), (-1, 1.0), (-2, 0.5), (1, 0.95))
"""The turns that are read as one, by their distance, with how much each counts."""
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
        *,
        before: Mapping[int, int],
        after: Mapping[int, int],
    ) -> None:
        self._all = spoken
        self._reader = Reader(wanted, "", words)
        self._weights = [one.weight for one in wanted]
        self._total = sum(self._weights) or 1.0
        self._read: dict[int, dict[int, int]] = {}
        self._dates: dict[int, dict[int, int]] = {}
        self.spoken = [spoken[one] for one in ids]
        self.groups = [one.group for one in self.spoken]
        self._near = {one: self._beside(spoken[one], before, after) for one in ids}
        self.windows = {
            one: [(near[distance], share) for distance, share in AROUND if distance in near]
            for one, near in self._near.items()
        }

    def _beside(self, one: Spoken, before: Mapping[int, int], after: Mapping[int, int]) -> dict[int, int]:
        """The turns that are read with `one`, itself included, by their distance."""
        if len(one.text) > SHORT:
            return {0: one.id}
        first = before.get(one.id, 0)
        near = {0: one.id, -1: first, -2: before.get(first, 0), 1: after.get(one.id, 0)}
        return {
            distance: other
            for distance, other in near.items()
            if other == one.id or (other in self._all and len(self._all[other].text) <= SHORT)
        }

    def beside(self, one: int, distance: int) -> int:
        """The turn at that distance which is read with `one`; 0 when there is none."""
        return self._near[one].get(distance, 0)

    def fits(self) -> dict[str, list[float]]:
        """Strength of the words: of a turn alone, with the turn before, with all around it."""
        words, pair, window = list[float](), list[float](), list[float]()
        for one in self.spoken:
            members = self.windows[one.id]
            words.append(self._alone(one))
            window.append(self._strength([n for n, _ in members]) if len(members) > 1 else words[-1])
            before = [n for n, share in members if share == 1.0]
            if len(before) == len(members):
                pair.append(window[-1])
            else:
                pair.append(self._strength(before) if len(before) > 1 else words[-1])
        return {"words": words, "window": window, "pair": pair}

    def shares(self) -> list[tuple[float, float, float]]:
        """Of each turn, the share of the question's words that stand in it and around it, by their weight and by their
        number; and by weight in the turn alone."""
        found = list[tuple[float, float, float]]()
        for one in self.spoken:
            there = set(self._date(one))
            alone = there | self._counts(one).keys()
            for n, _ in self.windows[one.id]:
                there.update(self._counts(self._all[n]))
            by_number = len(there) / len(self._weights) if there else 0.0
            found.append((self._weighed(there), by_number, self._weighed(alone)))
        return found

    def _weighed(self, terms: set[int]) -> float:
        return sum(self._weights[term] for term in terms) / self._total

    def besides(self, question: Asked) -> dict[str, list[float]]:
        """What makes a turn a likely answer whatever its words."""
        return {
            "speaker": [float(_speaks(one, question)) for one in self.spoken],
            "tells": self._tells(),
            "kind": [float(holds(one.text, question.kind)) for one in self.spoken],
        }

    def _tells(self) -> list[float]:
        """How much a turn tells that hardly any other does: "sounds great" answers nothing, nor does a question."""
        told = [frozenset(_TOLD.findall(_stated(one.text[:SHORT]).lower())) for one in self.spoken]
        known = Counter(word for words in told for word in words)
        return [min(1.0, sum(known[word] <= _OWN for word in words) / _MANY) for words in told]

    # --- words

    def _alone(self, one: Spoken) -> float:
        if len(one.text) <= PIECE:
            return self._strength([one.id])
        if not self._counts(one):
            return self._strength([one.id])
        return max(self._saturated(self._told(piece), len(piece)) for piece in pieces(one.text))

    def _strength(self, ids: Sequence[int]) -> float:
        """Of these turns read as one; the first one's day counts as said."""
        counts = dict(self._date(self._all[ids[0]]))
        length = 0
        for n in ids:
            length += len(self._all[n].text)
            for term, count in self._counts(self._all[n]).items():
                counts[term] = counts.get(term, 0) + count
        return self._saturated(counts, length) if counts else 0.0

    def _saturated(self, counts: Mapping[int, int], length: int) -> float:
        """The weighted share of the terms, each the more often the more, in a longer text the less (as bm25 has it)."""
        norm = _K1 * (1 - _B + _B * length / _USUAL)
        return sum(self._weights[term] * count / (count + norm) for term, count in counts.items()) / self._total

    def _counts(self, one: Spoken) -> dict[int, int]:
        """How often each term stands in a turn, without those that do not."""
        found = self._read.get(one.id)
        if found is None:
            found = self._read[one.id] = self._told(one.text)
        return found

    def _told(self, text: str) -> dict[int, int]:
        return {term: count for term, count in enumerate(self._reader.counts(text)) if count}

    def _date(self, one: Spoken) -> dict[int, int]:
        """Which terms the day of a turn answers: "on 3 June 2023" is a question to what was said on that day."""
        day = one.time // 86_400_000
        if day not in self._dates:
            at = utc(one.time)
            self._dates[day] = self._told(f"{at.day} {_MONTHS[at.month - 1]} {at.year}")
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


def _stated(text: str) -> str:
    """The sentences that do not ask."""
    if "?" not in text and "？" not in text:
        return text
    return " ".join(one for one in _SENTENCE.split(text) if not one.rstrip().endswith(("?", "？", "؟")))


def _speaks(one: Spoken, question: Asked) -> bool:
    if question.speakers:
        return one.speaker in question.speakers
    return bool(question.role) and one.role == question.role and not one.speaker
