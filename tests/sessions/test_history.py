from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vademecum.errors import NotFoundError, UsageError
from vademecum.model import Actor, Origin
from vademecum.sessions import History, NewMessage
from vademecum.store import Database, migrate

USER, ASSISTANT = Origin.user(), Origin.assistant()


def test_a_session_opened_again_by_its_key_keeps_its_snapshot(db: Database) -> None:
    first = History(db, Actor()).open(key="telegram:42", snapshot="as it was", channel="telegram")

    again = History(db, Actor()).open(key="telegram:42", snapshot="as it is now", channel="other")

    assert again == first
    assert again.snapshot == "as it was"
    assert again.snapshot_sha256 is not None


def test_an_ended_session_frees_its_key(history: History) -> None:
    first = history.open(key="k")
    history.end(first.id, "closed")
    history.end(first.id, "again")

    second = history.open(key="k")

    assert second.id != first.id
    assert history.find(first.id).end_reason == "closed"
    assert history.by_key("k") == second


def test_a_reopened_session_goes_on_without_a_key_that_is_taken(history: History) -> None:
    first = history.open(key="k")
    history.end(first.id)
    second = history.open(key="k")

    reopened = history.reopen(first.id)

    assert (reopened.ended_at, reopened.key) == (None, None)
    assert history.by_key("k") == second


def test_an_import_source_is_one_session_also_after_its_end(history: History) -> None:
    first = history.open(source="claude-code:abc", opened_at=1_000)
    history.end(first.id)

    assert history.open(source="claude-code:abc").id == first.id


def test_a_message_comes_back_as_it_was(history: History) -> None:
    session = history.open(channel="chat")
    calls = [{"id": "1", "name": "shell", "args": {"command": "ls"}}]
    content = " two\n\nlines\twith\0 control \u202e characters\r\n"

    id_ = history.record(
        session.id, "assistant", content, origin=ASSISTANT, calls=calls, time=123, turn="t1", tool=None
    )
    (message,) = history.messages(session.id)

    assert (message.id, message.content, list(message.calls)) == (id_, content, calls)
    assert (message.time, message.turn, message.channel, message.origin) == (123, "t1", "chat", ASSISTANT)


@given(st.text())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_any_text_is_stored_verbatim(history: History, content: str) -> None:
    session = history.open()
    history.record(session.id, "user", content, origin=USER)
    assert history.messages(session.id)[0].content == content


def test_a_lone_surrogate_is_replaced_and_a_pair_becomes_its_character(history: History) -> None:
    session = history.open()
    history.record(session.id, "user", "a \ud83d\ude00 b \ud83d c", origin=USER)
    assert history.messages(session.id)[0].content == "a 😀 b \ufffd c"


def test_an_unknown_role_is_refused_and_nothing_is_stored(history: History) -> None:
    session = history.open()
    with pytest.raises(UsageError):
        history.record_many(session.id, [NewMessage("user", "a", USER), NewMessage("robot", "b", USER)])  # type: ignore[arg-type]
    assert history.messages(session.id) == []


def test_messages_with_a_known_source_are_stored_once(history: History) -> None:
    session = history.open()
    new = [NewMessage("user", f"line {number}", USER, source=f"file#{number}") for number in range(5)]

    assert history.record_many(session.id, new[:3]) == 3
    assert history.record_many(session.id, new) == 2
    assert (
        history.record(session.id, "user", "line 1", origin=USER, source="file#1") == history.messages(session.id)[1].id
    )

    assert [message.content for message in history.messages(session.id)] == [f"line {number}" for number in range(5)]
    assert len(history.search("line", limit=20).results) == 5


def test_the_same_source_in_another_session_is_another_message(history: History) -> None:
    one, two = history.open(), history.open()
    assert history.record_many(one.id, [NewMessage("user", "a", USER, source="s")]) == 1
    assert history.record_many(two.id, [NewMessage("user", "a", USER, source="s")]) == 1


def test_a_batch_that_fails_leaves_nothing_behind(history: History) -> None:
    session = history.open()

    def broken() -> object:
        yield NewMessage("user", "first words", USER)
        raise RuntimeError("the file ended early")

    with pytest.raises(RuntimeError):
        history.record_many(session.id, broken())  # type: ignore[arg-type]
    assert history.messages(session.id) == []
    assert not history.search("first words").results


def test_messages_page_on_from_an_id(history: History) -> None:
    session = history.open()
    history.record_many(session.id, [NewMessage("user", str(number), USER) for number in range(10)])
    first = history.messages(session.id, limit=4)
    rest = history.messages(session.id, after=first[-1].id)
    assert [message.content for message in (*first, *rest)] == [str(number) for number in range(10)]


def test_around_stays_in_the_session(history: History) -> None:
    one, two = history.open(), history.open()
    ids = []
    for number in range(6):
        ids.append(history.record(one.id, "user", f"one {number}", origin=USER))
        history.record(two.id, "user", f"two {number}", origin=USER)

    shown = history.around(ids[3], before=2, after=1)

    assert [message.content for message in shown] == ["one 1", "one 2", "one 3", "one 4"]


def test_reading_head_and_tail_shows_no_message_twice(history: History) -> None:
    session = history.open()
    history.record_many(session.id, [NewMessage("user", str(number), USER) for number in range(6)])
    head, tail = history.read(session.id, 4, 4)
    assert [message.content for message in (*head, *tail)] == ["0", "1", "2", "3", "4", "5"]


def test_recent_sessions_are_those_last_spoken_in(history: History) -> None:
    one, two, three = (history.open(title=name, opened_at=1_000, channel="chat") for name in "abc")
    for at, session in ((3_000, two), (2_000, three), (4_000, one)):
        history.record(session.id, "user", "hello", origin=USER, time=at)
    assert [info.title for info in history.recent()] == ["a", "b", "c"]
    assert [info.title for info in history.recent(before=4_000)] == ["b", "c"]
    assert history.recent(channel="telegram") == []


