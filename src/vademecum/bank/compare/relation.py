"""Whether two statements say the same, nearly the same, or what may exclude each other.

Idea: words are laid side by side. Each that carries something must have a counterpart, the same number, name, or word
but for its ending, or one of a short list that says the same; then order and negations must agree. How near two vectors
are cannot tell 5432 from 5433, nor "approved" from "not approved", so a cosine alone never makes two texts near.
Invariant: what is not understood tells texts apart; a number, date, unit, negation or name that differs always does.
"""

from __future__ import annotations

from typing import Literal

from vademecum.bank.compare.alignment import Sides, aligned
from vademecum.bank.compare.lexicon import Lexicon, language_of, lexicon
from vademecum.bank.compare.normal import normal
from vademecum.bank.compare.reading import ALWAYS, EMPTY, LIGHT, Reading, Token, read

_NAMES = ("number", "name", "code")
_MARKS = {n: None for n in range(128) if not chr(n).isalnum()}
FAR = 0.2
"""A cosine below which texts are about different things, whatever their words."""


def same(a: str, b: str) -> bool:
    """Whether two texts are equal but for case, punctuation, white space and Unicode form: they may be merged."""
    # what marks and spaces are is asked only of texts with the same letters
    if a.isascii() and b.isascii() and a.lower().translate(_MARKS) != b.lower().translate(_MARKS):
        return False
    return normal(a) == normal(b)


def near(a: str, b: str, cosine: float | None = None) -> bool:
    """Whether two texts say the same in other words, so that one may stand for the other.

    `cosine` of their vectors, when there are any, can only speak against it. Never true when a number, date, unit,
    negation, name, or a word and its opposite tells them apart.
    """
    if same(a, b):
        return True
    if cosine is not None and cosine < FAR:
        return False
    sides = aligned(a, b)
    return sides is not None and _left(sides) == ([], []) and _alike(sides)


def differs(a: str, b: str) -> tuple[str, ...]:
    """What tells two texts apart, as `number: 5432 / 5433`; empty when they are near."""
    if same(a, b):
        return ()
    sides = aligned(a, b)
    if sides is None:
        return ("length: too long, or too short, to be laid side by side",)
    found = [_named(sides, i, j) for i, j in _matched_up(sides, *_left(sides))]
    if found:
        return tuple(dict.fromkeys(found))
    return tuple(why for why in (_moded(sides), _turned(sides), _limits_other(sides), _reordered(sides)) if why)


def may_contradict(a: str, b: str) -> bool:
    """Whether two texts are about the same and may exclude each other: another value, or one says no.

    Meant to be looked at by somebody: some pairs are compatible after all.
    """
    return relation(a, b) == "contradicts"


def relation(a: str, b: str) -> Literal["same", "near", "contradicts", ""]:
    """How two texts stand to each other: what `same`, `near` and `may_contradict` say, at the cost of one of them."""
    if same(a, b):
        return "same"
    sides = aligned(a, b)
    if sides is None or not sides.pairs:
        return ""
    left = _left(sides)
    if left == ([], []) and _alike(sides):
        return "near"
    return "contradicts" if _may_exclude(sides, left) else ""


def _alike(sides: Sides) -> bool:
    """Whether words that all have a counterpart say the same."""
    return not (_moded(sides) or _turned(sides) or _limits_other(sides) or _reordered(sides))


def _may_exclude(sides: Sides, left: tuple[list[int], list[int]]) -> bool:
    heavy = [pair for pair in sides.pairs if sides.a.tokens[pair[0]].kind in ("word", "name", "code")]
    words = min(sum(one.kind not in ("number", "time", "not") for one in side.tokens) for side in (sides.a, sides.b))
    if len(heavy) * 2 < words or not heavy:
        return False
    pairs = _matched_up(sides, *left)
    return _excludes(sides, pairs) if pairs else bool(_turned(sides))


