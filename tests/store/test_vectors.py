"""Vectors as rows: they come for every text, and go with it in the same transaction, whoever deletes it."""

from __future__ import annotations

from pathlib import Path

import pytest

import vademecum
from vademecum.errors import ConflictError
from vademecum.model import Actor, Origin
from vademecum.sessions import History, NewMessage
from vademecum.store import Database, vectors
from vademecum.store.vectors import DueText

SAID = [
    NewMessage("user", "I moved to Ghent", Origin.user()),
    NewMessage("assistant", "Good to know.", Origin.assistant()),
    NewMessage("tool", "a whole page of output", Origin.tool("web_fetch")),
    NewMessage("assistant", "  ", Origin.assistant()),
]


def talk(db: Database, said: list[NewMessage] = SAID) -> tuple[str, list[int]]:
    history = History(db, Actor())
    session = history.open()
    history.record_many(session.id, said)
    return session.id, [row[0] for row in db.all("SELECT id FROM messages ORDER BY id")]


def claim(db: Database, name: str = "one", dimensions: int = 0) -> vectors.Space:
    return vectors.claim(db, name, spec="local", dimensions=dimensions, now=1)


def embed_all(db: Database, space: vectors.Space, mark: bytes = b"ab") -> int:
    texts = vectors.missing(db, 1_000)
    return vectors.put_many(db, space, texts, [mark] * len(texts), dimensions=1)


def stored(db: Database) -> set[tuple[str, int]]:
    return {(kind, ref) for kind, ref in db.all("SELECT kind, ref FROM vectors")}


def due(db: Database) -> set[tuple[str, int]]:
    return {(kind, ref) for kind, ref in db.all("SELECT kind, ref FROM vector_due")}


def add_fact(db: Database, text: str) -> int:
    """A row of `facts` as the room above writes it, reduced to what a vector depends on."""
    db.execute("INSERT OR IGNORE INTO fact_owners (n, scope, agent, user, name) VALUES (1, 'agent', 'a', 'u', '')")
    db.execute("INSERT OR IGNORE INTO fact_owners (n, scope, agent, user, name) VALUES (2, 'user', 'a', 'u', '')")
    db.execute(
        "INSERT INTO facts (id, owner, agent, user, kind, text, key, origin, learnt_at)"
        " VALUES (hex(randomblob(8)), 1, 'a', 'u', 'fact', ?, ?, 'person', 1)",
        (text, text),
    )
    return db.last_id()


def test_nothing_is_noted_as_due_while_no_embedder_is_used(db: Database) -> None:
    talk(db)
    add_fact(db, "a fact")
    assert due(db) == set()
    assert vectors.target(db) is None and vectors.serving(db) is None


def test_a_claim_makes_due_what_was_said_before_and_what_is_said_later_follows(db: Database) -> None:
    _, (user, assistant, *_) = talk(db)
    fact = add_fact(db, "a fact")
    space = claim(db)
    assert due(db) == {("fact", fact), ("message", user), ("message", assistant)}
    assert embed_all(db, space) == 3
    assert (due(db), vectors.complete(db, space, 5)) == (set(), True)
    later = talk(db)[1][4:6]
    other = add_fact(db, "another")
    assert due(db) == {("fact", other), *(("message", n) for n in later)}


def test_facts_come_first_and_then_the_newest_messages(db: Database) -> None:
    talk(db)
    add_fact(db, "first fact")
    claim(db)
    add_fact(db, "second fact")
    texts = [text.text for text in vectors.missing(db, 10)]
    assert texts == ["second fact", "first fact", "Good to know.", "I moved to Ghent"]
    assert [text.text for text in vectors.missing(db, 3)] == texts[:3]


def test_a_changed_text_loses_its_vector_and_is_due_again(db: Database) -> None:
    _, (user, assistant, *_) = talk(db)
    fact = add_fact(db, "a fact")
    embed_all(db, claim(db))
    db.execute("UPDATE messages SET content = '[forgotten]' WHERE id = ?", (user,))
    db.execute("UPDATE messages SET content = '' WHERE id = ?", (assistant,))
    db.execute("UPDATE facts SET owner = 2 WHERE n = ?", (fact,))
    assert stored(db) == set()
    assert due(db) == {("message", user), ("fact", fact)}
    embed_all(db, claim(db))
    db.execute("UPDATE facts SET text = 'corrected' WHERE n = ?", (fact,))
    assert stored(db) == {("message", user)}
    db.execute("UPDATE messages SET held = 1 WHERE id = ?", (user,))
    db.execute("UPDATE facts SET uses = uses + 1 WHERE n = ?", (fact,))
    assert stored(db) == {("message", user)}


def test_a_deletion_that_is_rolled_back_keeps_the_vector_and_one_that_is_not_takes_it(db: Database) -> None:
    _, (user, *_) = talk(db)
    fact = add_fact(db, "a fact")
    space = claim(db)
    embed_all(db, space)
    before = stored(db)
    with pytest.raises(RuntimeError), db.atomic():
        db.execute("DELETE FROM messages WHERE id = ?", (user,))
        db.execute("DELETE FROM facts WHERE n = ?", (fact,))
        assert stored(db) == before - {("message", user), ("fact", fact)}
        raise RuntimeError
    assert stored(db) == before
    db.execute("DELETE FROM messages WHERE id = ?", (user,))
    db.execute("DELETE FROM facts WHERE n = ?", (fact,))
    assert stored(db) == before - {("message", user), ("fact", fact)}


def test_a_text_that_goes_while_it_waits_is_not_due_any_more(db: Database) -> None:
    session, _ = talk(db)
    claim(db)
    History(db, Actor()).delete(session)
    assert due(db) == set()


