"""Times that stand in a question as words: "yesterday", "last March", "in 2024", "letzte Woche", "两天前".

Idea: a file a language (`times/`) lists forms, rows of words with slots; the words of a question are looked at one
after the other, and the longest form that begins there is a span of days. Invariant: any text gets an answer, in time
linear in its length: forms are few and short, and nothing is searched backwards.

Not done: seasons, holidays, times of day, dates in figures whose order is anyone's guess (3/4/2024).
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, NamedTuple, cast

from vademecum.clock import utc

LANGUAGES = ("en", "de", "fr", "es", "nl", "ru", "zh")
LONGEST = 1_000
"""Characters of a question that are looked at."""
_MOST_UNITS = 500  # "two thousand years ago" is no time of a conversation
_TIMES = Path(__file__).parent / "times"

Span = tuple[date, date]
"""The first day, and the day after the last."""
_NOW: Span = (date.min, date.max)


@dataclass(frozen=True, slots=True)
class When:
    """The time that a question names: from `since` on and before `until` (UTC ms; None: without bound).

    `text` is the question without the words for it, `words` those words.
    """

    since: int | None
    until: int | None
    text: str
    words: str

    def __bool__(self) -> bool:
        return self.since is not None or self.until is not None


class _Token(NamedTuple):
    text: str
    start: int
    end: int


class _Match(NamedTuple):
    span: Span
    relation: str
    first: int
    last: int


class _Form(NamedTuple):
    means: str
    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Language:
    forms: Mapping[str, tuple[_Form, ...]]
    """First word -> the forms that begin with it, the longest first; under `_FIGURE` those that begin with figures."""
    slots: Mapping[str, Mapping[str, int]]
    """Slot -> word -> number: a month's 1 to 12, a weekday's 0 to 6, a unit's place; of words lists always 0."""
    relations: Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]]
    following: tuple[tuple[str, tuple[str, ...]], ...]


_FIGURE = "0"
_UNITS = ("day", "week", "month", "year")


def when(text: str, now: int, *, zone: tzinfo | None = None) -> When:
    """The time that `text` names, seen from `now` (UTC ms); nothing when it names none. Never raises.

    Days begin at midnight in `zone` (None: that of this machine). Of several times all must hold when each has a
    word such as "since" or "before", else any of them.
    """
    tokens = list(_tokens(text[:LONGEST]))
    today = utc(now).astimezone(zone).date()
    found = _find(tokens, text, today) if tokens else []
    if not found:
        return When(None, None, text, "")
    since, until = _combined(found)
    rest, words = text, list[str]()
    for match in reversed(found):
        start, end = tokens[match.first].start, tokens[match.last].end
        words.append(text[start:end])
        rest = f"{rest[:start]} {rest[end:]}"
    text, words = " ".join(rest.split()), words[::-1]
    return When(midnight(since, zone), midnight(until, zone), text, ", ".join(words))


def named(text: str, now: int, *, zone: tzinfo | None = None) -> tuple[int | None, int | None] | None:
    """From when and before when the time is that `text` is, where a time is asked for; None when it is none.

    Also what `when` does not read as a time, for in a sentence it may be anything: a year or a month alone, `now`
    (twice the same moment), times to come. Never raises.
    """
    tokens = list(_tokens(text[:LONGEST]))
    today = utc(now).astimezone(zone).date()
    found = _find(tokens, text, today, alone=True) if tokens else []
    if not found:
        return None
    if any(match.span is _NOW for match in found):
        return now, now
    since, until = _combined(found)
    return midnight(since, zone), midnight(until, zone)


def midnight(day: date | None, zone: tzinfo | None) -> int | None:
    """When the day begins in `zone`, in UTC ms."""
    if day is None:
        return None
    local = datetime(day.year, day.month, day.day, tzinfo=zone)  # None: this machine's
    return round(local.timestamp() * 1000)


def _combined(found: Sequence[_Match]) -> tuple[date | None, date | None]:
    if not all(match.relation for match in found):
        plain = [match.span for match in found if not match.relation]
        return min(span[0] for span in plain), max(span[1] for span in plain)
    since: date | None = None
    until: date | None = None
    for (first, after), relation, *_ in found:
        if relation in ("since", "after"):
            bound = first if relation == "since" else after
            since = bound if since is None else max(since, bound)
        else:
            bound = first if relation == "before" else after
            until = bound if until is None else min(until, bound)
    return since, until


# Words


