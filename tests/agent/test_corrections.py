"""Corrections: which fact one closes, which it only stands beside, and when one is proposed for the core."""

from __future__ import annotations

from pathlib import Path

import pytest
from telling import DAY, facts, opened, retained, talk

import vademecum
from vademecum.agent.retainer import retain_now
from vademecum.clock import now_ms
from vademecum.model import Origin


def test_an_explicit_correction_closes_the_fact_that_it_is_about(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    vm.bank.retain("The npm audit runs every night.", kind="environment", origin=Origin.user("owner"))
    retained(vm, "We use npm for packages.")
    retained(vm, "No, we use pnpm for packages, not npm.")
    assert facts(vm) == ["The npm audit runs every night.", "we use pnpm for packages, not npm."]
    old = next(one for one in vm.bank.list(include_closed=True) if one.text == "We use npm for packages.")
    assert old.valid_to is not None
    assert vm.bank.get(old.superseded_by or "").text == "we use pnpm for packages, not npm."
    assert old.evidence


def test_a_correction_that_may_mean_several_facts_stands_beside_them_and_is_listed(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    for text in ("We use npm in the shop frontend.", "We use npm in the admin frontend."):
        vm.bank.retain(text, kind="convention", origin=Origin.user("owner"))
    retained(vm, "No, we use pnpm in the frontend, not npm.")
    assert len(facts(vm)) == 3
    assert len(vm.bank.contradictions()) == 2


@pytest.mark.parametrize(
    ("known", "said", "listed"),
    [
        ("The log level in production is INFO.", "No, the staging log level is DEBUG, not INFO.", True),
        ("Tests are run with make test.", "No, the tests in CI are run with tox, not make test.", True),
        ("Redis runs on port 6379 on cache-01.", "No, the sandbox Redis runs on port 7000, not 6379.", True),
        ("The main repository is hosted on GitLab.", "No, the docs repository is on GitHub, not GitLab.", True),
        (
            "The office in Ghent has 12 desks.",
            "Wrong: the Antwerp warehouse is closed, not the office in Ghent.",
            False,
        ),
        ("Carol is the CFO.", "No, Dave wrote the memo, not Carol.", False),
        ("Ana leads the security audit.", "No, Dana leads the security audit.", True),
        ("Redis runs on port 6379 on cache-01.", "Actually, Redis runs on port 6380.", True),
        ("Backups run every night at 02:00.", "No, backups run at 03:00.", True),
    ],
)
def test_what_may_be_about_another_thing_closes_nothing_and_is_listed(
    tmp_path: Path, known: str, said: str, *, listed: bool
) -> None:
    vm = opened(tmp_path)
    vm.bank.retain(known, kind="environment", origin=Origin.user("owner"))
    retained(vm, said)
    assert known in facts(vm)
    assert len(facts(vm)) == 2
    assert [known in (a.text, b.text) for a, b, _ in vm.bank.contradictions()] == [True] * listed


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("We use npm for the frontend.", "No, we use pnpm, not npm."),
        ("The main repository is hosted on GitLab.", "No, the repository is on GitHub, not GitLab."),
        ("The session timeout is 30 minutes.", "No, the session timeout is 15 minutes."),
        ("Deploys happen on Tuesdays after the standup.", "Deploys happen on Thursdays now, not Tuesdays."),
        ("The staging server is at staging.acme.test.", "No, the staging server is staging2.acme.test."),
    ],
)
def test_another_value_for_the_same_closes_the_one_fact_that_has_it(tmp_path: Path, known: str, said: str) -> None:
    vm = opened(tmp_path)
    vm.bank.retain(known, kind="environment", origin=Origin.user("owner"))
    retained(vm, said)
    assert known not in facts(vm)
    assert known in facts(vm, closed=True)


