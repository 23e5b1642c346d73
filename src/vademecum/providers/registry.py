"""Which providers there are, and the class behind a name.

Idea: the built-in ones are one module each, found by name without importing the others; packages of third parties add
theirs under the entry point `vademecum.providers`. Invariant: a name means one class; what cannot be loaded is an error
that says why, never another provider in its place.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from vademecum.errors import ConfigError, ProviderError, VademecumError
from vademecum.providers.calls import guarded
from vademecum.providers.contract import Provider

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from types import ModuleType

BUILT_IN = (
    "bank", "hindsight", "honcho", "mem0", "openviking", "holographic", "retaindb", "byterover", "supermemory",
)  # fmt: skip
GROUP = "vademecum.providers"


def names() -> tuple[str, ...]:
    """The built-in providers, then those of other packages by name. Reads the metadata of installed packages."""
    return (*BUILT_IN, *sorted({point.name for point in _points()} - set(BUILT_IN)))


def provider_class(name: str) -> type[Provider]:
    """The class of the provider `name`. Raises ConfigError for an unknown name, ProviderError when it cannot load."""
    if name in BUILT_IN:
        return _class_in(_module(name), name)
    found = [point for point in _points() if point.name == name]
    if not found:
        raise _unknown(name)
    if len(found) > 1:
        packages = " and ".join(sorted(point.dist.name if point.dist else point.value for point in found))
        raise ConfigError(f"Two packages bring a provider {name!r}: {packages}.", "Uninstall one of them.")
    return _loaded(found[0])


def misnamed(name: str) -> ConfigError | None:
    """What is wrong with the name of the memory in use; None when there is such a provider, or none is in use."""
    return None if not name or name in BUILT_IN or name in names() else _unknown(name)


def package_of(name: str) -> str:
    """The package that brings the provider `name`; empty when that is not known."""
    if name in BUILT_IN:
        return "vademecum"
    return next((point.dist.name for point in _points() if point.name == name and point.dist), "")


def extra_of(name: str) -> str:
    """What pip has to be told for the provider `name`: `vademecum[mem0]`; empty when it needs no extra."""
    if name not in BUILT_IN:
        return ""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        extras = metadata("vademecum").get_all("Provides-Extra") or []
    except PackageNotFoundError:  # run from a folder of sources
        return ""
    return f"vademecum[{name}]" if name in extras else ""


def _module(name: str) -> ModuleType:
    where = f"vademecum.providers.{name}"
    try:
        return import_module(where)
    except ImportError as error:
        if error.name == where:
            raise ProviderError(f"The provider {name!r} is not part of this version.", "Update vademecum.") from error
        raise ProviderError(
            f"The provider {name!r} could not be loaded: {error}.", f"pip install 'vademecum[{name}]'"
        ) from error


def _class_in(module: ModuleType, name: str) -> type[Provider]:
    for found in vars(module).values():
        if isinstance(found, type) and issubclass(found, Provider) and found.name == name:
            return found
    raise ProviderError(f"{module.__name__} has no provider named {name!r}.", "Reinstall vademecum.")


def _loaded(point: EntryPoint) -> type[Provider]:
    try:
        found: object = guarded(point.load)
    except VademecumError as error:
        raise ProviderError(
            f"The provider {point.name!r} could not be loaded: {error.message}.",
            "Reinstall or update its package, or set memory.provider to another one.",
        ) from error
    if not (isinstance(found, type) and issubclass(found, Provider)):
        raise ProviderError(
            f"{point.value} is no subclass of vademecum.providers.contract.Provider.",
            "Tell the author of its package; docs/providers.md says what a provider is.",
        )
    return found


def _points() -> tuple[EntryPoint, ...]:
    from importlib.metadata import entry_points  # 30 ms; only for a name that is not built in, or to list all

    return tuple(entry_points(group=GROUP))


def _unknown(name: str) -> ConfigError:
    import difflib  # only on the way to an error

    known = names()
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean `{close[0]}`?" if close else f"The providers are: {', '.join(known)}."
    return ConfigError(f"memory.provider: there is no provider {name!r}.", hint)
