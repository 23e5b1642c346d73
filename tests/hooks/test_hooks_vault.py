"""The shared log in a conversation of Claude Code, through real hooks."""

from __future__ import annotations

import json

from servers.claude import Client
from vademecum.agent.taint import outside_of
from vademecum.agent.vademecum import Vademecum
from vademecum.store import vault as rows


def added(answer: dict[str, object] | None) -> str:
    assert answer, "the hook said nothing"
    return str(json.loads(json.dumps(answer))["hookSpecificOutput"]["additionalContext"])


def session_of(vm: Vademecum, client: Client) -> str:
    found = vm.history.by_key(f"claude-code:{client.transcript.session}")
    assert found is not None
    return found.id


def test_a_prompt_is_given_what_is_new_in_the_log_once_and_hears_it(vm: Vademecum, client: Client) -> None:
    client.hook("session-start", source="startup")
    assert not client.hook("user-prompt", prompt="hello", prompt_id="p1")
    entry = vm.as_("ella").vault.log("deploy", "the API is out").entry
    assert entry is not None
    text = added(client.hook("user-prompt", prompt="what now?", prompt_id="p2"))
    assert "ella deploy: the API is out" in text and text.startswith("<!-- vademecum begin")
    assert not client.hook("user-prompt", prompt="and now?", prompt_id="p3")
    session = session_of(vm, client)
    assert "agent:ella" in str(outside_of(vm, session))
    (shown,) = rows.shown(vm.db, "default", session)
    assert (shown.entry, shown.turn, shown.how) == (entry.id, "p2", "hook")


def test_a_start_after_a_task_that_was_cut_off_is_given_the_brief(vm: Vademecum, client: Client) -> None:
    vm.vault.checkpoint("Move the gateway", next="switch the route")
    assert "switch the route" in added(client.hook("session-start", source="startup"))
    assert "switch the route" not in added(client.hook("session-start", source="clear"))
