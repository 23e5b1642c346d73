"""Whether a statement takes the place of another: the same said of the same, with one value in the place of another.

Idea: laid side by side, two such statements differ in one run of words, the value; a word besides that only one of
them has narrows what it is about, and two statements about different things may both be so. Invariant: a statement
takes the place of one that says more narrowly the same only where what that says is denied outright; what narrows the
new one alone (`staging`, `in CI`) never ends the old.
"""

from __future__ import annotations

from typing import Literal

from vademecum.bank.compare.alignment import Sides, aligned
from vademecum.bank.compare.lexicon import language_of, lexicon
from vademecum.bank.compare.reading import ALWAYS, EMPTY, LIGHT, Reading, Token, read
from vademecum.bank.compare.relation import may_contradict, same

Place = Literal["takes", "beside", ""]
_JOINING = 2
"""Letters and marks between two words of one value, at most: a space, or a hyphen between spaces is more."""
_SAID = 2
"""Words that both must have where nothing is denied: what it is about, and what is said of it."""


def replaces(old: str, new: str, denied: tuple[str, ...] = (), rest: str = "") -> Place:
    """How `new` stands to `old`: it `takes` its place, is to be looked at `beside` it, or neither.

    `denied` are values that are said to be no longer so, `new` being without them; `rest` is what is said behind them.
    """
    sides = aligned(old, new)
    if sides is None or same(old, new):
        return ""
    was, now = _telling(sides, sides.a, sides.left_a), _telling(sides, sides.b, sides.left_b)
    runs_now = _runs(sides.b, now, new)
    if denied:
        # what begins with `for tests` has no other value to name
        narrower = len(runs_now) != 1 or bool(sides.b.tokens[0].before) or not _has_all(old, rest, denied)
        return "beside" if narrower else "takes"
    if _turned_round(sides, was, now):
        return "takes"
    slots = [(one, two) for one in _runs(sides.a, was, old) for two in runs_now if _fits(sides, one, two)]
    if len(slots) != 1 or not _about_the_same(sides, *slots[0]):
        return "beside" if _denies_more(sides, was, now) and may_contradict(old, new) else ""
    one, two = slots[0]
    more_was, more_now = len(was) - len(one), len(now) - len(two)
    if more_was and more_now:
        return ""  # of another thing: the worker's timeout, the session's
    return "beside" if more_was or more_now or _is_subject(sides, one, two) else "takes"


def _turned_round(sides: Sides, was: list[int], now: list[int]) -> bool:
    """Whether the one denies what the other says, and nothing else is left over."""
    left = _tokens(sides, was, now)
    return bool(left) and bool(sides.pairs) and all(token.kind == "not" for token in left)


def _denies_more(sides: Sides, was: list[int], now: list[int]) -> bool:
    """Whether one of them denies something that the other does not."""
    return any(token.kind == "not" for token in _tokens(sides, was, now))


def _tokens(sides: Sides, was: list[int], now: list[int]) -> list[Token]:
    return [*(sides.a.tokens[i] for i in was), *(sides.b.tokens[j] for j in now)]


def _telling(sides: Sides, side: Reading, left: tuple[int, ...]) -> list[int]:
    """What is left over and may not be missing."""
    lexis = lexicon(sides.language)
    speaks = lexis.we | lexis.us
    return [
        i
        for i in left
        if side.tokens[i].soft not in (ALWAYS, LIGHT, EMPTY)
        and side.tokens[i].exact not in speaks
        and side.tokens[i].exact not in lexis.past
    ]


def _runs(side: Reading, left: list[int], text: str) -> list[list[int]]:
    """What is left over in runs of words that stand next to each other in `text`."""
    found: list[list[int]] = []
    for i in left:
        last = found[-1][-1] if found else -2
        if last == i - 1 and _adjoin(side.tokens[last], side.tokens[i], text):
            found[-1].append(i)
        else:
            found.append([i])
    return found


def _adjoin(one: Token, two: Token, text: str) -> bool:
    """Whether nothing but a space or a mark is between two words."""
    at = text.find(one.text)
    while at >= 0:
        end = at + len(one.text)
        next_ = text.find(two.text, end)
        if 0 <= next_ - end <= _JOINING and not any(letter.isalnum() for letter in text[end:next_]):
            return True
        at = text.find(one.text, end)
    return False


def _has_all(old: str, rest: str, denied: tuple[str, ...]) -> bool:
    """Whether what is said behind a denied value narrows nothing that the old statement does not."""
    if not rest:
        return True
    language = language_of(old, rest)
    there = {word for text in (old, *denied) for one in read(text, language).tokens for word in (one.exact, one.stem)}
    return all(one.soft or one.exact in there or one.stem in there for one in read(rest, language).tokens)


def _fits(sides: Sides, one: list[int], two: list[int]) -> bool:
    """Whether two runs may be two values of one thing: of one sort, and governed alike."""
    first, second = sides.a.tokens[one[0]], sides.b.tokens[two[0]]
    if _sort(first) != _sort(second):
        return False
    if first.before == second.before or not (first.before and second.before):
        return True
    return (one[0] - 1, two[0] - 1) in sides.pairs


def _sort(token: Token) -> str:
    return token.kind if token.kind in ("number", "time", "not") else "word"


def _about_the_same(sides: Sides, one: list[int], two: list[int]) -> bool:
    """Whether both sides have so many words besides the value that they are about the same."""
    shared = [sides.a.tokens[i] for i, _ in sides.pairs if sides.a.tokens[i].kind != "not"]
    heavy = [token for token in shared if not token.soft or token.soft == LIGHT]
    figures = _sort(sides.a.tokens[one[0]]) != "word" and _sort(sides.b.tokens[two[0]]) != "word"
    return len(heavy) >= (1 if figures else _SAID)


def _is_subject(sides: Sides, one: list[int], two: list[int]) -> bool:
    """Whether the value is what the sentence is about: Bob may prefer calls, and so may Alice."""
    first = min(sides.pairs)
    return one[0] < first[0] or two[0] < first[1]
