"""History: everything that was said, kept verbatim and found again.

Idea: one object for one actor (an agent and its user); it opens, records, reads, deletes and searches. Invariant: an
actor sees and changes its own sessions only, enforced in every SQL statement; what is recorded is searchable when the
call returns, and verbatim but for secrets; a message that was imported twice is stored once.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vademecum.clock import Clock, now_ms
from vademecum.errors import NotFoundError, UsageError
from vademecum.gate.quarantine import Quarantine
from vademecum.gate.redactor import KEY_NAME, Redactor
from vademecum.ids import new_id
from vademecum.model import Actor, Origin
from vademecum.search.prepare import well_formed
from vademecum.sessions.indexing import index_text, searchable
from vademecum.sessions.types import Message, NewMessage, Order, Role, SearchAnswer, SessionInfo
from vademecum.store import Database, messages, quarantine, sessions
from vademecum.store.heartbeats import Heartbeats
from vademecum.store.imported import Imported, recorded
from vademecum.store.message_index import Filter
from vademecum.store.messages import MessageRow, NewRow
from vademecum.store.sessions import SessionRow
from vademecum.values import check_times

REMEMBERED_ORIGINS = 256
BATCH = 2_000
"""Messages that `record_many` stores in one transaction; more are stored in several."""

SPEAKER_CHARS = 80
"""Characters of a speaker's name; the rest of a longer one is left out."""

HELD = "[in quarantine: kept, and shown to no model; `vademecum release` gives it back]"
"""What stands in the place of a message that is in quarantine."""

ROLES: tuple[Role, ...] = ("user", "assistant", "tool", "system")


