"""Text made inert for a prompt block (first version, grows at once).

Idea: one backslash before what would become structure. Invariant: idempotent.
"""

from __future__ import annotations

import re

_LINE = re.compile(r"^([ \t>]*)(?=#{1,6}(?:[ \t]|$)|```|~~~|---|═══|§[ \t]*$)", re.MULTILINE)


def neutralise(text: str) -> str:
    """`text` with nothing in it that a Markdown reader takes for structure; ordinary text is unchanged."""
    return _LINE.sub(r"\1\\", text)
