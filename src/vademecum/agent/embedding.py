"""Vectors of facts, messages and pages, made in the background; and which embedder serves meanwhile.

Idea: the worker notices texts without a vector and queues one job, which embeds them batch by batch, each in a
transaction of its own, so that it can be cut off anywhere. Invariant: after a change of the embedder searches use the
old vectors, with the old embedder, until every text has a new one; a fault of an embedder stops no other work and loses
no vector.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from vademecum.clock import Clock
from vademecum.errors import ConfigError, ConflictError, ModelError
from vademecum.models.embedder import LOCAL, Embedder, open_embedder
from vademecum.store import vectors
from vademecum.store.connection import Database
from vademecum.store.vectors import DueText, Space

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.config import Config
    from vademecum.jobs import Outcome

KIND = "embed"
BATCH = 64
"""Texts a transaction."""
SLICE_SECONDS = 10.0
"""How long one run of the job may take before others get their turn."""
PASSING_MS, LASTING_MS = 60_000, 600_000
"""When a fault that may pass is tried again, and one that a person must mend."""
_REFUSED = (400, 413, 422)

log = logging.getLogger("vademecum.embedding")


def wanted(config: Config) -> bool:
    """Whether texts are embedded at all: an embedder is chosen, and what searches with it is in use: the bank, or
    folders of pages besides the vault.
    """
    return config.embedder != "off" and (config.memory.provider == "bank" or bool(config.wiki.sources))


class Embedders:
    """The embedder that is configured, and the one whose vectors serve. One for all agents of a process."""

    def __init__(self, config: Config, env: Mapping[str, str], db: Callable[[], Database], clock: Clock) -> None:
        self._config = config
        self._env = env
        self._db = db
        self._clock = clock
        self._lock = threading.RLock()
        self._opened: dict[tuple[str, int], Embedder | None] = {}
        self._claimed: set[Database] = set()
        self._warmed = False

    @property
    def configured(self) -> Embedder | None:
        """What `embedder` names; None for `off`. Nothing is loaded. Raises ConfigError."""
        return self._open(self._config.embedder)

    @property
    def serving(self) -> Embedder | None:
        """The embedder to search with: the configured one, or the one before it while that one's vectors are made."""
        chosen = self.configured
        space = vectors.serving(self._db()) if chosen is not None else None
        if chosen is None or space is None:
            return chosen
        return self.of(space) or chosen

    @property
    def warm(self) -> bool:
        """True once `warm_up` was called, or the embedder was used: vectors then cost a question no load of weights."""
        embedder = self.serving
        return embedder is not None and embedder.ready

    def warm_up(self) -> None:
        """Load what searching with vectors needs (1 s, and 0.7 s for 100,000 vectors); for processes that live long.

        A fault is logged and noted; searches then go on by words.
        """
        from vademecum.search.vectors import vector_index

        try:
            embedder = self.serving
            if embedder is not None:
                embedder.warm_up()
                for kind in vectors.KINDS:
                    len(vector_index(self._db(), kind, embedder.name))  # reads them
        except (ModelError, ConfigError) as error:
            log.warning("%s %s", error.message, error.hint)
            return
        self._warmed = True

    def claim(self, db: Database | None = None) -> Space | None:
        """Make the configured embedder's vectors those that are kept complete; the first call of a process decides.

        So of two processes with different settings the one that started last wins, and they do not fight. `db`: that
        of the facts and messages, unless another is given.
        """
        db = db or self._db()
        with self._lock:
            embedder = self.configured
            if embedder is not None and db not in self._claimed:
                now = self._clock()
                vectors.claim(db, embedder.name, spec=embedder.spec, dimensions=embedder.dimensions, now=now)
                self._claimed.add(db)
        return vectors.target(db)

    def of_target(self, space: Space) -> Embedder:
        """The embedder that fills `space`. Raises ConfigError when it cannot be opened as it was."""
        found = self.of(space)
        if found is None:
            raise ConfigError(
                f"The embedder {space.name} cannot be opened any more. Its vectors were kept.",
                "Restart what runs with this home, so that the configured one is used.",
            )
        return found

    def of(self, space: Space) -> Embedder | None:
        """The embedder that `space` was filled by; None when it cannot be opened as it was."""
        with contextlib.suppress(ConfigError):
            found = self._open(space.spec, space.dimensions)
            if found is not None and found.name == space.name:
                return found
        return None

    def _open(self, spec: str, dimensions: int = 0) -> Embedder | None:
        with self._lock:
            key = (spec, dimensions)
            if key not in self._opened:
                made = self._opened[key] = open_embedder(spec, env=self._env, dimensions=dimensions)
                if made is not None and self._warmed and made.spec != LOCAL:
                    made.warm_up()
            return self._opened[key]


