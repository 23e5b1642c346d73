"""The ledger of one key: a line for each entry that its agent wrote, each signed and bound to the one before.

Idea: a line holds the hash of the entry, the hash of the line before, and the signature over both and the author's
name; and it holds the entry once more, so that what a sync tool, a merge or a crash took out of the Markdown can be
put back. Invariant: what is signed does not cover that copy, so that a text can be erased for good while the chain
still proves every line, and who erases it signs that, too; a writer checks the line it binds itself to.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, cast

import msgspec
from msgspec.json import encode as encode_json

from vademecum.errors import UsageError
from vademecum.home import folder_name
from vademecum.ids import time_of
from vademecum.late import dataclass, replace
from vademecum.model import Origin
from vademecum.vault.entry import ULID, Entry, sha_of
from vademecum.vault.keys import Keys, Signer, is_key, key_id, verifies

VERSION = 1
_PIECE = 64 * 1024
_NOT_OURS = (msgspec.DecodeError, ValueError, KeyError, TypeError, RecursionError)
"""What reading a line raises that somebody else wrote."""


@dataclass(frozen=True)
class Head:
    """The first line of a ledger: whose it is. `announced` is the hash of the line in which the key before named this
    one, empty for a first key."""

    agent: str
    public: str
    announced: str = ""

    @cached_property
    def id(self) -> str:
        """The key's id."""
        return key_id(self.public)

    def line(self) -> bytes:
        """As it is written."""
        data = {"v": VERSION, "agent": self.agent, "key": self.public, "announced": self.announced}
        return _dumps(data)


@dataclass(frozen=True)
class Record:
    """One line. `n` counts the lines of the chain from 1, `prev` is the hash of the line before (empty for the first),
    `successor` a public key that takes the place of this one, `copy` the entry (None once it was erased), `erased` who
    erased it: agent, id of the key, signature."""

    n: int
    id: str
    sha: str
    prev: str
    origin: str
    successor: str
    signature: str
    copy: tuple[str, str, str, str, str] | None
    offset: int = 0
    line_number: int = 0
    erased: tuple[str, str, str] | None = None

    def signed(self, head: Head) -> bytes:
        """The bytes that the signature covers."""
        parts = [VERSION, head.agent, head.id, self.n, self.id, self.sha, self.prev, self.origin, self.successor]
        return b"vademecum live log\n" + encode_json(parts)

    def hash(self, head: Head) -> str:
        """What the next line is bound to."""
        return hashlib.sha256(self.signed(head) + self.signature.encode("utf-8", "surrogatepass")).hexdigest()

    def is_valid(self, head: Head) -> bool:
        """Whether the head's key signed this line."""
        return verifies(head.public, self.signature, self.signed(head))

    def entry(self, head: Head) -> Entry | None:
        """The entry, from the copy; None when it was erased, or is not what was signed."""
        if self.copy is None:
            return None
        channel, type_, summary, ref, body = self.copy
        origin = origin_of(self.origin)
        made = Entry(self.id, time_of(self.id), head.agent, channel, type_, summary, body, ref or None, origin=origin)
        return made if sha_of(made) == self.sha else None

    def line(self) -> bytes:
        """As it is written."""
        data: dict[str, object] = {"n": self.n, "id": self.id, "sha": self.sha, "prev": self.prev}
        if self.origin:
            data["origin"] = self.origin
        if self.successor:
            data["next"] = self.successor
        data["sig"] = self.signature
        if self.copy is not None:
            data["entry"] = self.copy
        if self.erased is not None:
            data["erased"] = self.erased
        return _dumps(data)

    def without_copy(self, head: Head, signer: Signer) -> Record:
        """The same without the entry, with the word of `signer` that it was erased."""
        signature = signer.sign(self._erasure(head, signer.agent, signer.id))
        return replace(self, copy=None, erased=(signer.agent, signer.id, signature))

    def is_erased(self, head: Head, keys: Keys) -> bool:
        """Whether somebody whose key counts signed that the entry was erased."""
        if self.copy is not None or self.erased is None:
            return False
        agent, id_, signature = self.erased
        public = next((pin.public for pin in keys.pins().get(agent, ()) if pin.id == id_), "")
        counts = public and keys.pinned(agent, public) is not None
        return bool(counts) and verifies(public, signature, self._erasure(head, agent, id_))

    def _erasure(self, head: Head, agent: str, key: str) -> bytes:
        return b"vademecum live log erased\n" + encode_json([VERSION, self.hash(head), agent, key])


