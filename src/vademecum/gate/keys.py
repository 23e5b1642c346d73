"""When two proposals say the same, and when two come from the same place.

Idea: a key is the hash of what is left of a text without case, punctuation, white space and Unicode's choice of forms;
a source is the tool and the registered part of the host, the connector or the agent behind an origin. Invariant: equal
texts have equal keys, and the key does not give the text away.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from urllib.parse import urlsplit

from vademecum.gate.candidate import Candidate
from vademecum.late import pattern
from vademecum.model import Origin

OURS = frozenset({"person", "user", "assistant"})
_IN_NUMBER = pattern(r"(?<=\d)[.,:/](?=\d)")
"""Punctuation that makes another number: `1.5`, `10:30`."""
_SIGN = pattern(r"(?<!\w)-(?=\d)")
_UNSEEN = pattern("[\u034f\u115f\u1160\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_ADDED = pattern("[\u200d\u20e3\u2600-\u27bf\u2b05-\u2b55\U0001f000-\U0001faff]")
"""Pictures: added to a text, they do not make it another one."""
_MONTH = "jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[zc]"
_MARKER = pattern(rf"^[^\S\n]*(?:\(?\d{{1,3}}(?:\.|\)|\.\))[^\S\n]+(?!{_MONTH})(?=\S))+", re.MULTILINE)
"""The number of an item in a list; `3. May` is a date."""
_HEAD = pattern(r"---\n.{0,4000}?\n---\n+(?=\S)", re.DOTALL)
_SHORT_SUFFIXES = frozenset(
    ("ac", "co", "com", "edu", "gob", "gov", "gouv", "govt", "mil", "net", "nom", "or", "org", "ne", "go", "id", "ltd")
)
"""What stands below a country's top level and belongs to nobody: `co.uk`, `com.au`."""
_HOST_CHARACTERS = 100


def said(text: str) -> str:
    """`text` without what a copy may change: case, punctuation, white space, Unicode form, pictures, the numbers of a
    list. Idempotent."""
    folded = unicodedata.normalize("NFKC", text)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", folded.casefold()).casefold())
    folded = _SIGN.sub("\u2212", _UNSEEN.sub("", folded))  # a minus is no punctuation
    left = _letters(_MARKER.sub("", _ADDED.sub("", folded))) or _letters(folded)
    left = left or "".join(folded.split())  # a text of nothing but punctuation is itself
    return unicodedata.normalize("NFKC", left)  # marks meet letters where something stood between them


def _letters(folded: str) -> str:
    kept = {found.start() for found in _IN_NUMBER.finditer(folded)}
    return "".join(
        character
        for at, character in enumerate(folded)
        if at in kept or (unicodedata.category(character)[0] not in "PZC" and unicodedata.category(character) != "Sk")
    )


def key_of(candidate: Candidate) -> str:
    """The hash of what `candidate` says, whatever the tier; of a removal, of what it takes away and where.

    A note says what stands below its head: the same under another name is the same.
    """
    parts = [said(_HEAD.sub("", candidate.text, count=1) if candidate.text.startswith("---\n") else candidate.text)]
    if candidate.action == "remove":
        parts = ["remove", candidate.tier, candidate.target, said(candidate.before)]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def sources_of(origin: Origin) -> tuple[str, ...]:
    """Where a text came from, one word a source: those behind the assistant's or a user's words, else their own."""
    parts = [part for part in origin.parts if part.kind not in OURS] or list(origin.parts)
    return tuple(dict.fromkeys(str(_source(part)) for part in parts))


def _source(part: Origin) -> Origin:
    host = _registrable(_host(part.item)) if part.kind == "tool" else ""
    return Origin(part.kind, part.name, host)


def _host(item: str) -> str:
    """The host of a URL; nothing for what has none."""
    try:
        host = urlsplit(item).hostname or ""
    except ValueError:  # an address in brackets that is none
        host = item
    return host.lower().removeprefix("www.").rstrip(".")[:_HOST_CHARACTERS]


def _registrable(host: str) -> str:
    """The part of `host` that somebody has to register, so that names below it are one source; an address is itself."""
    labels = host.split(".")
    if ":" in host or labels[-1].isdigit():
        return host
    short = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SHORT_SUFFIXES
    return ".".join(labels[-3 if short else -2 :])
