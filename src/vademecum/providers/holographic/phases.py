"""A vector-symbolic algebra: words, roles and whole facts as vectors of 1,024 phases.

Idea: a phase is one byte, 256 of them go once round the circle, so that binding is addition that wraps. `bind` ties two
vectors into one that is like neither, `bundle` sums several into one that is like each of them. What stands in a bundle
is found by asking how like it is to the *bound pair* that is looked for; to unbind a sum and compare what is left
drowns in noise. Invariant: the atom of a word is the same on every machine and for good, and two unrelated vectors have
a similarity of 0 with a deviation of `NOISE`.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 1024
NOISE = 1 / math.sqrt(2 * DIMENSIONS)
"""The standard deviation of the similarity of two vectors that have nothing in common."""
FLOOR = 4.5 * NOISE
"""From here on a likeness is no accident: one in 300,000 unrelated pairs is above it."""

Vector: TypeAlias = "NDArray[np.uint8]"
Matrix: TypeAlias = "NDArray[np.uint8]"

_ANGLES = 2 * np.pi * np.arange(256) / 256
_UNITS: NDArray[np.complex64] = np.exp(1j * _ANGLES).astype(np.complex64)
_COSINES: NDArray[np.float32] = np.cos(_ANGLES).astype(np.float32)
_ROWS = 4096  # compared at a time, so that the memory stays small


@functools.lru_cache(maxsize=8192)
def atom(word: str) -> Vector:
    """The vector of one word; a word that differs in one letter is another, unrelated one."""
    return np.frombuffer(hashlib.shake_256(word.encode("utf-8", "surrogatepass")).digest(DIMENSIONS), dtype=np.uint8)


def bind(one: Vector, other: Vector) -> Vector:
    """The pair of both: like neither; `unbind` with one of them gives the other."""
    return one + other


def unbind(pair: Vector, one: Vector) -> Vector:
    """What was bound with `one` into `pair`."""
    return pair - one


def bundle(vectors: Sequence[Vector], weights: Sequence[float] = ()) -> Vector:
    """The sum of several: like each of them, the less the more they are. Of none: the vector of phases 0."""
    if not vectors:
        return np.zeros(DIMENSIONS, dtype=np.uint8)
    units: Any = _UNITS[np.stack(vectors)]
    total: Any = units.sum(axis=0) if not weights else (units * np.asarray(weights, np.float32)[:, None]).sum(axis=0)
    return (np.rint(np.angle(total) * (256 / (2 * np.pi))).astype(np.int16) & 255).astype(np.uint8)


def similarity(matrix: Matrix, vector: Vector) -> NDArray[np.float32]:
    """How like each row is to `vector`: 1 for the same, 0 for nothing in common."""
    parts = [_COSINES[matrix[start : start + _ROWS] - vector].mean(axis=1) for start in range(0, len(matrix), _ROWS)]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)


def similarities(matrix: Matrix) -> NDArray[np.float32]:
    """How like each row is to each other one, as a square."""
    angles = matrix.astype(np.float32) * np.float32(2 * np.pi / 256)
    parts = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
    return (parts @ parts.T) * np.float32(1 / DIMENSIONS)


CONTENT, ENTITY, TAG = atom("role:content"), atom("role:entity"), atom("role:tag")
_MOST_WORDS, _MOST_ENTITIES, _MOST_TAGS = 64, 24, 12


def name(text: str) -> str:
    """The form under which a name is an atom: no case, single spaces."""
    return " ".join(text.casefold().split())


def text_vector(words: Iterable[str]) -> Vector:
    """A text as the bundle of its words."""
    return bundle([atom(f"word:{word}") for word in list(dict.fromkeys(words))[:_MOST_WORDS]])


def entity_vector(text: str) -> Vector:
    """What to look for when a name is asked for: the name as a whole."""
    return atom(f"name:{name(text)}")


def _stored_entity(text: str) -> Vector:
    """A name in a fact: whole, and each of its words, so that `Ana` finds `Ana Torres` but not the other way round."""
    whole = name(text)
    parts = [part for part in whole.split(" ") if part != whole and len(part) > 1][:4]
    return bundle([entity_vector(part) for part in [whole, *parts]])


def fact_vector(words: Iterable[str], entities: Sequence[str], tags: Sequence[str] = ()) -> Vector:
    """A fact: its text, its entities and its tags, each bound to its role, in one bundle."""
    bound = [bind(text_vector(words), CONTENT)]
    bound += [bind(_stored_entity(entity), ENTITY) for entity in entities[:_MOST_ENTITIES]]
    tied = [bind(atom(f"tag:{name(tag)}"), TAG) for tag in tags[:_MOST_TAGS]]
    return bundle(bound + tied, [1.0] * len(bound) + [0.5] * len(tied))
