"""Where what is written in a session comes from: from the text itself, and from all that the session has heard.

Idea: outside text that enters the context is noted beside the session at once; from then on what the assistant writes
is `assistant+<those origins>`, unless the text restates the user's own words. Invariant: only what the context has
heard and the text itself decide, never who typed last; a message made in such a context carries its origins, so that a
later session that finds it hears them too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from vademecum.errors import NotFoundError
from vademecum.gate.trust import Rules, Trust, joined_outside
from vademecum.model import Origin
from vademecum.store import taint as rows

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

NEWEST = 200
"""The user's messages that a text may restate."""


def rules(vm: Vademecum) -> Rules:
    """What this configuration and this actor make of origins."""
    return Rules(vm.config.gate.local_tools, vm.actor, vm.config.gate.trusted_connectors)


def outside_of(vm: Vademecum, session_id: str) -> Origin | None:
    """The outside origins that a session has heard, joined; None when there are none."""
    kept = rows.outside_of(vm.db, vm.actor, session_id)
    return Origin.parse(kept) if kept else None


def taint(vm: Vademecum, session_id: str, *origins: Origin) -> None:
    """Note the outside parts of `origins` beside a session."""
    known = rules(vm)
    parts = [vm.redactor.origin(part) for origin in origins for part in known.outside(origin)]
    if not parts:
        return
    with vm.db.atomic():
        before = outside_of(vm, session_id)
        after = joined_outside(before, parts)
        if after != before:
            rows.set_outside(vm.db, vm.actor, session_id, str(after))


class Trail:
    """The origins of messages that are recorded in order, by whoever records another program's conversation."""

    def __init__(self, known: Rules, outside: Origin | None = None) -> None:
        self._rules = known
        self.outside = outside

    def of(self, origin: Origin) -> Origin:
        """The origin under which the next message is kept: with what was heard before it, unless it is outside text."""
        parts = self._rules.outside(origin)
        if parts:
            self.outside = joined_outside(self.outside, parts)
            return origin
        return origin if self.outside is None else origin.joined(self.outside)


class Context:
    """What one session has heard. `session_id` None: an incognito one, of which nothing is kept."""

    def __init__(self, vm: Vademecum, session_id: str | None, parent: str | None = None) -> None:
        self._vm = vm
        self._rules = rules(vm)
        self._id = session_id
        self._parent = parent
        self._heard: Origin | None = None
        self._said: list[str] = []
        self.beside: tuple[str, ...] = ()
        """Sessions in which the same client's conversation is recorded."""

    @property
    def outside(self) -> Origin | None:
        """The outside origins in the context, joined; None when there are none."""
        if self._id is None:
            return self._heard
        found = [outside_of(self._vm, one) for one in (self._id, *self.beside)]
        return joined_outside(None, [part for origin in found if origin for part in origin.parts])

    @property
    def trust(self) -> Trust:
        """The lowest class in the context: `outside`, `user` in somebody else's session, else `assistant`."""
        return self._rules.class_of(self.carried(Origin.assistant()))

    def is_outside(self, origin: Origin) -> bool:
        """True when `origin` would taint the context."""
        return bool(self._rules.outside(origin))

    def hear(self, *origins: Origin) -> None:
        """Something of these origins enters the context; what is local or said in the conversation changes nothing."""
        if self._id is None:
            self._heard = joined_outside(self._heard, [part for one in origins for part in self._rules.outside(one)])
            return
        for one in (self._id, *self.beside):
            taint(self._vm, one, *origins)

    def say(self, text: str) -> None:
        """The user says something in an incognito session."""
        if self._id is None:
            self._said.append(self._vm.redactor.clean(text))

    def carried(self, origin: Origin) -> Origin:
        """The origin of what `origin` makes in this context."""
        outside = self.outside
        return origin if outside is None else origin.joined(outside)

    def writing(self, text: str) -> Origin:
        """The origin of `text` when the assistant writes it here: the user's when it restates what the user said."""
        from vademecum.gate.restate import restates

        if restates(self._vm.redactor.clean(text), self.words()):  # what was said is kept without its secrets
            return Origin.user(self._vm.actor.user)
        return self.carried(Origin.assistant())

    def words(self) -> Sequence[str]:
        """The user's messages, newest first; of a continued conversation also those before it was summarised."""
        if self._id is None:
            return self._said
        ids = [one for one in (self._id, self._parent, *self.beside) if one]
        said = str(Origin.user(self._vm.actor.user))
        return rows.user_messages(self._vm.db, self._vm.actor, ids, origin=said, limit=NEWEST)


def recalled(vm: Vademecum, answer: dict[str, Any]) -> dict[int | str, Origin]:
    """The origins of the results of a `session_search`, by their ids, with the neighbours that a summary has read."""
    results = answer.get("results")
    side = 2 if answer.get("summary") else 0
    found: dict[int | str, Origin] = {}
    for hit in cast("Iterable[dict[str, Any]]", results if isinstance(results, list) else []):
        message, session = hit.get("message_id"), str(hit.get("session_id"))
        if isinstance(message, int):
            try:
                origins = [one.origin for one in vm.history.around(message, side, side)]
            except NotFoundError:  # erased since
                continue
            found[message] = origins[0].joined(*origins[1:])
        elif (outside := outside_of(vm, session)) is not None:  # a title may be the assistant's
            found[session] = outside
    return found
