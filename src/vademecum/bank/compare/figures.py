"""Numbers and times of day as they are spoken and written, in one form: `half past twelve` is 12:30, `3 pm` 15:00.

Idea: the pieces of a text pass once; words for numbers become digits, and what belongs to a number is taken into it.
Invariant: two numbers or times that differ never become one; what has two readings (`half past six`, morning or
evening) is kept as it is spoken. Linear in the pieces.
"""

from __future__ import annotations

import functools
import re

Piece = tuple[str, str, bool]
"""How it is written, `word`, `number` or `code`, and whether a sentence begins with it."""

_TENS = {
    "en": "twenty thirty forty fifty sixty seventy eighty ninety",
    "de": "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "fr": "vingt trente quarante cinquante soixante",
    "es": "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
    "nl": "twintig dertig veertig vijftig zestig zeventig tachtig negentig",
    "ru": "двадцать тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто",
    "zh": "",
}
_TEENS = {
    "en": "thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
    "de": "dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn",
    "fr": "treize quatorze quinze seize dix-sept dix-huit dix-neuf",
    "es": "trece catorce quince dieciséis diecisiete dieciocho diecinueve",
    "nl": "dertien veertien vijftien zestien zeventien achttien negentien",
    "ru": "тринадцать четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать",
    "zh": "",
}
_UNITS = {
    "en": "one two three four five six seven eight nine ten eleven twelve",
    "de": "ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "fr": "un deux trois quatre cinq six sept huit neuf dix onze douze",
    "es": "uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
    "nl": "een twee drie vier vijf zes zeven acht negen tien elf twaalf",
    "ru": "один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать",
    "zh": "一 二 三 四 五 六 七 八 九 十",
}
_OTHER = {
    "ru": {"две": 2, "двух": 2, "трёх": 3, "трех": 3, "четырёх": 4, "четырех": 4, "пяти": 5, "шести": 6, "семи": 7,
           "восьми": 8, "девяти": 9, "десяти": 10, "одна": 1, "одно": 1, "одну": 1, "первом": 1, "втором": 2,
           "третьем": 3, "четвёртом": 4, "пятом": 5, "шестом": 6, "седьмом": 7, "восьмом": 8, "девятом": 9,
           "десятом": 10},
    "en": {"third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10},
    "de": {"dritte": 3, "dritten": 3, "vierte": 4, "vierten": 4, "fünfte": 5, "fünften": 5, "sechste": 6,
           "sechsten": 6, "eins": 1},
    "fr": {"troisième": 3, "quatrième": 4, "cinquième": 5, "sixième": 6, "septième": 7, "huitième": 8},
    "es": {"tercer": 3, "tercero": 3, "tercera": 3, "cuarto": 4, "quinto": 5, "sexto": 6},
    "nl": {"derde": 3, "vierde": 4, "vijfde": 5, "zesde": 6, "één": 1},
    "zh": {"两": 2, "十一": 11, "十二": 12, "十五": 15, "二十": 20, "三十": 30, "五十": 50, "一百": 100},
}  # fmt: skip
_TIMES = {"k": 1000, "thousand": 1000, "tausend": 1000, "mille": 1000, "mil": 1000, "duizend": 1000, "тысяч": 1000,
          "тысячи": 1000, "тыс": 1000, "million": 10**6, "millions": 10**6, "mio": 10**6, "millionen": 10**6,
          "millones": 10**6, "miljoen": 10**6, "млн": 10**6, "миллион": 10**6, "миллиона": 10**6,
          "миллионов": 10**6, "千": 1000, "万": 10**4, "百万": 10**6, "亿": 10**8, "百": 100, "hundred": 100,
          "hundert": 100, "cent": 100, "honderd": 100, "сто": 100}  # fmt: skip
_NAMED = {"noon": "12:00", "midday": "12:00", "midnight": "0:00", "mitternacht": "0:00", "midi": "12:00",
          "minuit": "0:00", "mediodía": "12:00", "medianoche": "0:00", "middernacht": "0:00", "полдень": "12:00",
          "полночь": "0:00", "正午": "12:00", "午夜": "0:00"}  # fmt: skip
_SPANS = {
    "quarter of an hour": "15 minutes", "half an hour": "30 minutes", "half hour": "30 minutes",
    "viertelstunde": "15 minuten", "halbe stunde": "30 minuten", "halben stunde": "30 minuten",
    "demi-heure": "30 minutes", "demi heure": "30 minutes", "quart d heure": "15 minutes", "media hora": "30 minutos",
    "cuarto de hora": "15 minutos", "half uur": "30 minuten", "kwartier": "15 minuten", "полчаса": "30 минут",
    "半小时": "30 分钟", "半个小时": "30 分钟", "quinze jours": "2 semaines", "15 días": "2 semanas",
    "15 jours": "2 semaines", "14 tage": "2 wochen", "couple of": "2",
}  # fmt: skip
_FIRST = {first: [key.split() for key in _SPANS if key.split()[0] == first] for first in {k.split()[0] for k in _SPANS}}
_TOLD = frozenset((*_NAMED, *_FIRST, "half", "quarter", "halb"))
"""Words that may begin a number or a time."""
_ORDINAL = frozenset(("st", "nd", "rd", "th", "er", "ère", "e", "ème", "º", "ª",
                      "го", "й", "м", "я", "ом", "ая", "ое", "му", "ти"))  # fmt: skip
_MORNING = frozenset(("am", "a.m", "morgens", "утра", "ochtends", "'s ochtends"))
_LATER = frozenset(("pm", "p.m", "abends", "вечера", "дня", "'s avonds", "nachmittags"))
_CLOCK = frozenset(("uhr", "uur", "h", "heures", "heure", "点", "o'clock"))
_VERSION = re.compile(r"v(\d+(?:\.\d+)*)", re.IGNORECASE)
_WHOLE = re.compile(r"\d{1,2}")
_CLOCKED = re.compile(r"(\d{1,2})[:.h](\d\d)")
_GLUED = re.compile(r"(\d{1,2})h(\d\d)?", re.IGNORECASE)


@functools.cache
def _words(language: str) -> dict[str, int]:
    """Words for numbers but those that are articles too."""
    tens = {word: 20 + 10 * i for i, word in enumerate(_TENS[language].split())}
    units = {word: 1 + i for i, word in enumerate(_UNITS[language].split())}
    found = {**tens, **{word: 13 + i for i, word in enumerate(_TEENS[language].split())}}
    found |= {word: value for word, value in units.items() if value > 1 or language in ("ru", "en")}
    if language in ("de", "nl"):
        for unit, one in units.items():
            joined = {"de": "und", "nl": "ën" if unit.endswith("e") else "en"}[language]
            found |= {unit + joined + ten: many + one for ten, many in tens.items() if one < 10}
    if language == "es":
        found |= {"veinti" + unit: 20 + one for unit, one in units.items() if one < 10}
    return found | _OTHER.get(language, {})


def figured(pieces: list[Piece], language: str) -> list[Piece]:
    """The pieces of a text with its numbers and times of day in one form."""
    words = _words(language)
    lower = [word.lower() for word, _, _ in pieces]
    told = [kind != "word" or word in words or word in _TOLD for word, (_, kind, _) in zip(lower, pieces, strict=True)]
    if not any(told):
        return pieces
    before = ["", *lower]
    spelt = [
        _digits(piece, words) if tells and last != "no" else piece
        for piece, last, tells in zip(pieces, before, told, strict=False)
    ]
    found: list[Piece] = []
    at = 0
    while at < len(spelt):
        made, used = _taken(spelt, at, language) if told[at] else ([spelt[at]], 1)
        found.extend(made)
        at += used
    return found


def _digits(piece: Piece, words: dict[str, int]) -> Piece:
    word, kind, initial = piece
    lower = word.lower()
    if kind == "word" and lower in words:
        return str(words[lower]), "number", initial
    if kind == "word" and lower in _NAMED:
        return _NAMED[lower], "number", initial
    if kind == "code" and (found := _GLUED.fullmatch(lower)):
        return f"{int(found[1])}:{found[2] or '00'}", "number", initial
    return piece


def _taken(spelt: list[Piece], at: int, language: str) -> tuple[list[Piece], int]:
    """What stands at `at` with what belongs to it, and how many pieces that were."""
    word, kind, initial = spelt[at]
    lower = [one[0].lower() for one in spelt[at : at + 5]]
    kinds = [one[1] for one in spelt[at : at + 5]]
    if kind == "code" and (found := _VERSION.fullmatch(word)):
        return [("version", "word", initial), (found[1], "number", False)], 1
    for span in _FIRST.get(lower[0], ()):
        if lower[: len(span)] == span:
            value = _SPANS[" ".join(span)].split()
            return [
                (one, "number" if one.isdigit() else "word", initial and not n) for n, one in enumerate(value)
            ], len(span)
    if (spoken := _spoken(lower, kinds, language)) is not None:
        value, used = spoken
        return [(value, "number", initial)], used
    if kind != "number":
        return [spelt[at]], 1
    if len(kinds) > 1 and kinds[1] == "number" and _adds(lower[0], lower[1]):
        return [(str(int(lower[0]) + int(lower[1])), "number", initial)], 2
    following = lower[1] if len(lower) > 1 and kinds[1] == "word" else ""
    if following in _TIMES and re.fullmatch(r"\d+(?:[.,]\d)?", word):
        value = float(word.replace(",", ".")) * _TIMES[following]
        return [(str(int(value)) if value.is_integer() else str(value), "number", initial)], 2
    if following in _ORDINAL and _WHOLE.fullmatch(word):
        return [spelt[at]], 2
    return _at_clock(spelt, at, lower, initial)


def _adds(tens: str, unit: str) -> bool:
    """`twenty five`."""
    return len(tens) == 2 and tens[1] == "0" and tens[0] > "1" and len(unit) == 1 and unit != "0"


def _at_clock(spelt: list[Piece], at: int, lower: list[str], initial: bool) -> tuple[list[Piece], int]:
    """A number with `am`, `pm`, `Uhr` and the like."""
    word = spelt[at][0]
    found = _CLOCKED.fullmatch(word) if ":" in word else None
    hour, minute = (int(found[1]), found[2]) if found else (int(word) if _WHOLE.fullmatch(word) else -1, "00")
    if not 0 <= hour <= 24:
        return [spelt[at]], 1
    used = 1
    clock = found is not None
    if lower[used : used + 1] and lower[used] in _CLOCK and lower[used] != "h":
        used, clock = used + 1, True
        if lower[used : used + 1] and re.fullmatch(r"[0-5]\d", lower[used]) and spelt[at + used][1] == "number":
            minute, used = lower[used], used + 1
    if lower[used : used + 1] and (lower[used] in _MORNING or lower[used] in _LATER) and hour <= 12:
        hour = hour % 12 + 12 * (lower[used] in _LATER)
        used, clock = used + 1, True
    return ([(f"{hour}:{minute}", "number", initial)], used) if clock else ([spelt[at]], 1)


def _spoken(lower: list[str], kinds: list[str], language: str) -> tuple[str, int] | None:
    """`half past six`, `halb sieben`, `seis y media`, `quarter of an hour`."""
    if (
        language == "en"
        and len(lower) > 2
        and lower[1] in ("past", "to")
        and kinds[2] == "number"
        and lower[2].isdigit()
    ):
        hour, minutes = int(lower[2]), {"half": 30, "quarter": 15}.get(lower[0], 0)
        if minutes and 1 <= hour <= 12:
            return (f"{hour}:{minutes}", 3) if lower[1] == "past" else (f"{hour - 1 or 12}:{60 - minutes}", 3)
    if language in ("de", "nl") and lower[0] in ("halb", "half") and len(lower) > 1 and lower[1].isdigit():
        hour = int(lower[1])
        if 1 <= hour <= 12:
            return f"{hour - 1 or 12}:30", 2 + (len(lower) > 2 and lower[2] in _CLOCK)
    if language == "es" and lower[0].isdigit() and lower[1:3] in (["y", "media"], ["y", "cuarto"]):
        return f"{int(lower[0])}:{30 if lower[2] == 'media' else 15}", 3
    if language == "fr" and lower[0].isdigit() and lower[1:4] == ["heures", "et", "demie"]:
        return f"{int(lower[0])}:30", 4
    if language == "zh" and lower[0].isdigit() and lower[1:3] == ["点", "半"]:
        return f"{int(lower[0])}:30", 3
    return None
