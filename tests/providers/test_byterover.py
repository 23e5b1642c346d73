"""ByteRover: its command's answers and its errors, which look alike to whoever does not look twice."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from contract_suite import FACTS, QUESTIONS, Case, ProviderContract, Ticking, turn

from vademecum.errors import ProviderError
from vademecum.gate.selector import Selector
from vademecum.model import Actor
from vademecum.providers.byterover import ByteRover
from vademecum.providers.contract import Context, MemoryChange

SCRIPT = Path(__file__).resolve().parents[1] / "servers" / "brv.py"


@pytest.fixture
def brv(tmp_path: Path) -> Path:
    """The command: a file of its own, as an installation puts one into PATH."""
    command = tmp_path / "bin" / "brv"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{SCRIPT}" "$@"\n')
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    return command


@pytest.fixture
def env(tmp_path: Path, brv: Path) -> Mapping[str, str]:
    path = f"{brv.parent}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "BRV_TEST_FAULT": str(tmp_path / "fault"), "OPENAI_API_KEY": "sk-of-somebody"}


class TestByteRover(ProviderContract):
    @pytest.fixture
    def case(self, env: Mapping[str, str], tmp_path: Path) -> Case:
        @contextlib.contextmanager
        def down() -> Iterator[None]:
            (tmp_path / "fault").write_text("daemon")
            yield
            (tmp_path / "fault").unlink()

        return Case(ByteRover, {}, env, down=down, unconfigured=({}, {"PATH": str(tmp_path / "nowhere")}))


Open = Callable[..., ByteRover]


@pytest.fixture
def opened(env: Mapping[str, str], tmp_path: Path) -> Iterator[Open]:
    made: list[ByteRover] = []

    def open_(*, user: str = "owner", **settings: Any) -> ByteRover:
        provider = ByteRover()
        provider.open(Context(Actor("default", user), tmp_path / user, settings, env, Ticking()))
        made.append(provider)
        return provider

    yield open_
    for provider in made:
        provider.close()


@pytest.fixture
def fault(tmp_path: Path) -> Callable[[str], None]:
    return lambda word: (tmp_path / "fault").write_text(word) and None


def project(provider: ByteRover) -> Path:
    return provider._tree.root.parents[1]


def calls(provider: ByteRover) -> list[dict[str, Any]]:
    file = project(provider) / "calls.jsonl"
    return [json.loads(one) for one in file.read_text().splitlines()] if file.is_file() else []


def failure(run: Callable[[], object]) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        run()
    return caught.value


def is_running(pid: int) -> bool:
    """Whether the process still runs; one that has ended and waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def eventually(holds: Callable[[], Any], seconds: float = 30) -> Any:
    """What `holds` gives once it is true; another process needs a moment."""
    deadline, never = time.monotonic() + seconds, threading.Event()
    while not (found := holds()):
        assert time.monotonic() < deadline, "it never came to that"
        never.wait(0.01)
    return found


# --- errors are no answers, whatever the exit code says


@pytest.mark.parametrize(
    ("word", "passing"),
    [("no-provider", False), ("daemon", True), ("task-error", True), ("error-after-response", True), ("text", True),
     ("cut", True), ("silent", True)],
)  # fmt: skip
def test_an_error_is_neither_recalled_nor_reported_as_stored(
    opened: Open, fault: Callable[[str], None], word: str, passing: bool
) -> None:
    memory = opened()
    fault(word)
    for run in (
        lambda: memory.prefetch(QUESTIONS[0]),
        lambda: memory.store(FACTS[0]),
        lambda: memory.sync_turn(turn(1, FACTS[0])),
        lambda: memory.call_tool("brv_query", {"query": QUESTIONS[0]}),
        lambda: memory.call_tool("brv_curate", {"content": FACTS[0]}),
        lambda: memory.call_tool("brv_status", {}),
    ):
        error = failure(run)
        assert error.passing is passing
        assert error.hint
    assert list(memory.export()) == []


def test_a_failed_turn_is_curated_when_it_works_again(opened: Open, fault: Callable[[str], None]) -> None:
    memory = opened()
    fault("no-provider")
    failure(lambda: memory.sync_turn(turn(1, FACTS[0])))
    fault("")
    memory.sync_turn(turn(1, FACTS[0]))
    memory.sync_turn(turn(1, FACTS[0]))
    assert [one["argv"][0] for one in calls(memory)] == ["curate", "curate"]
    assert len(list(memory.export())) == 1


