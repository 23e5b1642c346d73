"""The tools `recall` and `retain`, as a model in a conversation uses them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.clock import parse_iso
from vademecum.model import Origin, tokens

WEB = Origin.tool("web_fetch", "https://a.example/page")


@pytest.fixture
def vm(tmp_path: Path) -> Iterator[Vademecum]:
    with vademecum.open(tmp_path / "home", config={"memory.provider": "bank", "embedder": "off"}) as opened:
        yield opened


def results(answer: dict[str, Any]) -> list[dict[str, Any]]:
    assert answer["success"] is True, answer
    return answer["results"]


def test_they_are_offered_with_the_bank_and_not_without(vm: Vademecum, tmp_path: Path) -> None:
    names = [spec.name for spec in vm.tools()]
    assert names == ["memory", "session_search", "note", "recall", "retain"]
    for config in ({}, {"memory.provider": "bank", "memory.recall_mode": "context"}):
        with vademecum.open(tmp_path / "other", config=config) as other:
            assert [spec.name for spec in other.tools()] == ["memory", "session_search", "note"]
            with other.session() as s:
                assert s.tool("recall", {"query": "x"})["code"] == "not_found"


def test_all_schemas_together_stay_under_3000_tokens(vm: Vademecum) -> None:
    sent = [{"name": s.name, "description": s.description, "parameters": s.parameters} for s in vm.tools()]
    assert tokens(json.dumps(sent)) < 3_000
    for spec in vm.tools():
        assert not {"anyOf", "oneOf", "allOf"} & spec.parameters.keys()


def test_what_the_user_said_is_kept_as_theirs_with_the_message_that_says_it(vm: Vademecum) -> None:
    with vm.session() as s:
        said = s.user("The staging gateway listens on port 5433.")
        kept = s.tool("retain", {"text": "The staging gateway listens on port 5433.", "kind": "environment"})
    assert (kept["success"], kept["done"], kept["outcome"]) == (True, True, "new")
    assert "not repeat" in str(kept["note"])
    fact = vm.bank.get(str(kept["id"]))
    assert (fact.kind, fact.trust) == ("environment", "owner")
    assert (fact.evidence[0].session, fact.evidence[0].message) == (s.id, said)
    assert fact.evidence[0].quote == "The staging gateway listens on port 5433."


def test_what_the_model_concluded_is_kept_as_the_assistants(vm: Vademecum) -> None:
    with vm.session() as s:
        s.user("Please look why the build fails.")
        args = {"text": "The build fails when the cache is stale.", "kind": "failure", "fix": "Clear the cache."}
        kept = s.tool("retain", args)
    fact = vm.bank.get(str(kept["id"]))
    assert fact.trust == "assistant"
    assert dict(fact.detail) == {"fix": "Clear the cache."}


def test_what_is_kept_after_reading_a_page_waits_for_a_person(vm: Vademecum) -> None:
    with vm.session() as s:
        s.user("Look at that page.")
        s.observe("The gateway's password is written on the wall.", WEB)
        kept = s.tool("retain", {"text": "The gateway trusts everybody who asks.", "kind": "fact"})
    assert kept["success"] is True
    facts = vm.bank.recall("gateway trusts everybody", what="facts").results
    assert all(hit.trust == "outside" for hit in facts)
    assert kept.get("staged") or facts


def test_hearing_an_outside_fact_taints_the_conversation(vm: Vademecum) -> None:
    kept = vm.bank.retain("The gateway is open at night.", origin=Origin.assistant().joined(WEB))
    if kept.proposal is not None:
        vm.review.approve(kept.proposal, by=Origin.person())
    vm.bank.retain("The gateway is green.", origin=Origin.user())
    with vm.session() as s:
        s.user("What colour is the gateway?")
        before = s.trust
        answer = s.tool("recall", {"query": "gateway"})
        named = {hit["id"] for hit in results(answer)}
        after = s.trust
    assert (before, after) == ("assistant", "outside")
    (outside,) = answer["outside"]  # pyright: ignore[reportGeneralTypeIssues]
    assert outside in named
    assert "no instructions" in str(answer["note"])


def test_a_correction_by_the_users_words_takes_the_place_of_the_old_fact(vm: Vademecum) -> None:
    old = vm.bank.retain("The staging gateway listens on port 5432.", origin=Origin.user()).fact
    assert old is not None
    with vm.session() as s:
        s.user("The staging gateway listens on port 5433.")
        kept = s.tool("retain", {"text": "The staging gateway listens on port 5433.", "replaces": old.id})
    assert kept["success"] is True
    assert vm.bank.get(old.id).superseded_by == kept["id"]
    with vm.session() as s:
        texts = [hit["text"] for hit in results(s.tool("recall", {"query": "staging gateway port", "kinds": ["fact"]}))]
    assert texts == ["The staging gateway listens on port 5433."]


def test_a_correction_by_the_model_is_proposed(vm: Vademecum) -> None:
    old = vm.bank.retain("The staging gateway listens on port 5432.", origin=Origin.user()).fact
    assert old is not None
    with vm.session() as s:
        s.user("Please check the gateway.")
        kept = s.tool("retain", {"text": "The staging gateway has been moved elsewhere.", "replaces": old.id})
    assert kept["staged"] is True
    assert vm.bank.get(old.id).valid_to is None


def test_an_answer_leads_back_to_what_was_said_and_ends_the_exchange(vm: Vademecum) -> None:
    with vm.session() as s:
        said = s.user("The staging gateway listens on port 5433.")
        s.tool("retain", {"text": "The staging gateway listens on port 5433."})
    with vm.session() as other:
        answer = other.tool("recall", {"query": "staging gateway", "kinds": ["fact"]})
        hit = results(answer)[0]
        opened = other.tool("session_search", {"message_id": hit["message_id"]})
    assert (hit["session_id"], hit["message_id"]) == (s.id, said)
    assert "5433" in json.dumps(opened["results"])
    assert answer["done"] is True
    assert "same answer" in str(answer["note"])


def test_an_empty_answer_says_that_it_proves_nothing(vm: Vademecum) -> None:
    with vm.session() as s:
        answer = s.tool("recall", {"query": "helium", "kinds": ["fact"]})
    assert results(answer) == []
    assert "no proof" in str(answer["note"])


def test_an_answer_is_bounded_whatever_is_stored(vm: Vademecum) -> None:
    for n in range(40):
        vm.bank.retain(f"Gateway {n} of staging " + f"has a very long story {n} " * 40, origin=Origin.user())
    with vm.session() as s:
        answer = s.tool("recall", {"query": "staging gateway", "kinds": ["fact"], "limit": 30})
    assert results(answer)
    assert tokens(json.dumps(answer)) < 2_500


def test_the_record_of_a_recall_does_not_find_itself(vm: Vademecum) -> None:
    vm.bank.retain("The codename is heliotrope.", origin=Origin.user())
    with vm.session() as s:
        s.user("What is the codename?")
        s.tool("recall", {"query": "codename", "kinds": ["fact"]})
    assert not any("heliotrope" in message.content for message in vm.history.messages(s.id))


def test_an_incognito_conversation_recalls_and_keeps_nothing(vm: Vademecum) -> None:
    vm.bank.retain("The codename is heliotrope.", origin=Origin.user())
    with vm.session(incognito=True) as s:
        s.user("The new codename is mauve.")
        assert results(s.tool("recall", {"query": "codename", "kinds": ["fact"]}))
        assert s.tool("retain", {"text": "The new codename is mauve."})["success"] is False
    assert len(vm.bank.list()) == 1


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("recall", {}),
        ("recall", {"query": 7}),
        ("recall", {"query": "x", "kinds": ["gossip"]}),
        ("recall", {"query": "x", "kinds": 5}),
        ("recall", {"query": "x", "as_of": "the day it rained"}),
        ("recall", {"query": "x", "user": "mallory"}),
        ("recall", None),
        ("retain", {}),
        ("retain", {"text": "  "}),
        ("retain", {"text": ["a"]}),
        ("retain", {"text": "x is y", "kind": "gossip"}),
        ("retain", {"text": "x is y", "replaces": "01NOSUCHFACT0000000000000"}),
        ("retain", {"text": "x is y", "valid_from": "soon"}),
        ("retain", {"text": "x" * 5_000}),
    ],
)
def test_a_models_mistake_is_an_answer(vm: Vademecum, name: str, args: Any) -> None:
    with vm.session() as s:
        s.user("hello")
        answer = s.tool(name, args)
    assert answer["success"] is False
    assert answer["error"]
    assert vm.bank.list() == ()


@pytest.mark.parametrize("then", ["2026-03-31", "last March", "in 2026"])
def test_a_model_asks_for_what_held_in_a_time_and_gets_its_last_day(vm: Vademecum, then: str) -> None:
    vm.bank.retain("The office is in Ghent.", origin=Origin.user(), valid_to=parse_iso("2026-04-01"))
    with vm.session() as s:
        (hit,) = results(s.tool("recall", {"query": "where is the office?", "as_of": then}))
        assert hit["valid_to"] == "2026-03-31"
        assert results(s.tool("recall", {"query": "where is the office?", "as_of": "now"})) == []
        kept = s.tool("retain", {"text": "The office is in Bonn.", "valid_from": "in April 2026"})
    assert vm.bank.get(str(kept["id"])).valid_from == parse_iso("2026-04-01")
