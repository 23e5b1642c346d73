"""Does a text restate what the user said in their own words? Word by word, in every language.

Idea: what a message quotes, pastes, asks about or asks to be read is no statement of the user. A sentence of the text
restates one of the rest when it is that sentence: the same words in the same order, less a polite formula at an edge,
and told in the third person as far as a table knows the forms. Invariant: no word is dropped from the middle, added,
moved or exchanged for a similar one, so that no negation, limit, name or role is lost in any language.

What it does not know fails: a restatement in other words, or of a part, is left to the clean-room review.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

LONGEST = 4_000
"""Characters of a message that are looked at; the rest of a longer one was pasted."""
LONGEST_TEXT = 2_000
"""Characters of a text that can be a restatement."""

_DATA = Path(__file__).parent / "data" / "restate.txt"
_FENCE = re.compile(r"(?s)(```|~~~).*?(?:\1|\Z)")
_QUOTED_LINE = re.compile(r"(?m)^[ \t]*(?:>|\|).*$")
_RULE_LINE = re.compile(r"(?ms)^[ \t]*(?:-{3,}|_{3,}|={3,}).*")
_QUOTES = re.compile(
    r"(?s)\"[^\"]{0,2000}(?:\"|\Z)|“[^”]{0,2000}(?:”|\Z)|„[^“”]{0,2000}(?:[“”]|\Z)|«[^»]{0,2000}(?:»|\Z)"
    r"|「[^」]{0,2000}(?:」|\Z)|『[^』]{0,2000}(?:』|\Z)|《[^》]{0,2000}(?:》|\Z)|‘[^’]{12,2000}’(?!\w)"
    r"|(?<!\w)'[^'\n]{12,2000}'(?!\w)|(?<!\w)`[^`\n]{0,2000}`"
)
_TAGGED = re.compile(r"(?s)<(\w[\w-]{0,40})\b[^>]{0,200}>.*?(?:</\1>|\Z)")
_ANNOUNCED = re.compile(r"[:：][ \t]*\n")
_END = re.compile(r"[.!?]+(?=[\s…]|\Z)|[。！？]+")
_ELLIPSIS = re.compile(r"\.{2,}(?=\s|\Z)")
_COLON = re.compile(r"(?<!\d)[:：](?!//|\d)")
_BULLET = re.compile(r"\s*(?:[-*•+·–—]|\d+[.)]|\w[.)])\s")
_BLOCK = "……\n"  # where quoted lines stood: unlike a quote within a line, it is no part of the sentence behind it
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_OPENING = "([{\"'«“‘„¿¡"
_CLOSING = ".,;:!?)]}\"'»”’“…。、"
_DASHES = frozenset("-–—")
_FORMULAS = 4  # that are taken off an edge one after the other: "ok, please remember that from now on"
_PASTED_LINES = 6
_PASTED_CHARS = 1_200

_Words = tuple[str, ...]
_Table = dict[str, list[tuple[_Words, _Words]]]  # by the first word of the left side


def restates(text: str, messages: Iterable[str]) -> bool:
    """True when each sentence of `text` is a sentence that one of the user's `messages` says in their own words."""
    if not text.strip() or len(text) > LONGEST_TEXT:
        return False
    wanted = [words for sentence in _sentences(text) if (words := _words(sentence))]
    if not wanted:
        return False
    said = [words for message in messages for words in _said(message)]
    known = set(said)
    return all(words in known or any(_tells(one, words) for one in said) for words in wanted)


def own_words(message: str) -> str:
    """What of a message the user says themselves: without quotes, code, pasted text, and what it asks about a text."""
    return " ".join(_own_sentences(message))


def without_quotes(message: str, *, inline: bool = False) -> str:
    """The message without what it quotes or pastes, which is somebody else's text. `inline` keeps quotes in a line."""
    text = unicodedata.normalize("NFC", message[:LONGEST]) + (" …" if len(message) > LONGEST else "")
    patterns = ((_FENCE, " … "), (_TAGGED, " … "), (_QUOTED_LINE, _BLOCK), (_QUOTES, " … "))
    for pattern, mark in patterns[:-1] if inline else patterns:
        text = pattern.sub(mark, text)
    for pattern in (_pattern("mail"), _RULE_LINE):  # from there on it was pasted
        text = pattern.sub(_BLOCK, text)
    for found in _ANNOUNCED.finditer(text):
        if not _is_formula(text[: found.start() + 1].rpartition("\n")[2]):
            text = text[: found.start() + 1]
            break
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > _PASTED_LINES or len(message) > _PASTED_CHARS:  # a dump: what stands round it may be the user's
        paragraphs = [part for part in re.split(r"\n\s*\n", text) if part.strip()]
        kept = [part for part in (paragraphs[0], paragraphs[-1]) if len(part) <= 300 and part.count("\n") < 3]
        text = "\n".join(dict.fromkeys(kept)) if len(paragraphs) > 1 else ""
    return text


def _own_sentences(message: str) -> Iterator[str]:
    for whole in _sentences(_ELLIPSIS.sub("…", without_quotes(message))):
        sentence = whole.strip()
        while sentence.startswith(_BLOCK):
            sentence = sentence.removeprefix(_BLOCK).strip()
        folded = _fold(sentence)
        colon = _COLON.search(sentence)
        if colon is not None and not _is_formula(sentence[: colon.end()]):
            return  # what follows is what was announced: a list, a text, somebody's words
        foreign = _pattern("about").search(folded) or _pattern("reported").search(folded)
        if sentence and not ("…" in sentence or foreign or _BULLET.match(sentence) or _is_question(sentence, folded)):
            yield sentence


