"""A session, and its search, is its agent's and its user's alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vademecum.errors import NotFoundError
from vademecum.model import Actor, Origin
from vademecum.sessions import History
from vademecum.sessions.tool import session_search_tool
from vademecum.store import Database

ACTORS = [
    Actor("lyra", "owner"),
    Actor("lyra", "ana"),
    Actor("orion", "owner"),
    Actor("lyraow", "ner"),
    Actor("lyra", ""),
]
SECRET = "the vault code is quokka-4711 🦘 数据库"


@pytest.fixture
def secret(db: Database) -> tuple[str, int]:
    ana = History(db, Actor("lyra", "ana"))
    session = ana.open(key="k", title="Marsupial planning", channel="chat", source="import:1")
    return session.id, ana.record(session.id, "user", SECRET, origin=Origin.user("ana"))


OTHERS = [actor for actor in ACTORS if actor != Actor("lyra", "ana")]


@pytest.mark.parametrize("actor", OTHERS, ids=str)
def test_nothing_of_another_actor_is_seen(db: Database, secret: tuple[str, int], actor: Actor) -> None:
    other = History(db, actor)
    session_id, message_id = secret
    attempts: list[Callable[[], object]] = [
        lambda: other.find(session_id),
        lambda: other.messages(session_id),
        lambda: other.read(session_id),
        lambda: other.around(message_id),
        lambda: other.delete(session_id),
        lambda: other.end(session_id),
        lambda: other.reopen(session_id),
        lambda: other.set_title(session_id, "mine"),
        lambda: other.set_snapshot(session_id, "mine"),
        lambda: other.record(session_id, "user", "x", origin=Origin.user()),
        lambda: other.record_many(session_id, []),
        lambda: other.search("quokka", session_id=session_id),
        lambda: session_search_tool(other, {"message_id": message_id}),
        lambda: session_search_tool(other, {"session_id": session_id}),
    ]
    for attempt in attempts:
        with pytest.raises(NotFoundError):
            attempt()
    assert other.by_key("k") is None
    assert other.recent() == []
    assert other.purge(2**60) == 0
    assert other.open(key="k", source="import:1").id != session_id
    assert History(db, Actor("lyra", "ana")).messages(session_id)[0].content == SECRET


QUERIES = [
    "quokka", "quokka-4711", "quokak", "quo", "quok*", '"vault code"', "🦘", "数据", "what is the vault code?",
    "marsupial", "Marsupial planning", "the", "uokk", "vault OR code", "vault NEAR code", "body:quokka", "-", "%", "_",
    "\uf8ff", "\uf8ff4711",
]  # fmt: skip


@pytest.mark.parametrize("own", [False, True], ids=["with nothing of its own", "with words of its own"])
@pytest.mark.parametrize("actor", OTHERS, ids=str)
def test_no_query_finds_or_hints_at_another_actors_words(
    db: Database, secret: tuple[str, int], actor: Actor, own: bool
) -> None:
    other = History(db, actor)
    mine: set[int] = set()
    if own:
        session = other.open(title="The weather")
        mine = {other.record(session.id, "user", "the weather was fine, vault or code", origin=Origin.user())}
    for query in QUERIES:
        for order in ("relevance", "newest"):
            answer = other.search(query, order=order, limit=50)  # type: ignore[arg-type]
            assert {hit.message_id for hit in answer.results} <= mine
            told = f"{answer.query} {answer.hint}".lower()
            assert "quokka" not in told or "quokka" in query
            assert "marsupial" not in told or "marsupial" in query.lower()


def test_the_owner_token_cannot_be_written_into_a_text(db: Database) -> None:
    from vademecum.store.message_index import owner_token

    lyra, orion = History(db, Actor("lyra")), History(db, Actor("orion"))
    lyra.record(lyra.open().id, "user", f"pelican {owner_token(Actor('orion'))}", origin=Origin.user())
    orion.record(orion.open().id, "user", "heron", origin=Origin.user())

    (count,) = db.all(f"SELECT count(*) FROM message_text WHERE message_text MATCH '\"{owner_token(Actor('orion'))}\"'")

    assert count == (1,)
    assert not orion.search("pelican").results


def test_a_user_with_little_history_is_served_among_much_of_another(db: Database) -> None:
    from vademecum.sessions import NewMessage

    busy, quiet = History(db, Actor(user="busy")), History(db, Actor(user="quiet"))
    session = busy.open()
    new = [NewMessage("user", f"always the same words {number}", Origin.user("busy")) for number in range(3_000)]
    mine = quiet.record(quiet.open().id, "user", "always the same words", origin=Origin.user("quiet"))
    busy.record_many(session.id, new)

    for order in ("relevance", "newest"):
        assert [hit.message_id for hit in quiet.search("always the same", order=order).results] == [mine]  # type: ignore[arg-type]
    assert len(busy.search("always the same").results) == 10
