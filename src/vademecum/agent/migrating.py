"""From one memory into another: everything that one holds is stored in the other as well, and compared.

Idea: read all of the source, leave out what the target says already, store the rest one by one and note each, then read
the target and look for every text. Invariant: nothing is taken from the source; a run that was cut off goes on where it
was, and one that ended adds nothing when it is repeated; outside text is told to no memory whose word is trusted; what
comes into the bank passes the gate with the source as its origin.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from vademecum.agent.incoming import host_of
from vademecum.agent.providing import known, provider, with_provider
from vademecum.bank.types import KINDS, Evidence
from vademecum.errors import ProviderError, RefusedError, UsageError
from vademecum.providers.breaker import ANSWERED
from vademecum.providers.budget import recalled
from vademecum.providers.contract import Recalled, origin_of
from vademecum.providers.direct import Direct
from vademecum.providers.fence import without_fences
from vademecum.providers.matching import plain
from vademecum.store import provider_moves

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

READ_SECONDS = 600.0
"""Longest wait for all that a memory holds."""
SETTLE_SECONDS = 15.0
"""How long the target may take until it shows what it has stored."""
ATTEMPTS = 3
"""How often one text is tried when the target fails for a passing reason."""
LONGEST_PAUSE = 60.0

Outcome = Literal["stored", "there", "moved", "staged", "refused", "left_out"]
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Moved:
    """What became of one text. `there`: the target said it before; `moved`: an earlier run has stored it."""

    id: str
    text: str
    outcome: Outcome
    note: str = ""


@dataclass(frozen=True, slots=True)
class Migration:
    """How a migration went. `stopped`: why it did not come to its end; `compared` counts the texts that should be in
    the target, `missing` are those of them that are not there word for word.
    """

    source: str
    target: str
    items: tuple[Moved, ...]
    dry_run: bool
    compared: int = 0
    missing: tuple[str, ...] = ()
    stopped: str = ""

    def count(self, outcome: str) -> int:
        """How many texts had that outcome."""
        return sum(one.outcome == outcome for one in self.items)

    @property
    def found(self) -> int:
        """How many texts are in the target word for word."""
        return self.compared - len(self.missing)

    @property
    def complete(self) -> bool:
        """True when nothing was refused, nothing is missing and it came to its end."""
        return not (self.stopped or self.missing or self.count("refused"))


def migrate(
    vm: Vademecum,
    source: str,
    target: str,
    *,
    dry_run: bool = False,
    seconds: float = SETTLE_SECONDS,
    progress: Progress = lambda _done, _total, _what: None,
    pause: Callable[[float], None] = time.sleep,
) -> Migration:
    """Store what `source` holds for this agent and user in `target`. `dry_run`: nothing is stored or noted.

    Of the bank only facts that hold. `seconds`: how long the target may take until it shows what was stored. Raises
    UsageError, ConfigError, ProviderError when one of them cannot be opened or read; a target that fails later ends it
    with `stopped`.
    """
    if known(source) == known(target):
        raise UsageError(f"{source!r} cannot be moved into itself. Nothing was changed.")
    with contextlib.ExitStack() as stack:
        from_ = stack.enter_context(provider(vm, source))
        to = stack.enter_context(provider(vm, target))
        progress(0, 0, f"reading {source}")
        items = from_.ask(lambda one: recalled(list(one.facts() if source == "bank" else one.export())), READ_SECONDS)
        run = _Run(vm, from_, to, pause)
        done, stopped = run.all(items, dry_run=dry_run, progress=progress)
        if dry_run:
            return Migration(source, target, done, dry_run=True, stopped=stopped)
        due = {plain(one.text): one.text for one in done if one.outcome in ("stored", "there", "moved")}
        missing = run.missing(due, seconds)
        return Migration(source, target, done, dry_run=False, compared=len(due), missing=missing, stopped=stopped)


class _Run:
    def __init__(self, vm: Vademecum, source: Direct, target: Direct, pause: Callable[[float], None]) -> None:
        self._vm, self._from, self._to, self._pause = vm, source, target, pause
        self._lane = provider_moves.Moves(vm.db, source.name, target.name, vm.actor)
        rules = host_of(vm, with_provider(vm.config, target.name)).rules
        self._outside = rules.outside
        self._trusted = target.name != "bank" and not rules.outside(origin_of(target.name, "*"))

    def all(self, items: Collection[Recalled], *, dry_run: bool, progress: Progress) -> tuple[tuple[Moved, ...], str]:
        """What becomes of each text, and why it stopped, empty when it did not."""
        there, noted = self._held(), self._lane.noted()
        done: list[Moved] = []
        for item in items:
            progress(len(done), len(items), self._to.name)
            text = self._vm.redactor.clean(without_fences(item.text)).strip()
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            try:
                moved = self._known(item, text, digest, there, noted)
                if moved is None:
                    moved = Moved(item.id, text, "stored") if dry_run else self._store(item, text, digest)
            except ProviderError as error:
                return tuple(done), self._vm.redactor.clean(error.message)
            if moved.outcome in ("stored", "there"):
                there.add(plain(text))
            done.append(moved)
        progress(len(done), len(items), f"comparing {self._to.name}")
        return tuple(done), ""

    def _held(self) -> set[str]:
        """The texts that the target has now."""
        return {plain(one.text) for one in self._to.ask(lambda to: recalled(list(to.export())), READ_SECONDS)}

    def _known(
        self, item: Recalled, text: str, digest: str, there: Collection[str], noted: dict[str, str]
    ) -> Moved | None:
        """What became of a text that is not to be stored; None for one that is."""
        if not text:
            return Moved(item.id, text, "left_out", "It is empty.")
        origin = item.origin or origin_of(self._from.name, item.id)
        if self._trusted and self._outside(origin):
            why = f"It came from outside, and what {self._to.name} holds is trusted (gate.trusted_connectors)."
            return Moved(item.id, text, "left_out", why)
        if plain(text) in there:
            return Moved(item.id, text, "moved" if noted.get(item.id) == digest else "there")
        if noted.get(item.id) == digest:
            return Moved(item.id, text, "moved")
        return None

    def _store(self, item: Recalled, text: str, digest: str) -> Moved:
        if self._to.name == "bank":
            return self._into_bank(item, text, digest)
        kind = item.kind or "fact"
        for attempt in range(1, ATTEMPTS + 1):
            try:
                stored = self._to.ask(lambda to: to.store(text, kind=kind))
            except ProviderError as error:
                if error.status in ANSWERED:
                    return Moved(item.id, text, "refused", self._vm.redactor.clean(error.message))
                if not error.passing or attempt == ATTEMPTS or (error.retry_after or 0) > LONGEST_PAUSE:
                    raise
                self._pause(error.retry_after or float(attempt))
                continue
            self._lane.note(item.id, digest, str(stored), self._vm.clock())
            return Moved(item.id, text, "stored")
        raise AssertionError("the last attempt returns or raises")

    def _into_bank(self, item: Recalled, text: str, digest: str) -> Moved:
        """Through the gate, as something that the source says."""
        vm = self._vm
        origin = origin_of(self._from.name, item.id)
        at = item.at if item.at is not None else vm.clock()
        kind = item.kind if item.kind in KINDS else "fact"
        try:
            kept = vm.bank.retain(text, kind=kind, origin=origin, evidence=(Evidence(text, origin, at),), at=at)
        except (RefusedError, UsageError) as error:
            return Moved(item.id, text, "refused", error.message)
        self._lane.note(item.id, digest, kept.fact.id if kept.fact else kept.proposal or "", vm.clock())
        if kept.outcome == "staged":
            return Moved(item.id, text, "staged", kept.proposal or "")
        return Moved(item.id, text, "there" if kept.outcome == "merged" else "stored")

    def missing(self, due: dict[str, str], seconds: float) -> tuple[str, ...]:
        """The texts that the target does not show word for word, once it has had time to settle."""
        deadline, wait = time.monotonic() + seconds, 0.1
        while True:
            held = self._held()
            left = tuple(text for words, text in due.items() if words not in held)
            if not left or time.monotonic() >= deadline:
                return left
            self._pause(wait)
            wait = min(wait * 2, 3.0)
