"""Whether two statements say the same, nearly the same, or what may exclude each other.

Idea: words are laid side by side. Each that carries something must have a counterpart, the same number, name, or word
but for its ending, or one of a short list that says the same; then order and negations must agree. How near two vectors
are cannot tell 5432 from 5433, nor "approved" from "not approved", so a cosine alone never makes two texts near.
Invariant: what is not understood tells texts apart; a number, date, unit, negation or name that differs always does.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from typing import Literal, NamedTuple

from vademecum.bank.lexicon import Lexicon, language_of, lexicon
from vademecum.bank.normal import normal

MOST_WORDS = 60
"""Words that carry something, of texts that are laid side by side; longer ones are near only when they are the same."""
FAR = 0.2
"""A cosine below which texts are about different things, whatever their words."""

Kind = Literal["number", "time", "name", "code", "not", "word"]

_TOKEN = re.compile(
    r"(?P<code>(?:https?://|www\.)[^\s<>\"']{1,300}|[\w.+-]{1,60}@[\w-]{1,60}(?:\.[\w-]{1,60}){1,4}"
    r"|(?<![\w-])--?[a-z][\w-]{0,40}(?:=\S{1,60})?|(?:~|\.{1,2})?/?(?:[\w.@-]{1,60}/){1,12}[\w.@-]{0,60}"
    r"|(?<!\w)[@#.$][^\W\d_][\w.-]{0,60}\w|(?<!\w)\#\d{1,9}|\b[a-z_]\w{0,40}(?:\+\+|\#)"
    r"|\b[^\W\d_]{1,40}[\d_.][\w.]{0,60}\b(?<!\.)|\b\d{1,4}(?:\.\d{1,6}){2,5}\b|\b\d{4}-\d\d?-\d\d?\b)"
    r"|(?P<number>(?<![\w.,])[-+±]?\d{1,30}(?:[.,:/’]\d{1,30}){0,6}|\d{1,30}(?:[.,:/]\d{1,30}){0,6})"
    r"|(?P<word>[^\W\d_]{1,60}(?:['-][^\W\d_]{1,60}){0,6}\.?)"
    r"|(?P<sign>%|[€$£¥°√∞✓✔✅✗✘❌]|!=|[<>]=?|[=≠≤≥±→←])",
    re.IGNORECASE,
)
_HAN = re.compile(r"[\u3400-\u9fff]+")
_BESIDE_HAN = re.compile(r"(?<=[\u3400-\u9fff])(?=[A-Za-z0-9+-])|(?<=[A-Za-z0-9])(?=[\u3400-\u9fff])")
_ALWAYS, _LIGHT = "always", "light"
_QUOTES = {ord(mark): "'" for mark in "‘’ʼ′＇`´"} | {ord(mark): "-" for mark in "‐‑‒–—−"}
_LONGEST_HAN = 4
_ENCLITIC = re.compile(r"^(l|d|j|n|m|t|s|c|qu|aujourd)'(?=\w)")


class Token(NamedTuple):
    """A word that carries something: how it is written, what it is compared by, and what governs it."""

    text: str
    exact: str
    stem: str
    group: str
    kind: Kind
    capital: bool
    before: str
    soft: str


class Reading(NamedTuple):
    """A text as it is compared; `by`: it says who does it behind the verb, `present`: it says that it is so now;
    `owners`: whose something is."""

    tokens: tuple[Token, ...]
    by: bool
    present: bool
    owners: frozenset[str]


class Sides(NamedTuple):
    """Two readings side by side: pairs of places, and the places that are left over."""

    a: Reading
    b: Reading
    pairs: tuple[tuple[int, int], ...]
    left_a: tuple[int, ...]
    left_b: tuple[int, ...]
    language: str


def same(a: str, b: str) -> bool:
    """Whether two texts are equal but for case, punctuation, white space and Unicode form: they may be merged."""
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
    sides = _sides(a, b)
    return sides is not None and _are_near(sides)


def differs(a: str, b: str) -> tuple[str, ...]:
    """What tells two texts apart, as `number: 5432 / 5433`; empty when they are near."""
    if same(a, b):
        return ()
    sides = _sides(a, b)
    if sides is None:
        return ("length: too long, or too short, to be laid side by side",)
    found = [_named(sides, i, j) for i, j in _matched_up(sides, *_left(sides))]
    if found:
        return tuple(dict.fromkeys(found))
    return tuple(why for why in (_turned(sides), _reordered(sides)) if why)


def may_contradict(a: str, b: str) -> bool:
    """Whether two texts are about the same and may exclude each other: another value, or one says no.

    Meant to be looked at by somebody: some pairs are compatible after all.
    """
    return relation(a, b) == "contradicts"


def relation(a: str, b: str) -> Literal["same", "near", "contradicts", ""]:
    """How two texts stand to each other: what `same`, `near` and `may_contradict` say, at the cost of one of them."""
    if same(a, b):
        return "same"
    sides = _sides(a, b)
    if sides is None or not sides.pairs:
        return ""
    if _are_near(sides):
        return "near"
    return "contradicts" if _may_exclude(sides) else ""


def _are_near(sides: Sides) -> bool:
    return _left(sides) == ([], []) and not _turned(sides) and not _reordered(sides)


def _may_exclude(sides: Sides) -> bool:
    heavy = [pair for pair in sides.pairs if sides.a.tokens[pair[0]].kind in ("word", "name", "code")]
    words = min(sum(one.kind not in ("number", "time", "not") for one in side.tokens) for side in (sides.a, sides.b))
    if len(heavy) * 2 < words or not heavy:
        return False
    pairs = _matched_up(sides, *_left(sides))
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
    return (values or opposed or denied) > 0 and other <= 1


def _turns(token: Token, lexis: Lexicon) -> bool:
    """Whether a word alone turns a statement round, since its opposite says nothing: `without`, and `with`."""
    pairs = (pair for pair in lexis.opposite if token.exact in pair)
    return any(word in lexis.ignore for pair in pairs for word in pair if word != token.exact)


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


# Reading


def _sides(a: str, b: str) -> Sides | None:
    language = language_of(a, b)
    one, two = read(a, language), read(b, language)
    if max(len(one.tokens), len(two.tokens)) > MOST_WORDS or not (one.tokens and two.tokens):
        return None
    taken: dict[int, int] = {}
    free: dict[int, None] = dict.fromkeys(range(len(two.tokens)))
    places: dict[str, list[int]] = {}
    for j, token in enumerate(two.tokens):
        places.setdefault(token.exact, []).append(j)
    for i, token in enumerate(one.tokens):
        _take(i, [j for j in places.get(token.exact, ()) if j in free and _match(token, two.tokens[j])], taken, free)
    for i, token in enumerate(one.tokens):
        if i not in taken:
            _take(i, [j for j in free if _match(token, two.tokens[j])], taken, free)
    left_a = tuple(i for i in range(len(one.tokens)) if i not in taken)
    return Sides(one, two, tuple(sorted(taken.items())), left_a, tuple(free), language)


def _take(i: int, fitting: list[int], taken: dict[int, int], free: dict[int, None]) -> None:
    """Give place `i` its counterpart: of several the one in the like place."""
    if fitting:
        taken[i] = min(fitting, key=lambda j: (abs(i - j), j))
        del free[taken[i]]


def _match(a: Token, b: Token) -> bool:
    worded = a.kind in ("word", "name") and b.kind in ("word", "name")
    if a.exact == b.exact:
        return worded or a.kind == b.kind
    if not worded:
        return False
    if (a.group and a.group == b.group) or (a.soft and a.soft == b.soft != _LIGHT):
        return True
    # an ending may make another name: Peter, Peters
    return a.stem == b.stem and not (a.capital and b.capital) and not (a.group or b.group)


@functools.lru_cache(maxsize=4096)
def read(text: str, language: str) -> Reading:
    """The words of `text` that carry something, in order."""
    lexis = lexicon(language)
    text = unicodedata.normalize("NFKC", text.translate(_QUOTES)).translate(_QUOTES)
    if lexis.language == "zh":
        text = _BESIDE_HAN.sub(" ", text)
    words = _phrased(_words(text, lexis), lexis)
    tokens: list[Token] = []
    governs, carried, owners, groups = "", 0, set[str](), set[str]()
    for word, kind, initial in words:
        lower = word.lower()
        if lower in lexis.ignore and kind == "word":
            governs, carried = (lower, 0) if lower in lexis.governs else (governs if not carried else "", 0)
            continue
        if kind == "word" and lower in lexis.negation:
            if not _denied(tokens, lexis):
                tokens.append(Token(word, "not", "not", "", "not", False, "", ""))
            continue
        token, owner = _token(word, kind, initial, lower if lower in lexis.governs else governs, lexis)
        if owner:
            owners.add(token.stem)
        if token.group and token.group in groups:  # "mag ... lieber" says it once
            continue
        groups |= {token.group} if token.group else set()
        tokens.append(token)
        # what governs a word governs those that follow it at once: `on port 5432`, `before every commit`
        carried += 1
        far = carried > 1 and token.kind not in ("number", "time", "name", "code")
        governs, carried = (lower, 0) if lower in lexis.governs else ("" if far else governs, carried)
    spoken = {word.lower() for word, _, _ in words}
    joined = f" {' '.join(word.lower() for word, _, _ in words)} "
    by = any(f" {one} " in joined for one in lexis.by)
    return Reading(tuple(tokens), by, bool(spoken & lexis.present), frozenset(owners))


def _denied(tokens: list[Token], lexis: Lexicon) -> bool:
    """Whether a word that denies adds nothing: `no hagas nunca` denies once."""
    near = tokens[-1:] if lexis.language == "en" else tokens[-2:]
    return any(one.kind == "not" for one in near)


def _token(word: str, kind: str, initial: bool, governs: str, lexis: Lexicon) -> tuple[Token, bool]:
    lower, owner = word.lower(), False
    if lower.endswith(("'s", "s'")) and lexis.language == "en" and len(lower) > 3:
        lower, owner = lower[:-2], True
    lower = lower.rstrip(".") if kind == "word" else lower
    if kind == "number" or lower in lexis.numbers:
        value = lexis.numbers.get(lower) or _value(lower, lexis.language)
        return Token(word, value, value, "", "number", False, governs, ""), False
    if lower in lexis.time:
        return Token(word, lexis.time[lower], lexis.time[lower], "", "time", False, governs, ""), False
    if kind == "code":
        return Token(word, lower, lower, lexis.group(lower), "code", False, governs, ""), False
    stem, capital = lexis.stem(lower), word[:1].isupper() and lower not in lexis.known
    shown: Kind = "name" if capital and not initial else "word"
    if capital and lexis.stem(lower) in lexis.known:
        capital, shown = False, "word"
    soft = lexis.soft.get(lower) or lexis.soft.get(stem, "")
    if lower in lexis.emphatic:
        soft = _ALWAYS
    elif not soft and lower in lexis.light:
        soft = _LIGHT
    return Token(word, lower, stem, lexis.group(lower), shown, capital, governs, soft), owner


def _words(text: str, lexis: Lexicon) -> list[tuple[str, str, bool]]:
    """The pieces of `text` with their kind, and whether one begins a sentence."""
    found: list[tuple[str, str, bool]] = []
    end = 0
    for one in _TOKEN.finditer(text):
        between = text[end : one.start()]
        initial = not found or any(mark in between for mark in ".!?:;\n。！？") or found[-1][0].endswith(".")
        end = one.end()
        kind = str(one.lastgroup)
        piece = one.group()
        if kind == "word":
            for part in _parts(piece.rstrip("."), lexis):
                found.append((part, "word", initial))
                initial = False
            if piece.endswith("."):
                found[-1] = (found[-1][0] + ".", "word", found[-1][2])
        elif kind == "code":
            found.append((piece.rstrip(".,;:/"), "code", initial))
        else:
            found.append((piece, "word" if kind == "sign" else kind, initial))
    return [(word.rstrip(".") if kind == "word" else word, kind, initial) for word, kind, initial in found]


def _parts(piece: str, lexis: Lexicon) -> list[str]:
    """What one run of letters holds: words of a script without spaces, `l'` and `n't` apart."""
    if lexis.language == "zh":
        return [part for run in re.split(r"([\u3400-\u9fff]+)", piece) if run for part in _han(run, lexis)]
    lower = piece.lower()
    if lexis.language == "fr" and (found := _ENCLITIC.match(lower)):
        return [piece[: found.end() - 1], *_parts(piece[found.end() :], lexis)]
    if lower.endswith("n't") and lower not in lexis.negation:
        return [piece[:-3], "n't"] if lower != "can't" else ["can", "n't"]
    if lower == "cannot":
        return ["can", "not"]
    if "-" in piece and lower not in lexis.known and not lower.endswith(("-s",)):
        return [part for part in piece.split("-") if part]
    return [piece]


def _han(run: str, lexis: Lexicon) -> list[str]:
    if not _HAN.match(run):
        return [run]
    found: list[str] = []
    at = 0
    while at < len(run):
        sizes = range(min(_LONGEST_HAN, len(run) - at), 0, -1)
        size = next((size for size in sizes if run[at : at + size] in lexis.known), 1)
        found.append(run[at : at + size])
        at += size
    return found


def _phrased(words: list[tuple[str, str, bool]], lexis: Lexicon) -> list[tuple[str, str, bool]]:
    """The same with words that say something together as one."""
    found: list[tuple[str, str, bool]] = []
    at = 0
    while at < len(words):
        word, kind, initial = words[at]
        lower = [one[0].lower() for one in words[at : at + 5]]
        for phrase in lexis.phrases.get(lower[0], ()):
            if tuple(lower[: len(phrase)]) == phrase:
                found.append((" ".join(phrase), "word", initial))
                at += len(phrase)
                break
        else:
            found.append((word, kind, initial))
            at += 1
    return found


def _value(number: str, language: str) -> str:
    """A number in one form: `5,000` is 5000 in English, `1,5` is 1.5 elsewhere; `09:30` is 9:30."""
    if ":" in number:
        return ":".join(part.lstrip("0") or "0" if i == 0 else part for i, part in enumerate(number.split(":")))
    thousands, point = (",", ".") if language in ("en", "zh") else (".", ",")
    if re.fullmatch(rf"[-+±]?\d{{1,3}}(?:[{re.escape(thousands)}’]\d{{3}})+", number):
        return re.sub(r"[.,’]", "", number)
    return number.replace(point, ".") if number.count(point) == 1 else number


# What is left over


def _left(sides: Sides) -> tuple[list[int], list[int]]:
    """The places that have no counterpart and may not be missing."""
    a = _without_past(sides, sides.a, sides.b, sides.left_a)
    b = _without_past(sides, sides.b, sides.a, sides.left_b)
    denied = any(one.kind == "not" for side in (sides.a, sides.b) for one in side.tokens)

    if all(_may_miss(side, left, denied) for side, left in ((sides.a, a), (sides.b, b))):
        kinds = [{sides.a.tokens[i].soft == _LIGHT for i in a}, {sides.b.tokens[j].soft == _LIGHT for j in b}]
        if not kinds[0] & kinds[1]:  # "the team" and "the project" are not the same, nor are "lives" and "works"
            return [], []
    return a, b


def _may_miss(side: Reading, left: list[int], denied: bool) -> bool:
    return all(side.tokens[i].soft and not (side.tokens[i].soft == _ALWAYS and _bound(side, i, denied)) for i in left)


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


def _reordered(sides: Sides) -> str:
    """Whether what is said of one is said of the other: who calls whom, from where to where."""
    places = [j for _, j in sides.pairs]
    ordered = places == sorted(places)
    passive = sides.a.by != sides.b.by
    if sides.a.owners and sides.b.owners and sides.a.owners != sides.b.owners:
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


def _turned_by(sides: Sides) -> bool:
    """Whether the words round the verb stand as before although one side is turned round with `by`."""
    tokens = (sides.a if sides.a.by else sides.b).tokens
    return any(one.before in lexicon(sides.language).by and one.kind != "time" for one in tokens)


def _between(sides: Sides, x: int, y: int) -> bool:
    """Whether a word stands between two pairs on both sides, round which they would have changed places."""
    j, m = sides.pairs[x][1], sides.pairs[y][1]
    return any(m < sides.pairs[z][1] < j for z in range(x + 1, y))


def _may_swap(sides: Sides, first: tuple[int, int], second: tuple[int, int], *, between: bool) -> bool:
    pairs = [(sides.a.tokens[i], sides.b.tokens[j]) for i, j in (first, second)]
    strict = all(
        one.kind in ("number", "name", "code") and two.kind in ("number", "name", "code") for one, two in pairs
    )
    if not between and not strict:
        return True
    if strict and _beside(sides, first) and _beside(sides, second):
        return True
    # what a preposition governs may stand anywhere: "on port 5432 the database listens"
    return any(one.before and one.before == two.before for one, two in pairs)


def _beside(sides: Sides, pair: tuple[int, int]) -> bool:
    """Whether a number or a name stands behind, or before, the same word on both sides."""
    to = dict(sides.pairs)
    i, j = pair
    steps = [step for step in (-1, 1) if i + step in to and sides.a.tokens[i + step].kind in ("word", "time")]
    dated = [step for step in steps if sides.a.tokens[i + step].kind == "time"]  # "3 March", "March 3"
    return any(to[i + step] == j + step for step in steps) or any(to[i + step] == j - step for step in dated)
