"""Whether an item of a memory is what a person wants forgotten.

Idea: a person names an item by its id or by its words. Invariant: a short text means only the item that says just that;
a longer one also every item that holds it.
"""

from __future__ import annotations

import unicodedata

SHORTEST_PART = 8
"""Characters that a text must have to be looked for inside of others."""


def is_meant(value: str, item: str, text: str) -> bool:
    """Whether `value`, an id or a text, names the item with the id `item` and that `text`."""
    if value.strip() == item:
        return True
    wanted, held = plain(value), plain(text)
    return bool(wanted) and (wanted == held or (len(wanted) >= SHORTEST_PART and wanted in held))


def plain(text: str) -> str:
    """`text` without case, with single spaces, without a full stop at its end: how two texts are the same."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split()).rstrip(".")
