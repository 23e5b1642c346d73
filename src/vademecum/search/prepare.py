"""The form of a text that goes into the full-text index.

Idea: the index splits at everything that is not a letter, a digit or a mark, and stems. Where that would lose what
people look for, the text is rewritten first: scripts without spaces are set apart into characters, emoji become
letters, and words such as `C++`, `#123`, `don't`, `gpt-4` or `getUserName` get more spellings at the end of the text.
Most texts need nothing and pay one regex. Invariant: a query is read with the same functions, so both sides agree;
only the index sees the prepared form, what is stored stays verbatim.
"""

from __future__ import annotations

import re
import unicodedata

from vademecum.late import pattern

LONGEST_WORD = 80
"""Characters of a run without any break that are indexed; base64 and the like would only fill the vocabulary."""

# Characters of scripts that are written without spaces, or (Hangul) whose words are looked for in parts.
SPACELESS = (
    "\u0e00-\u0e7f\u0e80-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff"
    "\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U000323af"
)
_SPACELESS_RUN = pattern(f"[{SPACELESS}]+")
_MARKS = r"[#@$~.]|--"
_SPECIAL = pattern(
    rf"(?<![\w+#@$~.-])(?:{_MARKS})[^\W_][\w'-]*"  # .bashrc  #123  @name  $HOME  --dry-run
    r"|\b[^\W\d_]\w*(?:\+\+|\#(?!\w))"  # C++  g++  C#
    r"|\b\w+(?:['-]\w+)+"  # don't  O'Brien  e-mail  gpt-4
    r"|\b[^\W\d_]+\.(?i:js|net|io|ai)\b"  # node.js
    r"|\b[vV]\d+(?:\.\d+)+\w*"  # v1.2.3
    r"|\b[^\W\d_]{2,}\d+\b"  # python3
    r"|\b\w*[a-z][A-Z]\w*"  # getUserName
)
_MARKED = pattern(rf"(?:{_MARKS})[^\W_]")
_JOINED = pattern(r"-*\w+(?:['-]\w+)+|[^\W\d_]+\.(?i:js|net|io|ai)")
_CAMEL = pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\dA-Za-z_]+")
# Four fast tests for whether any word needs more spellings; most texts pass none.
_SIGN, _HUMP, _NUMBERED, _DOTTED = map(pattern, (r"[-'+#@$~]", r"[a-z][A-Z]", r"[^\W\d_]\d", r"\.\w"))
_RUN = pattern(rf"(\w{{{LONGEST_WORD}}})\w+")
_PUNCTUATION = ',;:!?()[]{}"*<>`|'
_SYMBOL = {code: 0xE000 + code for code in range(0x21, 0x7F) if not chr(code).isalnum()}


