"""Does a text restate what the user said in their own words? By its words alone, in many languages.

Idea: what a message quotes, pastes, asks about or asks to be read is no statement of the user; of the rest, a few
neighbouring clauses of one sentence must hold every word of a sentence of the text, and deny and limit as much as it
does. Invariant: every number, address, name and negation of the text stands there; a mere "yes" restates nothing; a
text that adds one word of substance is not restated.

It is strict on purpose: a restatement in other words, or in another language, is left to the clean-room review.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

LONGEST = 4_000
"""Characters of a message that are looked at; the rest of a longer one was pasted."""
MOST_CLAUSES = 4
"""Neighbouring clauses of one sentence that a sentence of the text may be drawn from."""
LONGEST_TEXT = 2_000
"""Characters of a text that can be a restatement."""

_DATA = Path(__file__).parent / "data" / "restate.txt"
_FENCE = re.compile(r"(?s)(```|~~~).*?(?:\1|\Z)")
_QUOTED_LINE = re.compile(r"(?m)^[ \t]*(?:>|\|).*$")
_QUOTES = re.compile(
    r"(?s)\"[^\"]{0,2000}(?:\"|\Z)|“[^”]{0,2000}(?:”|\Z)|„[^“”]{0,2000}(?:[“”]|\Z)|«[^»]{0,2000}(?:»|\Z)"
    r"|「[^」]{0,2000}(?:」|\Z)|『[^』]{0,2000}(?:』|\Z)|《[^》]{0,2000}(?:》|\Z)|‘[^’]{12,2000}’(?!\w)"
    r"|(?<!\w)'[^'\n]{12,2000}'(?!\w)|(?<!\w)`[^`\n]{0,2000}`"
)
_TAGGED = re.compile(r"(?s)<(\w[\w-]{0,40})\b[^>]{0,200}>.*?(?:</\1>|\Z)")
_SENTENCE = re.compile(
    r"[^.!?。！？;；\n]+(?:[.!?。！？;；]+(?=\s|\Z|[^\x00-\x7f])|[.!?](?=\S)[^.!?。！？;；\n]*)*[.!?。！？;；]*"
)
_LEAD = re.compile(r"[^:：]*(?<!\d)[:：](?!//|\d)")
_CLAUSE = re.compile(r"\s*(?:[,，、:：()（）]|\s[-–—]+\s|(?<=\w)—)\s*")
_WORD = re.compile(r"https?://\S+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|[@#~/.]?\w+(?:[.'’/@:_+#-]+\w+)*[+#%€$£]*|[€$£]")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_EXACT = re.compile(r"\d|[@/_\\:+#%€$£~]|\w\.\w|^\.")
_PASTED_LINES = 6
_PASTED_CHARS = 1_200


@dataclass(frozen=True, slots=True)
class _Token:
    word: str
    exact: bool


@dataclass(frozen=True, slots=True)
class _Span:
    tokens: tuple[_Token, ...]
    cjk: frozenset[str]
    denies: bool
    limits: frozenset[str]


def restates(text: str, messages: Iterable[str]) -> bool:
    """True when each sentence of `text` restates what one of the user's `messages` says in the user's own words."""
    if not text.strip() or len(text) > LONGEST_TEXT:
        return False
    wanted = [_span(sentence) for sentence in _sentences(text)]
    wanted = [span for span in wanted if span.tokens or span.cjk or span.denies]
    if not any(span.tokens or span.cjk for span in wanted):
        return False
    spans = [span for message in messages for span in _spans(message)]
    return all(any(_covers(said, span) for said in spans) for span in wanted)


def own_words(message: str) -> str:
    """What of a message the user says themselves: without quotes, code, pasted text, and what it asks about a text."""
    return " ".join(_own_sentences(message))


def mentions(text: str, messages: Iterable[str]) -> bool:
    """True when one of the user's messages names at least half of the words of `text`, whatever it says of them."""
    wanted = _span(text)
    need = len(wanted.tokens) + len(wanted.cjk)
    if not need:
        return False
    for message in messages:
        said = _span(without_quotes(message))
        found = sum(any(_same(token, other) for other in said.tokens) for token in wanted.tokens)
        if 2 * (found + len(wanted.cjk & said.cjk)) >= need:
            return True
    return False


def without_quotes(message: str) -> str:
    """The message without what it quotes or pastes, which is somebody else's text."""
    text = unicodedata.normalize("NFC", message[:LONGEST])
    for pattern in (_FENCE, _TAGGED, _QUOTED_LINE, _QUOTES):
        text = pattern.sub(" … ", text)
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > _PASTED_LINES or len(message) > _PASTED_CHARS:  # a dump: what stands round it may be the user's
        paragraphs = [part for part in re.split(r"\n\s*\n", text) if part.strip()]
        kept = [part for part in (paragraphs[0], paragraphs[-1]) if len(part) <= 300 and part.count("\n") < 3]
        text = "\n".join(dict.fromkeys(kept)) if len(paragraphs) > 1 else ""
    return text


