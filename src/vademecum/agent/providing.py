"""Providers as a person sees them: which there are and how each is, what waits for which, one of them opened by name.

Idea: what the commands need of the configuration, the registry and the outbox together. Invariant: looking opens no
provider and asks no network; what waits for a provider, whatever became of it, is given up by a person alone.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from vademecum.agent.incoming import host_of
from vademecum.config import Config
from vademecum.errors import NotFoundError, UsageError, VademecumError
from vademecum.providers import registry
from vademecum.providers.calls import guarded
from vademecum.providers.canary import RoundTrip, Say, round_trip
from vademecum.providers.contract import Provider, Setting
from vademecum.providers.direct import Direct, availability, opened
from vademecum.providers.manager import Manager
from vademecum.store import outbox

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

State = Literal["active", "ready", "missing", "broken"]


@dataclass(frozen=True, slots=True)
class Listed:
    """A provider and how it is. `missing`: it cannot be opened until `hint` is done; `broken`: it cannot be loaded.

    `package` is the one that brings it, `install` what pip has to be told, empty when nothing.
    """

    name: str
    state: State
    active: bool
    place: str
    reason: str = ""
    hint: str = ""
    package: str = "vademecum"
    install: str = ""
    schema: tuple[Setting, ...] = ()


def with_provider(config: Config, name: str, settings: Mapping[str, Any] | None = None, **memory: Any) -> Config:
    """`config` as if `name` were the memory next to the core, with these settings (None: those that it has)."""
    providers = dict(config.providers)
    if settings is not None:
        providers[name] = dict(settings)
    changed = msgspec.structs.replace(config.memory, provider=name, **memory)
    return msgspec.structs.replace(config, memory=changed, providers=providers)


def known(name: str) -> str:
    """`name` when there is such a provider. Raises ConfigError with a suggestion."""
    if name not in registry.BUILT_IN and name not in registry.names():
        registry.provider_class(name)
    return name


def every(vm: Vademecum) -> list[Listed]:
    """All providers, the built-in ones first, then those of other packages. Loads each, and asks no network."""
    return [listed(vm, name) for name in registry.names()]


def listed(vm: Vademecum, name: str) -> Listed:
    """How one provider is with the settings of the home. Raises ConfigError for an unknown name."""
    active = vm.config.memory.provider == known(name)
    package, install = registry.package_of(name), registry.extra_of(name)
    try:
        kind = registry.provider_class(name)
        schema = tuple(guarded(kind.config_schema))
    except VademecumError as error:
        return Listed(name, "broken", active, "", error.message, error.hint, package, install)
    try:
        found = availability(host_of(vm, with_provider(vm.config, name)), name)
    except VademecumError as error:
        return Listed(name, "broken", active, kind.place, error.message, error.hint, package, install, schema)
    state: State = "missing" if not found.ok else "active" if active else "ready"
    return Listed(name, state, active, kind.place, found.reason, found.hint, package, install, schema)


@contextlib.contextmanager
def provider(
    vm: Vademecum, name: str, config: Config | None = None, env: Mapping[str, str] | None = None
) -> Generator[Direct]:
    """The provider `name`, open, with the settings of `config` (None: the home's). Raises as `opened` does."""
    with opened(host_of(vm, with_provider(config or vm.config, name), env), name) as direct:
        yield direct


def check(
    vm: Vademecum,
    name: str,
    config: Config,
    env: Mapping[str, str],
    *,
    seconds: float,
    say: Say,
) -> RoundTrip | None:
    """Send a sentence through the memory and back; None for the bank, which is this database.

    Raises ProviderError that says what failed, without secrets.
    """
    if name == "bank":
        return None
    with provider(vm, name, config, env) as direct:
        return round_trip(direct, seconds=seconds, say=say)


# What waits in the outbox


@dataclass(frozen=True, slots=True)
class Lane:
    """What waits for one provider, of all agents and users. `in_use`: it is the memory next to the core now;
    `exists`: there is a provider of that name."""

    provider: str
    in_use: bool
    exists: bool
    waiting: int
    aside: int
    oldest_at: int | None
    kinds: Mapping[str, int]
    error: str


def lanes(vm: Vademecum) -> list[Lane]:
    """What waits, by provider."""
    found: dict[str, list[outbox.Queued]] = {}
    for one in outbox.queued(vm.db):
        found.setdefault(one.provider, []).append(one)
    there = registry.names() if found else ()
    return [
        Lane(
            name,
            name == vm.config.memory.provider,
            name in there,
            sum(one.waiting for one in rows),
            sum(one.aside for one in rows),
            min((one.oldest_at for one in rows if one.oldest_at is not None), default=None),
            outbox.kinds_of(vm.db, name),
            next((one.error for one in rows if one.error), ""),
        )
        for name, rows in found.items()
    ]


def lane(vm: Vademecum, name: str) -> Lane:
    """What waits for `name`. Raises NotFoundError when nothing does."""
    found = lanes(vm)
    for one in found:
        if one.provider == name:
            return one
    hint = f"Something waits for: {', '.join(one.provider for one in found)}." if found else "Nothing waits for any."
    raise NotFoundError(f"Nothing waits for a memory {name!r}. Nothing was changed.", hint)


def deliver(vm: Vademecum, name: str, *, progress: Callable[[int], None] = lambda _left: None) -> int:
    """Make all that waits for `name` due and hand it over now, whether it is in use or not; returns how many rows.

    Also what was set aside is tried again. Stops when the provider fails. Raises ProviderError when it cannot be used.
    """
    before = outbox.retry(vm.db, name, vm.clock())
    outbox.try_now(vm.db, name, vm.clock())
    for actor in outbox.lanes(vm.db, name, vm.clock()):
        own = vm.as_(actor.agent, actor.user)
        manager = Manager(host_of(own, with_provider(vm.config, name)))
        try:
            manager.provider()
            while manager.deliver(limit=20, wait=5.0):
                progress(_left(vm, name))
        finally:
            manager.close(seconds=0)
    return before - _left(vm, name)


def _left(vm: Vademecum, name: str) -> int:
    return sum(outbox.kinds_of(vm.db, name).values())


def move(vm: Vademecum, old: str, new: str) -> tuple[int, int]:
    """Give what waits for `old` to `new`; returns how many rows went and how many stayed.

    Requests to erase stay with a provider that exists: what they mean lies there. Raises NotFoundError, UsageError,
    ConfigError.
    """
    from_ = lane(vm, old)
    if known(new) == old:
        raise UsageError(f"It waits for {old!r} already. Nothing was changed.")
    if new == "bank":
        hint = f"Drop what waits: vademecum provider status {old} --drop"
        raise UsageError("The bank reads the history itself and is told nothing. Nothing was changed.", hint)
    gone = outbox.move(vm.db, old, new, vm.clock(), but=("forget",) if from_.exists else ())
    return gone, _left(vm, old)


def drop(vm: Vademecum, name: str) -> int:
    """Give up what waits for `name`; returns how many rows. The conversations themselves stay in the history."""
    lane(vm, name)
    return outbox.drop_all(vm.db, name)


# Files for a backup


def files_to_save(vm: Vademecum) -> tuple[list[tuple[Path, str]], list[str]]:
    """Files of providers on this machine that lie outside of the home, each with its place in a backup; and what could
    not be looked at.

    Those in the home are saved with it. Only the memory in use is asked, and only when it has files of its own.
    """
    name = vm.config.memory.provider
    try:
        kind = registry.provider_class(name) if name not in ("", "bank") else Provider
        if kind.backup_paths is Provider.backup_paths:
            return [], []
        with provider(vm, name) as direct:
            paths = [Path(path) for path in direct.ask(lambda one: tuple(one.backup_paths()))]
    except VademecumError as error:
        return [], [f"files of the memory {name} outside of the home, if any: {vm.redactor.clean(error.message)}"]
    outside = [path.absolute() for path in paths if not path.absolute().is_relative_to(vm.home.root)]
    if not outside:
        return [], []
    above = Path(os.path.commonpath([str(path.parent) for path in outside]))
    return [(path, f"@providers/{name}/{path.relative_to(above).as_posix()}") for path in outside], []
