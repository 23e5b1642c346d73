"""From a document to proposals: sentences or a model's statements, each with its citation, none kept by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vademecum
from servers import openai
from servers.arxiv import Arxiv, Paper
from vademecum.errors import ModelError, NotFoundError, RefusedError, UsageError
from vademecum.library.distil import Statement, grounded, sentences
from vademecum.model import Origin

ABSTRACT = (
    "Agents forget what they were told. We show that a bounded memory of 2,200 characters keeps 94 percent of the "
    "facts that matter. The memory has to be curated by the agent itself. Retrieval from a vector store was worse in "
    "all of our experiments. Code is available. Write to us."
)
SOURCE = Origin.connector("arxiv", "2401.01234", "v2")


@pytest.fixture
def arxiv() -> Iterator[Arxiv]:
    with Arxiv() as server:
        server.papers.append(Paper("2401.01234", "A bounded memory for agents", ABSTRACT, version=2))
        server.papers.append(Paper("2401.00002", "Nothing", "Short."))
        yield server


@pytest.fixture
def model() -> Iterator[openai.Server]:
    with openai.running() as running:
        yield running


def opened(home: Path, arxiv: Arxiv, model: openai.Server | None = None) -> vademecum.Vademecum:
    config: dict[str, Any] = {"library": {"arxiv": {"base_url": f"{arxiv.url}/api"}}}
    config |= {"memory.provider": "bank", "embedder": "off"}
    if model is not None:
        config |= {"background_model": "openai:m", "models.base_url": model.url, "background_limit": 1.0}
    vm = vademecum.open(home, config=config)
    vm.library._sleep = lambda seconds: None  # pyright: ignore[reportPrivateUsage]  the pace of three seconds
    return vm


def said(*rows: tuple[str, str]) -> openai.Answer:
    return openai.calls(("c1", "statements", {"statements": [{"text": text, "quote": quote} for text, quote in rows]}))


GOOD = ("A bounded memory of 2,200 characters keeps 94 percent of the facts that matter.",
        "a bounded memory of 2,200 characters keeps 94 percent of the facts that matter")  # fmt: skip


def test_without_a_model_the_documents_own_sentences_are_offered_and_nothing_is_kept(
    tmp_path: Path, arxiv: Arxiv
) -> None:
    with opened(tmp_path, arxiv) as vm:
        found = vm.library.distil("arxiv:2401.01234")
        assert not found.model
        assert all(one.text in ABSTRACT for one in found.statements)
        assert any("94 percent" in one.text for one in found.statements)
        assert not any("Code is available" in one.text for one in found.statements)
        assert vm.review.pending() == []


@pytest.mark.parametrize(("goal", "tier"), [("notes", "notes"), ("memory", "core"), ("facts", "facts")])
def test_a_chosen_sentence_becomes_a_proposal_with_citation_and_the_documents_origin(
    tmp_path: Path, arxiv: Arxiv, goal: Any, tier: str
) -> None:
    with opened(tmp_path, arxiv) as vm:
        found = vm.library.distil("arxiv:2401.01234")
        number = next(n for n, one in enumerate(found.statements, 1) if "94 percent" in one.text)
        done = vm.library.propose(found, [number], to=goal)
        (kept,) = done.kept
        (waiting,) = vm.review.pending()
        assert (waiting.id, waiting.tier) == (kept.proposal, tier)
        assert SOURCE in waiting.origin.parts
        assert "94 percent" in waiting.text
        assert not vm.memory.entries("memory")
        assert not vm.notes.list()
        assert not vm.bank.recall("bounded memory characters").results
        vm.review.approve(waiting.id, by=Origin.person())
        if goal == "memory":
            assert next(one.text for one in vm.memory.entries("memory")).endswith("(arxiv:2401.01234 v2)")
        elif goal == "notes":
            assert "arxiv:2401.01234" in vm.notes.read(vm.notes.list()[0].slug).body
        else:
            (hit,) = vm.bank.recall("bounded memory characters").results
            assert SOURCE in hit.origin.parts
            assert SOURCE in hit.evidence[0].origin.parts


def test_of_a_model_only_what_the_document_says_is_proposed(tmp_path: Path, arxiv: Arxiv, model: openai.Server) -> None:
    model.default = said(
        GOOD,
        ("Memory cures cancer.", "memory was shown to cure cancer in mice"),
        ("It keeps 97 percent of the facts.", GOOD[1]),
    )
    with opened(tmp_path, arxiv, model) as vm:
        found = vm.library.distil("arxiv:2401.01234")
        assert found.model
        assert [one.text for one in found.statements] == [GOOD[0]]
        done = vm.library.propose(found, to="facts")
        assert [bool(one.proposal) for one in done.kept] == [True]
        (waiting,) = vm.review.pending()
        assert Origin.assistant() in waiting.origin.parts
        assert SOURCE in waiting.origin.parts
    sent = model.requests[0]["messages"]
    assert "no instruction" in sent[0]["content"]
    assert "<recalled-" in sent[1]["content"]


def test_a_model_that_hands_over_nothing_useful_is_an_error_and_the_sentences_are_left(
    tmp_path: Path, arxiv: Arxiv, model: openai.Server
) -> None:
    with opened(tmp_path, arxiv, model) as vm:
        model.default = openai.text("I would rather talk.")
        with pytest.raises(ModelError, match="no statements"):
            vm.library.distil("arxiv:2401.01234")
        model.default = said(("Nothing of it is true.", "these words stand nowhere in it"))
        with pytest.raises(NotFoundError, match="no statement"):
            vm.library.distil("arxiv:2401.01234")
        asked = len(model.requests)
        assert vm.library.distil("arxiv:2401.01234", model=False).statements
        assert len(model.requests) == asked
        assert vm.review.pending() == []


def test_what_waits_or_was_rejected_is_not_proposed_again(tmp_path: Path, arxiv: Arxiv) -> None:
    with opened(tmp_path, arxiv) as vm:
        found = vm.library.distil("arxiv:2401.01234")
        first = vm.library.propose(found, [1], to="memory").kept[0]
        again = vm.library.propose(found, [1], to="memory").kept[0]
        assert again.proposal == first.proposal
        assert len(vm.review.pending()) == 1
        vm.review.reject(first.proposal)
        third = vm.library.propose(found, [1], to="memory").kept[0]
        assert (third.proposal, "rejected" in third.message) == ("", True)


def test_a_number_that_is_not_there_proposes_nothing(tmp_path: Path, arxiv: Arxiv) -> None:
    with opened(tmp_path, arxiv) as vm:
        found = vm.library.distil("arxiv:2401.01234")
        with pytest.raises(UsageError, match="no statement 99"):
            vm.library.propose(found, [1, 99])
        assert vm.review.pending() == []


def test_a_document_in_quarantine_is_not_distilled(tmp_path: Path, arxiv: Arxiv) -> None:
    with opened(tmp_path, arxiv) as vm:
        vm.quarantine.add("connector:arxiv#2401.01234", by=Origin.person())
        with pytest.raises(RefusedError, match="quarantine"):
            vm.library.distil("arxiv:2401.01234")


# --- sentences


def test_sentences_leave_out_headings_tables_code_and_the_literature() -> None:
    text = """# A title that is long enough to be a sentence.