def _excludes(sides: Sides, pairs: list[tuple[int | None, int | None]]) -> bool:
    """Whether what is left over on both sides is one value against another, or a negation."""
    lexis = lexicon(sides.language)
    values = opposed = denied = other = 0
    for i, j in pairs:
        one = None if i is None else sides.a.tokens[i]
        two = None if j is None else sides.b.tokens[j]
        kinds = {token.kind for token in (one, two) if token is not None}
        if kinds == {"not"}:
            denied += 1
        elif one is None or two is None:
            alone = one or two
            turns = alone is not None and _turns(alone, lexis)
            opposed, other = opposed + turns, other + (not turns)
        elif lexis.opposed(one.exact, two.exact) or lexis.opposed(one.stem, two.stem):
            opposed += 1
        elif kinds <= {"number", "time"} or _answers(sides, i or 0, j or 0, lexis):
            values += 1
        else:
            return False
    told = values + opposed + denied
    return told > 0 and (other == 0 or (other == 1 and told == 1))  # several values and more besides: another subject


def _turns(token: Token, lexis: Lexicon) -> bool:
    """Whether a word alone turns a statement round, since its opposite says nothing: `without`, and `with`."""
    return not lexis.ignore.isdisjoint(lexis.opposites.get(token.exact, ()))


def _answers(sides: Sides, i: int, j: int, lexis: Lexicon) -> bool:
    """Whether a word is the answer where there is only one: it is not what the sentence is about."""
    first = min(sides.pairs)
    if i < first[0] or j < first[1]:
        return False
    words = {lexis.stem(word) for text in (sides.a, sides.b) for word in _plain(text)}
    return bool(words & lexis.one)


def search_terms(text: str) -> list[str]:
    """Words of a text by which others about the same are found, the longest first, as they are written."""
    reading = read(text, language_of(text))
    kinds = ("word", "name", "code", "time")
    found = dict.fromkeys(one.text.lower().strip(".-'") for one in reading.tokens if one.kind in kinds and not one.soft)
    return sorted((word for word in found if word), key=len, reverse=True)


# What is left over


def _left(sides: Sides) -> tuple[list[int], list[int]]:
    """The places that have no counterpart and may not be missing."""
    a = _without_past(sides, sides.a, sides.b, sides.left_a)
    b = _without_past(sides, sides.b, sides.a, sides.left_b)
    denied = any(one.kind == "not" for side in (sides.a, sides.b) for one in side.tokens)

    if all(_may_miss(side, left, denied) for side, left in ((sides.a, a), (sides.b, b))):
        kinds = [
            {token.soft == LIGHT for token in (side.tokens[i] for i in left) if token.soft != EMPTY}
            for side, left in ((sides.a, a), (sides.b, b))
        ]
        if not kinds[0] & kinds[1]:  # "the team" and "the project" are not the same, nor are "lives" and "works"
            return [], []
    return a, b


def _may_miss(side: Reading, left: list[int], denied: bool) -> bool:
    return all(side.tokens[i].soft and not (side.tokens[i].soft == ALWAYS and _bound(side, i, denied)) for i in left)


def _bound(side: Reading, i: int, denied: bool) -> bool:
    """Whether `every` and its like say something: `not always`, `every 2 days`."""
    return denied or any(one.kind == "number" for one in side.tokens[i + 1 : i + 2])


def _without_past(sides: Sides, own: Reading, other: Reading, left: tuple[int, ...]) -> list[int]:
    """What is left over but for `was`, when the other side does not speak of now: `was raised`, `we raised`."""
    past = lexicon(sides.language).past
    return [i for i in left if other.present or own.tokens[i].exact not in past]


def _matched_up(sides: Sides, left_a: list[int], left_b: list[int]) -> list[tuple[int | None, int | None]]:
    """What is left over on one side with what is left over on the other: of the same kind, in order."""
    found: list[tuple[int | None, int | None]] = []
    rest = list(left_b)
    lexis = lexicon(sides.language)
    for i in left_a:
        one = sides.a.tokens[i]
        like = [j for j in rest if lexis.opposed(one.exact, sides.b.tokens[j].exact)]
        like += [j for j in rest if _sort(sides.b.tokens[j]) == _sort(one)]
        found.append((i, like[0] if like else None))
        if like:
            rest.remove(like[0])
    return [*found, *((None, j) for j in rest)]