def enqueue_embedding(vm: Vademecum) -> bool:
    """Queue the job when there is something to do; False when there is not, or it is queued already."""
    if not wanted(vm.config):
        return False
    try:
        if not any(_is_due(vm, db) for db in _databases(vm)):
            return False
    except ConfigError:  # `doctor` says so, and `warm_up` has logged it; other work goes on
        return False
    return vm.queue.add(KIND, "vectors", {})


def _databases(vm: Vademecum) -> list[Database]:
    """Where texts wait for vectors: facts and messages first, then passages of pages."""
    from vademecum.agent.wiki_vectors import embedded

    found = [vm.db] if vm.config.memory.provider == "bank" else []
    return [*found, vm.cache] if embedded(vm) else found


def _is_due(vm: Vademecum, db: Database) -> bool:
    space = vm.embedders.claim(db)
    return space is not None and (space.complete_at is None or vectors.any_due(db))


def run_embedding(vm: Vademecum, _payload: Mapping[str, Any]) -> Outcome:
    """The job: embed what waits, for SLICE_SECONDS; then others get their turn."""
    from vademecum.jobs import Later

    databases = [db for db in _databases(vm) if vectors.target(db) is not None]
    if not databases:
        return "No embedder was chosen."
    deadline, done = time.monotonic() + SLICE_SECONDS, 0
    try:
        for db in databases:
            done += embed_due(vm, db, stop=lambda: time.monotonic() > deadline)
    except ConflictError as error:  # another embedder was chosen, or its model is another now
        return Later(vm.clock() + PASSING_MS, error.message)
    except (ModelError, ConfigError) as error:
        return Later(vm.clock() + _wait_ms(error), error.message)
    if any(map(vectors.any_due, databases)):
        return Later(vm.clock(), f"{done} texts were embedded; more wait.")
    return f"{done} texts were embedded."


@dataclass(frozen=True, slots=True)
class VectorState:
    """How far the vectors are: `embedder` fills them (empty: none is used, `why` says so), `serving` is searched with.

    `waiting` counts texts without a vector; `fault` says why the last attempt failed (empty: it did not).
    """

    embedder: str = ""
    serving: str = ""
    stored: int = 0
    waiting: int = 0
    fault: str = ""
    why: str = ""


def vector_state(vm: Vademecum) -> VectorState:
    """The state of this home's vectors; loads nothing. Raises ConfigError when `embedder` cannot be used as it is."""
    if not wanted(vm.config):
        off = vm.config.embedder == "off"
        return VectorState(why="embedder is off" if off else "only the bank uses them (memory.provider: bank)")
    chosen = vm.embedders.configured
    name = "" if chosen is None else chosen.name
    stored = waiting = 0
    serving, fault, begun = "", "", False
    for db in _databases(vm):
        spaces, due = vectors.counts(db)
        found = next((one for one in spaces if one.space.name == name), None)
        space = vectors.serving(db)
        serving = serving or (space.name if space else "")
        if found is not None and found.space.target:
            begun, fault = True, fault or found.space.fault
            stored, waiting = stored + sum(found.vectors.values()), waiting + sum(due.values())
    if not begun:
        return VectorState(name, serving, why="no process has begun with them yet")
    return VectorState(name, serving, stored, waiting, fault)


