"""Turns of conversations, found for a question; long chats with an assistant among them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import vademecum
from vademecum.agent.embedding import embed_now
from vademecum.agent.vademecum import Vademecum
from vademecum.bank.recall.turns import recall_turns
from vademecum.bank.types import RecallHit
from vademecum.model import Actor, Origin
from vademecum.sessions import History, NewMessage
from vademecum.store import turns

USER, ASSISTANT = Origin.user(), Origin.assistant()
DAY = 86_400_000
START = 1_700_000_000_000


@pytest.fixture
def vm(tmp_path: Path) -> Iterator[Vademecum]:
    with vademecum.open(tmp_path / "home", config={"memory.provider": "bank", "embedder": "off"}) as opened:
        yield opened


def talk(history: History, *lines: str, day: int = 0) -> str:
    """A conversation of `name: text` lines; `user` and `assistant` are roles, other names speakers."""
    session = history.open(opened_at=START + day * DAY)
    new: list[NewMessage] = []
    for n, line in enumerate(lines):
        who, _, text = line.partition(": ")
        speaker = "" if who in ("user", "assistant") else who
        time = session.opened_at + n * 1000
        if who == "assistant":
            new.append(NewMessage("assistant", text, ASSISTANT, time=time))
        else:
            new.append(NewMessage("user", text, USER, time=time, speaker=speaker))
    history.record_many(session.id, new)
    return session.id


def ask(vm: Vademecum, question: str, limit: int = 5, **more: object) -> list[RecallHit]:
    given: dict[str, object] = {"embedder": vm.embedder, "limit": limit, "now": vm.clock()} | more
    return recall_turns(vm.db, vm.actor, question, **given)  # type: ignore[arg-type]


def first(vm: Vademecum, question: str) -> str:
    return ask(vm, question)[0].text


def test_who_is_asked_about_comes_before_who_says_the_same(vm: Vademecum) -> None:
    talk(vm.history, "Rui: I painted a boat.", "Ines: I painted a boat too, a red one.", "Rui: How nice, Ines.")
    assert first(vm, "What did Ines paint?").startswith("I painted a boat too")
    assert first(vm, "What did Rui paint?") == "I painted a boat."


def test_an_answer_without_a_word_of_the_question_is_found_through_the_turn_before(vm: Vademecum) -> None:
    talk(
        vm.history, "Rui: Where did you spend the winter holidays, Ines?", "Ines: In Porto with my aunt.", "Rui: Nice!"
    )
    talk(vm.history, "Rui: The weather is bad.", "Ines: It is raining in Lisbon.", day=1)
    assert "In Porto with my aunt." in [hit.text for hit in ask(vm, "Where did Ines spend the holidays?")[:2]]


def test_a_question_for_a_time_prefers_the_turn_that_has_one(vm: Vademecum) -> None:
    talk(vm.history, "user: My bicycle was repaired.", "assistant: Good.")
    talk(vm.history, "user: My bicycle was repaired last week.", "assistant: Good.", day=1)
    assert first(vm, "When was my bicycle repaired?") == "My bicycle was repaired last week."


def test_nothing_is_answered_when_nothing_fits(vm: Vademecum) -> None:
    talk(vm.history, "user: My bicycle was repaired last week.", "assistant: Good to hear.")
    assert ask(vm, "Which vaccine does the veterinarian propose against rabies?") == []
    assert ask(vm, "") == []


def test_a_hit_shows_its_evidence_what_stood_beside_it_and_why(vm: Vademecum) -> None:
    session = talk(vm.history, "Rui: Where do you live now?", "Ines: I live in Braga.", "Rui: Since when?")
    hit = next(one for one in ask(vm, "Where does Ines live?") if one.text == "I live in Braga.")
    assert hit.kind == "turn"
    assert hit.session_id == session
    assert hit.context == ("Rui: Where do you live now?", "Rui: Since when?")
    evidence = hit.evidence[0]
    assert (evidence.quote, evidence.speaker, evidence.session) == ("I live in Braga.", "Ines", session)
    assert f"message:{evidence.message}" == hit.id
    assert 0 < hit.score <= 1
    assert hit.arms["words"] > 0


def test_scores_fall_from_the_first_hit_on(vm: Vademecum) -> None:
    for day in range(8):
        talk(vm.history, f"user: On day {day} I walked the dog to the river.", "assistant: Lovely.", day=day)
    scores = [hit.score for hit in ask(vm, "When did I walk the dog to the river?", limit=20)]
    assert scores == sorted(scores, reverse=True)


def test_what_was_said_twice_is_one_hit_that_names_both(vm: Vademecum) -> None:
    for day in range(2):
        talk(vm.history, "user: The garage code is on the fridge.", "assistant: Noted.", day=day)
    hits = [hit for hit in ask(vm, "Where is the garage code?") if "garage" in hit.text]
    assert len(hits) == 1
    assert len(hits[0].collapsed) == 1


def test_a_time_and_a_session_narrow_what_is_found(vm: Vademecum) -> None:
    old = talk(vm.history, "user: The tent is green.", "assistant: Fine.")
    new = talk(vm.history, "user: The tent is blue now.", "assistant: Fine.", day=30)
    assert [hit.session_id for hit in ask(vm, "tent colour", until=START + DAY) if "tent" in hit.text] == [old]
    assert [hit.session_id for hit in ask(vm, "tent colour", since=START + DAY) if "tent" in hit.text] == [new]
    assert {hit.session_id for hit in ask(vm, "tent colour", session=old)} == {old}
    assert ask(vm, "tent colour", session="01NOSUCHSESSION") == []


def test_turns_of_another_user_and_those_in_quarantine_are_never_found(vm: Vademecum) -> None:
    other = History(vm.db, Actor(vm.actor.agent, "eve"), vm.clock, vm.redactor)
    talk(other, "Zoe: The treasure lies under the oak.")
    mine = talk(vm.history, "user: The treasure lies under the elm.")
    assert [hit.text for hit in ask(vm, "Where does the treasure lie?")] == ["The treasure lies under the elm."]
    assert turns.speakers(vm.db, vm.actor) == []
    vm.db.execute("UPDATE messages SET held = 1 WHERE content LIKE '%elm%'")
    assert ask(vm, "Where does the treasure lie?") == []
    assert mine


def test_the_names_of_all_speakers_are_known_once_each(vm: Vademecum) -> None:
    talk(vm.history, "Rui: One.", "Ines: Two.", "Rui: Three.", "user: Four.")
    assert turns.speakers(vm.db, vm.actor) == ["Ines", "Rui"]


def test_tool_output_is_no_turn(vm: Vademecum) -> None:
    session = vm.history.open()
    vm.history.record(session.id, "tool", "The harbour crane weighs 90 tonnes.", origin=Origin.tool("web"), tool="web")
    assert ask(vm, "harbour crane weighs") == []


# Long chats with an assistant: facts said in passing, and answers of thousands of characters with the same words

FACTS = (
    (
        "I take the 7:40 ferry to work since the bridge closed. Can you plan my morning?",
        "Which ferry do I take to work?",
    ),
    ("My sister Clara just adopted a greyhound, any tips for the first week?", "What dog did my sister adopt?"),
    ("I graduated in marine biology, so how would I move into data work?", "What did I graduate in?"),
    ("We repainted the kitchen in sage green. Which curtains go with it?", "What colour did we paint the kitchen?"),
    ("I finished the half marathon in 1:52! What should I train next?", "How long did I need for the half marathon?"),
    ("My landlord raised the rent to 940 euros. Is that allowed?", "How much is my rent now?"),
    ("I keep the spare key at Mrs. Okafor's. How do I organise keys better?", "Who has my spare key?"),
    ("I'm allergic to cashews, so please suggest a curry without them.", "What am I allergic to?"),
    ("I bought a second-hand cello in Leipzig. How do I tune it?", "Where did I buy my cello?"),
    ("Grandpa's watch stopped on 3 May and the repair took a month. Was that long?", "When did grandpa's watch stop?"),
    ("I swapped my phone plan to Telmora last week. How do I move my number?", "Which company is my phone plan with?"),
    ("Our book club meets on Thursdays at Nadia's. Which novel would suit us?", "When does our book club meet?"),
)
SUBJECTS = ("morning", "work", "dog", "sister", "studies", "kitchen", "colour", "marathon", "training", "rent", "key",
            "watch", "phone", "plan", "club", "curry")  # fmt: skip
STEPS = ("Plan", "Consider", "Review", "Write down", "Compare")


def long_answer(rng: random.Random) -> str:
    """About 2,500 characters of advice in which the words of many questions stand."""
    lines = [
        f"{n}. {rng.choice(STEPS)} your {rng.choice(SUBJECTS)} and the {rng.choice(SUBJECTS)}: it often takes "
        f"{rng.choice(('a week', 'a month', 'two days'))} until your {rng.choice(SUBJECTS)} fits what you need now."
        for n in range(1, 20)
    ]
    return "Here is what you can do:\n\n" + "\n".join(lines)


@pytest.mark.parametrize("embedder", ["off", "local"])
def test_what_a_user_says_in_passing_is_found_among_long_answers(tmp_path: Path, embedder: str) -> None:
    rng = random.Random(11)
    with vademecum.open(tmp_path / "home", config={"memory.provider": "bank", "embedder": embedder}) as vm:
        for day, (said, _) in enumerate(FACTS):
            other = f"Tell me about {rng.choice(SUBJECTS)} and {rng.choice(SUBJECTS)}."
            talk(
                vm.history,
                f"user: {said}",
                f"assistant: {long_answer(rng)}",
                f"user: {other}",
                f"assistant: {long_answer(rng)}",
                day=day,
            )
        embed_now(vm)
        places = [[hit.text for hit in ask(vm, question)] for _, question in FACTS]
    found = [said in texts for (said, _), texts in zip(FACTS, places, strict=True)]
    leading = [said in texts[:2] for (said, _), texts in zip(FACTS, places, strict=True)]
    assert sum(found) >= (11 if embedder == "local" else 10)
    assert sum(leading) >= 9