def _sort(token: Token) -> str:
    return token.kind if token.kind in ("number", "time", "not") else "word"


def _named(sides: Sides, i: int | None, j: int | None) -> str:
    one = None if i is None else sides.a.tokens[i]
    two = None if j is None else sides.b.tokens[j]
    given = one or two
    assert given is not None
    kind = given.kind if one is None or two is None or one.kind == two.kind else "word"
    if one and two and lexicon(sides.language).opposed(one.exact, two.exact):
        kind = "opposite"
    label = "negation" if kind == "not" else "date" if kind == "time" else kind
    return f"{label}: {one.text if one else '-'} / {two.text if two else '-'}"


def _plain(reading: Reading) -> list[str]:
    return [one.exact for one in reading.tokens]


# Whether it is so, may be, or is meant to be


def _moded(sides: Sides) -> str:
    """Whether the one says that something may be, the other that it must; or it is meant, and it is done."""
    denied = any(one.kind == "not" for side in (sides.a, sides.b) for one in side.tokens)
    a, b = sides.a.modes, sides.b.modes
    if ("may" in a) != ("may" in b) and not denied and not _limited(sides):
        return "modality: may"
    for one, two in ((a, b), (b, a)):
        if ("intends" in one - two or "must" in one - two) and "done" in two - one:
            return "modality: meant, and done"
        if "done" in one - two and any(_in_two_tenses(sides, *pair) for pair in sides.pairs):
            return "time: then, and now"
    return ""


def _in_two_tenses(sides: Sides, i: int, j: int) -> bool:
    """Whether an English verb stands in two tenses: `worked`, `works`."""
    a, b = sides.a.tokens[i], sides.b.tokens[j]
    ends = {a.exact[-2:] == "ed", b.exact[-2:] == "ed"}
    return sides.language == "en" and a.stem == b.stem and len(ends) == 2 and "s" in (a.exact[-1], b.exact[-1])


def _limited(sides: Sides) -> bool:
    """Whether what may be has a bound: `at most 100 a minute`."""
    return any("max" in lexicon(sides.language).group(one.exact) for one in sides.a.tokens)


# Order


def _turned(sides: Sides) -> str:
    """Whether a negation denies another word on either side: `tabs, not spaces` and `spaces, not tabs`."""
    to = dict(sides.pairs)
    for i, j in sides.pairs:
        if sides.a.tokens[i].kind != "not":
            continue
        denied, other = _denies(sides.a, i), _denies(sides.b, j)
        if denied is not None and other is not None and to.get(denied) != other:
            return f"negation: of {sides.a.tokens[denied].text} / of {sides.b.tokens[other].text}"
    return ""


def _denies(side: Reading, i: int) -> int | None:
    following = [k for k in range(i + 1, len(side.tokens)) if side.tokens[k].kind != "not" and not side.tokens[k].soft]
    return following[0] if following else None


def _limits_other(sides: Sides) -> str:
    """Whether `only` is said of another word: `only admins can read`, `admins can only read`."""
    to, limits = dict(sides.pairs), lexicon(sides.language).limits
    for i, j in sides.pairs:
        if sides.a.tokens[i].exact in limits and sides.b.tokens[j].exact in limits:
            one, two = _limited_by(sides.a, i), _limited_by(sides.b, j)
            if one is not None and two is not None and to.get(one) != two:
                return f"limit: {sides.a.tokens[one].text} / {sides.b.tokens[two].text}"
    return ""


def _limited_by(side: Reading, i: int) -> int | None:
    """The word that `only` is said of: the one behind it, the one before it at the end."""
    return i + 1 if i + 1 < len(side.tokens) else i - 1 if i else None


