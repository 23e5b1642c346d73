"""`vm.library`: look something up in a source by name, read what was found in pieces, ask what is new.

Idea: a source fetches, within its time; its answer goes out through `outward`, is cached with revision and time, and
cut to size.
Invariant: nothing is remembered; without a network the cached copy is given with its age, or an error that says so;
what a source answers in a wrong form is its error, never a half-read result.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from vademecum.clock import Clock
from vademecum.errors import (
    ConfigError,
    NotFoundError,
    RefusedError,
    SourceError,
    StorageError,
    UsageError,
    VademecumError,
)
from vademecum.late import dataclass, pattern
from vademecum.library import registry
from vademecum.library.asking import SECONDS, Asking
from vademecum.library.cache import Cache
from vademecum.library.contract import (
    Availability,
    ChangesFound,
    Context,
    Document,
    Filter,
    Found,
    LibrarySource,
    Setting,
)
from vademecum.library.foreign import foreign
from vademecum.library.outward import Outward
from vademecum.library.web import Web, checked

if TYPE_CHECKING:
    from vademecum.library.guard import Resolver
    from vademecum.store import Database

BUDGET = 2000
"""Tokens of a document that are given at once, unless the caller says otherwise."""
MOST = 50
"""Most items of one search."""

_ABOUT = 300  # characters
_PAGED = pattern(r"@(\d{1,9})\Z")
_NAME = pattern(r"[a-z0-9][a-z0-9_-]{0,39}")
_ALWAYS = frozenset({"type", "base_url", "seconds"})
A = TypeVar("A")
T = TypeVar("T", Found, Document)


@dataclass(frozen=True, slots=True)
class Known:
    """A source by name, whether or not it can be asked now. `configured`: config.yaml names it, so a model may, too."""

    name: str
    type: str
    about: str
    local: bool
    configured: bool
    available: Availability
    settings: tuple[Setting, ...] = ()
    filters: tuple[Filter, ...] = ()


class Library:
    """All sources of one home. Thread-safe; a source is made when it is first asked."""

    def __init__(
        self,
        entries: Mapping[str, Mapping[str, Any] | None],
        *,
        env: Mapping[str, str],
        folder: Path,
        db: Callable[[], Database],
        clean: Callable[[str], str],
        clock: Clock,
        resolver: Resolver | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`entries` is the section `library` of config.yaml; `clean` takes secrets out of a text."""
        self._entries = {name: dict(given or {}) for name, given in entries.items()}
        self._env, self._folder, self._db = env, folder, db
        self._clean, self._clock, self._resolver, self._sleep = clean, clock, resolver, sleep
        self._made: dict[str, LibrarySource] = {}
        self._calls: dict[str, Asking] = {}
        self._lock = threading.Lock()

    # --- which there are

    @property
    def configured(self) -> tuple[str, ...]:
        """The names under `library` in config.yaml: those that a model may ask."""
        return tuple(self._entries)

    @property
    def names(self) -> tuple[str, ...]:
        """Those, and the built-in ones that need no word in config.yaml."""
        return (*self._entries, *(one for one in registry.UNCONFIGURED if one not in self._entries))

    def sources(self) -> tuple[Known, ...]:
        """Every source by name with what it is and whether it can be asked. No network."""
        return tuple(self._known(name) for name in self.names)

    def _known(self, name: str) -> Known:
        configured = name in self._entries
        type_ = str(self._entries.get(name, {}).get("type") or name)
        try:
            source = self.source(name)
            with foreign(f"The source {name}"):
                can, made = source.available(), type(source)
                settings, filters = made.settings(), made.filters()
                about = Outward(name, self._clean).line(made.about, _ABOUT)
        except (ConfigError, SourceError) as error:
            return Known(name, type_, "", False, configured, Availability(False, error.message, error.hint))
        return Known(name, type_, about, made.local, configured, can, settings, filters)

    def source(self, name: str) -> LibrarySource:
        """The source of that name. Raises NotFoundError, ConfigError, SourceError when its class cannot be loaded."""
        with self._lock:
            found = self._made.get(name)
            if found is None:
                if name not in self.names:
                    raise _unknown(name, self.names)
                found = self._made[name] = self._make(name)
            return found

    def _make(self, name: str) -> LibrarySource:
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"library.{name}: a source is named by lower-case letters, digits, `-` and `_`.", "Rename it."
            )
        given = self._entries.get(name, {})
        made = registry.source_class(str(given.get("type") or name))
        with foreign(f"The source {name}"):
            _check(name, given, made.settings())
            self._calls[name] = Asking(name, _seconds(name, given))
            cache = self.cache(name)

            def web(base: str, **options: Any) -> Web:
                fixed: dict[str, Any] = {"cache": cache, "clock": self._clock}
                fixed |= {"resolver": self._resolver, "sleep": self._sleep}
                return Web(name, base, **(fixed | options))

            return made(Context(name, given, self._env, self._clock, cache, self._folder, web, self._db))

    def cache(self, name: str) -> Cache:
        """The copies of the source `name` as it is configured now: with other settings it is another source."""
        given = json.dumps(self._entries.get(name, {}), sort_keys=True, default=str)
        return Cache(
            self._db, f"{name}#{hashlib.sha256(given.encode()).hexdigest()[:8]}", self._clock, clean=self._clean
        )

    def close(self) -> None:
        """Let go of all connections; the object may be used again."""
        with self._lock:
            made, self._made = list(self._made.values()), {}
        for one in made:
            with foreign(f"The source {one.name}"):
                one.close()

    # --- what they have

    def search(
        self,
        source: str,
        query: str,
        *,
        limit: int = 10,
        cursor: str = "",
        refresh: bool = False,
        filters: Mapping[str, str] | None = None,
    ) -> Found:
        """What `source` has on `query`, best first, at most `limit` (1 to 50); `filters` are those it declares.

        An answer that was fetched a while ago is given again (`cached`), unless `refresh`; so is an older one when the
        source cannot be reached (`problem` says why). Raises UsageError, NotFoundError, SourceError, RefusedError.
        """
        if not 1 <= limit <= MOST:
            raise UsageError(f"`limit` is a number from 1 to {MOST}.")
        asked, given = self._usable(source), dict(filters or {})
        query, out = Outward.well_formed(query), Outward(source, self._clean)
        with _boundary(asked):
            _check_filters(asked, given)
        key = json.dumps([query, limit, cursor, given], sort_keys=True)

        def ask(asked: LibrarySource) -> Found:
            found = out.found(asked.search(query, limit=limit, cursor=cursor, filters=given), limit)
            return replace(found, fetched=self._clock())

        return self._cached(asked, Found, key, ask, refresh=refresh)

    def read(self, ref: str, *, part: str = "", budget: int = BUDGET, refresh: bool = False) -> Document:
        """The text of `ref`, at most `budget` tokens of it from the beginning or from `part`; `next` goes on.

        `part` is one of `Document.parts`, or what `next` was. Cached like a search. Raises UsageError, NotFoundError,
        SourceError, RefusedError.
        """
        name, id_ = split(ref)
        asked, paged = self._usable(name), _PAGED.search(part)
        natural, offset = (part[: paged.start()], int(paged[1])) if paged else (part, 0)

        out = Outward(name, self._clean)

        def ask(asked: LibrarySource) -> Document:
            found = out.document(_part(asked, out, id_, natural), f"{name}:{id_}")
            return replace(found, cached=False, fetched=self._clock(), next="", problem="")

        whole = self._cached(asked, Document, json.dumps([id_, natural]), ask, refresh=refresh)
        return cut(whole, offset, budget)

    def changes(self, source: str, since: str = "") -> ChangesFound:
        """What is new in `source` since the cursor that an earlier call gave. Never from the cache."""
        asked, out = self._usable(source), Outward(source, self._clean)
        return self._answer(asked, lambda asked: out.changes(asked.changes(since)))

    def whole(self, ref: str) -> str:
        """The ref of the document in which `ref` names a place; `ref` itself when it names no place in one."""
        name, id_ = split(ref)
        source = self.source(name)
        with _boundary(source):
            return Outward(name, self._clean).ref(source.ref(source.document_of(id_)))

    def _usable(self, name: str) -> LibrarySource:
        source = self.source(name)
        with _boundary(source):
            can = source.available()
        if not can.ok:
            raise SourceError(f"{name} cannot be asked: {can.reason}", can.hint)
        return source

    def _answer(self, source: LibrarySource, call: Callable[[LibrarySource], A]) -> A:
        """What `call` gets of `source`, within its time; every error of it made fit to be shown."""
        out = Outward(source.name, self._clean)

        def guarded() -> A:
            try:
                with _boundary(source):
                    return call(source)
            except VademecumError as error:
                raise out.error(error)  # noqa: B904  the same error, its words made fit to be shown

        if not (source.local and _is_built_in(source)):
            return self._calls[source.name].run(guarded)
        try:
            return guarded()  # bounded by itself, and nothing of it is sent
        except StorageError:  # its index can be made again, once
            with self._lock:
                self._made.pop(source.name, None)
            source.close()
            self._db().close()
            source = self.source(source.name)
            return guarded()

    def _cached(
        self, source: LibrarySource, type_: type[T], key: str, ask: Callable[[LibrarySource], T], *, refresh: bool
    ) -> T:
        """A fresh copy, else what the source answers now, else an older copy with what went wrong."""
        kind: Literal["search", "document"] = "search" if type_ is Found else "document"
        cache = source.context.cache
        copy = None if source.local else cache.get(kind, key)
        kept = None if copy is None else _decoded(copy.value, type_)
        if kept is not None:
            kept = replace(kept, cached=True)
            if not refresh and 0 <= self._clock() - kept.fetched < source.fresh:
                return kept

        def fetch(source: LibrarySource) -> T:
            found = ask(source)
            if not source.local:  # here, so that an answer that came too late is there for the next call
                tag = found.revision if isinstance(found, Document) else ""
                cache.put(kind, key, msgspec.json.encode(found), tag)
            return found

        try:
            return self._answer(source, fetch)
        except (SourceError, RefusedError) as error:
            passing = isinstance(error, RefusedError) or error.passing  # refused: something answers in its place
            if kept is None or not passing:
                if kept is None and passing and not source.local:
                    error.hint = f"{error.hint} There is no copy of it in the cache.".strip()
                raise
            return replace(kept, problem=error.message)


