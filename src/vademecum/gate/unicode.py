"""Characters that hide something: invisible ones, reordering ones, and ones that are no characters.

Idea: a character is judged by its neighbours, for most of them are legitimate somewhere: joiners in emoji and in
Persian or Indic words, selectors after emoji and ideographs, marks in right-to-left lines. What a table permits passes,
the rest is found. Invariant: time is linear in the text, whatever it holds; nothing is ever changed.

Not found on purpose: spaces of every width, letters drawn in bold or full width, unassigned code points (next year's
emoji), and up to three private-use characters in a row (icon fonts): all of these are seen.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from vademecum.gate.candidate import Finding
from vademecum.gate.lookalikes import disguised, mixes_alphabets
from vademecum.late import pattern

_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_IDEOGRAPH = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
# scripts whose letters join or stack, so that a joiner changes how they are drawn: Arabic, Syriac, N'Ko, the scripts
# of India, Sinhala, Myanmar, Khmer, Mongolian, Phags-pa, Javanese, Manichaean, Brahmi and its kin, Adlam
_JOINING = (
    "\u0620-\u065f\u066e-\u06ef\u06fa-\u07ff\u0840-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17b3\u17b6-\u17ff"
    "\u1820-\u18aa\ua840-\ua87f\ua8e0-\ua8ff\ua980-\ua9df\ufb50-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc"
    "\U00010ac0-\U00010aff\U00011000-\U000114df\U0001e900-\U0001e95f"
)
# scripts written without spaces, where a zero-width space says where a line may break
_UNSPACED = "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17b3\u17b6-\u17ff\u1b00-\u1b7f\ua980-\ua9df"
_RTL = (
    "\u05be-\u05f4\u061e-\u065f\u066a-\u06ef\u06fa-\u08ff\ufb1d-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc"
    "\U00010800-\U00010fff\U0001e800-\U0001eeff"
)
_STACKED = "\u0300-\u034e\u0350-\u036f\u0591-\u05c7"  # marks between which a grapheme joiner keeps the order
_MONGOLIAN = "\u1820-\u18aa"
_FLAGS = ("gbeng", "gbsct", "gbwls", "ustx")  # the flags made of tags that anybody draws
_FLAG = "|".join("".join(chr(0xE0000 + ord(c)) for c in flag) for flag in _FLAGS)
_NEVER = (
    "\u17b4\u17b5\u2060-\u2065\u206a-\u206f\u3164\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d159"
    "\U0001d173-\U0001d17a\U000e0080-\U000e00ff\U000e01f0-\U000e0fff"
)
_NO_CHARACTER = "\ufdd0-\ufdef" + "".join(f"{chr(p << 16 | 0xFFFE)}{chr(p << 16 | 0xFFFF)}" for p in range(17))


class _Rule(NamedTuple):
    name: str
    suspect: str  # the characters to look at, as the inside of a character class
    seen: str  # for people: what is wrong with them
    allowed: str = ""  # matched at the suspect: where it is legitimate; "" is nowhere
    stretch: str = ""  # what is judged as one when it is more than one character


_BRAILLE, _PRIVATE = r"\u2800-\u28ff", r"\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"
_TAGS = r"\U000e0000-\U000e007f"
_UNSEEN, _COMMAND = "cannot be seen", "is a control character"
_RULES = (
    _Rule("control", r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029", _COMMAND, r"\r(?=\n)"),
    _Rule("soft-hyphen", r"\xad", _UNSEEN, r"(?<=[^\W\d_]{2})\xad(?=[^\W\d_]{2})"),
    _Rule("grapheme-joiner", r"\u034f", _UNSEEN, rf"(?<=[{_STACKED}])\u034f(?=[{_STACKED}])"),
    _Rule(
        "zero-width-space",
        r"\u200b",
        _UNSEEN,
        rf"(?<!\u200b)\u200b(?=[{_UNSPACED}])|(?<=[{_UNSPACED}])\u200b(?!\u200b)",
    ),
    _Rule(  # careless typing doubles it in Persian and Malayalam; three in a row carry something
        "joiner",
        r"\u200c\u200d",
        _UNSEEN,
        rf"(?:(?<=[{_EMOJI}])|(?<=[{_EMOJI}]\ufe0f))\u200d(?=[{_EMOJI}])"
        rf"|(?<=[{_JOINING}])[\u200c\u200d]{{1,2}}(?![\u200c\u200d])|[\u200c\u200d]{{1,2}}(?=[{_JOINING}])",
        r"[\u200c\u200d]+",
    ),
    _Rule("direction", r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069", "changes the order in which text is shown"),
    _Rule("filler", r"\u115f\u1160", _UNSEEN, r"\u115f(?=[\u1161-\u11a7])|(?<=[\u1100-\u115e\ua960-\ua97c])\u1160"),
    _Rule(
        "blank-braille",
        _BRAILLE,
        "looks like a space",
        r"[\u2800\n]*[\u2801-\u28ff]",
        rf"[{_BRAILLE}]+(?:\n[{_BRAILLE}]+)*",
    ),
    _Rule(
        "mongolian-selector",
        r"\u180b-\u180f",
        _UNSEEN,
        rf"(?<=[{_MONGOLIAN}])[\u180b-\u180d\u180f]"
        rf"|(?:(?<=[{_MONGOLIAN}])|(?<=[{_MONGOLIAN}][\u180b-\u180d\u180f]))\u180e(?=[{_MONGOLIAN}])",
    ),
    _Rule(
        "variation-selector",
        r"\ufe00-\ufe0f\U000e0100-\U000e01ef",
        _UNSEEN,
        rf"(?<=[{_EMOJI}])[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0f(?=\u20e3)"
        rf"|(?<=[{_IDEOGRAPH}\u3001\u3002\uff01-\uff1f\u1000-\u109f\ua840-\ua877])[\ufe00-\ufe02]"
        rf"|(?<=[0\u2200-\u22ff\u2a00-\u2aff])\ufe00|(?<=[{_IDEOGRAPH}])[\U000e0100-\U000e012f]",
    ),
    _Rule(
        "tag",
        rf"\U0001f3f4{_TAGS}",
        _UNSEEN,
        rf"\U0001f3f4(?:{_FLAG})\U000e007f(?![{_TAGS}])",
        rf"\U0001f3f4?[{_TAGS}]+",
    ),
    _Rule("byte-order-mark", r"\ufeff", _UNSEEN),
    _Rule(
        "egyptian-control",
        r"\U00013430-\U0001343f",
        _COMMAND,
        r"(?<=[\U00013000-\U0001342f\U00013440-\U00013455])[\U00013430-\U0001343f]{1,2}(?![\U00013430-\U0001343f])",
        r"[\U00013430-\U0001343f]+",
    ),
    _Rule("invisible", _NEVER, _UNSEEN),
    _Rule("no-character", _NO_CHARACTER, "is no character"),
    _Rule("not-utf-8", r"\ud800-\udfff", "stands for a byte that is not UTF-8"),
    _Rule("private-use", _PRIVATE, "means something only in private", "", f"[{_PRIVATE}]{{4,}}"),
)
_ASCII_CONTROL = pattern(r"[\x00-\x08\x0b-\x1f\x7f]")


# compiled when a text first needs them: together they cost 15 ms, and most entries are ASCII
@functools.cache
def _any() -> re.Pattern[str]:
    """One character that some rule suspects; much faster to search for than each rule."""
    return re.compile("[" + "".join(rule.suspect for rule in _RULES) + "]")


@functools.cache
def _stretch() -> re.Pattern[str]:
    """What is judged as one, in the group `r` with the number of its rule."""
    return re.compile("|".join(f"(?P<r{n}>{rule.stretch or f'[{rule.suspect}]'})" for n, rule in enumerate(_RULES)))


@functools.cache
def _allowed(number: int) -> re.Pattern[str] | None:
    """Where the suspects of a rule are legitimate."""
    return re.compile(_RULES[number].allowed) if _RULES[number].allowed else None


@functools.cache
def _direction() -> re.Pattern[str]:
    """What matters to the direction of a line."""
    return re.compile(rf"(?P<end>\n)|(?P<rtl>[{_RTL}])|(?P<control>[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069])")


def is_plain(text: str) -> bool:
    """True when `text` holds nothing that any rule of this room would look at."""
    if text.isascii():
        return _ASCII_CONTROL.search(text) is None
    return _any().search(text) is None and not mixes_alphabets(text)


def find_hidden(text: str) -> tuple[Finding, ...]:
    """What hides something in `text`: one finding a rule, at its first place, with how often it occurs."""
    first: dict[int, tuple[int, int]] = {}
    for start, end, rule in _hidden(text):
        count, at = first.get(rule, (0, start))
        first[rule] = (count + end - start, at)
    return tuple(
        Finding(_RULES[rule].name, _sentence(text, at, count, _RULES[rule].seen), at)
        for rule, (count, at) in sorted(first.items(), key=lambda found: found[1][1])
    )


def visible(text: str) -> str:
    """`text` with everything that `find_hidden` finds, and the letters of disguised words, shown as <U+XXXX>."""
    places = [at for start, end, _ in _hidden(text) for at in range(start, end)]
    places += [at for _, letters in disguised(text) for at in letters]
    if not places:
        return text
    shown = list(text)
    for at in places:
        shown[at] = f"<U+{ord(text[at]):04X}>"
    return "".join(shown)


def _hidden(text: str) -> Iterator[tuple[int, int, int]]:
    """Each hidden stretch as its start, its end and the number of its rule."""
    special: dict[str, set[int]] = {}
    end = 0
    while suspect := _any().search(text, end):
        start, end = suspect.span()
        stretch = _stretch().match(text, start)
        if stretch is None:  # a black flag with no tags, a private character or two
            continue
        end, number = stretch.end(), int((stretch.lastgroup or "r0")[1:])
        name, allowed = _RULES[number].name, _allowed(number)
        if name in ("direction", "byte-order-mark"):
            if name not in special:  # these need the line or the whole text; it is read once
                special[name] = _directions(text) if name == "direction" else _byte_order_marks(text)
            if start in special[name]:
                continue
        elif allowed is not None and allowed.match(text, start):
            continue
        yield start + (name == "tag" and text[start] == "\U0001f3f4"), end, number


def _byte_order_marks(text: str) -> set[int]:
    """Where U+FEFF is what a file left behind: at the start, and once where pasted text starts after white space."""
    kept = {0}
    if text.count("\ufeff", 1) == 1:
        at = text.index("\ufeff", 1)
        if text[at - 1].isspace() and at + 1 < len(text) and not text[at + 1].isspace():
            kept.add(at)
    return kept


def _directions(text: str) -> set[int]:
    """Where direction controls are legitimate: marks in a line with right-to-left letters, embeddings and isolates
    that are closed in their line and, when they turn text to the left, hold such letters. Overrides never are.
    """
    kept: set[int] = set()
    marks: list[int] = []
    pairs: list[int] = []
    open_: list[int] = []
    last_rtl = line_start = -1
    for found in _direction().finditer(text + "\n"):
        at, character = found.start(), found.group()
        if found.lastgroup == "rtl":
            last_rtl = at
        elif found.lastgroup == "end":
            if last_rtl > line_start:
                kept.update(marks, pairs)
            marks, pairs, open_, line_start = [], [], [], at
        elif character in "\u061c\u200e\u200f":
            if not _splits_word(text, at):
                marks.append(at)
        elif character not in "\u202c\u2069":
            open_.append(at)
        elif open_:
            opened = open_.pop()
            if _closes(text[opened], character) and (text[opened] not in "\u202b\u2067" or last_rtl > opened):
                pairs += [opened, at] if at > opened + 1 else []
    return kept


def _closes(opening: str, closing: str) -> bool:
    return opening in ("\u202a\u202b" if closing == "\u202c" else "\u2066\u2067\u2068")


def _splits_word(text: str, at: int) -> bool:
    """True between two letters that run left to right, and next to another mark: no reader needs it there."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if before in ("\u061c", "\u200e", "\u200f"):
        return True
    return all(c.isalpha() and unicodedata.bidirectional(c) == "L" for c in (before, after))


def _sentence(text: str, at: int, count: int, what: str) -> str:
    name = unicodedata.name(text[at], "") or "no name"
    times = "" if count == 1 else f" ({count} characters of this kind)"
    before = text[max(0, at - 12) : at].rpartition("\n")[2]
    where = f"after “{before}”" if before and before.isprintable() else f"at character {at + 1}"
    return f"U+{ord(text[at]):04X} ({name}) {where} {what}{times}."