The first finding is that caches age by the hour and not by the day.

| a table | with words | that go on and on and on. |

```
print("This is code that looks like a sentence of prose.")
```

- A list item may well carry the one statement that really matters here.

## References

[1] A. Author, "A title of a paper that nobody wants to read", 2020.
"""
    found = [one.text for one in sentences(text)]
    assert found == [
        "The first finding is that caches age by the hour and not by the day.",
        "A list item may well carry the one statement that really matters here.",
    ]


def test_a_word_that_a_pdf_has_broken_is_whole_again() -> None:
    (one,) = sentences("The inter-\nesting result is that memory\nhelps every agent that we tried.")
    assert one.text == "The interesting result is that memory helps every agent that we tried."


def test_chinese_and_japanese_sentences_are_found() -> None:
    text = "我们发现有限的记忆可以保留大部分重要的事实。这个结果在所有实验中都成立。短。"
    assert [one.text for one in sentences(text)] == [
        "我们发现有限的记忆可以保留大部分重要的事实。",
        "这个结果在所有实验中都成立。",
    ]


def test_what_says_the_same_is_offered_once_and_the_order_is_the_documents() -> None:
    text = " ".join(
        [
            "The service needs two cores and four gigabytes of memory.",
            "Backups of the billing database run at two in the night.",
            "The service needs two cores and four gigabytes of memory to run.",
            "Alerts are sent to the channel that the team reads.",
        ]
    )
    found = [one.text for one in sentences(text)]
    assert len(found) == 3
    assert [text.index(one) for one in found] == sorted(text.index(one) for one in found)


def test_a_long_document_is_ranked_in_one_pass_and_bounded() -> None:
    text = " ".join(f"Sentence number {n} tells of the topic {n % 97} and of others too." for n in range(6_000))
    assert len(sentences(text)) <= 12


def test_a_quote_is_found_in_spite_of_line_breaks_and_typography() -> None:
    text = "The mem-\nory “keeps” 94\npercent of all the facts."
    good = Statement("It keeps 94 percent.", 'The memory "keeps" 94 percent of all the facts')
    assert grounded(text, [good, good]) == (Statement(good.text, "The memory “keeps” 94 percent of all the facts."),)
    assert grounded(text, [Statement("It keeps 94 percent.", "keeps 94")]) == ()
    assert grounded(text, [Statement("x" * 500, good.quote)]) == ()


DENYING = (
    "The relay must never be opened while the pump runs. The pump takes 12 litres of water. It is not true that the "
    "cellar is dry. Do not mail the plans to anybody. The tank holds twelve thousand litres."
)


@pytest.mark.parametrize(
    ("said_", "quote", "kept"),
    [
        ("The relay must not be opened while the pump runs.", "never be opened while the pump runs", True),
        ("The relay may be opened while the pump runs.", "opened while the pump runs", False),
        ("The cellar is dry.", "It is not true that the cellar is dry.", False),
        ("The cellar is dry.", "that the cellar is dry", False),
        ("Mail the plans to anybody.", "mail the plans to anybody", False),
        ("The pump takes twelve litres.", "The pump takes 12 litres", True),
        ("The pump takes twelve thousand litres.", "The pump takes 12 litres of water.", False),
        ("The pump takes 13 litres.", "The pump takes 12 litres of water.", False),
        ("The pump never takes 12 litres.", "The pump takes 12 litres of water.", False),
        ("The tank holds 12,000 litres.", "tank holds twelve thousand litres", True),
        ("The tank holds 12 thousand litres.", "tank holds twelve thousand litres", True),
        ("The tank holds twelve litres.", "tank holds twelve thousand litres", False),
    ],
)
def test_a_statement_stands_on_whole_sentences_with_their_numbers_and_denials(
    said_: str, quote: str, kept: bool
) -> None:
    found = grounded(DENYING, [Statement(said_, quote)])
    assert bool(found) is kept
    assert all(one.quote in DENYING and one.quote.endswith(".") for one in found)


def test_of_ten_statements_of_a_model_five_are_proposed(tmp_path: Path, arxiv: Arxiv, model: openai.Server) -> None:
    model.default = said(*((f"{GOOD[0][:-1]} ({'x' * n}).", GOOD[1]) for n in range(1, 11)))
    with opened(tmp_path, arxiv, model) as vm:
        assert len(vm.library.distil("arxiv:2401.01234").statements) == 5


def test_no_model_is_asked_about_a_document_without_a_sentence(
    tmp_path: Path, model: openai.Server, arxiv: Arxiv
) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "empty.md").write_text("# x\n")
    config: dict[str, Any] = {"library": {"papers": {"type": "files", "path": str(folder)}}}
    config |= {"background_model": "openai:m", "models.base_url": model.url, "background_limit": 1.0}
    with vademecum.open(tmp_path / "home", config=config) as vm, pytest.raises(NotFoundError):
        vm.library.distil("papers:empty.md")
    assert model.requests == []
