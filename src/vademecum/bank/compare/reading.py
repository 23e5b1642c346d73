"""A statement read word by word, for comparing: what carries something, in which form, and what governs it.

Idea: numbers, dates, code-like words, names and words are told apart once; what says nothing of its own is left out.
Invariant: linear in the text; what no list knows stays as it is written.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from typing import Literal, NamedTuple

from vademecum.bank.compare.figures import Piece, figured
from vademecum.bank.compare.lexicon import Lexicon, lexicon

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
_NONE: frozenset[str] = frozenset()
ALWAYS, LIGHT, EMPTY = "always", "light", "empty"
"""Why a word may be missing: it says that it is so for all, or it is a verb that says little."""
_QUOTES = {ord(mark): "'" for mark in "‘’ʼ′＇`´"} | {ord(mark): "-" for mark in "‐‑‒–—−"}
_LONGEST_HAN = 4
_ENCLITIC = re.compile(r"^(l|d|j|n|m|t|s|c|qu|aujourd)'(?=\w)")

_RUSSIAN_TIME = re.compile(
    r"(понедельник|вторник|сред|четверг|пятниц|суббот|воскресень|январ|феврал|март|апрел|июн|июл|август|сентябр|октябр|"
    r"ноябр|декабр)(?:|а|у|ы|ам|ами|ах|е|и|я|ю|ей|ем|ям|ой|ом|ев|ь)$"
)
_WITHOUT_ARTICLE = {"al": "a", "del": "de", "au": "à", "aux": "à", "du": "de", "des": "de", "d": "de", "zum": "zu",
                    "zur": "zu", "im": "in", "ins": "in", "am": "an", "beim": "bei", "vom": "von", "onto": "on",
                    "into": "in", "во": "в", "ко": "к", "со": "с", "об": "о", "ter": "te"}  # fmt: skip
_BEING = ("is", "are", "am", "be", "been", "being", "was", "were", "get", "gets", "getting")
_ENDS = re.compile(r"[.!?:;\n。！？]")
_CONTRACTED = re.compile(r"(?<=\w)'(m|re|ve|ll|d)$")
_WHOLE = {"m": "am", "re": "are", "ve": "have", "ll": "will", "d": "would"}


class Token(NamedTuple):
    """A word that carries something: how it is written, what it is compared by, and what governs it."""

    text: str
    exact: str
    stem: str
    group: frozenset[str]
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
    modes: frozenset[str]
    speaks: str


@functools.lru_cache(maxsize=4096)
def read(text: str, language: str) -> Reading:
    """The words of `text` that carry something, in order."""
    lexis = lexicon(language)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_QUOTES)).translate(_QUOTES)
    elif "`" in text:
        text = text.replace("`", "'")
    if lexis.language == "zh":
        text = _BESIDE_HAN.sub(" ", text)
    words = _common(_phrased(figured(_words(text, lexis), language), lexis), lexis)
    tokens: list[Token] = []
    governs, carried, owners, groups = "", 0, set[str](), set[frozenset[str]]()
    modes = set[str]()
    for word, kind, initial in words:
        lower = word.lower()
        modes |= lexis.modes.get(lower, _NONE)
        if lower in lexis.may and kind == "word":
            continue
        if len(word) == 1 and word.isupper() and word.isascii() and not (initial or word == "I"):
            kind = "code"  # `module A`
        if lower in lexis.ignore and kind == "word":
            governing = _WITHOUT_ARTICLE.get(lower, lower)
            governs, carried = (governing, 0) if lower in lexis.governs else (governs if not carried else "", 0)
            continue
        if kind == "word" and lower in lexis.negation:
            if not _denied(tokens, lexis):
                tokens.append(Token(word, "not", "not", _NONE, "not", False, "", ""))
            continue
        if kind == "word" and language == "en" and _is_denial(lower, lexis):
            tokens.append(Token(word, "not", "not", _NONE, "not", False, "", ""))
            word, lower = word[2:], lower[2:]
        if kind == "word" and tokens and tokens[-1].kind == "time" and lower not in lexis.time:
            governs = ""  # `in August Tom`
        token, owner = _token(word, kind, initial, lower if lower in lexis.governs else governs, lexis)
        if owner:
            owners.add(token.stem)
        if token.group and token.group in groups:  # "mag ... lieber" says it once
            continue
        groups.add(token.group)
        tokens.append(token)
        # what governs a word governs those that follow it at once: `on port 5432`, `before every commit`
        carried += 1
        far = carried > 1 and token.kind not in ("number", "time", "name", "code")
        governs, carried = (lower, 0) if lower in lexis.governs else ("" if far else governs, carried)
    lower_words = [word.lower() for word, _, _ in words]
    spoken = set(lower_words)
    if language == "en" and spoken.isdisjoint(_BEING) and any(_is_past(one) for one in tokens):
        modes.add("done")
    by, present = not spoken.isdisjoint(lexis.by), not spoken.isdisjoint(lexis.present)
    return Reading(tuple(tokens), by, present, frozenset(owners), frozenset(modes), _speaks(lower_words, lexis))


def _is_denial(word: str, lexis: Lexicon) -> bool:
    """Whether a word begins with `un` and goes on with one that is known: `unanswered` is not answered."""
    return word.startswith("un") and word not in lexis.known and len(word) > 5 and lexis.stem(word[2:]) in lexis.known


def _common(words: list[Piece], lexis: Lexicon) -> list[Piece]:
    """German nouns without their capital where an article shows that they are no names."""
    if not lexis.articles:
        return words
    found = words[:1]
    for before, one in itertools.pairwise(words):
        noun = one[1] == "word" and before[0].lower() in lexis.articles and one[0][1:].islower()
        found.append((one[0].lower(), one[1], one[2]) if noun else one)
    return found


def _speaks(spoken: list[str], lexis: Lexicon) -> str:
    """Whether a text begins with `we`, or has `us` behind another subject."""
    if spoken[:1] and spoken[0] in lexis.we:
        return "first"
    return "other" if not lexis.us.isdisjoint(spoken[1:]) else ""


def _is_past(token: Token) -> bool:
    return token.kind == "word" and not token.capital and token.exact.endswith("ed") and token.exact[-3:] != "eed"


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
        return Token(word, value, value, _NONE, "number", False, governs, ""), False
    if lexis.language == "ru" and kind == "word" and (found := _RUSSIAN_TIME.match(lower)):
        return Token(word, f"t:{found[1]}", f"t:{found[1]}", _NONE, "time", False, governs, ""), False
    if lower in lexis.time:
        return Token(word, lexis.time[lower], lexis.time[lower], _NONE, "time", False, governs, ""), False
    if kind == "code":
        return Token(word, lower, lower, lexis.group(lower), "code", False, governs, ""), False
    stem, capital = lexis.stem(lower), word[:1].isupper() and lower not in lexis.known
    shown: Kind = "name" if capital and not initial else "word"
    if capital and lexis.stem(lower) in lexis.known:
        capital, shown = False, "word"
    soft = lexis.soft.get(lower, "")
    if lower in lexis.emphatic:
        soft = ALWAYS
    elif not soft and lower in lexis.empty:
        soft = EMPTY
    elif not soft and lower in lexis.light:
        soft = LIGHT
    return Token(word, lower, stem, lexis.group(lower), shown, capital, governs, soft), owner


def _words(text: str, lexis: Lexicon) -> list[Piece]:
    """The pieces of `text` with their kind, and whether one begins a sentence."""
    found: list[Piece] = []
    end = 0
    for one in _TOKEN.finditer(text):
        between = text[end : one.start()]
        initial = not found or found[-1][0][-1] == "." or (between != " " and _ENDS.search(between) is not None)
        end = one.end()
        kind = str(one.lastgroup)
        piece = one.group()
        if kind == "word" and not between and piece.lower().rstrip(".") in lexis.ignore and _ends_in_number(found):
            found[-1] = (found[-1][0] + piece.rstrip("."), "code", found[-1][2])  # `1a` of `eu-west-1a`: no article
        elif kind == "word":
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


def _ends_in_number(found: list[Piece]) -> bool:
    return bool(found) and found[-1][1] == "number"


def _parts(piece: str, lexis: Lexicon) -> list[str]:
    """What one run of letters holds: words of a script without spaces, `l'` and `n't` apart."""
    if lexis.language == "zh":
        return [part for run in re.split(r"([\u3400-\u9fff]+)", piece) if run for part in _han(run, lexis)]
    lower = piece.lower()
    if lexis.language == "fr" and (found := _ENCLITIC.match(lower)):
        return [piece[: found.end() - 1], *_parts(piece[found.end() :], lexis)]
    if lower.isalpha():
        return ["can", "not"] if lower == "cannot" else [piece]
    if lower.endswith("n't") and lower not in lexis.negation:
        return [piece[:-3], "n't"] if lower != "can't" else ["can", "n't"]
    if lexis.language == "en" and (found := _CONTRACTED.search(lower)):
        return [piece[: found.start()], _WHOLE[found[1]]]
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


def _phrased(words: list[Piece], lexis: Lexicon) -> list[Piece]:
    """The same with words that say something together as one."""
    lower = [word.lower() for word, _, _ in words]
    if lexis.phrases.keys().isdisjoint(lower):
        return words
    found: list[Piece] = []
    at = 0
    while at < len(words):
        for phrase in lexis.phrases.get(lower[at], ()):
            if tuple(lower[at : at + len(phrase)]) == phrase:
                found.append((" ".join(phrase), "word", words[at][2]))
                at += len(phrase)
                break
        else:
            found.append(words[at])
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
