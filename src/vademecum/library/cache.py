"""Copies of what was looked up, with revision and time: what is given without a network, and what saves a request.

Idea: one bounded table in `cache.db` for all sources, each in a space of its own. Invariant: a cache that is busy,
damaged or full never fails a look-up, which then goes on as if there were none; a copy says how old it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from vademecum.clock import Clock
from vademecum.errors import LockedError, StorageError
from vademecum.store import Database
from vademecum.store import library as rows
from vademecum.store.library import Copy

MOST = 128_000_000
"""Bytes of all copies together, unless the configuration says otherwise."""
LARGEST = 4_000_000
"""Bytes of one copy; what is larger is not kept."""


class Cache:
    """The copies of one source. Thread-safe."""

    def __init__(
        self,
        db: Callable[[], Database],
        space: str,
        clock: Clock,
        *,
        most: int = MOST,
        clean: Callable[[str], str] | None = None,
    ) -> None:
        """`clean` takes secrets out of a text."""
        self._db, self.space, self._clock, self._most, self._clean = db, space, clock, most, clean

    def get(self, kind: str, key: str) -> Copy | None:
        """The copy of that kind (`document`, `search`, `web` ...), or None."""
        try:
            return rows.get(self._db(), self._in(kind), _short(key), self._clock())
        except (LockedError, StorageError):
            return None

    def put(self, kind: str, key: str, value: bytes, tag: str = "") -> None:
        """Keep a copy as fetched now. Nothing happens when it is too large or the database refuses."""
        if len(value) > LARGEST:
            return
        copy = Copy(value, tag, self._clock())
        try:
            rows.put(self._db(), self._in(kind), _short(key), copy, most=self._most)
        except (LockedError, StorageError):
            return

    def put_answer(self, key: str, body: bytes, tag: str) -> None:
        """Keep what a server answered, unless it is no text or holds a secret, which is kept nowhere."""
        if len(body) > LARGEST:
            return
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError:
            return
        if self._clean is None or self._clean(text) == text:
            self.put("web", key, body, tag)

    def confirmed(self, kind: str, key: str) -> None:
        """The source says that the copy is still what it has."""
        try:
            rows.fetched_now(self._db(), self._in(kind), _short(key), self._clock())
        except (LockedError, StorageError):
            return

    def wait(self, host: str, until: int) -> None:
        """Leave `host` alone until then (UTC ms), in every process."""
        try:
            rows.wait_until(self._db(), self.space, host, until)
        except (LockedError, StorageError):
            return

    def waits(self, host: str) -> int:
        """Before when `host` is to be left alone (UTC ms); 0: it may be asked."""
        try:
            return rows.waits_until(self._db(), self.space, host)
        except (LockedError, StorageError):
            return 0

    def turn(self, host: str, pace: int, patience: int) -> int:
        """When `host` may be asked by this call (UTC ms), `pace` ms after the one before it in any process.

        A turn that is further away than `patience` ms is told, not taken.
        """
        try:
            return rows.turn(self._db(), self.space, host, (self._clock(), pace, patience))
        except (LockedError, StorageError):
            return 0

    def _in(self, kind: str) -> str:
        return f"{self.space}/{kind}"


def _short(key: str) -> str:
    """The hash of `key`: what somebody searched for may be a secret, and stands nowhere."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
