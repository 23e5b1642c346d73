"""What all agents and users of one home have in common in a process, each part made when it is first asked for.

Idea: one object that `as_()` hands on, so that a home has one database, one configuration and one embedder. Invariant:
what was made is shared by all threads; nothing is opened before it is used.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar, overload

from vademecum.clock import Clock
from vademecum.home import Home
from vademecum.model import Actor

if TYPE_CHECKING:
    from vademecum.agent.embedding import Embedders
    from vademecum.config import Config
    from vademecum.providers.manager import Manager
    from vademecum.store.connection import Database

T = TypeVar("T")


class Made(Protocol):
    """What has parts that are made once."""

    lock: threading.RLock


class lazy(Generic[T]):
    """A property that is computed once per object, under the object's lock, and then is a plain attribute."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: Made, owner: type) -> T: ...
    def __get__(self, instance: Made | None, owner: type) -> T | Self:
        if instance is None:
            return self
        made = instance.__dict__
        with instance.lock:
            if self._name not in made:
                made[self._name] = self._make(instance)
        return made[self._name]


class Shared:
    """What all agents and users of one home have in common in this process."""

    def __init__(self, home: Home, overrides: Mapping[str, object], clock: Clock) -> None:
        self.home = home
        self.overrides = dict(overrides)
        self.clock = clock
        self.lock = threading.RLock()
        self.managers: dict[Actor, Manager] = {}

    @lazy
    def config(self) -> Config:
        from vademecum.config import load

        return load(self.home.config, self.overrides)

    @lazy
    def env(self) -> dict[str, str]:
        from vademecum.config import environment

        return environment(self.home.env)

    @lazy
    def db(self) -> Database:
        from vademecum.store import Database, migrate

        database = Database(self.home.database)
        migrate(database)
        return database

    @lazy
    def embedders(self) -> Embedders:
        """The embedder that is configured, and the one whose vectors serve."""
        from vademecum.agent.embedding import Embedders

        return Embedders(self.config, self.env, lambda: self.db, self.clock)

    @lazy
    def db_beside_files(self) -> Database:
        """The database for what it only keeps beside files (stories of entries, verdicts).

        A damaged or unreadable one must not keep core memory from being read and written: it is handed out as it is,
        every use of it fails, and those who get it go on without. Raises as `db` does for every other trouble.
        """
        from vademecum.errors import StorageError
        from vademecum.store import Database

        try:
            return self.db
        except StorageError:
            from vademecum.store.health import readable

            database = Database(self.home.database)
            if readable(database):  # then it is something else, such as a schema of a newer version
                raise
            return database

    @lazy
    def cache(self) -> Database:
        """The derived database beside it: the index of pages and what was fetched; made when missing."""
        from vademecum.store.schema_cache import open_cache

        return open_cache(self.home.cache)
