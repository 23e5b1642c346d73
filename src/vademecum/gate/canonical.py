"""The scan copy of a text: what a reader, or a model, would make of it, however it is dressed up.

Idea: one fold that takes away what hides words (compatibility forms, case, accents, invisible characters, look-alike
letters, letters set apart), and one decoding of what is packed in base64, hex or percent escapes. Invariant: the fold
is idempotent and takes time linear in the text; a copy is only ever scanned, never stored or shown.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote

from vademecum.late import pattern

_PASSES = 4  # folding can bring up characters that fold further; more than two passes were never seen to be needed
_CONTROL = pattern(r"[\x00-\x08\x0b-\x1f\x7f]+")
_SPACE_LIKE = "\u115f\u1160\u3164\uffa0\u2800\u00a0"
_LATIN = dict(
    zip(
        "ɪʟɴʀᴀʙᴄᴅᴇɢʜᴊᴋᴍᴏᴘꜱᴛᴜᴠᴡʏᴢıɑɡøłđħɩⅼ",
        "ilnrabcdeghjkmopstuvwyziagoldhil",
        strict=True,
    )
)
_LOOKS = str.maketrans(
    "авсенијкмоортухѕіԁԛԝһѵгпь" + "αβεηικνορσςτυχωγ" + "օսհոցզ" + "ᎠᎡᎢᎥᎪᎫᎬᎳᎷᎻᏀᏃᏚᏞᏟᏢᏦ",
    "abcehujkmoopтyxsidqwhvrnb".replace("т", "t") + "abenikvopostuxwy" + "ouhngq" + "drtiajewmhgzslcpk",
)
_PLAIN = {"Zs": " ", "Zl": "\n", "Zp": "\n", "Pd": "-", "Pi": "'", "Pf": "'"}  # kinds of space, dash and quote
_OTHER_SCRIPT = pattern(r"[\u0370-\u058f\u13a0-\u13ff]")
_WORD = pattern(r"[^\W_]+")
_SET_APART = pattern(r"(?<![^\W_])(?:[^\W_][ .\-_*|/]){2,}[^\W_](?![^\W_])")
_FIGURES = str.maketrans("0134578@$!", "oieastbasi")
_LEET = pattern(r"[0-9][@$!]?[a-z]")  # in ign0r3 and 4ll, not in python3 and v2
_LEET_WORD = pattern(r"[a-z0-9@$!]{2,}")
_WRAPPED = pattern(r"(?<=\w)\n(?=\w)")
_BASE64 = pattern(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_HEX = pattern(r"(?:[0-9A-Fa-f]{2}){10,}")
_PERCENT = pattern(r"(?:%[0-9A-Fa-f]{2}[^\s%]{0,20}){3}")


class _Fold(dict[int, str]):
    """What a character of a scan copy becomes; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if char in _SPACE_LIKE:
            found = " "
        elif 0xE0020 <= code <= 0xE007E:  # tag characters spell ASCII
            found = chr(code - 0xE0000)
        elif 0xE0100 <= code <= 0xE01EF:  # variation selectors can carry bytes
            found = chr(code - 0xE0100 + 16)
        elif char in _LATIN:
            found = _LATIN[char]
        elif (kind := unicodedata.category(char)) in _PLAIN:
            found = _PLAIN[kind]
        elif kind in {"Mn", "Me", "Cf", "Cc", "Co", "Cn"} and char not in "\n\t":
            found = ""
        else:
            found = char
        self[code] = found
        return found


_FOLD = _Fold()


def canonical(text: str) -> str:
    """The fold of `text`: lower case, no accents, nothing invisible, look-alikes as Latin, spaced letters joined."""
    for _ in range(_PASSES):
        folded = _SET_APART.sub(_joined, _folded(text))
        if folded == text or text.isascii():
            return folded
        text = folded
    return text


def scan_copies(text: str) -> tuple[str, ...]:
    """What a scanner reads: the fold of `text`, that with figures read as letters, that without line
    breaks in its sentences, that read backwards when it is written so, and the fold of what it packs."""
    fold = canonical(text)
    copies = [fold]
    if len(_LEET.findall(fold)) > 1:  # one such word is a name
        copies.append(_LEET_WORD.sub(_letters, fold))
    if _WRAPPED.search(fold):
        copies.append(_WRAPPED.sub(" ", fold))
    if "\u202e" in text:
        copies.append(canonical(text[::-1]))
    copies += (canonical(packed) for packed in _unpacked(text))
    return tuple(dict.fromkeys(copies))


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower() if text.isprintable() else _CONTROL.sub("", text.lower())
    plain = unicodedata.normalize("NFKD", text).translate(_FOLD).casefold()
    plain = unicodedata.normalize("NFKD", plain).translate(_FOLD)
    return _WORD.sub(_as_latin, plain) if _OTHER_SCRIPT.search(plain) else plain


def _as_latin(word: re.Match[str]) -> str:
    """A word that mixes scripts, read as its letters look."""
    mixed = any("a" <= char <= "z" for char in word[0]) and _OTHER_SCRIPT.search(word[0])
    return word[0].translate(_LOOKS) if mixed else word[0]


def _joined(run: re.Match[str]) -> str:
    return "".join(char for char in run[0] if char.isalnum())


def _letters(word: re.Match[str]) -> str:
    has_letter = any("a" <= char <= "z" for char in word[0])
    return word[0].translate(_FIGURES) if has_letter else word[0]


def _unpacked(text: str) -> Iterator[str]:
    """What `text` holds in base64, hex and percent escapes, decoded once; only what decodes to readable text."""
    for found in _HEX.finditer(text):
        yield from _readable(bytes.fromhex(found[0]))
    for found in _BASE64.finditer(text):
        packed = found[0].rstrip("=").replace("-", "+").replace("_", "/")
        try:
            yield from _readable(base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True))
        except (binascii.Error, ValueError):
            continue
    if _PERCENT.search(text):
        yield unquote(text)


def _readable(data: bytes) -> Iterator[str]:
    plain = data.decode("utf-8", "replace")
    letters = sum(char.isalpha() or char in " \n" for char in plain)
    if "\ufffd" not in plain and letters * 4 > len(plain) * 3:
        yield plain