def split(ref: str) -> tuple[str, str]:
    """Source and id of a ref. Raises UsageError."""
    name, colon, id_ = Outward.well_formed(ref).strip().partition(":")
    if not colon or not name or not id_.strip():
        raise UsageError(f"{ref[:80]!r} is no ref.", "A ref is SOURCE:ID, as `vademecum library search` gives them.")
    return name, id_.strip()


def cut(document: Document, offset: int, budget: int) -> Document:
    """`document` from the character `offset` on, at most `budget` tokens; `next` names what follows."""
    text, part = document.text, document.part
    if offset and offset >= len(text):
        raise NotFoundError(f"{document.ref} ends before the character {offset}.", "Read it from its beginning.")
    rest = text[offset:]
    end = _fit(rest, max(budget, 50) * 4)
    after = document.parts[document.parts.index(part) + 1 :] if part in document.parts else ()
    follows = f"{part}@{offset + end}" if end < len(rest) else after[0] if after else ""
    return replace(document, text=rest[:end], next=follows)


def _fit(text: str, room: int) -> int:
    """How many characters of `text` take at most `room` bytes, cut at a paragraph, line or word where there is one."""
    if len(text.encode("utf-8", "surrogatepass")) <= room:
        return len(text)
    end = len(text[:room].encode("utf-8", "surrogatepass")[:room].decode("utf-8", "ignore"))
    for mark in ("\n\n", "\n", ". ", " "):
        at = text.rfind(mark, end // 2, end)
        if at > 0:
            return at + len(mark)
    return max(end, 1)


def _part(source: LibrarySource, out: Outward, id_: str, part: str) -> Document:
    """What the source has; a part whose name was shown without the secret in it is found by what was shown."""
    try:
        return source.read(id_, part=part)
    except NotFoundError:
        if "[secret" not in part:
            raise
        names = [one for one in source.read(id_).parts if out.part(one) == part]
        if len(names) != 1:
            raise
        return source.read(id_, part=names[0])


def _is_built_in(source: LibrarySource) -> bool:
    return type(source).__module__.startswith("vademecum.library.")


def _boundary(source: LibrarySource) -> foreign:
    if _is_built_in(source):
        what = f"{source.name} answered in a form that is not understood"
        return foreign(what, "Try again later; if it stays so, update vademecum.", passing=True)
    return foreign(f"The source {source.name}")


def _seconds(name: str, given: Mapping[str, Any]) -> float:
    """How long one look-up may take. Raises ConfigError."""
    value: object = given.get("seconds", SECONDS)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= 600:
        raise ConfigError(f"library.{name}.seconds is a number from 1 to 600, not {value!r}.", "Correct it.")
    return float(value)


def _decoded(value: bytes, type_: type[T]) -> T | None:
    """The copy, or None when another version wrote it in another form."""
    try:
        return msgspec.json.decode(value, type=type_)
    except msgspec.MsgspecError:
        return None


def _check(name: str, given: Mapping[str, Any], settings: tuple[Setting, ...]) -> None:
    """Raises ConfigError for a key that the source does not take, or a secret in config.yaml."""
    known = {one.key: one for one in settings}
    if base := given.get("base_url"):
        checked(name, str(base))
    for key in given:
        if key in known and known[key].env:
            raise ConfigError(
                f"library.{name}.{key} stands in config.yaml, where no secret belongs.",
                f"Put it into .env of the home: {known[key].env}=...",
            )
        if key not in known and key not in _ALWAYS:
            taken = ", ".join(sorted({one.key for one in settings if not one.env} | _ALWAYS))
            raise ConfigError(f"library.{name}: there is no setting {key!r}.", f"It takes: {taken}.")


def _check_filters(source: LibrarySource, given: Mapping[str, str]) -> None:
    known = {one.key: one for one in source.filters()}
    for key, value in given.items():
        if key not in known:
            taken = ", ".join(known) or "none"
            raise UsageError(f"{source.name} has no filter {key!r}; nothing was asked.", f"It takes: {taken}.")
        choices = known[key].choices
        if choices and value not in choices:
            raise UsageError(f"{value!r} is no {key} of {source.name}.", f"Use one of: {', '.join(choices)}.")


def _unknown(name: str, names: tuple[str, ...]) -> NotFoundError:
    import difflib  # only on the way to an error

    close = difflib.get_close_matches(name, names, n=1)
    hint = f"Did you mean `{close[0]}`?" if close else f"There are: {', '.join(names)}."
    return NotFoundError(f"There is no source {name[:60]!r}.", f"{hint} `library` in config.yaml adds one.")
