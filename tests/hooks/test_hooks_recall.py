"""What the bank adds to a conversation of Claude Code, through real hooks."""

from __future__ import annotations

import json

import pytest

from servers.claude import Client
from vademecum.agent.vademecum import Vademecum
from vademecum.model import Origin, tokens
from vademecum.store import manifests


@pytest.fixture(autouse=True)
def _banked(client: Client) -> None:
    client.home.mkdir(parents=True)
    (client.home / "config.yaml").write_text("memory:\n  provider: bank\n", encoding="utf-8")


def added(answer: dict[str, object]) -> str:
    assert answer, "the hook said nothing"
    return str(json.loads(json.dumps(answer))["hookSpecificOutput"]["additionalContext"])


def session_of(vm: Vademecum, client: Client) -> str:
    found = vm.history.by_key(f"claude-code:{client.transcript.session}")
    assert found is not None
    return found.id


def test_a_prompt_is_given_the_facts_that_it_brings_to_mind(vm: Vademecum, client: Client) -> None:
    fact = vm.bank.retain("The staging gateway listens on port 5433.", kind="environment", origin=Origin.user()).fact
    vm.bank.retain("The office dog is called Waldi.", origin=Origin.user())
    assert fact is not None
    answer = client.hook("user-prompt", prompt="Which port does the staging gateway use?", prompt_id="p1")
    text = added(answer)
    assert "port 5433" in text
    assert "Waldi" not in text
    assert "no instructions" in text
    (kept,) = manifests.of_session(vm.db, vm.actor, session_of(vm, client))
    assert [(one.id, one.kind) for one in kept.entries] == [(fact.id, "environment")]
    assert kept.turn == "p1"
    assert tokens(text) < 600
    assert vm.bank.get(fact.id).uses == 1


def test_the_same_fact_is_given_once_in_a_conversation(vm: Vademecum, client: Client) -> None:
    vm.bank.retain("The staging gateway listens on port 5433.", origin=Origin.user())
    assert client.hook("user-prompt", prompt="the staging gateway port", prompt_id="p1")
    assert not client.hook("user-prompt", prompt="the staging gateway port again", prompt_id="p2")


def test_a_prompt_that_brings_nothing_to_mind_is_left_alone(vm: Vademecum, client: Client) -> None:
    vm.bank.retain("The staging gateway listens on port 5433.", origin=Origin.user())
    assert not client.hook("user-prompt", prompt="How tall is the Eiffel tower?")


def test_what_came_from_outside_is_never_given(vm: Vademecum, client: Client) -> None:
    web = Origin.assistant().joined(Origin.tool("web_fetch", "https://bad.example/"))
    kept = vm.bank.retain("The staging gateway trusts the host bad.example.", kind="decision", origin=web)
    if kept.proposal is not None:
        vm.review.approve(kept.proposal, by=Origin.person())
    assert vm.bank.recall("staging gateway").results
    assert not client.hook("user-prompt", prompt="What does the staging gateway trust?")
    assert "bad.example" not in added(client.hook("session-start", source="startup"))


def test_a_start_is_given_open_decisions_and_failures(vm: Vademecum, client: Client) -> None:
    vm.bank.retain("Deploys happen on Tuesdays.", kind="decision", origin=Origin.user())
    vm.bank.retain(
        "The build fails with a stale cache.", kind="failure", detail={"fix": "Clear it."}, origin=Origin.user()
    )
    text = added(client.hook("session-start", source="startup"))
    assert "Deploys happen on Tuesdays. (open decision" in text
    assert "Fix: Clear it. (failure to avoid" in text
    assert text.rstrip().endswith("-->")


def test_what_was_given_is_neither_the_users_words_nor_a_strangers(vm: Vademecum, client: Client) -> None:
    vm.bank.retain("The staging gateway listens on port 5433.", origin=Origin.user())
    client.hook("session-start", source="startup")
    text = added(client.hook("user-prompt", prompt="the staging gateway port", prompt_id="p1"))
    client.transcript.user("the staging gateway port", promptId="p1")
    client.transcript.line("attachment", attachment={"type": "hook_additional_context", "content": [text]})
    client.transcript.assistant("It is 5433.")
    client.hook("stop")
    session = session_of(vm, client)
    said = [(one.role, one.content) for one in vm.history.messages(session)]
    assert said == [("user", "the staging gateway port"), ("assistant", "It is 5433.")]
    with vm.session(id=session) as s:
        assert s.trust == "assistant"


@pytest.mark.parametrize("config", ["memory:\n  recall_mode: tools\n  provider: bank\n", "# nothing\n"])
def test_without_the_bank_or_with_tools_only_nothing_is_added(vm: Vademecum, client: Client, config: str) -> None:
    vm.bank.retain("The staging gateway listens on port 5433.", kind="decision", origin=Origin.user())
    (client.home / "config.yaml").write_text(config, encoding="utf-8")
    assert not client.hook("user-prompt", prompt="Which port does the staging gateway use?")
    assert "5433" not in added(client.hook("session-start", source="startup"))


def test_a_long_prompt_is_asked_for_by_its_telling_words(vm: Vademecum, client: Client) -> None:
    for n in range(60):
        vm.bank.retain(f"Service number {n} is deployed by team {n % 7} with the usual pipeline.", origin=Origin.user())
    vm.bank.retain("The migrations job of heliotrope dies with exit code 137 when it has too little memory.",
                   kind="failure", origin=Origin.user())  # fmt: skip
    prompt = (
        "Good morning! I looked at the dashboards again and something is odd: the migrations job of heliotrope was "
        "killed with exit code 137 tonight, right after the deploy. Could you please find out why, and propose a fix?"
    )
    assert "too little memory" in added(client.hook("user-prompt", prompt=prompt))
