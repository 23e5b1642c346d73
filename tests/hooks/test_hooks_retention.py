"""What hooks record is looked through for facts: by whoever works next, once, and not what was broken off."""

from __future__ import annotations

import json
from pathlib import Path

import vademecum
from servers.claude import Client, Transcript
from vademecum.agent.retaining import KIND
from vademecum.agent.vademecum import Vademecum
from vademecum.agent.worker import handlers
from vademecum.clients.imports.claude_code import import_claude_code

PORT = "The staging database listens on port 5433."
TABS = "I prefer tabs over spaces in Go files."
INTERRUPT = {"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user]"}]}


def banked(client: Client) -> Vademecum:
    home = client.home
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text("memory:\n  provider: bank\n")
    return vademecum.open(home)


def jobs(vm: Vademecum) -> list[dict[str, str]]:
    rows = vm.db.all("SELECT payload FROM jobs WHERE kind = ? AND state = 'due'", (KIND,))
    return [json.loads(row[0]) for row in rows]


def work(vm: Vademecum) -> None:
    vm.queue.run_due({KIND: handlers(vm)[KIND]})


def texts(vm: Vademecum) -> list[str]:
    return sorted(one.text for one in vm.bank.list())


def test_a_stop_queues_the_conversation_with_its_folder_and_the_worker_keeps_what_was_said(client: Client) -> None:
    vm = banked(client)
    client.hook("session-start", source="startup")
    client.turn(PORT, "Noted.")
    client.hook("stop", cwd="/home/ana/project")
    (payload,) = jobs(vm)
    assert payload["folder"] == "/home/ana/project"
    assert texts(vm) == []  # a hook only queues
    work(vm)
    assert texts(vm) == [PORT]
    client.turn(TABS, "Noted.")
    client.hook("session-end", reason="other")
    work(vm)
    assert texts(vm) == sorted([PORT, TABS])
    assert {len(one.evidence) for one in vm.bank.list()} == {1}


def test_what_the_user_broke_off_is_not_kept(client: Client) -> None:
    vm = banked(client)
    client.hook("session-start", source="startup")
    client.transcript.user(PORT)
    client.transcript.assistant("I will begin by")
    client.transcript.line("user", message=INTERRUPT)
    client.transcript.user(TABS)
    client.transcript.assistant("Noted.")
    client.hook("stop")
    work(vm)
    assert texts(vm) == [TABS]


def test_an_import_queues_only_a_conversation_that_goes_on(client: Client, tmp_path: Path) -> None:
    vm = banked(client)
    running, over = (Transcript(tmp_path / "projects" / "-p" / f"{name}.jsonl", session=name) for name in ("s1", "s2"))
    Client(client.home, running).hook("session-start", source="startup")
    for one in (running, over):
        one.user(PORT)
        one.assistant("Noted.")
    import_claude_code(vm, tmp_path / "projects")
    session = vm.history.by_key("claude-code:s1")
    assert session is not None
    assert [payload["session"] for payload in jobs(vm)] == [session.id]


def test_without_the_bank_a_hook_queues_nothing(client: Client) -> None:
    vm = vademecum.open(client.home)
    client.hook("session-start", source="startup")
    client.turn(PORT, "Noted.")
    client.hook("stop")
    client.hook("session-end", reason="other")
    assert jobs(vm) == []