def _is_question(sentence: str, folded: str) -> bool:
    return sentence.endswith(("?", "？", "؟")) or _pattern("question").search(folded) is not None


def _sentences(text: str) -> Iterator[str]:
    """A line's end ends no sentence, nor does a dot after an abbreviation or a number, or before a small letter."""
    at = 0
    for end in _END.finditer(text):
        before = text[at : end.start()].rsplit(maxsplit=1)
        last, after = before[-1].strip(_OPENING) if before else "", text[end.end() :][:40].lstrip()[:1]
        short = (
            (len(last) == 1 and last.isalpha())
            or "." in last
            or last.isdigit()
            or _pattern("abbreviation").fullmatch(last.casefold())
        )
        if end.group() == "." and (after.islower() or (after and short and not _CJK.search(last))):
            continue
        yield text[at : end.end()]
        at = end.end()
    yield text[at:]


@functools.lru_cache(maxsize=256)
def _said(message: str) -> frozenset[_Words]:
    """The words of the user's sentences, with and without the formulas at their edges."""
    return frozenset(words for one in _own_sentences(message) for part in _parts(_fold(one)) if (words := _words(part)))


def _parts(folded: str) -> Iterator[str]:
    for _ in range(_FORMULAS + 1):
        rest = folded
        for _ in range(_FORMULAS + 1):
            yield rest
            tail = _pattern("tail").search(rest)
            if tail is None:
                break
            rest = rest[: tail.start()]
        lead = _pattern("lead").match(folded)
        if lead is None:
            return
        folded = folded[lead.end() :]


def _is_formula(text: str) -> bool:
    *_, bare = _parts(_fold(text))
    return not _words(bare)


def _words(text: str) -> _Words:
    """Folded words without the punctuation round them; each character of a script without spaces is one."""
    parts = (part.lstrip(_OPENING).rstrip(_CLOSING) for part in _CJK.sub(r" \g<0> ", _fold(text)).split())
    return tuple(part for part in parts if part and part not in _DASHES)


def _tells(said: _Words, wanted: _Words) -> bool:
    """True when `wanted` is what was said, told of the user in the third person."""
    return any(_follows(said, wanted, table) for table in _persons())


def _follows(said: _Words, wanted: _Words, table: _Table) -> bool:
    ends = {0: {0}}  # how far of `wanted` is told, by how far of `said`
    for at, word in enumerate(said):
        for done in ends.pop(at, set()):
            for left, right in [((word,), (word,)), *table.get(word, [])]:
                if said[at : at + len(left)] == left and wanted[done : done + len(right)] == right:
                    ends.setdefault(at + len(left), set()).add(done + len(right))
        if not ends:
            return False
    return len(wanted) in ends.get(len(said), set())


def _fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text.replace("’", "'")).casefold().split())


@functools.cache
def _persons() -> tuple[_Table, ...]:
    """By language: `i = the user`, and of `i: prefer prefers` both `prefer = prefers` and `i prefer = prefers`."""
    tables: list[_Table] = []
    for name, lines in _sections().items():
        if not name.startswith("person "):
            continue
        table: _Table = {}
        tables.append(table)
        pairs: list[tuple[str, str]] = []
        for line in lines:
            left, equals, right = line.partition(" = ")
            if equals:
                pairs += [(left, one) for one in right.split(" | ")]
                continue
            subject, _, forms = line.partition(": ")
            for first, third in (form.split("/") for form in forms.split(", ")):
                pairs += [(first, third), (f"{subject} {first}", third)]
        for left, right in pairs:
            key = _words(left)
            table.setdefault(key[0], []).append((key, _words(right)))
    return tuple(tables)


@functools.cache
def _sections() -> dict[str, list[str]]:
    sections: dict[str, list[str]] = {}
    current = ""
    for line in _DATA.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            current = line.strip("[]")
        elif line.strip() and not line.startswith("#"):
            sections.setdefault(current, []).append(line)
    return sections


@functools.cache
def _pattern(name: str) -> re.Pattern[str]:
    """A section of the data file as one pattern."""
    lines = _sections()[name]
    if name == "mail":
        return re.compile(rf"(?ims)^[ \t*_]*(?:{'|'.join(lines).replace(' | ', '|')})[ \t*_]*[:：].*")
    if name == "abbreviation":
        return re.compile("|".join(re.escape(one) for one in " ".join(lines).split()))
    if name in ("lead", "tail"):
        formulas = sorted((one for line in lines for one in line.split(" | ")), key=len, reverse=True)
        either = "|".join(_formula(one) for one in formulas)
        return re.compile(rf"\s*(?:{either})\s*" if name == "lead" else rf"[\s,、]*(?<!\w)(?:{either})[\s.!。]*$")
    return re.compile("|".join(_either(line) for line in lines))


def _formula(text: str) -> str:
    """One that ends with a comma must be followed by one, one that ends with a colon by either."""
    bare = text.rstrip(",:")
    edge = "" if _CJK.search(bare) else r"(?![\w'/-])"
    after = {",": "[,、]", ":": "[:,、]"}.get(text[-1], "[:,、!]?")
    return re.escape(bare) + edge + after


def _either(words: str) -> str:
    """Words of scripts with spaces stand alone, others anywhere; `…` is a gap of at most 60 characters."""
    parts = [part.strip() for part in words.split(" | ")]
    parts = [part.replace(" … ", r"\W.{0,60}?(?<!\w)").replace("…", ".{0,60}?").replace("~", r"\w*") for part in parts]
    return "|".join(part if _CJK.search(part) else rf"(?<!\w)(?:{part})(?!\w)" for part in parts)