@functools.cache  # compiled at the first question, not at import
def _word() -> re.Pattern[str]:
    return re.compile(
        r"\d{4}-\d{2}(?:-\d{2})?(?![\w-])|\d{1,2}\.\d{1,2}\.\d{4}(?!\w)"
        r"|\d{1,9}(?:st|nd|rd|th|er|e|º)?(?![a-z])|\d{1,9}|[\u3400-\u9fff]|[^\W\d_\u3400-\u9fff]{1,40}"
    )


def _tokens(text: str) -> Iterator[_Token]:
    folded = _fold(text)
    for found in _word().finditer(folded):
        word = found.group()
        plain = word.rstrip("abcdefghijklmnopqrstuvwxyzº") if word[0].isdigit() else word
        yield _Token(plain, found.start(), found.end())


def _fold(text: str) -> str:
    """Lower case without accents, letter by letter, so that places stay what they are."""
    if text.isascii():
        return text.lower()
    return "".join(_base(letter) for letter in text)


def _base(letter: str) -> str:
    bare = unicodedata.normalize("NFD", letter)[0].lower()
    return bare if len(bare) == 1 else letter


# Languages


@functools.cache
def _language(name: str, *, alone: bool = False) -> _Language:
    """`alone`: with the forms under `alone`, which are a time only where a time is asked for."""
    import tomllib  # needed once a process reads its first question

    data = tomllib.loads((_TIMES / f"{name}.toml").read_text(encoding="utf-8"))
    slots: dict[str, dict[str, int]] = {
        "month": _numbered(data["months"], 1),
        "weekday": _numbered(data["weekdays"], 0),
        "n": _numbered(data["numbers"], 1),
        "unit": _numbered([data["units"][unit] for unit in _UNITS], 0),
    }
    slots |= {slot: _numbered([words], 0) for slot, words in data["words"].items()}
    listed = [*data["forms"].items(), *(data["alone"].items() if alone else ())]
    forms = [_Form(means, _pieces(form)) for means, some in listed for form in some]
    relations = _rows(data["relations"])
    firsts = {words[0] for _, words in relations}
    return _Language(
        _by_first_word(sorted(forms, key=lambda form: -len(form.pieces)), slots),
        slots,
        {first: tuple(row for row in relations if row[1][0] == first) for first in firsts},
        _rows(data.get("following", {})),
    )


def _by_first_word(forms: Sequence[_Form], slots: Mapping[str, Mapping[str, int]]) -> Mapping[str, tuple[_Form, ...]]:
    found: dict[str, list[_Form]] = {}
    for form in forms:
        first = form.pieces[0]
        words = list(slots.get(first[1:-1], {})) if first.startswith("<") else [first]
        if first in ("<n>", "<day>", "<year>"):
            words.append(_FIGURE)
        for word in words:
            found.setdefault(word, []).append(form)
    return {word: tuple(some) for word, some in found.items()}


def _numbered(rows: Sequence[str], first: int) -> dict[str, int]:
    return {_fold(word): number for number, row in enumerate(rows, first) for word in row.split()}