def test_a_correction_closes_what_was_known_before_although_the_clock_was_put_back(tmp_path: Path) -> None:
    now = [now_ms()]
    vm = vademecum.open(tmp_path, config={"memory.provider": "bank"}, clock=lambda: now[0])
    vm.bank.retain("The heron port is 5431.", kind="environment", origin=Origin.user("owner"))
    retained(vm, "No, the heron port is 5432, not 5431.")
    now[0] -= 30 * DAY
    retained(vm, "No, the heron port is 5433, not 5432.")
    assert "the heron port is 5432, not 5431." not in facts(vm)
    (old,) = [one for one in vm.bank.list(include_closed=True) if one.text.startswith("the heron port is 5432")]
    assert vm.bank.get(old.superseded_by or "").text == "the heron port is 5433, not 5432."


def test_conversations_from_before_keep_their_time_in_whatever_order_they_are_looked_through(tmp_path: Path) -> None:
    now = [now_ms() - 300 * DAY]
    vm = vademecum.open(tmp_path, config={"memory.provider": ""}, clock=lambda: now[0])
    early = talk(vm, "No, we use pnpm for packages, not npm.")
    then, now[0] = now[0], now[0] + 200 * DAY
    late = talk(vm, "We use npm for packages.")
    now[0] += 100 * DAY
    for session in (late, early):
        retain_now(vm, session.id)
    assert facts(vm) == ["We use npm for packages.", "we use pnpm for packages, not npm."]
    assert sorted(one.learnt_at for one in vm.bank.list()) == [then, then + 200 * DAY]


def test_a_correction_by_somebody_else_closes_nothing_by_itself(tmp_path: Path) -> None:
    owner = opened(tmp_path)
    owner.bank.retain("We use npm for packages.", kind="convention", origin=Origin.user("owner"), scope="agent")
    ann = owner.as_(user="ann")
    with ann.session() as session, session.turn("No, we use pnpm for packages, not npm.") as turn:
        turn.answer("ok")
    assert facts(owner) == ["We use npm for packages."]


def test_the_second_correction_of_the_same_thing_proposes_an_entry_once_with_both_quotes(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    said = (
        "No, we use pnpm for packages, not npm.",
        "I told you, we use pnpm for packages instead of npm.",
        "Use pnpm for packages instead of npm.",
    )
    for n, text in enumerate(said):
        retained(vm, ("Install it.", "I ran npm install."), text)
        assert len(vm.review.pending()) == (n > 0)
    (proposal,) = vm.review.pending()
    assert (proposal.tier, proposal.action, proposal.target) == ("core", "add", "memory")
    assert proposal.reason == f'corrected twice: "{said[0]}" and "{said[1]}"'
    vm.review.reject(proposal.id, "no")
    retained(vm, said[1])
    assert vm.review.pending() == []


@pytest.mark.parametrize(
    "said",
    [
        ("No, we use pnpm, not npm.", "No, we use bun, not pnpm.", "No, we use deno, not bun."),
        (
            "No, the heron port is 5433, not 5432.",
            "No, the heron port is 5434, not 5433.",
            "No, the heron port is 5435, not 5434.",
        ),
        ("No, the heron port is 5433.", "No, the heron port is 5434.", "No, the heron port is 5435."),
    ],
)
def test_a_correction_of_what_was_corrected_proposes_an_entry_once_with_both_quotes(
    tmp_path: Path, said: tuple[str, ...]
) -> None:
    vm = opened(tmp_path)
    for n, text in enumerate(said):
        retained(vm, text)
        assert len(vm.review.pending()) == (n > 0)
    (proposal,) = vm.review.pending()
    assert proposal.text == said[1].removeprefix("No, ")
    assert proposal.reason == f'corrected twice: "{said[0]}" and "{said[1]}"'


def test_corrections_of_different_things_propose_nothing(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    retained(vm, "No, the heron port is 5433, not 5432.")
    retained(vm, "No, the egret port is 6433, not 5433.")
    retained(vm, "No, the session timeout is 15 minutes.")
    retained(vm, "No, the worker timeout is 10 minutes.")
    assert vm.review.pending() == []


def test_two_corrections_that_want_opposite_things_propose_nothing(tmp_path: Path) -> None:
    vm = opened(tmp_path)
    retained(vm, "No, we use pnpm for packages, not npm.")
    retained(vm, "No, we use npm for packages, not pnpm.")
    assert vm.review.pending() == []


# Preferences
