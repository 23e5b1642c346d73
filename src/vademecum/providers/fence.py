"""Taking recalled text out of what leaves: the fence round it, and all that stands inside.

Idea: a model may repeat the block that was put beside the user's words; what is shown, kept and synced goes through
here first. Invariant: the pieces of a stream, joined, are what the whole text gives, wherever it was cut; what is no
fence comes out as it came in; an opening line without its end takes away only itself.
"""

from __future__ import annotations

import re
from typing import Any, cast

_WORD = "recalled-(?:[0-9a-f]{32}|[0-9a-f]{8})"
_OPEN = re.compile(rf'<({_WORD}) from="[^"<>\n]{{0,200}}">\n?')
_CLOSE = re.compile(rf"</{_WORD}>\n?")
_BEGINS = ("<recalled-", "</recalled-")
LONGEST = 300
"""Characters that a tag can have; what is longer is no fence."""


def without_fences(text: str) -> str:
    """`text` without recalled blocks and without lone lines of a fence."""
    if "recalled-" not in text:
        return text
    kept: list[str] = []
    at = 0
    while (opening := _OPEN.search(text, at)) is not None:
        kept.append(_CLOSE.sub("", text[at : opening.start()]))
        close = f"</{opening[1]}>"
        end = text.find(close, opening.end())
        at = opening.end() if end < 0 else end + len(close)
        if end >= 0 and text.startswith("\n", at):
            at += 1
    kept.append(_CLOSE.sub("", text[at:]))
    return "".join(kept)


def all_without_fences(value: Any) -> Any:
    """The same for every text of a JSON value."""
    if isinstance(value, str):
        return without_fences(value)
    if isinstance(value, dict):
        return {key: all_without_fences(one) for key, one in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list):
        return [all_without_fences(one) for one in cast("list[Any]", value)]
    return value


class Stream:
    """The same for a text that arrives in pieces: `feed` gives what may be shown by now, `end` the rest."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """What of the text so far is certain not to belong to a fence, beyond what was given before."""
        self._held += piece
        shown: list[str] = []
        while (at := self._held.find("<")) >= 0:
            shown.append(self._held[:at])
            self._held = self._held[at:]
            taken = self._tag()
            if taken is None:  # more has to come before it can be told
                return "".join(shown)
            shown.append(taken)
        shown.append(self._held)
        self._held = ""
        return "".join(shown)

    def end(self) -> str:
        """The rest of the text; of a block that was never closed, what stood in it."""
        rest, self._held = without_fences(self._held), ""
        return rest

    def _tag(self) -> str | None:
        """What of the held text, which begins with `<`, may be shown; None: wait. Takes it off what is held."""
        held = self._held
        if not any(held.startswith(begin) or begin.startswith(held) for begin in _BEGINS):
            return self._take(1)
        if (opening := _OPEN.match(held)) is not None:
            close = f"</{opening[1]}>"
            end = held.find(close, opening.end())
            if end < 0 or end + len(close) == len(held):  # a line break may follow that belongs to it
                return None
            at = end + len(close)
            self._held = held[at + 1 :] if held[at] == "\n" else held[at:]
            return ""
        if (closing := _CLOSE.match(held)) is not None:
            if closing.end() == len(held) and not closing[0].endswith("\n"):
                return None
            self._held = held[closing.end() :]
            return ""
        if len(held) < LONGEST and ">" not in held and "<" not in held[1:]:
            return None
        return self._take(1)

    def _take(self, count: int) -> str:
        taken, self._held = self._held[:count], self._held[count:]
        return taken