def test_a_curation_that_filed_nothing_is_not_called_stored(opened: Open, fault: Callable[[str], None]) -> None:
    memory = opened()
    fault("files-nothing")
    assert memory.call_tool("brv_curate", {"content": FACTS[0]})["files"] == []
    assert "filed nothing" in failure(lambda: memory.store(FACTS[0])).message


def test_no_matching_knowledge_is_no_knowledge(opened: Open) -> None:
    memory = opened()
    assert memory.prefetch("Is there anything about the moon?") == []
    assert memory.call_tool("brv_query", {"query": "Is there anything about the moon?"}) == {
        "answer": "",
        "found": False,
    }


def test_lines_that_are_no_answer_are_passed_over(opened: Open, fault: Callable[[str], None]) -> None:
    memory = opened()
    fault("banner")
    memory.store(FACTS[0])
    assert "5433" in memory.prefetch(QUESTIONS[0])[0].text


# --- processes


def test_a_run_that_hangs_is_ended_in_time(opened: Open, fault: Callable[[str], None]) -> None:
    memory = opened(query_seconds="0.7")
    fault("hang")
    began = time.monotonic()
    error = failure(lambda: memory.prefetch(QUESTIONS[0]))
    assert (error.passing, "did not finish within 0.7 s" in error.message) == (True, True)
    assert time.monotonic() - began < 20


def test_closing_ends_what_still_runs_with_its_children(opened: Open, fault: Callable[[str], None]) -> None:
    memory = opened(query_seconds="60")
    fault("hang")
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(memory.prefetch, QUESTIONS[0])
        file = project(memory) / "pids"
        pids = [int(pid) for pid in eventually(lambda: file.is_file() and file.read_text()).split()]
        assert [is_running(pid) for pid in pids] == [True, True]
        memory.close()
        assert failure(asked.result).passing
    eventually(lambda: not any(is_running(pid) for pid in pids))
    assert failure(lambda: memory.prefetch(QUESTIONS[0])).message == "The provider is closed."


def test_a_daemon_that_holds_the_output_open_is_not_waited_for(opened: Open, fault: Callable[[str], None]) -> None:
    memory = opened(query_seconds="60")
    memory.store(FACTS[0])
    fault("leaves-daemon")
    began = time.monotonic()
    assert "5433" in memory.prefetch(QUESTIONS[0])[0].text
    assert time.monotonic() - began < 30
    daemon = int((project(memory) / "pids").read_text())
    assert is_running(daemon)
    os.kill(daemon, signal.SIGKILL)


def test_output_without_end_is_ended(opened: Open, fault: Callable[[str], None]) -> None:
    memory = opened(query_seconds="30")
    fault("endless")
    assert failure(lambda: memory.prefetch(QUESTIONS[0])).passing


@pytest.mark.parametrize(
    "text", ["--help me please", "view", "$(touch hacked); `touch hacked` && touch hacked", "a\0b c d", "'\""]
)
def test_what_is_said_is_an_argument_and_nothing_else(opened: Open, text: str) -> None:
    memory = opened()
    memory.store(text)
    assert calls(memory)[0]["argv"][-2:] == ["--", text.replace("\0", " ")]
    assert not (project(memory) / "hacked").exists()


def test_keys_of_others_are_not_handed_on(opened: Open) -> None:
    memory = opened()
    memory.store(FACTS[0])
    names = calls(memory)[0]["env"]
    assert "BRV_TEST_FAULT" in names
    assert ("OPENAI_API_KEY" in names) is ("OPENAI_API_KEY" in os.environ)


def test_a_command_that_is_gone_is_an_error_that_says_how_to_get_it(opened: Open, brv: Path) -> None:
    memory = opened()
    brv.unlink()
    error = failure(lambda: memory.prefetch(QUESTIONS[0]))
    assert not error.passing
    assert "npm install" in error.hint


# --- what is curated


