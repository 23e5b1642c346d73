"""A paragraph by a model: only sentences that cite what was shown, paid from the day's allowance, asked for once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from servers import openai
from vademecum.agent.vademecum import Vademecum
from wiki.knowing import ANNA, WEB, compiled, knowing, opened, outcomes, text, told

BERG = "Entities/anna-berg"


@pytest.fixture
def server() -> Iterator[openai.Server]:
    with openai.running() as running:
        running.default = said()
        yield running


def said(*sentences: tuple[str, list[int]]) -> openai.Answer:
    return openai.calls(("c1", "write", {"sentences": [{"text": text, "from": cites} for text, cites in sentences]}))


def with_model(home: Path, server: openai.Server, **more: object) -> Vademecum:
    knowing(home)
    model: dict[str, object] = {"background_model": "openai:m", "models.base_url": server.url, "background_limit": 1.0}
    return opened(home, **(model | more))


def claims(request: dict[str, Any]) -> dict[str, int]:
    content = request["messages"][1]["content"]
    rows = [json.loads(line) for line in content.splitlines() if line.startswith('{"n"')]
    return {row["text"]: row["n"] for row in rows}


def test_cited_sentences_stand_at_the_head_and_the_others_are_dropped(tmp_path: Path, server: openai.Server) -> None:
    vm = with_model(tmp_path, server)
    server.default = said(
        ("Anna Berg leads the data team from Lisbon.", [1, 2]),
        ("Nobody says this.", []),
        ("And nobody was shown that.", [99]),
        ("She has 17 cats.", [1]),
    )
    done = compiled(vm)
    assert done.with_model
    body = text(vm, BERG)
    facts = [f"[^f-{fact.id[-6:]}]" for fact in sorted(vm.bank.list(), key=lambda one: one.learnt_at)[:2]]
    assert f"## In short\n\nAnna Berg leads the data team from Lisbon.{''.join(facts)}\n" in body
    for word in ("Nobody", "nobody", "cats"):
        assert word not in body


def test_a_page_is_asked_about_once_until_its_claims_change(tmp_path: Path, server: openai.Server) -> None:
    vm = with_model(tmp_path, server)
    server.default = said(("Anna Berg leads the data team.", [1]))
    compiled(vm)
    asked = len(server.requests)
    assert asked > 0
    first = text(vm, BERG)
    assert set(outcomes(compiled(vm)).values()) == {"unchanged"}
    told(vm, "Otters live in Kestrel, says the owner.", 30)
    told(vm, "The owner says that Otters swim.", 31)
    compiled(vm)
    pages = [request["messages"][1]["content"].splitlines()[0] for request in server.requests[asked:]]
    assert 'The subject: "Anna Berg"' not in pages
    assert text(vm, BERG) == first


def test_a_page_that_only_gets_other_neighbours_keeps_its_paragraph(tmp_path: Path, server: openai.Server) -> None:
    vm = with_model(tmp_path, server)
    server.default = said(("Anna Berg leads the data team.", [1]))
    compiled(vm)
    plain = opened(tmp_path)
    told(plain, "On Fridays Anna Berg is at the university.", 9)
    compiled(plain)
    assert "## In short" not in text(vm, BERG)
    compiled(vm)
    assert "## In short\n\nAnna Berg leads the data team.[^f-" in text(vm, BERG)


def test_without_a_model_nothing_that_a_model_wrote_is_lost_while_the_claims_are_the_same(
    tmp_path: Path, server: openai.Server
) -> None:
    vm = with_model(tmp_path, server)
    server.default = said(("Anna Berg leads the data team.", [1]))
    compiled(vm)
    before = text(vm, BERG)
    assert set(outcomes(compiled(opened(tmp_path))).values()) == {"unchanged"}
    assert text(vm, BERG) == before


def test_when_the_days_allowance_is_used_up_the_rest_stays_without_and_it_is_said(
    tmp_path: Path, server: openai.Server
) -> None:
    vm = with_model(tmp_path, server, background_limit=0.000001)
    for n in range(4):
        told(vm, f"The owner likes tea number {n}.", 20 + n, "preference")
    done = compiled(vm)
    assert len(server.requests) == 1
    assert any("1 page has no paragraph by a model" in note for note in done.notes)
    assert "## What is known" in text(vm, BERG)


def test_a_sentence_from_what_came_from_outside_says_so(tmp_path: Path, server: openai.Server) -> None:
    vm = with_model(tmp_path, server)
    told(vm, "It is said that Anna Berg moves to Berlin.", 9, origin=WEB)
    server.default = said(("Anna Berg moves to Berlin.", [4]))
    compiled(vm)
    request = next(one for one in server.requests if '"Anna Berg"' in one["messages"][1]["content"])
    assert claims(request)["It is said that Anna Berg moves to Berlin."] == 3
    server.default = said(("Anna Berg moves to Berlin.", [3]))
    told(vm, "On Fridays Anna Berg is at the university.", 10)
    compiled(vm)
    assert "*from outside (web_fetch bad.example):* Anna Berg moves to Berlin.[^f-" in text(vm, BERG)


def test_forgetting_takes_a_models_sentences_with_the_claim(tmp_path: Path, server: openai.Server) -> None:
    from wiki.knowing import PERSON

    vm = with_model(tmp_path, server)
    told(vm, "It is said that Anna Berg moves to Berlin.", 9, origin=WEB)
    server.default = said(("Anna Berg moves to Berlin.", [3]))
    compiled(vm)
    assert "Berlin" in text(vm, BERG)
    vm.forget("url:bad.example", by=PERSON)
    assert "Berlin" not in text(vm, BERG)
    assert "## In short" not in text(vm, BERG)


@pytest.mark.parametrize(
    "sentence",
    [
        "Anna Berg is the queen of England.",
        "Anna Berg does not lead the data team.",
        "Anna Berg has seventeen cats.",
        "Anna Anna Anna Anna Anna.",
        "Anna Berg likes quibblewort tea.",
    ],
)
def test_a_sentence_that_its_claim_does_not_say_is_dropped(
    tmp_path: Path, server: openai.Server, sentence: str
) -> None:
    vm = with_model(tmp_path, server)
    told(vm, "Anna Berg likes quibblewort tea.", 9, origin=WEB)
    compiled(vm, prose=False)
    server.default = lambda request: said((sentence, [claims(request).get(ANNA, 1)]))  # the owner's claim
    compiled(vm)
    body = text(vm, BERG)
    assert "## In short" not in body


def test_each_sentence_of_one_item_has_to_stand_in_what_is_cited(tmp_path: Path, server: openai.Server) -> None:
    vm = with_model(tmp_path, server)
    item = "Anna Berg leads the data team. She also secretly murdered the mayor. Nobody knows."
    server.default = said((item, [1, 2]), (item, [1, 2]))
    compiled(vm)
    body = text(vm, BERG)
    assert body.partition("## In short")[2].partition("\n## ")[0].count("leads the data team.") == 1
    assert "murdered" not in body
    assert "Nobody" not in body
