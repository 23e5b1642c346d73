"""Which kinds of sources there are, and the class behind a name.

Idea: the built-in ones are one module each, found by name without importing the others; packages of third parties add
theirs under the entry point `vademecum.library`. Invariant: a name means one class; what cannot be loaded is an error
that says why, never another source in its place.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from vademecum.errors import ConfigError, SourceError
from vademecum.library.contract import LibrarySource
from vademecum.library.foreign import foreign

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

BUILT_IN = {
    "files": "files",
    "obsidian": "obsidian",
    "llm-wiki": "llm_wiki",
    "arxiv": "arxiv",
    "github": "github",
    "notion": "notion",
    "airtable": "airtable",
}
"""Type of the source, and the module that holds it."""
UNCONFIGURED = ("arxiv", "github")
"""Those that a person may ask without a word about them in config.yaml."""
GROUP = "vademecum.library"


def types() -> tuple[str, ...]:
    """The built-in types, then those of other packages by name. Reads the metadata of installed packages."""
    return (*BUILT_IN, *sorted({point.name for point in _points()} - set(BUILT_IN)))


def source_class(type_: str) -> type[LibrarySource]:
    """The class of that type. Raises ConfigError for an unknown one, SourceError when it cannot be loaded."""
    if type_ in BUILT_IN:
        return _built_in(type_)
    found = [point for point in _points() if point.name == type_]
    if not found:
        raise _unknown(type_)
    if len(found) > 1:
        packages = " and ".join(sorted(point.dist.name if point.dist else point.value for point in found))
        raise ConfigError(f"Two packages bring a source {type_!r}: {packages}.", "Uninstall one of them.")
    return _loaded(found[0])


def _built_in(type_: str) -> type[LibrarySource]:
    where = f"vademecum.library.{BUILT_IN[type_]}"
    try:
        module = import_module(where)
    except ImportError as error:
        if error.name == where:
            raise SourceError(f"The source {type_!r} is not part of this version.", "Update vademecum.") from error
        raise SourceError(f"The source {type_!r} could not be loaded: {error}.", "Reinstall vademecum.") from error
    for found in vars(module).values():
        if isinstance(found, type) and issubclass(found, LibrarySource) and found.type == type_:
            return found
    raise SourceError(f"{where} has no source of the type {type_!r}.", "Reinstall vademecum.")


def _loaded(point: EntryPoint) -> type[LibrarySource]:
    with foreign(f"The source {point.name!r} could not be loaded"):
        found: object = point.load()
    if not (isinstance(found, type) and issubclass(found, LibrarySource)):
        raise SourceError(
            f"{point.value} is no subclass of vademecum.library.contract.LibrarySource.",
            "Tell the author of its package; docs/library.md says what a source is.",
        )
    return found


def _points() -> tuple[EntryPoint, ...]:
    from importlib.metadata import entry_points  # 30 ms; only for a type that is not built in, or to list all

    return tuple(entry_points(group=GROUP))


def _unknown(type_: str) -> ConfigError:
    import difflib  # only on the way to an error

    known = types()
    close = difflib.get_close_matches(type_, known, n=1)
    hint = f"Did you mean `{close[0]}`?" if close else f"There are: {', '.join(known)}."
    return ConfigError(f"library: there is no source of the type {type_!r}.", hint)
