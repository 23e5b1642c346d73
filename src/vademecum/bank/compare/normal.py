"""The form of a statement in which those are equal that differ in case, punctuation, white space and Unicode form only.

Idea: marks round words go, marks inside of them stay: `C#`, `-5`, `50%`, `10:30` and `x != 3` are other words than
`C`, `5`, `50`, `1030` and `x = 3`. Invariant: nothing that could change what is said is lost, so that two texts with
one key may be merged; linear in the text.
"""

from __future__ import annotations

import functools
import hashlib
import re
import unicodedata

_OPENING = "\"'([{«„“‚‹<¿¡「『（【《〈"
_CLOSING = "\"')]}»”“’›>.,;:!?…」』）】》〉。、"
_QUOTES = {ord(mark): "'" for mark in "‘’ʼ′＇`´"} | {ord(mark): '"' for mark in "“”„«»‹›「」『』"}
_DASHES = {ord(mark): "-" for mark in "‐‑‒–—―−﹣－"}
_RAISED = {
    **{ord(mark): f"^{n}" for n, mark in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
    **{ord(mark): f"_{n}" for n, mark in enumerate("₀₁₂₃₄₅₆₇₈₉")},
}
"""NFKC would make 102 of 10²."""
_UNSEEN = dict.fromkeys([0xAD, 0x200B, 0x2060, 0xFEFF, *range(0xFE00, 0xFE10)])
_SEPARATOR = re.compile(r"(?<=\D)[,;](?=\S)|[,;](?=[^\s\d])|[。、；]")
_HYPHEN = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])")
_DASH_BETWEEN = re.compile(r"(?<![\d\s])\s+-{1,3}\s+|\s+-{1,3}\s+(?=\D)|^\s*[-*•]\s+")
_EMPHASIS = re.compile(r"(?<!\S)(\*\*|__|\*|_|''|')(?=\S)(.{1,400}?)(?<=\S)\1(?=[\s.,;:!?)]|$)")
_HAN = "\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff"
_BESIDE_HAN = re.compile(rf"(?<=[{_HAN}])\s+|\s+(?=[{_HAN}])")


@functools.lru_cache(maxsize=4096)
def normal(text: str) -> str:
    """The words of `text`, one space between two, in the form that says when two texts are the same. Idempotent."""
    return _once(_once(text))


def _once(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_RAISED).translate(_QUOTES)).translate(_DASHES)
        text = text.translate(_QUOTES).translate(_UNSEEN)
    else:
        text = text.replace("`", "'")
    text = _EMPHASIS.sub(r"\2", text.lower())
    text = _DASH_BETWEEN.sub(" ", _SEPARATOR.sub(" ", text))
    words = [word for piece in _HYPHEN.sub(" ", text).split() if (word := _bare(piece))]
    joined = " ".join(words)
    return joined if joined.isascii() else unicodedata.normalize("NFC", _BESIDE_HAN.sub("", joined))


def _bare(word: str) -> str:
    """A word without the marks around it; what consists of nothing but such marks says nothing, but for operators."""
    left = word.lstrip(_OPENING) if not word.startswith("<") or word.endswith(">") else word
    bare = left.rstrip(_CLOSING if not left.endswith(">") or word.startswith("<") else _CLOSING.replace(">", ""))
    return bare or ("" if all(mark in _OPENING + _CLOSING for mark in word) and word not in ("<", ">") else word)


def key_of(text: str) -> str:
    """SHA-256 of the normal form: equal for texts that say the same word by word."""
    return hashlib.sha256((normal(text) or text.strip()).encode("utf-8", "surrogatepass")).hexdigest()