def origin_of(text: str) -> Origin:
    """The origin that a line names; what cannot be read counts as outside."""
    try:
        return Origin.parse(text)
    except ValueError:
        return Origin.tool("unknown", "*")


def _dumps(data: object) -> bytes:
    return encode_json(data) + b"\n"


def sign(signer: Signer, head: Head, entry: Entry, *, n: int, prev: str, successor: str = "") -> Record:
    """The line for `entry` behind the line of hash `prev`."""
    copy = (entry.channel, entry.type, entry.summary, entry.ref or "", entry.body)
    unsigned = Record(n, entry.id, sha_of(entry), prev, str(entry.origin), successor, "", copy)
    signature = signer.sign(unsigned.signed(head))
    return Record(n, entry.id, unsigned.sha, prev, unsigned.origin, successor, signature, copy)


@dataclass(frozen=True, slots=True)
class Odd:
    """A line that is none of a ledger's."""

    line_number: int
    offset: int
    what: str


def read_head(data: bytes) -> Head | None:
    """The head in the first line of `data`, None when it is none: no JSON, no key, no name that an agent can have."""
    try:
        found: Any = msgspec.json.decode(data[: data.index(b"\n")] if b"\n" in data else data)
        head = Head(found["agent"], found["key"], found.get("announced", ""))
    except (*_NOT_OURS, AttributeError):
        return None
    texts = (head.agent, head.public, head.announced)
    if not all(isinstance(text, str) for text in cast("tuple[object, ...]", texts)) or not is_key(head.public):
        return None
    try:
        folder_name(head.agent, any_case=True)
    except UsageError:
        return None
    return head


def records(data: bytes, *, offset: int = 0, line_number: int = 1) -> Iterator[Record | Odd]:
    """The lines of `data`, which begins at that offset and line; heads and blank lines are passed over."""
    decoder = msgspec.json.Decoder()
    for raw in data.split(b"\n"):
        if raw.strip():
            try:
                yield _record(decoder.decode(raw), offset, line_number)
            except _HeadLine:
                pass
            except _NOT_OURS:
                yield Odd(line_number, offset, "is no line of a ledger")
        offset += len(raw) + 1
        line_number += 1


class _HeadLine(Exception):
    """A line that says whose ledger it is."""


def _record(found: Any, offset: int, line_number: int) -> Record:
    if not isinstance(found, dict):
        raise TypeError
    found = cast("dict[str, Any]", found)
    if "v" in found:
        raise _HeadLine
    copy = found.get("entry")
    fields = (found["id"], found["sha"], found["prev"], found.get("origin", ""), found.get("next", ""), found["sig"])
    if not all(isinstance(one, str) for one in (*fields, *(copy or ()))) or not isinstance(found["n"], int):
        raise TypeError
    if not ULID.fullmatch(fields[0]) or (copy is not None and len(copy) != 5):
        raise ValueError
    erased = found.get("erased")
    if erased is not None and (len(erased) != 3 or not all(isinstance(one, str) for one in erased)):
        raise ValueError
    whose = None if erased is None else (erased[0], erased[1], erased[2])
    return Record(found["n"], *fields, None if copy is None else tuple(copy), offset, line_number, whose)


def fuller(known: Record | None, found: Record, head: Head, is_erased: Callable[[Head, Record], bool]) -> Record:
    """Which of two forms of one line counts: the one that was erased by somebody who may, else one with the entry."""
    if known is None or is_erased(head, found):
        return found
    return found if known.copy is None and found.copy is not None and not is_erased(head, known) else known


def read_at(handle: int, start: int, size: int) -> bytes:
    """`size` bytes from `start` on, fewer at the end of the file."""
    os.lseek(handle, start, os.SEEK_SET)
    pieces: list[bytes] = []
    while size > 0 and (piece := os.read(handle, size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def last(handle: int, size: int, head: Head) -> Record | None:
    """The newest line of the ledger that its key signed; what stands behind it is left out of the chain."""
    start, data = size, b""
    while start > 0:
        piece = min(_PIECE, start)
        start -= piece
        data = read_at(handle, start, piece) + data
        whole = 0 if start == 0 else data.find(b"\n") + 1
        if start and not whole:
            continue
        for found in reversed(list(records(data[whole:], offset=start + whole))):
            if isinstance(found, Record) and found.is_valid(head):
                return found
        data = data[:whole]
    return None
