"""The wiki of a home as one agent sees it: put together once, with what tells where each passage comes from.

Idea: a person's page is a file's; what another agent wrote on its own page, on a project's, or in a compiled block is
that agent's, and taints whoever reads it. Invariant: opening reads nothing; what is in quarantine is not shown.
"""

from __future__ import annotations

import contextlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vademecum.errors import LockedError, NotFoundError, StorageError, UnreadableError
from vademecum.model import Origin
from vademecum.store import quarantine
from vademecum.wiki.types import VAULT

if TYPE_CHECKING:
    from collections.abc import Callable

    from vademecum.agent.vademecum import Vademecum
    from vademecum.models.embedder import Embedder
    from vademecum.wiki.compile import Compiled
    from vademecum.wiki.types import PageHead, Section
    from vademecum.wiki.wiki import Wiki

AGENTS, PROJECTS, WIKI = "Agents/", "Projects/", "Wiki/"


def open_wiki(vm: Vademecum) -> Wiki:
    """All pages of this home."""
    from vademecum.agent.wiki_sources import open_index
    from vademecum.wiki.wiki import Parts, Wiki

    index = open_index(vm)
    made = Wiki(
        Parts(
            lambda: index,
            vm.redactor.clean,
            vm.redactor.part,
            lambda: _held(vm),
            lambda load: _embedder(vm, load=load),
            lambda page, section: origin_of(vm, made, page, section),
            partial(_compile, vm),
        )
    )
    return made


def _compile(vm: Vademecum, *, by: Origin | None, dry_run: bool, prose: bool) -> Compiled:
    from vademecum.agent.compiling import compile_wiki

    return compile_wiki(vm, by=by, dry_run=dry_run, prose=prose)


def in_use(vm: Vademecum) -> bool:
    """Whether there are pages to look up, for the owner: a vault, or folders in the configuration."""
    if not vm.actor.is_owner:
        return False
    from vademecum.vault.paths import VaultPaths

    return bool(vm.config.wiki.sources) or _has_pages(VaultPaths.of(vm.home, vm.config.vault).root)


def _has_pages(root: Path) -> bool:
    try:
        return any(not one.name.startswith(".") for one in root.iterdir())
    except OSError:
        return False


def _held(vm: Vademecum) -> Callable[[Origin], bool] | None:
    with contextlib.suppress(StorageError, LockedError):
        if not quarantine.active(vm.db, vm.actor.agent):  # the usual case loads nothing of the gate
            return None
    check = vm.gate.quarantine.check(vm.actor.agent)
    return None if check is None else lambda origin: check(origin, None, vm.actor.user) is not None


def _embedder(vm: Vademecum, *, load: bool) -> Embedder | None:
    """What passages were embedded with, once there are vectors of them; loaded only when that is asked for."""
    if not load and not vm.warm:
        return None
    from vademecum.agent.wiki_vectors import serving

    return serving(vm)


def origin_of(vm: Vademecum, wiki: Wiki, page: PageHead, section: Section | None) -> Origin:
    """Where a passage comes from, or for None the page's text as a whole without its entries."""
    own = page.origin if section is None else section.origin
    if page.source != VAULT or (section is not None and (section.author or section.block)):
        return own
    found = [own]
    if page.path.startswith(AGENTS):
        found.append(_written_by(vm, page.name))
    if page.path.startswith(PROJECTS):
        found.append(_written_by(vm, vm.vault.project(page.name).updated_by))
    if page.compiled and (section is None or section.compiled):
        found.append(_of_block(wiki, page))
    if page.path.startswith(WIKI):
        found += _of_sources(wiki, page, section)
    return own.joined(*(one for one in found[1:] if one != own))


def _of_sources(wiki: Wiki, page: PageHead, section: Section | None) -> list[Origin]:
    """What a raw source, a page that was filed and lines that were taken from a source come from: others' words, also
    after a person let them in."""
    from vademecum.wiki.filing import ANSWERS, HEADING, SOURCES
    from vademecum.wiki.shelf import RAW

    raw = Origin.connector("ingested", page.path)
    _, _, below = page.path.partition("/")
    if below.startswith(f"{RAW}/"):
        return [raw]
    text = ""
    with contextlib.suppress(NotFoundError, UnreadableError):
        text = wiki.index.text(page)
    if below.startswith((f"{SOURCES}/", f"{ANSWERS}/")):
        return [_said_of(text) if below.startswith(f"{ANSWERS}/") else raw.joined(_said_of(text))]
    begin = text.find(f"\n{HEADING}\n")
    taken = begin >= 0 and (section is None or section.last > text.count("\n", 0, begin + 1))
    return [raw] if taken else []


def _said_of(text: str) -> Origin:
    """What a page that was filed says of its origin."""
    from vademecum.frontmatter import FrontMatter

    try:
        return Origin.parse(FrontMatter.parse(text).get("origin"))
    except ValueError:
        return Origin.file()


def _written_by(vm: Vademecum, name: str) -> Origin:
    return Origin.agent(name) if name and name not in (vm.actor.agent, vm.actor.user) else Origin.file()


def _of_block(wiki: Wiki, page: PageHead) -> Origin:
    """What a compiled block was made from, as its mark says."""
    from vademecum.wiki import blocks

    try:
        block, _ = blocks.find(wiki.index.text(page))
    except (NotFoundError, UnreadableError):
        block = None
    return Origin.file() if block is None else block.origin
