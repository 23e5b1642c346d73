"""When two proposals say the same, and when two come from the same place.

Idea: a key is the hash of what is left of a text without case, punctuation, white space and Unicode's choice of forms;
a source is the tool and host, the connector or the agent behind an origin. Invariant: equal texts have equal keys, and
the key does not give the text away.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from urllib.parse import urlsplit

from vademecum.gate.candidate import Candidate
from vademecum.model import Origin

_OURS = frozenset({"person", "user", "assistant"})
_IN_NUMBER = re.compile(r"(?<=\d)[.,:/](?=\d)")
"""Punctuation that makes another number: `1.5`, `10:30`."""
_SIGN = re.compile(r"(?<!\w)-(?=\d)")
_UNSEEN = re.compile("[\u034f\u115f\u1160\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_HOST_CHARACTERS = 100


def said(text: str) -> str:
    """`text` without what a paraphrase may change: case, punctuation, white space, Unicode form. Idempotent."""
    folded = unicodedata.normalize("NFKC", text)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", folded.casefold()).casefold())
    folded = _SIGN.sub("\u2212", _UNSEEN.sub("", folded))  # a minus is no punctuation
    kept = {found.start() for found in _IN_NUMBER.finditer(folded)}
    left = "".join(
        character
        for at, character in enumerate(folded)
        if at in kept or (unicodedata.category(character)[0] not in "PZC" and unicodedata.category(character) != "Sk")
    )
    left = left or "".join(folded.split())  # a text of nothing but punctuation is itself
    return unicodedata.normalize("NFKC", left)  # marks meet letters where something stood between them


def key_of(candidate: Candidate) -> str:
    """The hash of what `candidate` says; of a removal, of what it takes away and where."""
    parts = [said(candidate.text)]
    if candidate.action == "remove":
        parts = ["remove", candidate.tier, candidate.target, said(candidate.before)]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def sources_of(origin: Origin) -> tuple[str, ...]:
    """Where a text came from, one word a source: those behind the assistant's or a user's words, else their own."""
    parts = [part for part in origin.parts if part.kind not in _OURS] or list(origin.parts)
    return tuple(dict.fromkeys(str(_source(part)) for part in parts))


def _source(part: Origin) -> Origin:
    host = _host(part.item) if part.kind == "tool" else ""
    return Origin(part.kind, part.name, host)


def _host(item: str) -> str:
    """The host of a URL; nothing for what has none."""
    try:
        host = urlsplit(item).hostname or ""
    except ValueError:  # an address in brackets that is none
        host = item
    return host.lower().removeprefix("www.").rstrip(".")[:_HOST_CHARACTERS]