def _own_sentences(message: str) -> Iterator[str]:
    words = _words()
    for sentence in _sentences(without_quotes(message)):
        folded = _fold(sentence)
        lead = _LEAD.match(sentence)
        if lead is not None and any(_tokens(lead.group())):
            if not sentence[lead.end() :].strip():
                return  # what follows is what was announced: a list, a text, somebody's words
            continue
        doubtful = "…" in sentence or words["about"].search(folded) or words["reported"].search(folded)
        if not doubtful and not _is_question(sentence, folded):
            yield sentence.strip()


def _is_question(sentence: str, folded: str) -> bool:
    return sentence.rstrip().endswith(("?", "？", "؟")) or _words()["question"].search(folded) is not None


@functools.lru_cache(maxsize=256)
def _spans(message: str) -> tuple[_Span, ...]:
    found: list[_Span] = []
    for sentence in _own_sentences(message):
        clauses = [clause for clause in _CLAUSE.split(sentence) if clause.strip()]
        for size in range(1, min(MOST_CLAUSES, len(clauses)) + 1):
            found += [_span(", ".join(clauses[at : at + size])) for at in range(len(clauses) - size + 1)]
    return tuple(found)


def _sentences(text: str) -> list[str]:
    return [found.group() for found in _SENTENCE.finditer(text) if found.group().strip()]


def _span(text: str) -> _Span:
    words = _words()
    folded = _fold(text)
    denies = words["deny"].search(folded) is not None
    limits = frozenset(found.lastgroup or "" for found in words["limit"].finditer(folded))
    spaced = _CJK.sub(" ", text)
    tokens = tuple(_tokens(spaced))
    return _Span(tokens, _grams(text), denies, limits)


def _tokens(text: str) -> Iterator[_Token]:
    known_words = [_words()[name] for name in ("frame", "deny", "limit")]  # the latter two are compared as kinds
    for at, found in enumerate(_WORD.finditer(text)):
        word = unicodedata.normalize("NFC", found.group())
        folded = _fold(word)
        name = bool(_EXACT.search(word)) or (len(word) > 1 and any(c.isupper() for c in word[1:]))
        if not name and any(known.fullmatch(folded) for known in known_words):
            continue
        yield _Token(folded, name or (at > 0 and word[:1].isupper()))


def _grams(text: str) -> frozenset[str]:
    """Pairs of neighbouring characters of scripts without spaces, less what only frames a statement."""
    runs = re.findall(f"{_CJK.pattern}+", _words()["cjk_frame"].sub(" ", unicodedata.normalize("NFKC", text)))
    return frozenset(run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1)))


def _covers(said: _Span, wanted: _Span) -> bool:
    if said.denies != wanted.denies or said.limits != wanted.limits:
        return False
    if wanted.cjk and len(wanted.cjk & said.cjk) < 0.8 * len(wanted.cjk):
        return False
    return all(any(_same(token, other) for other in said.tokens) for token in wanted.tokens)


def _same(one: _Token, other: _Token) -> bool:
    if one.word == other.word:
        return True
    short, long = sorted((one.word, other.word), key=len)
    if _EXACT.search(long):
        return False
    if one.exact:  # a name: only its ending may differ
        return len(short) >= 3 and long.startswith(short) and long[len(short) :] in _ENDINGS
    common = next((at for at, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    return common >= max(3, len(long) - 3) and (common >= 4 or long[common:] in _ENDINGS)


_ENDINGS = frozenset({"s", "es", "n", "en", "e", "er", "t", "’s", "'s", "а", "у", "е", "ом", "ы", "и"})


def _fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text.replace("’", "'")).casefold().split())


@functools.cache
def _words() -> dict[str, re.Pattern[str]]:
    """The lists of the data file: each section one pattern."""
    sections: dict[str, list[str]] = {}
    current = ""
    for line in _DATA.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            current = line.strip("[]")
        elif line.strip() and not line.startswith("#"):
            sections.setdefault(current, []).append(line)
    made: dict[str, re.Pattern[str]] = {}
    for name, lines in sections.items():
        if name == "limit":
            kinds = (line.partition(": ") for line in lines)
            made[name] = re.compile("|".join(f"(?P<{kind}>{_either(words)})" for kind, _, words in kinds))
        elif name == "frame":
            made[name] = re.compile("|".join(lines).replace(" ", "|"))
        elif name == "cjk_frame":
            made[name] = re.compile("|".join(lines).replace(" ", ""))
        else:
            made[name] = re.compile("|".join(_either(line) for line in lines))
    return made


def _either(words: str) -> str:
    """Words of scripts with spaces stand alone, others anywhere; `…` is a gap of at most 60 characters."""
    parts = [part.strip() for part in words.split(" | ")]
    parts = [part.replace(" … ", r"\W.{0,60}?(?<!\w)").replace("…", ".{0,60}?").replace("~", r"\w*") for part in parts]
    return "|".join(part if _CJK.search(part) else rf"(?<!\w)(?:{part})(?!\w)" for part in parts)
