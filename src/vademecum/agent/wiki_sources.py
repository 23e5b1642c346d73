"""The folders whose pages this home searches, and the index of them.

Idea: the vault, and what `wiki.sources` names; the vault's log and decisions are read with the vault's own parsers, so
that each entry is a section with its author, time and id. Invariant: opening reads nothing; what an entry claims of its
author is a claim until the vault's ledgers prove it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vademecum.errors import ConfigError
from vademecum.model import Origin
from vademecum.wiki.types import VAULT, Entry, Source

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.wiki.index import Index

DECISIONS = "Decisions.md"


def sources(vm: Vademecum) -> tuple[Source, ...]:
    """The vault, then the folders of the configuration. Raises ConfigError for two of one name."""
    from vademecum.obsidian import link_prefix
    from vademecum.vault.paths import VaultPaths

    root = VaultPaths.of(vm.home, vm.config.vault).root.resolve()
    hide = vm.redactor.hidden
    found = [Source(VAULT, root, entries=entries, prefix=link_prefix(root), hide=hide)]
    for one in vm.config.wiki.sources:
        folder = (vm.home.root / Path(one.path).expanduser()).resolve()
        name = one.name or folder.name or "root"
        if ":" in name or any(name == other.name for other in found):
            raise ConfigError(
                f"wiki.sources: {name!r} is not the name of one source only.",
                f"Give {one.path} another `name`, without a colon.",
            )
        found.append(Source(name, folder, one.outside, prefix=link_prefix(folder), hide=hide))
    return tuple(found)


def open_index(vm: Vademecum) -> Index:
    """The index of all of them, in the home's derived database."""
    from vademecum.wiki.index import Index

    return Index(vm.cache, sources(vm), vm.clock)


def rebuild(vm: Vademecum, *, progress: Callable[[int, int], None] | None = None) -> tuple[int, tuple[str, ...]]:
    """Read every page again; how many there are, and what could not be read. A damaged database is made anew.

    Raises LockedError when another process is indexing and does not end.
    """
    from vademecum.errors import LockedError

    index = open_index(vm)
    try:
        index.clear()
        changes = index.refresh(progress=progress, wait=60.0)
        if changes.waiting:
            raise LockedError("Another process is reading the pages. They were left to it.", "Try again in a while.")
        return len(index.pages()), changes.problems
    finally:
        index.close()


@dataclass(frozen=True, slots=True)
class PageState:
    """What the index holds: pages, passages, and `problems`, `source:path: why`. `size` in bytes of the database.

    `unread` is what nothing but the name is known of, or not even that.
    """

    pages: int
    passages: int
    size: int
    problems: tuple[str, ...]
    unread: tuple[str, ...] = ()


def page_state(vm: Vademecum) -> PageState | None:
    """The state of the index as it is, and what of the folders cannot be looked at now; None when there is neither."""
    from vademecum.store import wiki as rows
    from vademecum.wiki.survey import unseen
    from vademecum.wiki.text import NO_TEXT
    from vademecum.wiki.walk import Rules, walk

    if not vm.home.cache.exists():
        return None
    pages, passages, _ = rows.counts(vm.cache, "wiki")
    names = {number: name for number, name, _ in rows.sources(vm.cache, "wiki")}
    faulty = [
        (row, f"{names[number]}:{row.path}: {row.problem}") for number in names for row in rows.faulty(vm.cache, number)
    ]
    unread = [said for row, said in faulty if not row.sha256 or row.problem == NO_TEXT]
    known = {name for number, name in names.items() if rows.paths(vm.cache, number)}
    for source in sources(vm):
        unread += unseen(source, walk(source, Rules(source)), known=source.name in known)
    if not pages and not unread:
        return None
    problems = tuple(said for _, said in faulty if said not in unread)
    return PageState(pages, passages, vm.home.cache.stat().st_size, problems, tuple(unread))


def entries(path: str, data: bytes, base: int, line: int) -> Iterable[Entry] | None:
    """The entries of the live log and of the decisions; None for every other page of the vault."""
    folder, _, name = path.rpartition("/")
    if path == DECISIONS:
        return _decisions(data, line)
    if folder != "Live":
        return None
    from vademecum.vault.paths import MONTH

    month = name.removesuffix(".md")
    return _log(path, data, month, base, line) if MONTH.fullmatch(month) else None


def _log(path: str, data: bytes, month: str, base: int, line: int) -> Iterable[Entry]:
    from vademecum.vault.entry import blocks

    for block in blocks(data, month, path=path, line=line, base=base):
        entry = block.entry
        if entry is not None:
            said = data[block.start - base : block.end - base].rstrip()
            origin = Origin.agent(entry.agent) if entry.agent else Origin.file()
            last = block.line + said.count(b"\n")
            yield Entry(block.line, last, "", entry.agent, entry.time, origin, entry.id)


def _decisions(data: bytes, line: int) -> Iterable[Entry]:
    from vademecum.vault.decision_text import parse

    text = data.decode("utf-8", "replace")
    for one in parse(text)[0]:
        last = one.number + text[one.start : one.end].rstrip().count("\n")
        made = Origin.agent(one.by) if one.by and one.origin.kind not in ("person", "user", "file") else one.origin
        origin = made.joined(one.origin)
        block = "" if one.id.startswith("#") else one.id
        yield Entry(one.number + line - 1, last + line - 1, one.what, one.by, one.time, origin, block)
