"""The sentences of a message, without what is not the person's own words.

Idea: a sentence ends at a mark that white space follows, or at a full-width mark; so the dots inside addresses,
versions and file names end nothing, and only abbreviations and ordinals need a look. Code between fences and quoted
lines are not what the person says; nor is a pasted mail, from its head on (`From:` and the next field, or "On ...
wrote:"), or from "Dear ..." to the regards. Invariant: each sentence is a piece of one line, in order; time is
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
_LONGEST_REGARDS, _LONGEST_SALUTATION = 40, 100
_LAST_WORD = 12
"""Characters before a dot that are looked at: longer than any abbreviation."""


@functools.cache  # compiled at the first message, not at import
def _end() -> re.Pattern[str]:
    return re.compile(r"[.!?…]{1,8}[\"')\]»”’]{0,2}(?=\s)|[。！？]{1,8}[”」』）]{0,2}")


@functools.cache
def _bullet() -> re.Pattern[str]:
    return re.compile(r"\s{0,40}(?:[-*+•–—·]\s|\(?\d{1,2}[.)]\s|\[[ xX]\]\s|#{1,6}\s|[（(]?\d{1,2}[、）]){1,3}")


@functools.cache
def _mail_head() -> re.Pattern[str]:
    # a field of a mail's head, a line that brings in a quoted or forwarded one; in the seven languages
    return re.compile(
        r"(?i)\s{0,8}(?:(?:from|to|sent|date|subject|cc|von|an|gesendet|datum|betreff|de|à|objet|envoyé|para|asunto|enviado"
        r"|fecha|van|aan|onderwerp|verzonden|от|кому|тема|отправлено|发件人|收件人|主题|发送时间)\s?[:：]\s?\S"
        r"|-{3,8}\s?(?:original|forwarded|ursprüngliche|weitergeleitete|message|mensaje|oorspronkelijk|doorgestuurd|исходное"
        r"|пересылаемое|原始|转发)"
        r"|(?:on|am|le|el|op)\s.{6,90}\s(?:wrote|schrieb|a écrit|escribió|schreef)\b.{0,60}:\s{0,4}$)"
    )


@functools.cache
def _salutation() -> re.Pattern[str]:
    return re.compile(
        r"(?i)(?:(?:dear|hi|hello|sehr geehrte[rs]?|liebe[rs]?|hallo|guten tag|cher|chère|bonjour|madame|monsieur"
        r"|estimad[oa]s?|querid[oa]|hola|beste|geachte|lieve|уважаем\w{2,3}|дорог\w{2,3}|здравствуйте)\b.{0,60}[,!:]"
        r"|(?:尊敬的|亲爱的).{1,30}[,，:：])$"
    )


@functools.cache
def _regards() -> re.Pattern[str]:
    # the formal ones, which nobody writes to an agent
    return re.compile(
        r"(?i)(?:(?:best|kind|warm)\s(?:regards|wishes)|regards|sincerely|yours \w{5,10}"
        r"|mit freundlichen grüßen|viele grüße|beste grüße|cordialement|bien à vous|bien cordialement"
        r"|un saludo|saludos cordiales|atentamente|met vriendelijke groet(?:en)?"
        r"|с уважением|с наилучшими пожеланиями|此致)[,.!，。]?$"
    )


def _own(text: str) -> list[str]:
    """The lines of `text` without a pasted mail; one is never cut out on a single sign."""
    lines = text.splitlines()
    bare = [line.strip() for line in lines]
    for place, line in enumerate(bare):
        if _mail_head().match(line):
            field = bool(re.match(r"\S{1,20}\s?[:：]", line))
            if not field or (place + 1 < len(bare) and _mail_head().match(bare[place + 1])):
                lines, bare = lines[:place], bare[:place]
                break
    start = next((n for n, line in enumerate(bare) if _salutation().match(line[:_LONGEST_SALUTATION])), None)
    end = next((n for n in reversed(range(len(bare))) if _regards().match(bare[n][:_LONGEST_REGARDS])), None)
    if start is not None and end is not None and start < end < len(bare) - 1:
        return lines[:start] + lines[end + 2 :]  # the line after the regards is the name
    return lines


def sentences(text: str) -> Iterator[str]:
    """The sentences of `text`, stripped, without code between fences, lines that begin with `>` and pasted mails."""
    fence = ""
    for line in _own(text):
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
