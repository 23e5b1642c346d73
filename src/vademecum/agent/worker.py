"""The loop that does background work beside a chat or a server.

Idea: every host runs one; the queue's leases let each job be done once. Invariant: whatever goes wrong is logged and
the host goes on; the loop ends soon after it is told to, and a job that was cut off is taken up by whoever comes next.
"""

from __future__ import annotations

import logging
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from vademecum.clock import iso

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.jobs import Outcome
    from vademecum.jobs.queue import Handler

POLL_SECONDS = 2.0
"""How long the loop sleeps when nothing is due."""
AFTER_FAULT_SECONDS = 30.0
PURGE = "purge"
CHANNELS = ("chat", "mcp")
"""Where a session belongs to one process: a terminal's window, a client's connection."""
LOST_MS = 35 * 60 * 1000
"""Silence after which such a session is taken for lost; a living server ends its own after half an hour."""
SWEEP_SECONDS = 5 * 60.0
_DAY_MS = 24 * 60 * 60 * 1000

log = logging.getLogger("vademecum.worker")


def run_background(vm: Vademecum, stop: threading.Event, *, poll_seconds: float = POLL_SECONDS) -> None:
    """Run jobs of the whole home, of all agents and users, until `stop` is set. Meant for a thread of its own."""
    from vademecum.agent.embedding import enqueue_embedding, wanted
    from vademecum.agent.retaining import enqueue_left_behind
    from vademecum.agent.wiki_tier import enqueue_compile
    from vademecum.agent.wiki_vectors import look_after

    day, swept_at = "", 0.0
    while not stop.is_set():
        try:
            if not swept_at and wanted(vm.config):
                vm.warm_up()
            look_after(vm)
            if not swept_at or time.monotonic() - swept_at > SWEEP_SECONDS:
                end_lost_sessions(vm)
                enqueue_left_behind(vm)
                enqueue_compile(vm)
                swept_at = time.monotonic()
            today = iso(vm.clock())[:10]
            if today != day:
                _new_day(vm, today)
                day = today
            enqueue_embedding(vm)
            ran = vm.queue.run_due(handlers(vm), stop=stop.is_set)
            if vm.config.memory.provider:
                from vademecum.agent.incoming import deliver_all  # only where a memory is configured

                ran += deliver_all(vm, stop.is_set)
        except Exception:  # the boundary of background work: its faults must not be its host's
            if stop.is_set():  # the host has waited for it long enough, and has closed the database under it
                log.info("background work was cut off by the end of the process", exc_info=True)
                return
            log.exception("background work was interrupted; it goes on in %g s", AFTER_FAULT_SECONDS)
            stop.wait(AFTER_FAULT_SECONDS)
            continue
        if not ran:
            stop.wait(poll_seconds)


def handlers(vm: Vademecum) -> dict[str, Handler]:
    """What runs each kind of job."""
    from vademecum.agent import consolidating, embedding, retainer, retaining, wiki_tier
    from vademecum.agent.review import KIND
    from vademecum.agent.reviewer import run_review

    return {
        KIND: partial(run_review, vm),
        PURGE: partial(run_purge, vm),
        embedding.KIND: partial(embedding.run_embedding, vm),
        retaining.KIND: partial(retainer.run_retention, vm),
        retaining.ASK_KIND: partial(retainer.run_extraction, vm),
        consolidating.KIND: partial(consolidating.run_consolidation, vm),
        wiki_tier.KIND: partial(wiki_tier.run_compile, vm),
    }


def end_lost_sessions(vm: Vademecum) -> int:
    """End and have reviewed what a closed window or a killed server left open; returns how many sessions.

    Those with a key stay open by design, whatever happens to a process. A session whose process is only silent opens
    again with the next words; it has then been reviewed up to there.
    """
    from vademecum.agent.outgoing import tell_end
    from vademecum.agent.retaining import enqueue_retention
    from vademecum.agent.review import enqueue_review
    from vademecum.store import sessions

    now = vm.clock()
    with vm.db.atomic():
        lost = sessions.end_lost(vm.db, CHANNELS, silent_since=now - LOST_MS, now=now)
        for actor, session_id in lost:
            enqueue_review(vm, session_id, sessions.LOST, actor)
            enqueue_retention(vm, session_id, actor)
            tell_end(vm, session_id, actor)
    return len(lost)


def _new_day(vm: Vademecum, today: str) -> None:
    from vademecum.agent.consolidating import enqueue_consolidation

    vm.queue.tidy()
    enqueue_consolidation(vm, today)
    if vm.config.sessions.retention_days:
        vm.queue.add(PURGE, today, {}, once=True)


def run_purge(vm: Vademecum, _payload: dict[str, Any]) -> Outcome:
    """The job: erase sessions in which nothing was said for `sessions.retention_days` days; 0 keeps everything."""
    from vademecum.sessions.history import History
    from vademecum.store import upkeep

    days = vm.config.sessions.retention_days
    if not days:
        return "sessions.retention_days is 0: nothing is erased."
    before = vm.clock() - days * _DAY_MS
    gone = sum(History(vm.db, actor, vm.clock, vm.redactor).purge(before) for actor in upkeep.actors(vm.db))
    return f"{gone} sessions older than {days} days were erased."
