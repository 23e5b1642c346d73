"""Statements of another memory into the bank, once.

Idea: a statement is retained with its time and the mark that it was taken over, in one transaction. Invariant: killed
and run again, a statement is retained once and its evidence counts once; one that was changed in its source is retained
anew, and the bank decides what it says about the old one.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from vademecum.bank.types import Evidence
from vademecum.errors import VademecumError
from vademecum.late import dataclass
from vademecum.model import Origin
from vademecum.store.imported import Imported, Item, recorded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vademecum.agent.vademecum import Vademecum
    from vademecum.bank.types import Kind
    from vademecum.clients.imports.report import Tally

LONGEST = 3_500
"""A longer text is no statement."""
_KINDS: dict[str, Kind] = {
    "decision": "decision",
    "preference": "preference",
    "user_preference": "preference",
    "convention": "convention",
    "rule": "convention",
    "workflow": "workflow",
    "process": "workflow",
    "environment": "environment",
    "config": "environment",
    "quirk": "quirk",
    "gotcha": "quirk",
    "failure": "failure",
    "problem": "failure",
    "bug": "failure",
}


def kind_of(*categories: str) -> Kind:
    """The kind of fact that somebody else's categories come closest to."""
    for category in categories:
        word = re.sub(r"[\W_]+", "_", category.casefold()).strip("_")
        if (kind := _KINDS.get(word) or _KINDS.get(word.removesuffix("s"))) is not None:
            return kind
    return "fact"


@dataclass(frozen=True, slots=True)
class Statement:
    """`key` names it in its source; `at` is when it was learnt, UTC ms (None: now); `entities` None: found in it."""

    key: str
    text: str
    kind: Kind = "fact"
    at: int | None = None
    entities: Sequence[str] | None = None


class Facts:
    """Takes statements of one `source` over."""

    def __init__(self, vm: Vademecum, source: str, tally: Tally) -> None:
        self._vm = vm
        self._tally = tally
        self._source = recorded(f"{source}-fact", vm.actor)
        self._imported = Imported(vm.db)
        self._planned = set[str]()  # what a dry run would have retained

    def take(self, one: Statement, file: Path, place: Path | None = None, line: int = 0) -> None:
        """Retain `one`, read from `file`; problems name `place` (default: `file`) and `line`."""
        vm, text = self._vm, one.text.strip()
        if not text:
            return
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        before = self._imported.get(self._source, one.key)
        if before is not None and before.sha256 in (digest, ""):  # "": it was forgotten here
            self._tally.known += 1
            return
        if len(text) > LONGEST:
            self._tally.problem(place or file, line, f"longer than {LONGEST:,} characters, which is no statement")
            return
        origin, now = Origin.import_(str(file), digest[:16]), vm.clock()
        if self._tally.dry_run:
            self._foresee(one.key, text, digest, origin, (place or file, line))
            return
        try:
            with vm.db.atomic():
                said = (Evidence(text, origin, now if one.at is None else one.at),)
                done = vm.bank.retain(
                    text, kind=one.kind, origin=origin, evidence=said, entities=one.entities, at=one.at
                )
                self._imported.put(Item(self._source, one.key, digest, now))
        except VademecumError as error:
            self._tally.problem(place or file, line, error.message)
            return
        self._tally.staged += done.outcome == "staged"
        self._tally.facts += done.outcome != "merged"
        self._tally.known += done.outcome == "merged"

    def _foresee(self, key: str, text: str, digest: str, origin: Origin, where: tuple[Path, int]) -> None:
        if digest in self._planned:
            self._tally.known += 1
            return
        try:
            self._tally.foresee(self._vm, "facts", key, text, origin)
        except VademecumError as error:
            self._tally.problem(*where, error.message)
            return
        self._planned.add(digest)
        self._tally.facts += 1