def _rows(table: Mapping[str, Any]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    rows = [(name, _pieces(form)) for name, forms in table.items() for form in cast("list[str]", forms)]
    return tuple(sorted(rows, key=lambda row: -len(row[1])))


def _pieces(form: str) -> tuple[str, ...]:
    """`vor <n> <unit>` as `vor`, `<n>`, `<unit>`; without its slots' marks a word is read as a question's is."""
    parts = re.split(r"(<\w{1,10}>)", form)
    return tuple(
        piece for part in parts for piece in ([part] if part.startswith("<") else [t.text for t in _tokens(part)])
    )


# Forms


def _find(tokens: Sequence[_Token], text: str, today: date, *, alone: bool = False) -> list[_Match]:
    """The times in the likely language that reads most words as times; in an unlikely one only those of two words.

    `alone`: the text is a time and nothing else, so that any language may read any word of it.
    """
    from vademecum.bank.signals.signal import languages_of

    likely = languages_of(text)
    unlikely = [name for name in LANGUAGES if name not in likely]
    for names, least in (((*likely, *unlikely), 1),) if alone else ((likely, 1), (unlikely, 2)):
        found = [_in_language(tokens, name, today, least, alone=alone) for name in names]
        if any(found):
            return max(found, key=lambda matches: sum(match.last - match.first + 1 for match in matches))
    return []


def _in_language(tokens: Sequence[_Token], name: str, today: date, least: int, *, alone: bool) -> list[_Match]:
    language = _language(name, alone=alone)
    found: list[_Match] = []
    at = 0
    while at < len(tokens):
        match = _at(tokens, at, language, today, bare=alone)
        figures = match is not None and _figures(tokens[match.last].text) is not None
        if match is None or (match.last - match.first + 1 < least and not figures):
            at += 1
            continue
        found.append(match)
        at = match.last + 1
    return found


def _at(tokens: Sequence[_Token], at: int, language: _Language, today: date, *, bare: bool) -> _Match | None:
    """The time that begins at a place: after a word such as "since" or "in", or by itself; the longest reading."""
    found: list[_Match] = []
    leads = [at, at + 1] if tokens[at].text in language.slots.get("in", {}) else [at]
    for begin in leads:
        read = _read(tokens, begin, language, today, bare=bare)
        if read is not None:
            found.append(_followed(tokens, _Match(read[0], "", at, read[1]), language))
    for relation, words in language.relations.get(tokens[at].text, ()):
        begin = at + len(words)
        if _texts(tokens, at, begin) == words:
            read = _read(tokens, begin, language, today, bare=True)
            if read is not None:
                found.append(_Match(read[0], relation, at, read[1]))
    return max(found, key=lambda match: match.last) if found else None


def _followed(tokens: Sequence[_Token], match: _Match, language: _Language) -> _Match:
    """The same with the word for "before" or "since" that comes after it in Chinese."""
    for relation, words in language.following:
        if _texts(tokens, match.last + 1, match.last + 1 + len(words)) == words:
            return match._replace(relation=relation, last=match.last + len(words))
    return match


def _texts(tokens: Sequence[_Token], first: int, after: int) -> tuple[str, ...]:
    return tuple(token.text for token in tokens[first:after])


def _read(
    tokens: Sequence[_Token], at: int, language: _Language, today: date, *, bare: bool
) -> tuple[Span, int] | None:
    """The span that the words from `at` on name, and the last of them. `bare`: a month or a year alone is one too."""
    if at >= len(tokens):
        return None
    word = tokens[at].text
    if (figures := _figures(word)) is not None:
        return figures, at
    for form in language.forms.get(_FIGURE if word.isdecimal() else word, ()):
        values = _fits(tokens, at, form, language)
        if values is not None:
            span = _span(form.means, values, today)
            if span is not None:
                return span, at + len(form.pieces) - 1
    if bare:
        if word in language.slots["month"]:
            return _month(today, language.slots["month"][word]), at
        if (year := _year(word)) is not None:
            return _of_year(year), at
    return None


def _fits(tokens: Sequence[_Token], at: int, form: _Form, language: _Language) -> dict[str, int] | None:
    if at + len(form.pieces) > len(tokens):
        return None
    values: dict[str, int] = {}
    for token, piece in zip(tokens[at:], form.pieces, strict=False):
        if not piece.startswith("<"):
            if token.text != piece:
                return None
            continue
        value = _value(piece[1:-1], token.text, language)
        if value is None:
            return None
        values[piece[1:-1]] = value
    return values


def _value(slot: str, word: str, language: _Language) -> int | None:
    if slot == "year":
        return _year(word)
    if slot in ("n", "day") and word.isdecimal():
        number = int(word)
        return number if 1 <= number <= (31 if slot == "day" else _MOST_UNITS) else None
    return language.slots.get(slot, {}).get(word)


def _year(word: str) -> int | None:
    return int(word) if len(word) == 4 and word.isdecimal() and "1900" <= word <= "2199" else None


def _figures(word: str) -> Span | None:
    """2024-03, 2024-03-01, 1.3.2024."""
    try:
        if "-" in word:
            year, month, *day = map(int, word.split("-"))
            if 1000 <= year <= 9998:
                return _day(date(year, month, day[0])) if day else _of_month(year, month)
        if "." in word:
            day_, month, year = map(int, word.split("."))
            return _day(date(year, month, day_)) if 1000 <= year <= 9998 else None
    except ValueError:  # no day of any month
        return None
    return None


# Spans


def _span(means: str, values: Mapping[str, int], today: date) -> Span | None:
    try:
        return _MEANINGS[means](values, today)
    except (ValueError, OverflowError):  # 30 February; before the year 1
        return None


def _day(day: date) -> Span:
    return day, day + timedelta(days=1)


def _of_month(year: int, month: int) -> Span:
    return date(year, month, 1), _shifted(date(year, month, 1), 1)


def _of_year(year: int) -> Span:
    return date(year, 1, 1), date(year + 1, 1, 1)


def _shifted(day: date, months: int) -> date:
    """The first day of the month so many months on."""
    number = day.year * 12 + day.month - 1 + months
    return date(number // 12, number % 12 + 1, 1)


def _month(today: date, month: int) -> Span:
    """The latest month of that name that has begun."""
    return _of_month(today.year - (month > today.month), month)


def _last_month(today: date, month: int) -> Span:
    """The latest month of that name that is over."""
    return _of_month(today.year - (month >= today.month), month)


def _unit(unit: int, today: date, back: int) -> Span:
    """The calendar day, week, month or year so many back."""
    match _UNITS[unit]:
        case "day":
            return _day(today - timedelta(days=back))
        case "week":
            monday = today - timedelta(days=today.weekday() + 7 * back)
            return monday, monday + timedelta(days=7)
        case "month":
            first = _shifted(today, -back)
            return first, _shifted(first, 1)
        case _:
            return _of_year(today.year - back)


def _ago(values: Mapping[str, int], today: date) -> Span:
    """`three weeks ago` is meant roughly: the unit before and after count too, but for days."""
    count, unit = values.get("n", 2), values["unit"]
    if unit == 0:
        slack = 0 if count < 5 else 1
        return today - timedelta(days=count + slack), today - timedelta(days=count - slack - 1)
    first, after = _unit(unit, today, count)
    if unit == 1:
        return first - timedelta(days=3), after + timedelta(days=3)
    return first, after


def _recent(values: Mapping[str, int], today: date) -> Span:
    first, _ = _unit(values["unit"], today, values["n"])
    if _UNITS[values["unit"]] == "week":
        first = today - timedelta(days=7 * values["n"])
    return first, today + timedelta(days=1)


def _day_month(values: Mapping[str, int], today: date) -> Span:
    month, day = values.get("month", values.get("n", 0)), values["day"]
    this_year = date(today.year, month, day)
    return _day(this_year if this_year <= today else date(today.year - 1, month, day))


def _named(values: Mapping[str, int]) -> int:
    return values.get("month", values.get("n", 0))


def _last_weekday(values: Mapping[str, int], today: date) -> Span:
    back = (today.weekday() - values["weekday"] - 1) % 7 + 1
    return _day(today - timedelta(days=back))


_MEANINGS: dict[str, Callable[[Mapping[str, int], date], Span]] = {
    "today": lambda _values, today: _day(today),
    "yesterday": lambda _values, today: _day(today - timedelta(days=1)),
    "before_yesterday": lambda _values, today: _day(today - timedelta(days=2)),
    "ago": _ago,
    "recent": _recent,
    "last_unit": lambda values, today: _unit(values["unit"], today, 1),
    "this_unit": lambda values, today: _unit(values["unit"], today, 0),
    "last_week": lambda _values, today: _unit(1, today, 1),
    "this_week": lambda _values, today: _unit(1, today, 0),
    "last_calendar_month": lambda _values, today: _unit(2, today, 1),
    "this_calendar_month": lambda _values, today: _unit(2, today, 0),
    "last_year": lambda _values, today: _unit(3, today, 1),
    "this_year": lambda _values, today: _unit(3, today, 0),
    "last_month": lambda values, today: _last_month(today, values["month"]),
    "last_weekday": _last_weekday,
    "month": lambda values, today: _month(today, _named(values)),
    "month_year": lambda values, _today: _of_month(values["year"], _named(values)),
    "month_last_year": lambda values, today: _of_month(today.year - 1, _named(values)),
    "date": lambda values, _today: _day(date(values["year"], _named(values), values["day"])),
    "day_month": _day_month,
    "now": lambda _values, _today: _NOW,
    "tomorrow": lambda _values, today: _day(today + timedelta(days=1)),
    "after_tomorrow": lambda _values, today: _day(today + timedelta(days=2)),
    "next_unit": lambda values, today: _unit(values["unit"], today, -1),
    "next_week": lambda _values, today: _unit(1, today, -1),
    "next_calendar_month": lambda _values, today: _unit(2, today, -1),
    "next_year": lambda _values, today: _unit(3, today, -1),
    "ahead": lambda values, today: _unit(values["unit"], today, -values["n"]),
    "year": lambda values, _today: _of_year(values["year"]),
}