def test_only_turns_that_carry_something_are_curated(opened: Open) -> None:
    memory = opened()
    for number, text in enumerate(["Thanks!", "What time is it?", "ok", "I prefer tabs over spaces."]):
        memory.sync_turn(turn(number, text, "It is noon, and here is a long story about that."))
    assert [one["argv"][0] for one in calls(memory)] == ["curate"]


@pytest.mark.parametrize(("said", "count"), [("all", 2), ("off", 0), ("false", 0), (False, 0), (True, 2)])
def test_how_much_is_curated_is_an_option(opened: Open, said: object, count: int) -> None:
    memory = opened(curate=said)
    memory.sync_turn(turn(1, "Thanks!"))
    memory.sync_turn(turn(2, "What time is it?"))
    assert len(calls(memory)) == count


def test_a_wrong_option_is_refused(opened: Open) -> None:
    assert "signals, all or off" in failure(lambda: opened(curate="perhaps")).hint


def test_a_long_exchange_is_cut_on_both_sides(opened: Open) -> None:
    memory = opened(curate="all")
    memory.sync_turn(turn(1, "u" * 50_000, "a" * 50_000))
    text = calls(memory)[0]["argv"][-1]
    assert text.count("u") < 2_100
    assert "Assistant: aaa" in text
    assert len(text) < 4_100


def test_users_have_trees_of_their_own(opened: Open) -> None:
    mine, other = opened(), opened(user="Ana")
    mine.store(FACTS[0])
    assert other.prefetch(QUESTIONS[0]) == []
    assert list(other.export()) == []


# --- forgetting


def test_a_file_that_holds_other_things_too_is_kept_and_said(opened: Open, fault: Callable[[str], None]) -> None:
    memory = opened()
    fault("merges")
    memory.sync_turn(turn(1, FACTS[0], session="01AAA"))
    memory.sync_turn(turn(1, "I prefer tabs over spaces.", session="01BBB"))
    gone = memory.forget(Selector("session", "01AAA"))
    assert gone.count == 0
    assert "notes/merged.md" in gone.kept
    gone = memory.forget(Selector("entry", FACTS[0]))
    assert gone.count == 1
    assert "notes/merged.md" in gone.kept
    (left,) = memory.export()
    assert "5433" not in left.text
    assert "I prefer tabs over spaces." in left.text


def test_what_cannot_be_erased_is_said(opened: Open) -> None:
    memory = opened()
    id_ = memory.store(FACTS[0])
    assert "cloud" in memory.forget(Selector("entry", id_)).kept
    assert memory.forget(Selector("url", "https://example.org")).kept


@pytest.mark.parametrize("value", ["../../../secret.md", "/etc/passwd", "e", ""])
def test_nothing_outside_of_the_tree_is_erased_and_no_letter_is_cut_out(opened: Open, value: str) -> None:
    memory = opened()
    memory.store(FACTS[0])
    secret = project(memory).parent / "secret.md"
    secret.write_text("mine")
    before = [one.text for one in memory.export()]
    assert memory.forget(Selector("entry", value)).count == 0
    assert memory._tree.erase([value]) == 0
    assert secret.read_text() == "mine"
    assert [one.text for one in memory.export()] == before


def test_changes_of_the_core_are_followed(opened: Open) -> None:
    memory = opened()
    memory.on_memory_write(MemoryChange("user", "", "Likes tea a lot.", 1))
    memory.on_memory_write(MemoryChange("user", "Likes tea a lot.", "Likes green tea.", 2))
    assert [one.text.splitlines()[-1] for one in memory.export()] == ["About the user: Likes green tea."]


def test_a_ledger_that_a_crash_cut_off_is_read_as_far_as_it_goes(opened: Open) -> None:
    memory = opened()
    memory.sync_turn(turn(1, FACTS[0]))
    with memory._tree._ledger.open("a") as ledger:
        ledger.write('{"turn": "half')
    assert memory._tree.has("01SESSION-T1")
    assert not memory._tree.has("half")


def test_the_files_and_the_ledger_are_backed_up(opened: Open) -> None:
    memory = opened()
    memory.sync_turn(turn(1, FACTS[0]))
    assert sorted(path.suffix for path in memory.backup_paths()) == [".jsonl", ".md"]
    assert memory.call_tool("brv_status", {})["files"] == 1