def _reordered(sides: Sides) -> str:
    """Whether what is said of one is said of the other: who calls whom, from where to where."""
    places = [j for _, j in sides.pairs]
    ordered = places == sorted(places)
    passive = sides.a.by != sides.b.by
    if _owned(sides) or _spoken_of(sides):
        return "order: whose it is"
    if ordered:
        # "Tom paid Anna" and "Tom was paid by Anna"
        acted = passive and sum(one.kind in ("name", "word") for one in sides.a.tokens) > 2
        return "order: who does it" if acted and _turned_by(sides) else ""
    if passive:
        return ""
    for x, (i, j) in enumerate(sides.pairs):
        for y in range(x + 1, len(sides.pairs)):
            k, m = sides.pairs[y]
            if m < j and not _may_swap(sides, (i, j), (k, m), between=_between(sides, x, y)):
                return f"order: {sides.a.tokens[i].text}, {sides.a.tokens[k].text}"
    return ""


def _owned(sides: Sides) -> bool:
    """Whether something is one's on the one side, another's on the other."""
    if sides.a.owners and sides.b.owners:
        return sides.a.owners != sides.b.owners
    for own, other in ((sides.a, sides.b), (sides.b, sides.a)):
        subject = next((one for one in other.tokens if not one.soft), None)
        if subject and subject.stem in own.owners and own.tokens[0].stem != subject.stem:
            return True
    return False


def _spoken_of(sides: Sides) -> bool:
    """Whether one side tells of us what the other tells of somebody: `we owe them money`, `they owe us money`."""
    if any(sides.a.tokens[i].stem != sides.b.tokens[j].stem for i, j in sides.pairs):
        return False
    return {sides.a.speaks, sides.b.speaks} == {"first", "other"}


def _turned_by(sides: Sides) -> bool:
    """Whether the words round the verb stand as before although one side is turned round with `by`."""
    tokens = (sides.a if sides.a.by else sides.b).tokens
    return any(one.before in lexicon(sides.language).by and one.kind != "time" for one in tokens)


def _between(sides: Sides, x: int, y: int) -> bool:
    """Whether a word stands between two pairs on both sides, round which they would have changed places."""
    j, m = sides.pairs[x][1], sides.pairs[y][1]
    return any(m < sides.pairs[z][1] < j for z in range(x + 1, y))


def _may_swap(sides: Sides, first: tuple[int, int], second: tuple[int, int], *, between: bool) -> bool:
    (one, two), (three, four) = ((sides.a.tokens[i], sides.b.tokens[j]) for i, j in (first, second))
    if one.before and one.before == four.before != three.before == two.before:
        return False  # from here to there
    named = [x.kind in _NAMES or y.kind in _NAMES for x, y in ((one, two), (three, four))]
    # a name at the beginning of a sentence looks like any word
    if not between and not all(named):
        return True
    if all(named) and _beside(sides, first) and _beside(sides, second):
        return True
    # the one is now what the other was: "the client calls the server"
    exchanged = one.before == four.before and three.before == two.before
    if exchanged and between and one.before == two.before and one.stem == two.stem and three.stem == four.stem:
        return False
    # what a preposition governs may stand anywhere: "on port 5432 the database listens"
    if (one.before and one.before == two.before) or (three.before and three.before == four.before):
        return True
    places = lexicon(sides.language).places
    placed = any((x.before in places) != (y.before in places) for x, y in ((one, two), (three, four)))
    if all(named):
        return placed and not exchanged
    return not exchanged or one.stem != two.stem or three.stem != four.stem


def _beside(sides: Sides, pair: tuple[int, int]) -> bool:
    """Whether a number or a name stands behind, or before, the same word on both sides."""
    to = dict(sides.pairs)
    i, j = pair
    steps = [step for step in (-1, 1) if i + step in to and sides.a.tokens[i + step].kind in ("word", "time")]
    dated = [step for step in steps if sides.a.tokens[i + step].kind == "time"]  # "3 March", "March 3"
    return any(to[i + step] == j + step for step in steps) or any(to[i + step] == j - step for step in dated)
