"""Characters that hide something (first version, grows at once).

Idea: a character is judged by its neighbours. Invariant: linear time.
"""

from __future__ import annotations

import re

from vademecum.gate.candidate import Finding

_NOT_PLAIN = re.compile(r"[^\t\n\r\x20-\x7e]")
_ALWAYS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u2060-\u2064\u202a-\u202e\U000e0000-\U000e0fff]")


def is_plain(text: str) -> bool:
    """True for printable ASCII with tabs and line ends."""
    return _NOT_PLAIN.search(text) is None


def find_hidden(text: str) -> tuple[Finding, ...]:
    """What hides something in `text`."""
    found = _ALWAYS.search(text)
    if found is None:
        return ()
    code = f"<U+{ord(found.group()):04X}>"
    return (Finding("hidden-character", f"The text holds the hidden character {code}.", found.start()),)


def visible(text: str) -> str:
    """`text` with its hidden characters as <U+XXXX>."""
    return _ALWAYS.sub(lambda m: f"<U+{ord(m.group()):04X}>", text)
