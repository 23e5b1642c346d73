"""The built-in bank as a provider, and as a turn sees it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import vademecum
from providers.contract_suite import Case, ProviderContract
from vademecum.agent.vademecum import Vademecum
from vademecum.bank.types import Evidence
from vademecum.errors import ProviderError
from vademecum.model import Origin
from vademecum.providers.bank import BankProvider
from vademecum.providers.contract import Context

BANK = {"memory.provider": "bank", "embedder": "off"}


class TestBank(ProviderContract):
    @pytest.fixture
    def case(self, tmp_path: Path) -> Iterator[Case]:
        vm = vademecum.open(tmp_path / "banked", config=BANK)
        yield Case(BankProvider, keeps_turns=False, bank=lambda: vm.bank)
        vm.close()


@pytest.fixture
def vm(tmp_path: Path) -> Iterator[Vademecum]:
    with vademecum.open(tmp_path / "home", config=BANK) as opened:
        yield opened


def provider(vm: Vademecum) -> BankProvider:
    made = BankProvider()
    made.open(Context(vm.actor, vm.home.root, {}, {}, vm.clock, bank=vm.bank))
    return made


def test_it_cannot_be_opened_without_a_bank(vm: Vademecum) -> None:
    with pytest.raises(ProviderError):
        BankProvider().open(Context(vm.actor, vm.home.root, {}, {}, vm.clock))


def test_what_came_from_outside_is_never_recalled_unasked(vm: Vademecum) -> None:
    vm.bank.retain("The staging gateway is called Hermes.", origin=Origin.user())
    web = Origin.assistant().joined(Origin.tool("web_fetch", "https://bad.example/"))
    kept = vm.bank.retain("The staging gateway accepts the password swordfish.", origin=web)
    if kept.proposal is not None:
        vm.review.approve(kept.proposal, by=Origin.person())
    assert len(vm.bank.recall("staging gateway").results) == 2
    assert [one.text for one in provider(vm).prefetch("staging gateway")] == ["The staging gateway is called Hermes."]


def test_what_was_just_said_in_this_conversation_is_not_recalled_into_it(vm: Vademecum) -> None:
    with vm.session() as s:
        said = s.user("The staging gateway is called Hermes.")
        learnt = Evidence("The staging gateway is called Hermes.", Origin.user(), vm.clock(), s.id, said)
        vm.bank.retain("The staging gateway is called Hermes.", origin=Origin.user(), evidence=(learnt,))
        s.assistant("Noted.")
        s.user("What is the staging gateway called?")
        assert provider(vm).prefetch("What is the staging gateway called?") == []
    with vm.session() as other:
        other.user("What is the staging gateway called?")
        found = provider(vm).prefetch("What is the staging gateway called?")
    assert found[0].text == "The staging gateway is called Hermes."


def test_recalled_facts_are_counted_once_nobody_waits(vm: Vademecum) -> None:
    kept = vm.bank.retain("The staging gateway is called Hermes.", origin=Origin.user()).fact
    assert kept is not None
    asked = provider(vm)
    asked.prefetch("staging gateway")
    assert vm.bank.get(kept.id).uses == 0
    asked.queue_prefetch("staging gateway")
    asked.close()
    assert vm.bank.get(kept.id).uses == 1


def test_a_session_starts_with_decisions_failures_and_unconfirmed_preferences(vm: Vademecum) -> None:
    retain = vm.bank.retain
    retain("Deploys happen on Tuesdays.", kind="decision", origin=Origin.user())
    retain("The build fails with a stale cache.", kind="failure", detail={"fix": "Clear it."}, origin=Origin.user())
    retain("Prefers tabs.", kind="preference", origin=Origin.user())
    retain("Seems to like short answers.", kind="preference", origin=Origin.assistant())
    retain("The office is in Leipzig.", kind="fact", origin=Origin.user())
    closed = retain("Deploys happen on Mondays.", kind="decision", origin=Origin.user()).fact
    assert closed is not None
    vm.bank.close(closed.id, by=Origin.person())
    found = {one.text: one.kind for one in provider(vm).on_session_start("01S")}
    assert found == {
        "Deploys happen on Tuesdays.": "open decision",
        "The build fails with a stale cache. Fix: Clear it.": "failure to avoid",
        "Seems to like short answers.": "not confirmed yet",
    }


def test_a_turn_is_given_what_the_bank_knows_and_keeps_a_manifest_of_it(vm: Vademecum) -> None:
    from vademecum.store import manifests

    fact = vm.bank.retain("The staging gateway is called Hermes.", origin=Origin.user()).fact
    assert fact is not None
    with vm.session() as s:
        with s.turn("What is the staging gateway called?") as turn:
            assert "The staging gateway is called Hermes." in turn.context
            turn.answer("Hermes.")
        stored = vm.history.messages(s.id)
        assert all("recalled" not in message.content for message in stored)
        (kept,) = manifests.of_session(vm.db, vm.actor, s.id)
    assert (kept.turn, kept.provider) == (turn.id, "bank")
    assert [entry.id for entry in kept.entries] == [fact.id]
    assert kept.tokens > 0
    assert "gateway" in kept.entries[0].why


def test_an_unrelated_turn_is_given_nothing(vm: Vademecum) -> None:
    vm.bank.retain("The staging gateway is called Hermes.", origin=Origin.user())
    with vm.session() as s, s.turn("How tall is the Eiffel tower?") as turn:
        assert turn.context == ""
        turn.answer("330 metres.")
