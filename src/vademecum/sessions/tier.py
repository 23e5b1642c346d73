"""What was said, as a place that texts can be found in by where they came from, and erased.

Idea: messages of a source go whole; a text that others quote is cut out of them. Invariant: a message, its index entry
and a title made of it change in one transaction.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from vademecum.clock import Clock, now_ms
from vademecum.gate.audit import Audit, Event
from vademecum.gate.quarantine import Quarantine
from vademecum.gate.selector import Copy, Selector
from vademecum.model import Actor, Origin
from vademecum.sessions.indexing import index_text, searchable
from vademecum.store import Database, erasure, quarantine
from vademecum.store.quarantine import Said

UNNAMED = "#%2a"
"""A part of an origin that stands for several sources, as it is printed."""
SHORTEST_TITLE = 12
"""A title that stands in an erased text is erased with it if it has as many characters."""


class SessionsTier:
    """The messages of one agent, of all its users: `place` of a copy is the message's id, empty for a whole session."""

    name = "sessions"

    def __init__(self, db: Database, actor: Actor, clock: Clock = now_ms) -> None:
        self._db = db
        self._actor = actor
        self._clock = clock

    def copies(self, selector: Selector) -> list[Copy]:
        """See `Keeper.copies`; about 20 ms for 100,000 messages by origin, 200 ms by text."""
        agent = self._actor.agent
        if selector.kind == "entry":
            return [_copy(one, whole=False) for one in quarantine.said_with(self._db, agent, forms(selector.value))]
        if selector.kind == "session":
            return [_copy(one) for one in self._within(selector)]
        heard = Quarantine(self._db).heard(agent, selector)
        found = {one.id: one for one in quarantine.said_from(self._db, agent, selector.needle)}
        if heard:  # sources that are no longer named one by one
            found |= {one.id: one for one in quarantine.said_from(self._db, agent, UNNAMED) if one.session in heard}
        if selector.kind == "user":
            found |= {one.id: one for one in self._within(selector)}
        return [
            _copy(one)
            for _, one in sorted(found.items())
            if selector.matches(Origin.parse(one.origin), session=one.session, user=one.user, heard=heard)
        ]

    def _within(self, selector: Selector) -> list[Said]:
        name = {"session": selector.value} if selector.kind == "session" else {"user": selector.value}
        return quarantine.said_within(self._db, self._actor.agent, **name)

    def erase(self, copies: Sequence[Copy], texts: Sequence[str], by: Origin) -> None:
        """See `Keeper.erase`: one row of the history for each session."""
        sessions = dict.fromkeys((copy.session or "", copy.user) for copy in copies)
        for session, user in sessions:
            mine = [copy for copy in copies if copy.session == session]
            ids = [int(copy.place) for copy in mine if copy.whole and copy.place]
            with self._db.atomic():
                self._record(session, user, [copy for copy in mine if copy.place], by)
                erasure.erase_messages(self._db, ids)
                self._cut([int(copy.place) for copy in mine if not copy.whole], forms(*texts))
                if any(not copy.place for copy in mine):
                    erasure.erase_session(self._db, self._actor.agent, session)
        self._erase_titles(texts, copies)

    def _record(self, session: str, user: str, copies: Sequence[Copy], by: Origin) -> None:
        there = {one.id for one in quarantine.of_messages(self._db, [int(copy.place) for copy in copies])}
        left = [copy for copy in copies if int(copy.place) in there]
        if left:
            origins = [Origin.parse(copy.origin) for copy in left[:16]]
            event = Event(
                "forgotten",
                self.name,
                "remove",
                session,
                origins[0].joined(*origins[1:]),
                Actor(self._actor.agent, user),
                by=str(by),
                rule=f"{len(left)} messages",
                session=session,
                keep=False,
            )
            Audit(self._db, self._clock).record(event)

    def _cut(self, ids: Sequence[int], texts: Sequence[str]) -> None:
        entries: list[tuple[int, str]] = []
        for id_ in ids:
            found = erasure.message(self._db, id_)
            if found is None:
                continue
            content, calls, user = found
            for text in texts:
                content = content.replace(text, erasure.MARK)
                calls = calls.replace(text, erasure.MARK) if calls else calls
            erasure.set_message(self._db, id_, content, calls)
            indexed = searchable(content, json.loads(calls) if calls else None)
            entries.append((id_, index_text(Actor(self._actor.agent, user), indexed)))
        erasure.reindex(self._db, entries)

    def _erase_titles(self, texts: Sequence[str], copies: Sequence[Copy]) -> None:
        """A title is mostly the beginning of what was said first."""
        cut = [_flat(text) for text in texts if len(text) >= SHORTEST_TITLE]
        for n, session, title in erasure.titles(self._db, self._actor.agent):
            beginning = _flat(title.removesuffix("…"))
            gone = [_flat(copy.text) for copy in copies if copy.whole and copy.session == session]
            here = any(not copy.whole and copy.session == session for copy in copies)
            quotes = any(text in beginning for text in cut) or (here and any(_share(beginning, text) for text in cut))
            quoted = len(beginning) >= SHORTEST_TITLE and any(beginning in text for text in (*cut, *gone))
            if quotes or quoted or beginning in gone:
                erasure.clear_title(self._db, n)


def forms(*texts: str) -> list[str]:
    """Each text as it is, and as it stands in JSON, and in JSON that is a text in JSON."""
    found: dict[str, None] = {}
    for text in texts:
        once = json.dumps(text, ensure_ascii=False)[1:-1]
        found |= dict.fromkeys([json.dumps(once, ensure_ascii=False)[1:-1], once, text])
    return list(found)


def _share(title: str, text: str) -> bool:
    """Whether a title, which may be cut short anywhere, has a piece of the text."""
    starts = range(max(1, len(title) - SHORTEST_TITLE + 1))
    return any(title[start : start + SHORTEST_TITLE] in text for start in starts)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _copy(said: Said, *, whole: bool = True) -> Copy:
    return Copy("sessions", str(said.id), said.content, said.origin, said.user, said.session, whole)
