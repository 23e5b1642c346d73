"""The `memory` tool: the answers that a model gets, and that no sequence of calls breaks a store."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.core.conftest import Core, MakeCore

from vademecum.config import MemoryConfig
from vademecum.core.entries import clean, join
from vademecum.core.memory_tool import MEMORY_TOOL, Attempts, memory_tool
from vademecum.core.note_tool import NOTE_TOOL
from vademecum.gate.structure import neutralise
from vademecum.home import Home
from vademecum.model import Actor, Origin, tokens
from vademecum.store import Database, migrate


def call(core: Core, attempts: Attempts | None = None, **args: object) -> dict[str, Any]:
    return memory_tool(core.memory, args, origin=Origin.assistant(), session="S", attempts=attempts or Attempts())


def test_a_success_ends_the_exchange_and_echoes_nothing(core: Core) -> None:
    answer = call(core, action="add", target="memory", content="the host is up north.")
    note = answer.pop("note")
    assert answer == {
        "success": True,
        "done": True,
        "target": "memory",
        "usage": "0% — 21/2,200 chars",
        "entry_count": 1,
        "message": "Entry added.",
    }
    assert "do not repeat" in note
    assert "host" not in json.dumps(call(core, action="remove", target="memory", old_text="host"))


def test_replace_answers_what_it_replaced(core: Core) -> None:
    call(core, action="add", target="user", content="likes tea")
    assert call(core, action="replace", target="user", old_text="tea", content="likes mate")["replaced"] == "likes tea"


def test_an_overflow_answers_the_entries_the_usage_and_the_way_out(make_core: MakeCore) -> None:
    core = make_core(memory_char_limit=30)
    call(core, action="add", target="memory", content="a" * 25)
    answer = call(core, action="add", target="memory", content="b" * 25)
    assert answer["success"] is False
    assert answer["current_entries"] == ["a" * 25]
    assert answer["usage"] == "25/30"
    assert answer["code"] == "full"
    assert "replace" in answer["error"]
    assert "\n" not in answer["error"]


def test_no_match_answers_the_entries_and_several_matches_answer_previews(core: Core) -> None:
    for content in ("deploy to a", "deploy to b"):
        call(core, action="add", target="memory", content=content)
    nothing = call(core, action="remove", target="memory", old_text="nothing")
    assert (nothing["success"], nothing["current_entries"]) == (False, ["deploy to a", "deploy to b"])
    several = call(core, action="remove", target="memory", old_text="deploy")
    assert (several["success"], several["matches"]) == (False, ["deploy to a", "deploy to b"])


def test_a_batch_is_carried_out_as_one(core: Core) -> None:
    call(core, action="add", target="memory", content="old")
    batch = [{"action": "remove", "old_text": "old"}, {"action": "add", "content": "new"}]
    answer = call(core, target="memory", operations=batch)
    assert (answer["success"], answer["entry_count"]) == (True, 1)
    assert call(core, target="memory", operations=json.dumps(batch[1:]))["success"]


def test_after_three_failures_in_a_turn_the_answer_is_terminal(core: Core) -> None:
    attempts = Attempts()
    answers = [call(core, attempts, action="remove", target="memory", old_text="nothing") for _ in range(4)]
    assert [answer.get("done", False) for answer in answers] == [False, False, True, True]
    assert not any(answer["success"] for answer in answers)
    assert "Do not call it again" in answers[2]["error"]
    assert call(core, attempts, action="add", target="memory", content="fact")["success"] is False
    assert core.memory.entries("memory") == ()
    assert call(core, Attempts(), action="add", target="memory", content="fact")["success"] is True


def test_a_duplicate_is_a_success_and_counts_as_no_failure(core: Core) -> None:
    attempts = Attempts()
    answers = [call(core, attempts, action="add", target="memory", content="fact") for _ in range(5)]
    assert all(answer["success"] and answer["done"] for answer in answers)
    assert attempts.failed == 0
    assert "is there already" in answers[1]["message"]


def test_a_staged_write_says_so_and_ends_the_exchange(make_core: MakeCore) -> None:
    core = make_core(write_approval="all")
    answer = call(core, action="add", target="memory", content="fact")
    assert (answer["success"], answer["done"], answer["staged"]) == (True, True, True)
    assert core.review.show(str(answer["proposal"])).text == "fact"


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"target": "soul", "action": "add", "content": "x"},
        {"target": "memory"},
        {"target": "memory", "action": "read"},
        {"target": "memory", "action": "add"},
        {"target": "memory", "action": "add", "content": 5},
        {"target": "memory", "action": "replace", "old_text": "x"},
        {"target": "memory", "operations": "no list"},
        {"target": "memory", "operations": {"action": "add"}},
        {"target": "memory", "operations": ["add"]},
        {"target": "memory", "action": "add", "content": "x", "operations": [{"action": "add", "content": "y"}]},
    ],
)
def test_a_wrong_call_is_answered_and_writes_nothing(core: Core, args: dict[str, object]) -> None:
    answer = call(core, **args)
    assert answer["success"] is False
    assert answer["error"]
    assert not core.memory.path("memory").exists()


def test_the_schemas_are_small_and_every_backend_takes_them() -> None:
    for spec in (MEMORY_TOOL, NOTE_TOOL):
        assert not {"anyOf", "oneOf", "allOf"} & spec.parameters.keys()
    assert MEMORY_TOOL.parameters["required"] == ["target"]
    sizes = [tokens(json.dumps([s.name, s.description, s.parameters])) for s in (MEMORY_TOOL, NOTE_TOOL)]
    assert sum(sizes) < 1000


LIMITS = {"memory": 60, "user": 40}
PIECES = st.lists(st.sampled_from(["a", "b", "§", "\\", "\n", " ", "tea", "\r\n", "x" * 20, "é"]), max_size=6).map(
    "".join
)
TARGETS = st.sampled_from(["memory", "user"])


class ToolCalls(RuleBasedStateMachine):
    """Any sequence of calls against a plain list that follows the same rules."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        home = Home(Path(self.folder.name))
        self.db = Database(home.database)
        migrate(self.db)
        config = MemoryConfig(memory_char_limit=LIMITS["memory"], user_char_limit=LIMITS["user"])
        self.core = Core(home, self.db, Actor(), config)
        self.expected: dict[str, list[str]] = {"memory": [], "user": []}

    def teardown(self) -> None:
        self.db.close()
        self.folder.cleanup()

    @staticmethod
    def meant(entries: list[str], old: str) -> list[str]:
        """The entries that `old` quotes: as they are written, else as the prompt shows them."""
        for forms in ({entry: entry for entry in entries}, {entry: neutralise(join([entry])) for entry in entries}):
            whole = [entry for entry, form in forms.items() if form == old]
            part = [entry for entry, form in forms.items() if old in form]
            if whole or part:
                return whole[:1] or part
        return []

    def run_model(self, target: str, operations: list[dict[str, str]]) -> list[str] | None:
        """The entries afterwards, None when the call has to fail."""
        entries = list(self.expected[target])
        for operation in operations:
            new, old = clean(operation.get("content", "")), clean(operation.get("old_text", ""))
            if operation["action"] != "remove" and not new:
                return None
            if operation["action"] == "add":
                entries += [] if new in entries else [new]
                continue
            found = self.meant(entries, old)
            if not old or len(found) != 1:
                return None
            at = entries.index(found[0])
            keep = operation["action"] == "replace" and (new == found[0] or new not in entries)
            entries[at : at + 1] = [new] if keep else []
        grown = len(join(entries)) >= len(join(self.expected[target]))
        if entries != self.expected[target] and len(join(entries)) > LIMITS[target] and grown:
            return None
        return entries

    def check(self, target: str, operations: list[dict[str, str]], args: dict[str, object]) -> None:
        expected = self.run_model(target, operations)
        before = self.core.data(target) if self.core.memory.path(target).exists() else None  # type: ignore[arg-type]
        answer = call(self.core, target=target, **args)
        assert answer["success"] == (expected is not None), (answer, self.expected, operations)
        if expected is None:
            now = self.core.data(target) if before is not None else None
            assert now == before
        else:
            self.expected[target] = expected

    @rule(target_=TARGETS, content=PIECES)
    def add(self, target_: str, content: str) -> None:
        operation = {"action": "add", "content": content}
        self.check(target_, [operation], dict(operation))

    @rule(target_=TARGETS, old=PIECES, content=PIECES)
    def replace(self, target_: str, old: str, content: str) -> None:
        operation = {"action": "replace", "content": content, "old_text": old}
        self.check(target_, [operation], dict(operation))

    @rule(target_=TARGETS, old=PIECES)
    def remove(self, target_: str, old: str) -> None:
        operation = {"action": "remove", "old_text": old}
        self.check(target_, [operation], dict(operation))

    @rule(
        target_=TARGETS,
        operations=st.lists(
            st.fixed_dictionaries(
                {"action": st.sampled_from(["add", "replace", "remove"]), "content": PIECES, "old_text": PIECES}
            ),
            min_size=1,
            max_size=3,
        ),
    )
    def batch(self, target_: str, operations: list[dict[str, str]]) -> None:
        self.check(target_, operations, {"operations": operations})

    @invariant()
    def no_entry_is_lost_and_no_bound_is_passed(self) -> None:
        for store, limit in LIMITS.items():
            view = self.core.memory.view(store)  # type: ignore[arg-type]
            assert [entry.text for entry in view.entries] == self.expected[store]
            assert view.used <= limit


TestToolCalls = ToolCalls.TestCase
TestToolCalls.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
