"""The sentences of a message, without what is not the person's own words.

Idea: a sentence ends at a mark that white space follows, or at a full-width mark; so the dots inside addresses,
versions and file names end nothing, and only abbreviations and ordinals need a look. Code between fences and quoted
lines are not what the person says. Invariant: each sentence is a piece of one line, in order; time is
linear in the text.

Not done: a sentence that is broken over lines becomes several.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

# words that a dot follows without ending the sentence, in the seven languages; single letters need no entry
_ABBREVIATIONS = frozenset(
    """e.g i.e eg ie etc vs cf approx resp dr mr mrs ms prof st no incl excl max min
    z.b d.h u.a bzw ca usw evtl ggf inkl nr vgl sog zzt
    p.ex c.-à-d m mme cf env
    bijv d.w.z m.b.t o.a enz evt nl mw dhr
    т.е т.д т.п напр др см стр руб тыс млн
    p.ej sr sra ud uds aprox núm pág""".split()  # noqa: SIM905 (a list of words is read as words)
)
_LAST_WORD = 12
"""Characters before a dot that are looked at: longer than any abbreviation."""


@functools.cache  # compiled at the first message, not at import
def _end() -> re.Pattern[str]:
    return re.compile(r"[.!?…]{1,8}[\"')\]»”’]{0,2}(?=\s)|[。！？]{1,8}[”」』）]{0,2}")


@functools.cache
def _bullet() -> re.Pattern[str]:
    return re.compile(r"\s{0,40}(?:[-*+•–—·]\s|\(?\d{1,2}[.)]\s|\[[ xX]\]\s|#{1,6}\s|[（(]?\d{1,2}[、）]){1,3}")


def sentences(text: str) -> Iterator[str]:
    """The sentences of `text`, stripped; code between fences and lines that begin with `>` are left out."""
    fence = ""
    for line in text.splitlines():
        bare = line.strip()
        mark = bare[:3]
        if fence:
            fence = "" if mark == fence else fence
        elif mark in ("```", "~~~"):
            # a fence that opens and closes on one line fences nothing further
            fence = "" if bare.count(mark) > 1 else mark
        elif not bare.startswith((">", "＞")):
            bullet = _bullet().match(line)
            yield from _split(line[bullet.end() :] if bullet else line)


def _split(line: str) -> Iterator[str]:
    start = 0
    for end in _end().finditer(line):
        if end.group() == "." and not _ends_sentence(line[max(start, end.start() - _LAST_WORD) : end.start()]):
            continue
        piece = line[start : end.end()].strip()
        if piece:
            yield piece
        start = end.end()
    rest = line[start:].strip()
    if rest:
        yield rest


def _ends_sentence(before: str) -> bool:
    """Whether a dot after `before` ends a sentence: not after an abbreviation, an initial, or an ordinal."""
    words = before.split()
    word = words[-1].lstrip("([\"'«„“").lower() if words else ""
    if word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha()):
        return False
    return not (len(word) <= 2 and word.isdecimal())