def test_ids_are_not_used_again_after_a_delete(history: History) -> None:
    session = history.open()
    old = history.record(session.id, "user", "old", origin=USER)
    history.delete(session.id)
    assert history.record(history.open().id, "user", "new", origin=USER) > old


def test_a_deleted_session_is_gone_from_every_byte_of_the_database(db: Database, history: History) -> None:
    kept = history.open(title="kept")
    history.record_many(kept.id, [NewMessage("user", f"ordinary words {number}", USER) for number in range(300)])
    gone = history.open(title="Xylophonistenkongress", snapshot="Quastenflossersnapshot")
    history.record_many(gone.id, [NewMessage("user", f"Zwiebelfischmarmelade {number}", USER) for number in range(300)])

    assert history.delete(gone.id) == 300

    with pytest.raises(NotFoundError):
        history.find(gone.id)
    assert not history.search("zwiebelfischmarmelade").results
    assert not history.search("xylophonistenkongress").results
    assert history.search("ordinary words 7").results[0].snippet == "ordinary words 7"
    on_disk = b"".join(path.read_bytes() for path in db.path.parent.iterdir())
    for word in (b"wiebelfisch", b"wiebelfischmarmelad", b"ylophonist", b"uastenflosser"):
        assert word not in on_disk


def test_purge_takes_only_sessions_in_which_nothing_was_said_since(history: History) -> None:
    old, revived, new = (history.open(title=name, opened_at=1_000) for name in ("old", "revived", "new"))
    history.record(old.id, "user", "long ago", origin=USER, time=1_500)
    history.record(revived.id, "user", "long ago too", origin=USER, time=1_500)
    history.record(revived.id, "user", "again", origin=USER, time=9_000)
    history.record(new.id, "user", "now", origin=USER, time=9_500)

    assert history.purge(5_000) == 1

    assert {info.title for info in history.recent()} == {"revived", "new"}
    assert [hit.session_id for hit in history.search("long ago").results] == [revived.id]
    assert history.purge(5_000) == 0


def test_index_and_messages_agree_after_everything(db: Database, history: History) -> None:
    for number in range(4):
        session = history.open(title=f"title {number}")
        history.record_many(session.id, [NewMessage("user", f"text {i}", USER) for i in range(20)])
        history.set_title(session.id, f"other {number}")
        if number % 2:
            history.delete(session.id)
    (rows,) = db.all("SELECT count(*), sum(rowid > 0) FROM message_text")
    assert rows == (42, 40)
    assert not history.search("title").results
    db.execute("INSERT INTO message_text (message_text) VALUES ('integrity-check')")
    with sqlite3.connect(db.path) as plain:
        assert plain.execute("PRAGMA integrity_check").fetchone() == ("ok",)


# ruff: noqa: E501  a program in a text
WRITER = """
import sys
from pathlib import Path
from vademecum.model import Actor, Origin
from vademecum.sessions import History, NewMessage
from vademecum.store import Database, migrate
db = Database(Path(sys.argv[1]))
migrate(db)
history = History(db, Actor())
session = history.open(key="shared")
for start in range(0, 300, 25):
    new = [NewMessage("user", f"{sys.argv[2]} {i}", Origin.user(), source=f"{sys.argv[3]}#{i}") for i in range(start, start + 25)]
    history.record_many(session.id, new)
print(session.id)
"""


@pytest.mark.parametrize(("sources", "expected"), [(("a", "b"), 600), (("a", "a"), 300)])
def test_two_processes_write_one_session_and_nothing_is_lost_or_doubled(
    tmp_path: Path, sources: tuple[str, str], expected: int
) -> None:
    path = tmp_path / "state.db"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), "word", source], stdout=subprocess.PIPE, text=True)
        for source in sources
    ]
    ids = {writer.communicate(timeout=60)[0].strip() for writer in writers}
    assert [writer.returncode for writer in writers] == [0, 0]
    assert len(ids) == 1

    db = Database(path)
    history = History(db, Actor())
    stored = history.messages(ids.pop())
    assert len(stored) == expected
    assert len(history.search("word", limit=1_000).results) > 0
    assert db.one("SELECT count(*) FROM message_text") == (expected,)
    db.close()


def test_a_reader_sees_what_another_connection_has_just_recorded(
    tmp_path: Path, db: Database, history: History
) -> None:
    other_db = Database(db.path)
    migrate(other_db)
    other = History(other_db, Actor())
    assert not other.search("heliotrope").results
    session = history.open()
    history.record(session.id, "user", "a heliotrope", origin=USER)
    assert len(other.search("heliotrope").results) == 1
    other_db.close()


def test_tool_calls_are_searched_and_their_kept_answers_are_not(history: History, say: Callable[..., int]) -> None:
    calls = [{"name": "shell", "args": {"command": "terraform apply"}, "answer": json.dumps({"out": "marzipan"})}]
    id_ = say("on it", role="assistant", calls=calls)
    assert [hit.message_id for hit in history.search("terraform").results] == [id_]
    assert not history.search("marzipan").results


def test_who_said_it_is_kept_with_a_message_of_several_speakers(history: History) -> None:
    session = history.open().id
    history.record(session, "user", "I moved to Porto.", origin=Origin.user(), speaker="  Ines \n Costa ")
    history.record_many(session, [NewMessage("user", "I stay here.", Origin.user(), speaker="Rui" * 40)])
    history.record(session, "assistant", "Noted.", origin=Origin.assistant())
    assert [one.speaker for one in history.messages(session)] == ["Ines Costa", ("Rui" * 40)[:80], ""]