def well_formed(text: str) -> str:
    """`text` as it can be stored as UTF-8: pairs of surrogates become the character, lone ones U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def prepare(text: str) -> str:
    """`text` as it is put into the index."""
    folded = fold(text)
    more = extra_spellings(folded)
    if max(map(len, folded.split()), default=0) > LONGEST_WORD:
        folded = _RUN.sub(r"\1", folded)
    return f"{folded}\n{more}" if more else folded


def extra_spellings(folded: str) -> str:
    """The spellings that the index gets besides a folded text, separated by spaces."""
    hump = _HUMP.search(folded)
    if not (hump or _SIGN.search(folded) or _NUMBERED.search(folded) or _DOTTED.search(folded)):
        return ""
    words = folded.split()
    odd = {word for word in words if not word.isalpha()}
    if hump:
        odd.update(word for word in words if len(word) > 1 and not (word.islower() or word.istitle() or word.isupper()))
    more: set[str] = set()
    for word in odd:
        for special in _SPECIAL.findall(word.strip(_PUNCTUATION)):
            more.update(spellings(special))
    return " ".join(sorted(more))


def fold(text: str) -> str:
    """One form for what Unicode can write in several: compatibility forms, invisible characters, emoji, quotes.

    Characters of scripts without spaces are set apart. Case and common diacritics are left to the index.
    """
    if text.isascii():
        return text.replace("\0", " ")
    text = unicodedata.normalize("NFKC", well_formed(text))
    letters = set(text)
    for character in letters - _seen:
        other = _folded(character)
        if other is not None:
            _table[character] = other
        _seen.add(character)  # last, for another thread may be here
    for character in sorted(_table.keys() & letters, key=_is_ours, reverse=True):  # what could be forged goes first
        text = text.replace(character, _table[character])
    if not any(letter >= SPACELESS[0] and letter not in _table for letter in letters):
        return text  # the expression is slow to compile
    return _SPACELESS_RUN.sub(lambda run: f" {' '.join(run[0])} ", text)


def spellings(word: str) -> list[str]:
    """Other forms under which a folded word is looked for: the index gets them, and a query asks for them too."""
    found: list[str] = []
    if is_marked(word):
        found.append(symbol(word))
    if _JOINED.fullmatch(word) and len(word) <= LONGEST_WORD:
        found.append(re.sub(r"\W", "", word))
    if word[0] in "vV" and word[1:2].isdigit():
        found.append(word[1:])
    pieces = _CAMEL.findall(word)
    if len(pieces) > 1 and word.isalnum() and sum(len(piece) > 1 for piece in pieces) >= len(pieces) - 1:
        found.append(" ".join(pieces))
    return found


def is_marked(word: str) -> bool:
    """True for a word whose symbols are part of its name: `C++`, `C#`, `.bashrc`, `#123`, `@name`, `--force`."""
    return word.endswith(("++", "#")) or _MARKED.match(word) is not None


def symbol(word: str) -> str:
    """A marked word as one token of the index: its symbols become letters of the private use area."""
    return word.rstrip("'-").lower().translate(_SYMBOL)


_SIGNS = ((0x1F000, 0x1FAFF, 0xE400), (0x2190, 0x27BF, 0xEF00), (0x2B00, 0x2BFF, 0xF530))
"""Emoji and signs, from and to; and the first of the letters that they become."""
_BASED = ((0x370, 0x4FF), (0x1F00, 0x1FFF))  # Greek, Cyrillic
_OTHERS = {
    "ø": "o",
    "Ø": "O",
    "ł": "l",
    "Ł": "L",
    "đ": "d",
    "Đ": "D",
    "ı": "i",
    "ß": "ss",
    "ẞ": "SS",
    "æ": "ae",
    "Æ": "AE",
    "œ": "oe",
    "Œ": "OE",
    "ð": "d",
    "þ": "th",
    "ς": "σ",
    "\0": " ",
    **dict.fromkeys("’‘ʼ′´＇", "'"),
    **dict.fromkeys("‐‑‒–—−", "-"),
}
_UNSEEN = (
    (0xAD, 0xAD),
    (0x591, 0x5C7),
    (0x640, 0x640),
    (0x64B, 0x652),
    (0x670, 0x670),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x20E3, 0x20E3),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0x1F3FB, 0x1F3FF),
    (0xE0000, 0xE007F),
)


_table: dict[str, str] = {}
"""What `fold` maps single characters to, of those that it has seen: for all of Unicode it takes 5 ms to make."""
_seen: set[str] = set()


def _folded(character: str) -> str | None:
    """What `fold` maps a single character to; None for itself."""
    if "\0" < character < "\x7f":
        return None
    code = ord(character)
    if any(first <= code <= last for first, last in _UNSEEN):
        return ""
    if character in _OTHERS:
        return _OTHERS[character]
    if _is_ours(character):  # a text must not forge a token of ours
        return " "
    for first, last, start in _SIGNS:
        if first <= code <= last:
            return f" {chr(start + code - first)} "
    if any(first <= code <= last for first, last in _BASED) and character not in "йЙ":
        base = unicodedata.normalize("NFD", character)[0]
        return None if base == character else base
    return None


def _is_ours(character: str) -> bool:
    return "\ue000" <= character < "\uf900"