def test_a_vector_of_a_text_that_was_changed_or_erased_meanwhile_is_not_stored(db: Database) -> None:
    _, (user, assistant, *_) = talk(db)
    space = claim(db)
    texts = vectors.missing(db, 10)
    db.execute("DELETE FROM messages WHERE id = ?", (assistant,))
    db.execute("UPDATE messages SET content = 'other words' WHERE id = ?", (user,))
    assert vectors.put_many(db, space, texts, [b"ab", b"cd"], dimensions=1) == 0
    assert (stored(db), due(db)) == (set(), {("message", user)})


@pytest.mark.parametrize("way", ["delete", "purge", "forget a session", "forget an entry", "quarantine"])
def test_however_a_message_is_erased_its_vector_goes_too(tmp_path: Path, way: str) -> None:
    now = [1_800_000_000_000]
    vm = vademecum.open(tmp_path, clock=lambda: now[0])
    with vm.session() as session:
        session.user("the combination of the locker is heliotrope")
        session.assistant("the combination of the locker is heliotrope")
    embed_all(vm.db, claim(vm.db))
    assert len(stored(vm.db)) == 2
    match way:
        case "delete":
            vm.history.delete(session.id)
        case "purge":
            now[0] += 1
            vm.history.purge(now[0] + 1)
        case "forget a session":
            vm.forget(f"session:{session.id}", by=Origin.person())
        case "forget an entry":
            from vademecum.gate.selector import Selector

            vm.forget(Selector("entry", "the combination of the locker is heliotrope"), by=Origin.person())
        case _:  # put aside, and given back later: the text stays, and so does its vector
            vm.quarantine.add(f"session:{session.id}", by=Origin.person())
            assert len(stored(vm.db)) == 2
            return
    assert stored(vm.db) == set()
    assert vm.db.one("SELECT count(*) FROM messages WHERE instr(content, 'heliotrope')") == (0,)
    assert vm.db.one("SELECT count(*) FROM vectors") == (0,)


def test_the_old_vectors_serve_until_the_new_are_complete_and_then_go(db: Database) -> None:
    talk(db)
    old = claim(db, "old")
    embed_all(db, old)
    vectors.complete(db, old, 2)
    new = claim(db, "new")
    assert new.target and new.complete_at is None
    assert (vectors.serving(db) or new).name == "old"
    half = vectors.missing(db, 1)
    vectors.put_many(db, new, half, [b"cd"], dimensions=1)
    assert not vectors.complete(db, new, 3)
    assert vectors.drop_others(db) == 0
    assert (vectors.serving(db) or new).name == "old"
    embed_all(db, new, b"cd")
    assert vectors.complete(db, new, 4)
    assert (vectors.serving(db) or old).name == "new"
    assert vectors.drop_others(db) == 2
    assert [space.name for space in vectors.spaces(db)] == ["new"]
    assert db.all("SELECT DISTINCT vector FROM vectors") == [(b"cd",)]


def test_going_back_to_the_embedder_before_costs_only_what_is_missing(db: Database) -> None:
    talk(db)
    old = claim(db, "old")
    embed_all(db, old)
    vectors.complete(db, old, 2)
    claim(db, "new")
    late = talk(db)[1][4:6]
    back = claim(db, "old")
    assert due(db) == {("message", n) for n in late}
    assert (vectors.serving(db) or back).name == "old"
    embed_all(db, back)
    assert vectors.complete(db, back, 3)


def test_a_second_claim_of_the_same_embedder_changes_nothing(db: Database) -> None:
    talk(db)
    space = claim(db)
    vectors.put_many(db, space, vectors.missing(db, 1), [b"ab"], dimensions=1)
    waiting = due(db)
    again = claim(db)
    assert (again.n, due(db)) == (space.n, waiting)


def test_vectors_of_another_length_or_for_another_target_are_refused_and_the_old_kept(db: Database) -> None:
    talk(db)
    space = claim(db)
    texts = vectors.missing(db, 10)
    vectors.put_many(db, space, texts[:1], [b"ab"], dimensions=1)
    with pytest.raises(ConflictError, match="2 dimensions"):
        vectors.put_many(db, space, texts[1:], [b"abcd"], dimensions=2)
    claim(db, "other")
    with pytest.raises(ConflictError):
        vectors.put_many(db, space, texts[1:], [b"ab"], dimensions=1)
    assert db.all("SELECT vector FROM vectors") == [(b"ab",)]


def test_a_text_that_is_passed_over_waits_no_more_until_another_embedder_is_chosen(db: Database) -> None:
    _, (user, *_) = talk(db)
    space = claim(db)
    vectors.pass_over(db, DueText("message", user, "I moved to Ghent"))
    assert ("message", user) not in due(db)
    embed_all(db, space)
    assert vectors.complete(db, space, 2)
    claim(db, "other")
    assert ("message", user) in due(db)


def test_counts_and_faults_are_told(db: Database) -> None:
    talk(db)
    add_fact(db, "a fact")
    space = claim(db)
    vectors.put_many(db, space, vectors.missing(db, 2), [b"ab", b"ab"], dimensions=1)
    vectors.set_fault(db, space, "no answer")
    (found,), waiting = vectors.counts(db)
    assert (found.vectors, waiting, found.space.fault) == ({"fact": 1, "message": 1}, {"message": 1}, "no answer")
    embed_all(db, space)
    assert vectors.spaces(db)[0].fault == ""


def test_everything_can_be_made_due_again_without_losing_a_vector(db: Database) -> None:
    talk(db)
    space = claim(db)
    embed_all(db, space)
    vectors.complete(db, space, 2)
    vectors.all_due(db)
    assert (len(due(db)), len(stored(db))) == (2, 2)
    embed_all(db, space, b"cd")
    assert db.all("SELECT vector FROM vectors") == [(b"cd",), (b"cd",)]
