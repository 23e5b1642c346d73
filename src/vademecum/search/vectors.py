"""The nearest vectors to a question's, exactly, from memory.

Idea: each vector is held twice: one bit a dimension finds many more candidates than are wanted, 16-bit floats put them
in order; a small choice of rows is compared with floats alone. Rows come from the database once and are followed: new
ones of any process are read at the next question, removed ones drop out. Invariant: only vectors of one embedder are
compared, and what is not allowed is never a candidate.
"""

from __future__ import annotations

import threading
from collections.abc import Container, Iterable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from vademecum.errors import UsageError
from vademecum.store import vectors as store
from vademecum.store.connection import Database
from vademecum.store.vectors import OwnerKind, VectorRow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

BLOCK = 8_192
"""Vectors a block; memory grows by blocks, so that nothing is ever copied to make room."""
EXACT = 2_048
"""Up to so many allowed vectors all are compared with floats."""
CANDIDATES, FOR_EACH = 800, 8
"""So many candidates are found by bits, and so many more for each wanted one: 99 % and more of the exact ones. Vectors
of fewer dimensions than FULL have fewer bits that tell them apart, and get as many times more candidates.
"""
FULL = 512


class VectorIndex:
    """The vectors of one kind by one embedder, for `facts` or `messages`. Thread-safe; about 1.1 KB a text of 512
    dimensions. The first question reads them all (0.5 s for 100,000), later ones what is new.
    """

    def __init__(self, db: Database, kind: OwnerKind, embedder_name: str) -> None:
        self._db = db
        self._kind: OwnerKind = kind
        self.embedder_name = embedder_name
        self._lock = threading.Lock()
        self._empty()

    def nearest(self, query: Floats, limit: int, *, allowed: Container[int] | None = None) -> list[tuple[int, float]]:
        """At most `limit` of (`ref`, cosine), the nearest first.

        `allowed` are the groups to look in: owners of facts (`fact_owners.n`), sessions of messages (`sessions.n`);
        None: all of the home. Raises UsageError when `query` has another length than the vectors.
        """
        query = np.asarray(query, dtype=np.float32).reshape(-1)
        with self._lock:
            self._refresh()
            masks = self._masks(allowed)
            total = sum(int(np.count_nonzero(mask)) for mask in masks)
            if not total or limit <= 0:
                return []
            if len(query) != self._size:
                raise UsageError(f"A vector of {len(query)} dimensions cannot be compared with those of {self._size}.")
            wanted = (CANDIDATES + FOR_EACH * limit) * max(FULL, self._size) // self._size
            if total > max(EXACT, wanted):
                masks = self._candidates(query, masks, wanted)
            refs, cosines = self._compared(query, masks)
        best = np.argsort(-cosines, kind="stable")[:limit]
        return [(int(refs[i]), float(cosines[i])) for i in best]

    def vectors_of(self, refs: Iterable[int]) -> dict[int, Floats]:
        """The vectors of those texts that have one."""
        with self._lock:
            self._refresh()
            places = {ref: self._places[ref] for ref in refs if ref in self._places}
            return {
                ref: self._blocks[place // BLOCK].floats[place % BLOCK].astype(np.float32)
                for ref, place in places.items()
            }

    def __len__(self) -> int:
        with self._lock:
            self._refresh()
            return len(self._places)

    def _empty(self) -> None:
        self._space = self._removed = self._newest = self._size = 0
        self._blocks: list[_Block] = []
        self._count = 0
        self._places: dict[int, int] = {}
        self._groups: dict[int, int] = {}

    def _refresh(self) -> None:
        space, removed, newest = store.state(self._db, self.embedder_name)
        if space != self._space:
            self._empty()
            self._space = space
        if newest > self._newest:
            for page in store.rows(self._db, space, self._kind, after=self._newest, upto=newest):
                self._add(page)
            self._newest = newest
        if removed != self._removed:
            self._drop_gone(set(store.alive(self._db, space, self._kind, upto=newest)))
            self._removed = removed

    def _add(self, rows: list[VectorRow]) -> None:
        while rows:
            if not self._size:
                self._size = len(rows[0].vector) // 2
            if self._count % BLOCK == 0:
                self._blocks.append(_Block(self._size))
            start = self._count % BLOCK
            part, rows = rows[: BLOCK - start], rows[BLOCK - start :]
            groups = [self._groups.setdefault(row.group, len(self._groups)) for row in part]
            self._blocks[-1].put(start, part, groups)
            for offset, row in enumerate(part):
                old = self._places.get(row.ref)
                if old is not None:  # embedded again
                    self._blocks[old // BLOCK].alive[old % BLOCK] = False
                self._places[row.ref] = self._count + offset
            self._count += len(part)

    def _drop_gone(self, alive: set[int]) -> None:
        for block in self._blocks:
            block.alive &= np.fromiter((n in alive for n in block.numbers.tolist()), dtype=np.bool_, count=BLOCK)
        self._places = {
            ref: place for ref, place in self._places.items() if self._blocks[place // BLOCK].alive[place % BLOCK]
        }

    def _masks(self, allowed: Container[int] | None) -> list[NDArray[np.bool_]]:
        if allowed is None:
            return [block.alive for block in self._blocks]
        wanted = np.fromiter((group in allowed for group in self._groups), dtype=np.bool_, count=len(self._groups))
        return [block.alive & wanted[block.groups] for block in self._blocks]

    def _candidates(self, query: Floats, masks: list[NDArray[np.bool_]], wanted: int) -> list[NDArray[np.bool_]]:
        """The rows whose bits differ least from the query's, `wanted` of them and those as near as the last."""
        bits = _bits(query.reshape(1, -1))[:, 0]
        never = len(bits) * 64 + 1  # farther than any can be
        distances = [
            np.where(mask, block.distances(bits), np.uint16(never))
            for block, mask in zip(self._blocks, masks, strict=True)
        ]
        counted = sum(np.bincount(distance, minlength=never + 1) for distance in distances)
        bound = int(np.searchsorted(np.cumsum(counted), wanted))
        return [distance <= min(bound, never - 1) for distance in distances]

    def _compared(self, query: Floats, masks: list[NDArray[np.bool_]]) -> tuple[NDArray[np.int64], Floats]:
        refs = [block.refs[mask] for block, mask in zip(self._blocks, masks, strict=True)]
        rows = np.concatenate([block.floats[mask] for block, mask in zip(self._blocks, masks, strict=True)])
        # not `@`: that starts threads which wait for one another, and on a busy machine for long
        cosines = np.einsum("ij,j->i", rows.astype(np.float32), query)
        return np.concatenate(refs), cosines


class _Block:
    """Up to BLOCK vectors: their floats, their bits (one row a word of 64 dimensions), and what they are of."""

    def __init__(self, size: int) -> None:
        self.floats = np.empty((BLOCK, size), dtype=np.float16)
        self.bits = np.zeros((-(-size // 64), BLOCK), dtype=np.uint64)
        self.refs = np.zeros(BLOCK, dtype=np.int64)
        self.numbers = np.zeros(BLOCK, dtype=np.int64)
        self.groups = np.zeros(BLOCK, dtype=np.int32)
        self.alive = np.zeros(BLOCK, dtype=np.bool_)

    def put(self, start: int, rows: list[VectorRow], groups: list[int]) -> None:
        end = start + len(rows)
        joined = np.frombuffer(b"".join(row.vector for row in rows), dtype="<f2")
        self.floats[start:end] = joined.reshape(len(rows), -1)
        self.bits[:, start:end] = _bits(self.floats[start:end])
        self.refs[start:end] = [row.ref for row in rows]
        self.numbers[start:end] = [row.n for row in rows]
        self.groups[start:end] = groups
        self.alive[start:end] = True

    def distances(self, bits: NDArray[np.uint64]) -> NDArray[np.uint16]:
        """In how many bits each vector differs."""
        found = np.zeros(BLOCK, dtype=np.uint16)
        for word, mine in zip(bits, self.bits, strict=True):
            found += np.bitwise_count(mine ^ word)
        return found


def _bits(vectors: NDArray[np.float32] | NDArray[np.float16]) -> NDArray[np.uint64]:
    """The sign of each dimension as a bit, packed into words of 64: one row a word, one column a vector."""
    packed = np.packbits(vectors > 0, axis=1)
    padded = np.zeros((len(packed), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return np.ascontiguousarray(padded.view(np.uint64).T)


def to_blob(vector: Floats) -> bytes:
    """A vector of unit length as it is stored."""
    return vector.astype("<f2").tobytes()


_indexes: WeakKeyDictionary[Database, dict[OwnerKind, VectorIndex]] = WeakKeyDictionary()
_making = threading.Lock()


def vector_index(db: Database, kind: OwnerKind, embedder_name: str) -> VectorIndex:
    """The index of `kind` that all callers of this process share; a new one when the embedder changed."""
    with _making:
        found = _indexes.setdefault(db, {})
        index = found.get(kind)
        if index is None or index.embedder_name != embedder_name:
            index = found[kind] = VectorIndex(db, kind, embedder_name)
        return index