def embed_now(vm: Vademecum, *, anew: bool = False, progress: Callable[[int, int], object] | None = None) -> int | None:
    """Embed what waits (`anew`: every text again) before returning; how many were, or None when none are to be.

    `progress` gets how many are done, and of how many. 1 to 30 ms a text. Raises ModelError, ConfigError,
    ConflictError; what was embedded before stays, and what is not goes on in the background.
    """
    if not wanted(vm.config):
        return None
    databases = [db for db in _databases(vm) if vm.embedders.claim(db) is not None]
    if not databases:
        return None
    if anew:
        for db in databases:
            vectors.all_due(db)
    total = sum(sum(vectors.counts(db)[1].values()) for db in databases)
    before = 0
    for db in databases:
        before += embed_due(vm, db, progress=partial(_told, progress, before, total))
    return before


def _told(progress: Callable[[int, int], object] | None, before: int, total: int, done: int) -> None:
    if progress is not None:
        progress(before + done, total)


def embed_due(
    vm: Vademecum,
    db: Database | None = None,
    *,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int], object] = lambda _done: None,
) -> int:
    """Embed texts of `db` (None: facts and messages) that wait until none does or `stop` says so; `progress` gets how
    many were done so far.

    When all are done the target serves, and vectors of other embedders are dropped. Raises ModelError, ConfigError,
    ConflictError; what was embedded before stays.
    """
    db = db or vm.db
    space = vectors.target(db)
    if space is None:
        return 0
    done = 0
    try:
        embedder = vm.embedders.of_target(space)
        while not stop():
            texts = vectors.missing(db, BATCH)
            if not texts:
                if vectors.complete(db, space, vm.clock()):
                    vectors.drop_others(db)
                break
            texts = _read(vm, db, texts)
            done += _embed(db, space, embedder, texts) if texts else 0
            progress(done)
    except (ModelError, ConfigError, ConflictError) as error:
        vectors.set_fault(db, space, error.message)
        raise
    return done


def _read(vm: Vademecum, db: Database, texts: list[DueText]) -> list[DueText]:
    """The texts of passages from their files; one that cannot be read, though its file is as it was, waits no more."""
    if texts[0].kind != "page":
        return texts
    from vademecum.agent.wiki_vectors import with_text

    found = with_text(vm, texts)
    if len(found) < len(texts):
        vm.wiki.refresh()
        found = with_text(vm, texts)
        there = {one.ref for one in found}
        for one in texts:
            if one.ref not in there:
                vectors.pass_over(db, one)
    return found


def _embed(db: Database, space: Space, embedder: Embedder, texts: list[DueText]) -> int:
    try:
        return _put(db, space, embedder, texts)
    except ModelError as error:
        if error.status not in _REFUSED:
            raise
        embedder.embed(["ready"])  # refused as well: then it is not for the texts
        if len(texts) == 1:
            log.warning("%s %d is found by its words only: %s", texts[0].kind, texts[0].ref, error.message)
            vectors.pass_over(db, texts[0])
            return 0
    return sum(_embed(db, space, embedder, [text]) for text in texts)


def _put(db: Database, space: Space, embedder: Embedder, texts: list[DueText]) -> int:
    from vademecum.search.vectors import to_blob

    found = embedder.embed([text.text for text in texts])
    blobs = [to_blob(row) for row in found]
    return vectors.put_many(db, space, texts, blobs, dimensions=found.shape[1])


def _wait_ms(error: ModelError | ConfigError) -> int:
    if isinstance(error, ConfigError):
        return LASTING_MS
    passing = error.status in (None, 408, 429) or error.status >= 500
    return max(round((error.retry_after or 0) * 1000), PASSING_MS if passing else LASTING_MS)
