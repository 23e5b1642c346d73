"""Vectors of passages of pages: which texts they are made of, and with what a search compares them.

Idea: the background job of `embedding` fills them as it fills those of facts and messages, in the derived database.
Invariant: a vector is made of what the file says at that moment; a passage that changed meanwhile is another one, which
waits for its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from vademecum.store import vectors
from vademecum.store.vectors import DueText

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.models.embedder import Embedder


def embedded(vm: Vademecum) -> bool:
    """Whether passages are embedded: an embedder is chosen, and there are pages."""
    from vademecum.agent.embedding import wanted
    from vademecum.agent.wiki_pages import in_use

    return wanted(vm.config) and in_use(vm)


def look_after(vm: Vademecum) -> None:
    """Take in what changed on the pages, so that searches find it done; for processes that live long."""
    from vademecum.agent.wiki_pages import in_use

    if in_use(vm):
        vm.wiki.index.watch()
        vm.wiki.refresh()


def with_text(vm: Vademecum, due: Sequence[DueText]) -> list[DueText]:
    """`due` with what is embedded of each: its page's title, its headings, and what it says.

    One whose page has changed since it was indexed is left out; it is no longer due once that was taken in.
    """
    index = vm.wiki.index
    passages = {section.id: (section, text) for section, text in index.passages([one.ref for one in due])}
    heads = index.heads({section.page for section, _ in passages.values()})
    found: list[DueText] = []
    for one in due:
        section, text = passages.get(one.ref, (None, ""))
        if section is not None and section.page in heads:
            above = " > ".join(section.headings)
            found.append(replace(one, text=vm.redactor.clean(f"{heads[section.page].title}\n{above}\n{text}").strip()))
    return found


def serving(vm: Vademecum) -> Embedder | None:
    """What passages are searched with: the embedder whose vectors are complete; None as long as there are none."""
    if not embedded(vm):
        return None
    space = vectors.serving(vm.cache)
    return None if space is None else vm.embedders.of(space)