class History:
    """The sessions of one actor. Thread-safe like its database."""

    def __init__(self, db: Database, actor: Actor, clock: Clock = now_ms, redactor: Redactor | None = None) -> None:
        self._db = db
        self._actor = actor
        self._clock = clock
        self._redactor = redactor or Redactor(db.path.with_name(KEY_NAME))
        self._quarantine = Quarantine(db)
        self._origins: dict[Origin, str] = {}

    # --- sessions

    def open(
        self,
        *,
        key: str | None = None,
        channel: str = "",
        title: str = "",
        parent: str | None = None,
        source: str = "",
        snapshot: str | None = None,
        opened_at: int | None = None,
    ) -> SessionInfo:
        """A new session; or the open one that already has this `key`, or the one imported from this `source`.

        An existing session is returned as it is: its snapshot, title and channel stay. `opened_at` is UTC ms.
        """
        check_times(opened_at=opened_at)
        at = self._clock() if opened_at is None else opened_at
        key, title = None if key is None else self._redactor.clean(key), self._clean(title)
        snapshot = None if snapshot is None else self._redactor.clean(snapshot)
        with self._db.atomic():
            found = sessions.by_key(self._db, self._actor, key) if key is not None else None
            if found is None and source:
                found = sessions.by_source(self._db, self._actor, source)
            if found is not None:
                return self._info(found)
            row = SessionRow(
                n=0,
                id=new_id(opened_at),
                key=key,
                title=title,
                channel=self._redactor.clean(channel),
                source=source,
                parent=parent,
                opened_at=at,
                last_at=at,
                ended_at=None,
                end_reason=None,
                snapshot=snapshot,
                snapshot_sha256=None if snapshot is None else _sha256(snapshot),
            )
            stored = sessions.insert(self._db, self._actor, row)
            if title:
                messages.index_title(self._db, stored.n, index_text(self._actor, title))
            return self._info(stored)

    def find(self, session_id: str) -> SessionInfo:
        """The session with that id. Raises NotFoundError, also for a session of another user or agent."""
        return self._info(self._need(session_id))

    def by_key(self, key: str) -> SessionInfo | None:
        """The open session with that key."""
        row = sessions.by_key(self._db, self._actor, self._redactor.clean(key))
        return None if row is None else self._info(row)

    def recent(self, limit: int = 20, *, before: int | None = None, channel: str | None = None) -> list[SessionInfo]:
        """Sessions, last spoken in first. `before` is a `last_at` in UTC ms to page on from."""
        rows = sessions.recent(self._db, self._actor, limit=limit, before=before, channel=channel)
        return [self._info(row) for row in rows]

    def set_title(self, session_id: str, title: str) -> None:
        """Name a session; titles are searched too."""
        row, title = self._need(session_id), self._clean(title)
        with self._db.atomic():
            sessions.set_title(self._db, row.n, title)
            messages.index_title(self._db, row.n, index_text(self._actor, title) if title.strip() else "")

    def set_snapshot(self, session_id: str, snapshot: str) -> None:
        """Keep the frozen prompt of a session with it."""
        clean = self._redactor.clean(snapshot)
        sessions.set_snapshot(self._db, self._need(session_id).n, clean, _sha256(clean))

    def end(self, session_id: str, reason: str = "closed") -> None:
        """End a session; its key is free for a new one. Ending it again keeps the first end, unless it was a guess."""
        row = self._need(session_id)
        if row.ended_at is None or row.end_reason == sessions.LOST:
            sessions.set_end(self._db, row.n, self._clock(), reason)

    def reopen(self, session_id: str) -> SessionInfo:
        """Open an ended session again. When its key names another open session by now, it goes on without a key."""
        with self._db.atomic():
            row = self._need(session_id)
            if row.ended_at is not None:
                if row.key is not None and sessions.by_key(self._db, self._actor, row.key) is not None:
                    sessions.forget_key(self._db, row.n)
                sessions.set_end(self._db, row.n, None, None)
        return self.find(session_id)

    def delete(self, session_id: str) -> int:
        """Erase a session, its messages and their index entries; returns how many messages it had.

        What was said until now does not come back when its source is recorded or imported again.
        """
        return self._erase([self._need(session_id)])

    def purge(self, before_ms: int) -> int:
        """Erase all sessions in which nothing was said since `before_ms` (UTC ms); returns how many sessions."""
        rows = sessions.older_than(self._db, self._actor, before_ms)
        if rows:
            self._erase(rows)
        return len(rows)

    # --- messages

    def record(
        self,
        session_id: str,
        role: Role,
        content: str,
        *,
        origin: Origin,
        tool: str | None = None,
        calls: Sequence[Mapping[str, Any]] | None = None,
        time: int | None = None,
        channel: str = "",
        turn: str | None = None,
        source: str | None = None,
        speaker: str = "",
    ) -> int:
        """Store one message and return its id; for a `source` that the session has, the id it was stored under.

        `speaker` names who said it where several share a role (a group chat, an import); at most SPEAKER_CHARS.
        """
        message = NewMessage(role, content, origin, tool, calls, time, channel, turn, source, speaker)
        row = self._need(session_id)
        with self._db.atomic():
            new = self._store(row, [message])
            if new:
                return new[0]
            known = messages.id_of_source(self._db, row.n, source or "")
        assert known is not None  # only a known source keeps a message out
        return known

    def record_many(self, session_id: str, new: Iterable[NewMessage]) -> int:
        """Store messages in order and return how many were new; a `source` that the session has is left out.

        Up to BATCH messages are one transaction; a longer iterable is stored in several, each whole.
        """
        row = self._need(session_id)
        stored, iterator = 0, iter(new)
        while batch := list(itertools.islice(iterator, BATCH)):
            stored += len(self._store(row, batch))
        return stored

    def messages(self, session_id: str, *, after: int = 0, limit: int | None = None) -> list[Message]:
        """Messages of a session in order, from the first with an id above `after`."""
        n = self._need(session_id).n
        rows = messages.of_session(self._db, n, after=after, limit=-1 if limit is None else limit)
        return [_message(row) for row in rows]

    def around(self, message_id: int, before: int = 5, after: int = 5) -> list[Message]:
        """A message with those before and after it in its session. Raises NotFoundError."""
        hit = messages.by_id(self._db, self._actor, message_id)
        if hit is None:
            raise NotFoundError(
                f"There is no message {message_id} in your sessions.", "Search again: ids come from `session_search`."
            )
        n = self._need(hit.session_id).n
        earlier = messages.last_of_session(self._db, n, before=hit.id, limit=before)
        later = messages.of_session(self._db, n, after=hit.id, limit=after)
        return [_message(row) for row in (*earlier, hit, *later)]

    def read(self, session_id: str, head: int = 5, tail: int = 10) -> tuple[list[Message], list[Message]]:
        """The first `head` and the last `tail` messages of a session, none twice."""
        n = self._need(session_id).n
        first = messages.of_session(self._db, n, limit=head)
        shown = first[-1].id if first else 0
        last = messages.last_of_session(self._db, n, limit=tail)
        return [_message(row) for row in first], [_message(row) for row in last if row.id > shown]

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        role: str | None = None,
        channel: str | None = None,
        since: int | None = None,
        until: int | None = None,
        session_id: str | None = None,
        order: Order = "relevance",
    ) -> SearchAnswer:
        """Messages that answer `query`, best (or newest) first. Any string is a query; none raises."""
        within = None if session_id is None else self._need(session_id).n
        only = Filter(role=role, channel=channel, since=since, until=until, session=within)
        from vademecum.sessions.finder import find  # a hook records at every prompt and never searches

        query = self._redactor.clean(query)  # a mark is what was stored
        return find(self._db, self._actor, query, limit=limit, order=order, only=only)

    # --- inside

    def _need(self, session_id: str) -> SessionRow:
        row = sessions.by_id(self._db, self._actor, session_id)
        if row is None:
            raise NotFoundError(
                f"There is no session {session_id!r} of user {self._actor.user!r} with agent {self._actor.agent!r}.",
                "`vademecum session list` shows the sessions and their ids.",
            )
        return row

    def _info(self, row: SessionRow) -> SessionInfo:
        check = self._quarantine.check(self._actor.agent)
        held = check is not None and check(Origin.user(self._actor.user), row.id, self._actor.user) is not None
        return SessionInfo(
            id=row.id,
            key=row.key,
            title=HELD if held else row.title,
            channel=row.channel,
            source=row.source,
            parent=row.parent,
            opened_at=row.opened_at,
            last_at=row.last_at,
            ended_at=row.ended_at,
            end_reason=row.end_reason,
            snapshot=row.snapshot,
            snapshot_sha256=row.snapshot_sha256,
            messages=messages.count(self._db, row.n),
        )

    def _store(self, session: SessionRow, batch: Sequence[NewMessage]) -> list[int]:
        kinds: list[str] = []
        rows = [self._new_row(session, message, kinds) for message in batch]
        with self._db.atomic():
            new = messages.insert(self._db, rows)
            if new:
                sessions.touch(self._db, session.n, max(row.time for row in rows))
            if new:
                self._hold(new)
            if new and kinds:
                self._note_redaction(session, batch[0].origin, kinds)
        return new

    def _hold(self, new: Sequence[int]) -> None:
        """Keep what comes from a source in quarantine out of searches from the start."""
        check = self._quarantine.check(self._actor.agent)
        if check is not None:
            for one in quarantine.of_messages(self._db, new):
                if check(Origin.parse(one.origin), one.session, one.user):
                    quarantine.hold(self._db, [one.id])

    def _note_redaction(self, session: SessionRow, origin: Origin, kinds: Sequence[str]) -> None:
        from vademecum.gate.audit import Audit, Event  # only when there was a secret

        rule = " ".join(dict.fromkeys(f"secret:{kind}" for kind in kinds))
        origin = self._redactor.origin(origin)
        event = Event("redacted", "sessions", "add", session.id, origin, self._actor, rule=rule, session=session.id)
        Audit(self._db, self._clock, redactor=self._redactor).record(event)

    def _clean(self, text: str) -> str:
        return self._redactor.clean(well_formed(text))

    def _new_row(self, session: SessionRow, message: NewMessage, kinds: list[str]) -> NewRow:
        if message.role not in ROLES:
            raise UsageError(
                f"{message.role!r} is not a role; nothing was recorded.", f"Use one of {', '.join(ROLES)}."
            )
        check_times(time=message.time)
        said = self._redactor.redact(well_formed(message.content))
        kinds += said.kinds
        called = self._redactor.value(message.calls, kinds) if message.calls else None
        calls = _json(called)
        return NewRow(
            session=session.n,
            time=self._clock() if message.time is None else message.time,
            role=message.role,
            content=said.text,
            tool=self._redactor.clean(message.tool) if message.tool else None,
            calls=None if calls is None else well_formed(calls),
            origin=self._printed(message.origin),
            channel=self._redactor.clean(message.channel) or session.channel,
            turn=message.turn,
            source=message.source,
            indexed=index_text(self._actor, searchable(said.text, called)),
            speaker=self._clean(" ".join(message.speaker.split())[:SPEAKER_CHARS]) if message.speaker else "",
        )

    def _printed(self, origin: Origin) -> str:
        printed = self._origins.get(origin)
        if printed is None:  # an import brings the same few origins a hundred thousand times
            if len(self._origins) >= REMEMBERED_ORIGINS:
                self._origins.clear()
            printed = self._origins[origin] = str(self._redactor.origin(origin))
        return printed

    def _erase(self, rows: Sequence[SessionRow]) -> int:
        with messages.erasing(self._db):
            for row in rows:
                self._forget_source(row)
            gone = messages.erase(self._db, [row.n for row in rows])
            for row in rows:
                sessions.delete(self._db, row.n)
        return gone

    def _forget_source(self, row: SessionRow) -> None:
        client, _, conversation = row.source.partition(":")
        if conversation and messages.count(self._db, row.n):  # of an empty one, nothing is to stay away
            source, at = recorded(client, self._actor), max(self._clock(), row.last_at)
            Imported(self._db).forget(source, conversation, at)
            Heartbeats(self._db).forget(client, conversation)


def _json(calls: Sequence[Mapping[str, Any]] | None) -> str | None:
    return json.dumps([dict(call) for call in calls], ensure_ascii=False) if calls else None


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _message(row: MessageRow) -> Message:
    calls: tuple[dict[str, Any], ...] = tuple(json.loads(row.calls)) if row.calls else ()
    if row.held:
        calls = tuple({key: call[key] for key in ("id", "name") if key in call} for call in calls)
    return Message(
        id=row.id,
        session_id=row.session_id,
        time=row.time,
        role=row.role,
        content=HELD if row.held else row.content,
        tool=row.tool,
        calls=calls,
        origin=Origin.parse(row.origin),
        channel=row.channel,
        turn=row.turn,
        speaker="" if row.held else row.speaker,
    )
