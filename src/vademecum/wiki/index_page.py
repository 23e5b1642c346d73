"""`Wiki/index.md` and `Wiki/log.md`: what there is, and what was done when.

Idea: the index names every page with what is behind it, so that a reader, and a model, finds the page to read; the log
gets one line for each compile, ingest and filed answer that changed something. Invariant: neither repeats a claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from vademecum.clock import iso
from vademecum.obsidian import link
from vademecum.wiki.page_text import WIKI

if TYPE_CHECKING:
    from vademecum.wiki.shelf import Shelf
    from vademecum.wiki.subjects import Subject

_SECTIONS = (("project", "Projects"), ("entity", "Names"), ("topic", "Topics"))
_FILED = (("Answers", "Answers"), ("Sources", "Sources that were read"))
_NAMED = 12


class Changed(Protocol):
    """A page that was written, as the log tells of it."""

    @property
    def path(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def outcome(self) -> str: ...


def index_text(shelf: Shelf, found: Sequence[Subject], prefix: str) -> str:
    """What stands in the block of the index."""
    parts = ["*What the pages of this wiki are about. They are compiled from facts, decisions, notes and pages.*"]
    for kind, title in _SECTIONS:
        rows = [f"- {link(f'{prefix}{WIKI}/{one.path}', one.title)}: {_told(one)}" for one in found if one.kind == kind]
        parts += [f"## {title}", "\n".join(rows)] if rows else []
    for folder, title in _FILED:
        rows = [f"- {link(f'{prefix}{WIKI}/{path}', shelf.title(path))}" for path in shelf.paths([folder])]
        parts += [f"## {title}", "\n".join(rows)] if rows else []
    return "\n" + "\n\n".join(parts) + "\n\n"


def _told(one: Subject) -> str:
    holding = [claim for claim in one.claims if claim.holds]
    decisions = sum(claim.kind == "decision" for claim in holding)
    facts = len(holding) - decisions
    counts = [(facts, "statement"), (decisions, "decision")]
    told = [f"{count} {noun}{'s' * (count != 1)}" for count, noun in counts if count]
    if one.project is not None and one.project.status:
        told.insert(0, one.project.status)
    newest = max((claim.at for claim in one.claims), default=0)
    told += [f"newest {iso(newest)[:10]}"] if newest else []
    return ", ".join(told) or "nothing yet"


def log_line(shelf: Shelf, what: str, changes: Iterable[Changed]) -> str:
    """A line of the log: when, what, who, and which pages."""
    by: dict[str, list[str]] = {}
    for one in changes:
        if not one.path.endswith("/index.md"):
            by.setdefault(one.outcome, []).append(one.title)
    told = "; ".join(f"{outcome}: {_few(titles)}" for outcome, titles in sorted(by.items()))
    return f"- {iso(shelf.clock())} · {what} · {shelf.actor.agent} · {told or 'index'}\n"


def _few(titles: Sequence[str]) -> str:
    more = f" and {len(titles) - _NAMED} more" if len(titles) > _NAMED else ""
    return ", ".join(titles[:_NAMED]) + more
