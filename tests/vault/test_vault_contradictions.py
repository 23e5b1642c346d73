"""What is logged or learnt later and contradicts a decision is pointed out to its author and to whoever decided."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import vademecum
from vademecum.agent.retainer import retain_now
from vademecum.agent.vademecum import Vademecum
from vademecum.gate.selector import Selector
from vademecum.model import Origin
from vademecum.vault.against import may_share

EXCLUDING = [
    ("Secrets are stored in the system keyring", "Secrets are not stored in the system keyring"),
    ("Deploys happen on Tuesdays", "Deploys happen on Fridays"),
    ("The database listens on port 5432", "The database listens on port 5433"),
    ("Backups are kept for 90 days", "Backups are kept for 30 days"),
    ("We use tabs, not spaces", "We use spaces, not tabs"),
    ("Geheimnisse liegen im Schlüsselbund", "Geheimnisse liegen nicht im Schlüsselbund"),
    ("Die Datenbank läuft auf Port 5432", "Die Datenbank läuft auf Port 5433"),
    ("La base de datos usa el puerto 5432", "La base de datos usa el puerto 5433"),
    ("Les sauvegardes se font le lundi", "Les sauvegardes se font le mardi"),
    ("База данных слушает порт 5432", "База данных слушает порт 5433"),
    ("数据库端口是5432", "数据库端口是5433"),
]
UNRELATED = [
    ("Secrets are stored in the system keyring", "The secrets of the release notes were proofread"),
    ("Secrets are stored in the system keyring", "Secrets are stored in the system keyring, as decided"),
    ("Deploys happen on Tuesdays", "The API is deployed, version 4.2"),
    ("Deploys happen on Tuesdays", "Ella deploys the gateway now"),
    ("The database listens on port 5432", "The cache listens on port 6379"),
    ("The database listens on port 5432", "The backup of the database is done"),
    ("Backups are kept for 90 days", "Logs are kept for 30 days"),
    ("We use tabs, not spaces", "We use ruff, not flake8"),
    ("The database of team 40 listens on port 5040", "The database of team 41 listens on port 5041"),
    ("Geheimnisse liegen im Schlüsselbund", "Der Schlüsselbund ist gesichert"),
    ("Die Datenbank läuft auf Port 5432", "Die Datenbank ist gesichert"),
    ("La base de datos usa el puerto 5432", "El puerto de Valencia tiene 5433 barcos"),
    ("Les sauvegardes se font le lundi", "Les tests se font le mardi"),
    ("База данных слушает порт 5432", "База данных обновлена"),
    ("数据库端口是5432", "备份已经完成"),
]


@pytest.fixture
def lyra(tmp_path: Path) -> Iterator[Vademecum]:
    with vademecum.open(tmp_path / "home", "lyra") as vm:
        yield vm


@pytest.fixture
def ella(lyra: Vademecum) -> Vademecum:
    return lyra.as_("ella")


def read(vm: Vademecum, session: str = "s") -> str:
    found = vm.vault.delta(session)
    vm.vault.commit(found, turn="t")
    return found.text


@pytest.mark.parametrize(("decided", "said"), EXCLUDING)
def test_an_entry_that_contradicts_a_decision_is_pointed_out(
    lyra: Vademecum, ella: Vademecum, decided: str, said: str
) -> None:
    decision = ella.vault.decide(decided).decision
    read(ella)
    done = lyra.vault.log("note", said)
    assert decision.id in done.message
    assert [one.id for one in done.contradicts] == [decision.id]
    assert decision.id in read(ella)


@pytest.mark.parametrize(("decided", "said"), UNRELATED)
def test_an_entry_about_something_else_is_not(lyra: Vademecum, ella: Vademecum, decided: str, said: str) -> None:
    decision = ella.vault.decide(decided).decision
    read(ella)
    done = lyra.vault.log("note", said)
    assert (done.message, done.contradicts) == ("", ())
    assert decision.id not in read(ella)


@pytest.mark.parametrize(("decided", "said"), EXCLUDING)
def test_statements_that_exclude_each_other_share_words(decided: str, said: str) -> None:
    assert may_share(decided, said)


def test_statements_that_share_no_words_are_not_compared() -> None:
    assert not may_share("Deploys happen on Tuesdays", "The API is out, version 4.2")
    assert not may_share("数据库端口是5432", "备份已经完成")
    assert not may_share("", "Deploys happen on Tuesdays")


def test_the_agent_that_decided_is_reminded_until_it_acknowledges(lyra: Vademecum, ella: Vademecum) -> None:
    decision = ella.vault.decide("Deploys happen on Tuesdays").decision
    read(ella)
    entry = lyra.vault.log("note", "Deploys happen on Fridays", session="a").entry
    assert entry is not None
    assert f"Decisions#^{decision.id}" in entry.body
    assert "For you:" in read(ella)
    assert [one.id for one in ella.vault.unacknowledged()] == [entry.id]
    ella.vault.ack(entry.id)
    assert ella.vault.unacknowledged() == ()
    assert lyra.vault.verify().ok


def test_of_many_alike_only_the_one_that_it_is_about_is_named(lyra: Vademecum) -> None:
    said = "The gateway of team {} listens on port {}"
    page = lyra.live.paths.decisions
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("".join(f"## {said.format(n, 5000 + n)}\n\n" for n in range(60)))
    done = lyra.vault.log("note", said.format(17, 9999))
    assert [one.what for one in done.contradicts] == [said.format(17, 5017)]


def test_a_sentence_of_the_body_counts_and_what_answers_a_decision_does_not(lyra: Vademecum, ella: Vademecum) -> None:
    decision = ella.vault.decide("Deploys happen on Tuesdays").decision
    body = "All is well. Deploys happen on Fridays.\nMore later."
    assert lyra.vault.log("note", "What was agreed", body=body).contradicts
    assert not lyra.vault.log("note", "Deploys happen on Fridays", ref=decision.target).contradicts
    lyra.vault.decide("Deploys happen on Mondays", supersedes=[decision.id])
    assert not lyra.vault.log("note", "Deploys happen on Mondays").contradicts


def test_an_amendment_counts_and_an_acknowledgement_does_not(lyra: Vademecum, ella: Vademecum) -> None:
    ella.vault.decide("Deploys happen on Tuesdays")
    entry = lyra.vault.log("note", "Nothing new").entry
    assert entry is not None
    assert lyra.vault.amend(entry.id, "Deploys happen on Fridays").contradicts
    assert not ella.vault.ack(entry.id, "Deploys happen on Fridays").contradicts


def test_a_decision_that_a_person_typed_concerns_everybody(lyra: Vademecum, ella: Vademecum) -> None:
    lyra.vault.log("note", "begun")
    read(ella)
    lyra.vault.live.paths.decisions.write_text("## 2026-01-15 Deploys happen on Tuesdays\n")
    assert lyra.vault.log("note", "Deploys happen on Fridays").contradicts
    assert "For you:" in read(ella)


def test_a_line_typed_by_hand_is_pointed_out_to_whoever_reads_it(lyra: Vademecum, ella: Vademecum) -> None:
    decision = ella.vault.decide("Deploys happen on Tuesdays").decision
    entry = lyra.vault.log("note", "begun").entry
    assert entry is not None
    read(lyra)
    read(ella)
    month = lyra.vault.live.paths.month(entry.time)
    month.write_text(month.read_text() + "Deploys happen on Fridays\n\nThe API is out\n")
    for vm in (lyra, ella):
        found = vm.vault.delta("s", budget=200)
        assert f"may contradict the decision {decision.id}" in found.text
        assert found.text.count("may contradict") == 1
        assert found.tokens <= 200
        vm.vault.commit(found, turn="t")
        assert "may contradict" not in vm.vault.delta("s").text


def test_a_fact_that_is_kept_is_pointed_out_to_its_keeper_and_in_the_log(lyra: Vademecum, ella: Vademecum) -> None:
    decision = ella.vault.decide("Backups are kept for 90 days").decision
    read(ella)
    read(lyra)
    done = lyra.bank.retain("Backups are kept for 30 days", origin=Origin.person())
    assert decision.id in done.message
    told = read(ella)
    assert "Backups are kept for 30 days" in told
    assert "For you:" in told
    assert "Backups are kept for 30 days" in read(lyra)
    again = lyra.bank.retain("Backups are kept for 30 days", origin=Origin.person())
    assert decision.id not in again.message
    assert "decided" not in lyra.bank.retain("The API is version 4.2", origin=Origin.person()).message
    assert "For you:" not in read(ella)  # only the reminder


def test_a_conversation_that_is_retained_is_pointed_out_in_the_next_turn(lyra: Vademecum, ella: Vademecum) -> None:
    session = lyra.session("k")
    decision = ella.vault.decide("The database listens on port 5432.").decision
    read(ella)
    read(lyra, session.stored_id or "")
    with session.turn("The database listens on port 5433.") as turn:
        turn.answer("I shall remember that.")
    retain_now(lyra, session.id)
    assert [one.text for one in lyra.bank.list()] == ["The database listens on port 5433."]
    assert decision.id in read(ella)
    with session.turn("What is next?") as turn:
        assert decision.id in turn.context
        turn.answer("The port.")


def test_what_the_log_says_of_a_fact_is_forgotten_with_the_conversation_it_came_from(
    lyra: Vademecum, ella: Vademecum
) -> None:
    ella.vault.decide("The database listens on port 5432.")
    with lyra.session(key="k") as session:
        with session.turn("The database listens on port 5433.") as turn:
            turn.answer("I shall remember that.")
        retain_now(lyra, session.id)
        named = session.id
    assert [one.type for one in lyra.vault.tail()] == ["decision", "contradiction"]
    lyra.forget(Selector("session", named), by=Origin.person())
    assert [one.type for one in lyra.vault.tail()] == ["decision"]
    assert lyra.vault.verify().ok


def test_what_a_guest_says_is_not_told_to_the_log(lyra: Vademecum, ella: Vademecum) -> None:
    ella.vault.decide("Backups are kept for 90 days")
    read(ella)
    guest = lyra.as_("lyra", "bob")
    assert "decision" not in guest.bank.retain("Backups are kept for 30 days").message
    assert read(ella, "t").count("30 days") == 0
