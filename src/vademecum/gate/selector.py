"""What a person points at when something has to be found, hidden or erased: `url:...`, `session:...`, a text.

Idea: one small value that a printed origin is held against, part by part, so that a text made from several sources is
found under each of them. Invariant: nothing but the origin, the session and the user decide; `needle` only sorts out
what cannot match, for the database.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, get_args
from urllib.parse import quote, urlsplit

from vademecum.errors import UsageError
from vademecum.late import dataclass
from vademecum.model import OWNER, Origin

SelectorKind = Literal["url", "tool", "connector", "agent", "import", "session", "user", "entry"]

KINDS: tuple[str, ...] = get_args(SelectorKind)


@dataclass(frozen=True, slots=True)
class Selector:
    """What is meant. Printed as it is typed: `kind:value`.

    `url:` is an address, a host (`url:bad.example`, all its pages), or the beginning of one (`url:https://a.example/b*`);
    a `*` at the end works for every kind. `connector:` is a source or `source#item`; `entry` is a text itself.
    """

    kind: SelectorKind
    value: str

    @staticmethod
    def parse(text: str) -> Selector:
        """The selector that a person typed. Raises UsageError."""
        kind, _, value = text.strip().partition(":")
        value = value.strip()
        if kind not in KINDS or kind == "entry" or not value.strip("*"):
            kinds = ", ".join(f"{name}:..." for name in KINDS if name != "entry")
            raise UsageError(f"{text!r} does not say where something came from.", f"Write one of {kinds}.")
        if kind == "user" and value == OWNER:
            raise UsageError("The owner's own words are not selected by user.", "Name a session, or an entry's text.")
        return Selector(kind, value.upper() if kind == "session" else value)  # pyright: ignore[reportArgumentType]

    def __str__(self) -> str:
        return f"{self.kind}:{self.value}"

    @property
    def needle(self) -> str:
        """What the printed origin of everything that can match contains, in lower case; empty when none is needed."""
        value = self.value.removesuffix("*")
        if self.kind == "connector":
            value = value.partition("#")[0]
        if self.kind in ("session", "entry"):
            return ""
        quoted = quote(value, safe="/@.").lower()
        return quoted if self.kind == "url" else f"{self.kind}:{quoted}"

    def matches(
        self, origin: Origin, *, session: str | None = None, user: str = "", heard: Collection[str] = ()
    ) -> bool:
        """Whether something of that origin, made in `session` for `user`, is meant.

        `heard` are sessions that certainly read what is meant: there a source that is no longer named one by one
        (`#*`, see `gate.trust`) counts too.
        """
        match self.kind:
            case "entry":
                return False
            case "session":
                return session is not None and self._is(session)
            case "user":
                return self._is(user) or any(part.kind == "user" and self._is(part.name) for part in origin.parts)
            case _:
                parts = origin.parts
                return any(self._part(part, heard_here=session in heard) for part in parts)

    def _part(self, part: Origin, *, heard_here: bool) -> bool:
        if self.kind == "url":
            if part.item == "*":
                return heard_here
            return part.kind in ("tool", "connector") and bool(part.item) and self._is_url(part.item)
        if self.kind == "connector":
            return part.kind == "connector" and (self._is(part.name) or self._is(f"{part.name}#{part.item}"))
        return part.kind == self.kind and self._is(part.name)

    def _is_url(self, address: str) -> bool:
        if "://" in self.value or self.value.endswith("*") or "/" in self.value:
            return self._is(address) or self._is(address.rstrip("/"))
        try:
            return (urlsplit(address).hostname or address).casefold() == self.value.casefold()
        except ValueError:  # no address that can be read
            return address == self.value

    def _is(self, value: str) -> bool:
        if self.value.endswith("*"):
            return value.startswith(self.value[:-1])
        return value == self.value


@dataclass(frozen=True, slots=True)
class Copy:
    """One place where a text stands: the tier, the place in it (store, slug, message, proposal), whose it is.

    `whole`: the place is the text's own; else the text stands inside of something else, and is cut out of it.
    """

    tier: str
    place: str
    text: str
    origin: str
    user: str = OWNER
    session: str | None = None
    whole: bool = True
