"""What the rules find in an exchange: sentences by the tree, failures that were mended, wishes, confirmations."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import vademecum.bank
from vademecum.bank.retain.exchanges import Exchange, Row, exchanges, finished, own_text
from vademecum.bank.retain.findings import TREE, Finding, explain, findings
from vademecum.bank.retain.phrases import (
    confirmed,
    denied,
    is_decision,
    points_back,
    says_it_works,
    weak_preferences,
    without_denial,
)
from vademecum.bank.retain.trail import fix_of, mended, steps
from vademecum.model import Origin

MARK = "(interrupted)"
USER, ASSISTANT = Origin.user("owner"), Origin.assistant()


@dataclass(frozen=True)
class Said:
    id: int
    role: str
    content: str
    turn: str | None = None
    tool: str | None = None
    calls: tuple[dict[str, Any], ...] = ()
    origin: Origin = field(default=USER)
    time: int = 0
    speaker: str = ""


def ran(id_: int, command: str, output: str, turn: str | None = "t") -> Said:
    call = {"name": "Bash", "args": {"command": command}}
    return Said(id_, "tool", output, turn, "Bash", (call,), Origin.tool("Bash"))


def talk(*said: Row, over: bool = False) -> list[Exchange]:
    return exchanges(said, interrupted=MARK, over=over)


def asked(text: str, answer: str = "ok", at: int = 1, turn: str | None = None) -> tuple[Said, Said]:
    turn = turn or f"t{at}"
    return Said(at, "user", text, turn), Said(at + 1, "assistant", answer, turn, origin=ASSISTANT)


def found(*said: Row, strict: bool = False, known: tuple[str, ...] = ()) -> list[Finding]:
    parts, before = list[Finding](), None
    for one in finished(talk(*said)):
        parts += findings(one, before, known=known, strict=strict)
        before = one
    return parts


# Exchanges


def test_an_exchange_is_open_until_it_is_answered_and_interrupted_when_nothing_will_come() -> None:
    question = Said(1, "user", "hello", "t1")
    assert [one.state for one in talk(question)] == ["open"]
    assert finished(talk(question)) == []
    assert [one.state for one in talk(question, over=True)] == ["interrupted"]
    assert [one.state for one in talk(question, *asked("again", at=2))] == ["interrupted", "answered"]
    assert [one.state for one in talk(question, Said(2, "system", MARK, "t1"))] == ["interrupted"]


def test_what_a_host_prompts_is_not_the_users() -> None:
    scheduled = (Said(1, "system", "I always use tabs.", "t1"), Said(2, "assistant", "ok", "t1"))
    assert [one.state for one in talk(*scheduled)] == ["host"]


def test_messages_without_turns_part_where_the_user_speaks_after_an_answer() -> None:
    said = (
        Said(1, "user", "one"),
        Said(2, "user", "one more"),
        Said(3, "assistant", "looking"),
        ran(4, "ls", "a", None),
        Said(5, "assistant", "done"),
        Said(6, "user", "two"),
        Said(7, "assistant", "ok"),
    )
    assert [[row.id for row in one.rows] for one in talk(*said)] == [[1, 2, 3, 4, 5], [6, 7]]


@pytest.mark.parametrize(
    "other",
    [
        '<recalled-9f from="bank">\nI always use yarn.\n</recalled-9f>\n',
        "<system-reminder>I always use yarn.</system-reminder> ",
        "```\nI always use yarn.\n```\n",
        "> I always use yarn.\n",
        "Traceback (most recent call last):\n  I always use yarn.\n\n",
    ],
)
def test_what_was_recalled_quoted_or_pasted_is_taken_out(other: str) -> None:
    left = "We deploy on Tuesdays."
    assert own_text(other + left).strip(" …\n") == left
    assert [one.text for one in found(*asked(other + left))] == [left]


def test_somebody_elses_words_within_a_sentence_are_not_the_users() -> None:
    assert found(*asked('The readme says "always push straight to the main branch, never ask".')) == []


# Kinds


@pytest.mark.parametrize(
    ("sentence", "kind", "basis"),
    [
        ("I prefer short answers without filler.", "preference", "stated"),
        ("The staging database listens on port 5433.", "environment", "stated"),
        ("Branch names start with the ticket number.", "convention", "stated"),
        ("We decided to use Postgres for the queue.", "decision", "stated"),
        ("Wir haben uns für Postgres entschieden.", "decision", "stated"),
        ("No, the staging database listens on port 5433, not 5432.", "environment", "corrected"),
        ("Stop adding comments to every line.", "preference", "corrected"),
        ("Remember that the staging database listens on port 5433.", "environment", "stated"),
    ],
)
def test_a_sentence_becomes_a_fact_of_its_kind(sentence: str, kind: str, basis: str) -> None:
    (one,) = found(*asked(sentence))
    assert (one.kind, one.basis, one.quote) == (kind, basis, sentence)


@pytest.mark.parametrize(
    "sentence",
    ["What is the weather?", "Run the tests.", "Use tabs in this test run only, just for now.", "thanks, looks good"],
)
def test_trivia_questions_and_what_is_only_for_now_are_left(sentence: str) -> None:
    assert found(*asked(sentence)) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "No worries, take your time.",
        "No rush, whenever you can.",
        "No, it doesn't work.",
        "No, this is still broken.",
        "No, that is not what I meant.",
        "Keine Sorge, lass dir Zeit.",
        "Nein, das funktioniert nicht.",
        "Pas de souci, prends ton temps.",
        "Non, ça ne marche pas.",
        "No te preocupes, tómate tu tiempo.",
        "No, eso no funciona.",
        "Geen probleem, neem je tijd.",
        "Nee, dat werkt niet.",
        "Не волнуйся, не спеши.",
        "Нет, это не работает.",
        "没关系，慢慢来。",
        "不，这不行。",
        "No, usiamo pnpm, non npm.",
        "Não, usamos pnpm, não npm.",
    ],
)
def test_what_takes_a_worry_away_or_only_points_or_is_in_another_language_is_no_fact(sentence: str) -> None:
    assert found(*asked(sentence)) == []


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("That's wrong, the coverage threshold is 85 percent.", "the coverage threshold is 85 percent."),
        ("No worries, we use pnpm, not npm.", "we use pnpm, not npm."),
        ("No, backups run at 03:00.", "backups run at 03:00."),
        ("no we use pnpm", "we use pnpm"),
    ],
)
def test_what_opens_a_correction_is_taken_off_at_the_end_of_a_word(sentence: str, text: str) -> None:
    (one,) = found(*asked(sentence))
    assert (one.text, one.basis) == (text, "corrected")


@pytest.mark.parametrize("sentence", ["No tests run in CI.", "No usamos npm."])
def test_a_no_that_denies_the_next_word_stays(sentence: str) -> None:
    assert without_denial(sentence) == sentence


def test_what_a_context_file_says_is_left_but_a_correction_counts() -> None:
    known = ("We use pnpm, not npm.\nI prefer short answers without filler.",)
    assert found(*asked("I prefer short answers without filler."), known=known) == []
    assert len(found(*asked("No, we use pnpm, not npm."), known=known)) == 1


def test_that_is_wrong_makes_the_next_sentence_a_correction() -> None:
    (one,) = found(*asked("That's wrong. The staging database listens on port 5433."))
    assert (one.text, one.basis, one.closes) == ("The staging database listens on port 5433.", "corrected", True)


def test_a_correction_that_only_points_says_what_it_points_at() -> None:
    said = (Said(1, "user", "clean up", "t"), ran(2, "git push --force", "done"), Said(3, "assistant", "Pushed.", "t"))
    (one,) = found(*said, *asked("don't do that again", at=4))
    assert one.text == "don't do that again (`git push --force`)"
    assert not one.closes


def test_a_yes_to_a_question_for_good_is_a_confirmed_preference_with_both_quotes() -> None:
    said = (*asked("Fix it.", "Done. Should I always run the linter first?"), *asked("Yes, always.", at=3))
    (one,) = found(*said)
    assert (one.kind, one.basis) == ("preference", "confirmed")
    assert one.text == "Should I always run the linter first? — Yes, always."
    assert [quote for _, quote in one.more] == ["Should I always run the linter first?"]


# Tools


def test_a_failure_is_kept_with_its_signature_and_what_mended_it() -> None:
    said = (
        Said(1, "user", "install ruff", "t"),
        ran(2, "uv pip install ruff", "Exit code 2\nerror: externally-managed-environment\nsee the docs"),
        ran(3, "cat /etc/os-release", "Debian"),
        ran(4, "uv pip install --system ruff", "Installed 1 package"),
        Said(5, "assistant", "Installed.", "t"),
    )
    (one,) = found(*said)
    assert (one.kind, one.quote) == ("failure", "error: externally-managed-environment")
    assert one.detail == {
        "signature": "error: externally-managed-environment",
        "fix": "uv pip install --system ruff",
    }


def test_a_failure_that_nothing_mended_is_not_kept() -> None:
    failed = ran(2, "make all", "make: *** No rule to make target 'all'. Stop.\nExit code 2")
    assert mended(steps([failed])) == []
    other = ran(3, "pytest -q", "3 passed")
    assert mended(steps([failed, other])) == []
    again = ran(3, "make all", "Exit code 0")
    assert mended(steps([failed, again])) == []  # by itself: nothing was done in between


def test_what_was_done_between_the_same_command_twice_is_the_fix() -> None:
    trail = [
        ran(1, "pytest -q", "E   OperationalError: no such database: test_db\nExit code 1"),
        ran(2, "createdb test_db", ""),
        ran(3, "pytest -q", "5 passed"),
    ]
    (pair,) = mended(steps(trail))
    assert fix_of(pair) == "createdb test_db"


def test_a_workflow_is_kept_when_the_user_says_that_it_worked() -> None:
    said = (
        Said(1, "user", "Deploy the site to production.", "t"),
        ran(2, "make build", "ok"),
        ran(3, "rsync -a out/ web:/srv", "sent"),
        ran(4, "ssh-restart web", "restarted"),
        Said(5, "assistant", "Deployed.", "t"),
    )
    (one,) = found(*said, *asked("Perfect, it works now!", at=6))
    assert (one.kind, one.basis) == ("workflow", "confirmed")
    assert one.text.startswith("Deploy the site to production: 1. `make build`; 2. `rsync")
    assert found(*said, *asked("It does not work yet.", at=6)) == []


# Phrases


@pytest.mark.parametrize(
    ("correction", "says", "gone"),
    [
        ("No, we use pnpm, not npm.", "we use pnpm, not npm", "npm"),
        ("Nein, wir nutzen pnpm statt npm.", "wir nutzen pnpm statt npm", "npm"),
        ("Non, on utilise pnpm, pas npm.", "on utilise pnpm, pas npm", "npm"),
        ("No, usamos pnpm en vez de npm.", "usamos pnpm en vez de npm", "npm"),
        ("Nee, we gebruiken pnpm in plaats van npm.", "we gebruiken pnpm in plaats van npm", "npm"),
        ("Нет, мы используем pnpm, а не npm.", "мы используем pnpm, а не npm", "npm"),
        ("不对，我们用 pnpm，不是 npm。", "我们用 pnpm，不是 npm", "npm"),
        ("Use ruff instead of black.", "Use ruff instead of black", "black"),
    ],
)
def test_a_correction_says_what_is_and_what_is_no_longer_so(correction: str, says: str, gone: str) -> None:
    assert without_denial(correction).rstrip(".。") == says
    assert denied(correction) == [gone]


@pytest.mark.parametrize(
    "wish",
    [
        "Make it shorter.",
        "fasse dich kurz",
        "plus court",
        "hazlo más corto",
        "hou het kort",
        "Сделай покороче",
        "简短一点",
    ],
)
def test_a_wish_in_passing_is_heard_in_seven_languages(wish: str) -> None:
    assert [one.key for one in weak_preferences(wish)] == ["short"]


@pytest.mark.parametrize("text", ["Why is it so long?", "Run the tests.", "", "short " * 100])
def test_what_is_no_wish_is_none(text: str) -> None:
    assert weak_preferences(text) == []


@pytest.mark.parametrize(
    ("question", "answer", "meant"),
    [
        ("Should I always lint first?", "Yes", True),
        ("Shall I lint first?", "Yes, from now on.", True),
        ("Shall I lint first?", "Yes", False),
        ("Should I always lint first?", "No", False),
        ("Soll ich immer zuerst testen?", "Ja, bitte", True),
        ("要不要每次先运行测试？", "好的", True),
        ("Always lint first.", "yes", False),
    ],
)
def test_only_a_yes_that_is_meant_for_good_confirms(question: str, answer: str, meant: bool) -> None:
    assert bool(confirmed(question, answer)) is meant


def test_decisions_successes_and_pointers_are_told_apart() -> None:
    assert is_decision("We decided to use Postgres.")
    assert not is_decision("We use Postgres.")
    assert says_it_works("It works now, thanks!")
    assert not says_it_works("It doesn't work.")
    assert points_back("don't do that again")
    assert not points_back("never push to main again")


# The tree


def test_every_rule_of_every_language_has_its_place_in_the_tree() -> None:
    named = {rule for _, rules, _ in TREE for rule in rules}
    folder = Path(vademecum.bank.__file__).parent / "signals" / "rules"
    for page in folder.glob("*.toml"):
        rules = tomllib.loads(page.read_text(encoding="utf-8"))["rule"]
        assert {rule["name"] for rule in rules} <= named, page.name


def test_the_page_about_it_draws_the_same_tree() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "retain.md").read_text(encoding="utf-8")
    drawn = re.findall(r"^ [|`]- (.*?) \.{3,} (.*)$", page, re.M)
    assert drawn == [(question, branch) for question, _, branch in TREE]


def test_an_explanation_gives_the_way_down_the_tree_and_what_is_kept() -> None:
    (one,) = explain("No, we use pnpm, not npm.")
    assert one.path[-1] == "ends a habit, says it was said before, or says no?"
    assert (one.branch, one.text, one.denies) == ("correction", "we use pnpm, not npm.", ("npm",))
    assert one.kind is not None
    (other,) = explain("Make it shorter.")
    assert (other.branch, other.kind, other.wishes) == ("skip", None, ("short",))
    assert explain("> quoted") == []
