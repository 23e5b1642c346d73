"""The form of a text that goes into the full-text index.

Idea: the index splits at everything that is not a letter, a digit or a mark. Where that would lose what people look for
(scripts without spaces, emoji, `C++`, `#123`), the text is rewritten first; most texts need nothing and pay one regex.
Invariant: a query is read with the same functions, so that both sides always agree.
"""

from __future__ import annotations


def well_formed(text: str) -> str:
    """`text` as it can be stored as UTF-8: pairs of surrogates become the character, lone ones U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def prepare(text: str) -> str:
    """`text` as it is put into the index."""
    return text.replace("\0", " ")
