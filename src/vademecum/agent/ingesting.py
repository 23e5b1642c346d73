"""Taking a source into the wiki, and filing an answer: copied raw, read for what it says of known subjects, proposed.

Idea: the sentences that speak of subjects which have a page are picked out with their lines, by rule; a person decides
on each page's. Invariant: the copy is the source byte for byte; nothing that a source says stands on a page before a
person approved it, and its origin goes with it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vademecum.agent.compiling import collect, shelf
from vademecum.disk import read_bytes
from vademecum.errors import BlockedError, NotFoundError, RefusedError, UsageError
from vademecum.gate.candidate import Act
from vademecum.library.distil import sentences
from vademecum.model import Origin
from vademecum.obsidian import link, link_prefix
from vademecum.wiki.claims import one_line
from vademecum.wiki.filing import ANSWERS, SOURCES, Filed, file_page, keep_raw, propose_lines
from vademecum.wiki.subjects import Subject, subjects

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

MOST_PAGES = 10
"""Pages that one source is proposed to."""
MOST_LINES = 4
"""Sentences that are proposed for one page."""
_REASON = "A source that was ingested speaks of this page."
_SUMMARY = 8
_READ = 200  # sentences of a source that are held against the names of pages
_BUDGET = 200_000  # tokens of one part of what the library reads
_PARTS = 50


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of a source: the raw copy, and what was proposed. `notes` are sentences for whoever asked."""

    raw: Filed
    proposals: tuple[Filed, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Source:
    name: str
    data: bytes
    text: str
    title: str
    origin: Origin
    notes: tuple[str, ...] = ()


def ingest(vm: Vademecum, source: str, *, by: Origin) -> Ingested:
    """Copy a file, or what the library reads as `source:id`, to `Wiki/raw/`; propose what it says of known subjects.

    Raises NotFoundError, UnreadableError, UsageError, RefusedError for another user than the owner, SourceError, and
    what `keep_raw` raises.
    """
    _check_owner(vm)
    found = _file(Path(source).expanduser()) or _from_library(vm, source)
    own = shelf(vm)
    raw = keep_raw(own, found.name, found.data, found.origin, _act(by))
    prefix, notes = link_prefix(own.root), list(found.notes)
    quote = _Quote(link_prefix(own.root) + raw.path, found.title, found.text)
    said = [one.text for one in sentences(found.text, found.title, most=_READ)]
    if not said:
        return Ingested(raw, (), (*notes, "No sentences could be read from it, so nothing is proposed."))
    if kinds := vm.redactor.redact(found.text).kinds:
        secrets = f"The copy is the source byte for byte, and holds what looks like a secret ({', '.join(kinds)})"
        notes.append(f"{secrets}: remove {raw.path} when agents should not have it.")
    made: list[Filed] = []

    def propose(lines: Sequence[str], about: str, make: Callable[[Sequence[str]], Filed]) -> None:
        kept = [line for line in lines if _passes(vm, line, notes, about)]
        try:
            if kept:
                made.append(make(kept))
        except (
            RefusedError,
            BlockedError,
            UsageError,
        ) as error:  # decided before, too much waits, or it hides something
            notes.append(f"{about}: {error.message}")

    for subject, mine in _about(subjects(collect(vm).inputs), said):
        if own.page(subject.path).raw() is not None:
            lines = [quote.line(one) for one in mine]
            propose(
                lines,
                subject.title,
                lambda kept, path=subject.path: propose_lines(own, path, kept, found.origin, _REASON),
            )
    head = f"What {link(prefix + raw.path, found.title)} says, in its own words:\n\n"
    best = [quote.line(one.text) for one in sentences(found.text, found.title, most=_SUMMARY)]

    def filed(kept: Sequence[str]) -> Filed:
        return file_page(own, SOURCES, found.title, head + "\n".join(kept), origin=found.origin)

    propose(best, found.title, filed)
    return Ingested(raw, tuple(made), tuple(notes))


def _passes(vm: Vademecum, line: str, notes: list[str], about: str) -> bool:
    """Whether the gate would let a person be asked about a line; one that it refuses is left out alone, and named."""
    from vademecum.gate.scanners import refuses, scan

    refused = [*vm.gate.inspect(line), *filter(refuses, scan(line, off=vm.config.gate.scanners_off))]
    if refused:
        notes.append(f"{about}: one sentence was left out ({refused[0].message}).")
    return not refused


def file_answer(vm: Vademecum, title: str, text: str, *, by: Origin, session: str | None = None) -> Filed:
    """File an answer as a page of `Wiki/Answers/`: a person's at once, anybody else's as a proposal.

    Raises UsageError, RefusedError for another user than the owner, BlockedError, StorageError, LockedError.
    """
    _check_owner(vm)
    return file_page(shelf(vm), ANSWERS, title, text, origin=by, session=session, act=_act(by))


def _check_owner(vm: Vademecum) -> None:
    if not vm.actor.is_owner:
        raise RefusedError("Only the owner's agents write into the wiki. Nothing was written.", "Leave --user out.")


def _act(by: Origin) -> Act | None:
    return Act("approved", str(by)) if all(part.kind == "person" for part in by.parts) else None


# --- reading


def _file(path: Path) -> _Source | None:
    if not path.is_file():
        return None
    from vademecum.library.documents import convert

    data = read_bytes(path) or b""
    read = convert(data, path.name)
    digest = hashlib.sha256(data).hexdigest()[:16]
    title = one_line(read.title or path.stem.replace("_", " "))
    return _Source(
        path.name, data, read.text, title, Origin.import_(str(path.absolute()), digest), tuple(read.problems)
    )


def _from_library(vm: Vademecum, ref: str) -> _Source:
    from vademecum.agent.library_tools import kept_back, whole_origin

    name, colon, id_ = ref.partition(":")
    if not colon or name not in vm.library.names:
        raise NotFoundError(
            f"There is no file {ref!r}, and no source of the library is called so. Nothing was written.",
            "Give the path of a file, or `source:id`; `vademecum library list` names the sources.",
        )
    found = vm.library.read(ref, budget=_BUDGET)
    texts, after = [found.text], found.next
    while after and len(texts) < _PARTS:
        more = vm.library.read(ref, part=after, budget=_BUDGET)
        texts, after = [*texts, more.text], more.next
    notes = ("It is longer than what was taken in: the end is missing.",) if after else ()
    text = "\n".join(texts)
    title = one_line(found.title or id_)
    if kept_back(vm, found.ref, found.revision):
        raise RefusedError(f"{ref} is in quarantine. Nothing was written.", "`vademecum release` lets it go again.")
    origin = whole_origin(vm, found.ref, found.revision)
    return _Source(f"{title}.md", text.encode("utf-8", "replace"), text, title, origin, notes)


class _Quote:
    """Lines that cite a source with the place of their words in it."""

    def __init__(self, target: str, title: str, text: str) -> None:
        self._target = target
        self._title = title
        self._lines = text.splitlines()

    def line(self, sentence: str) -> str:
        """The sentence as a line of a page."""
        begin = " ".join(sentence.split()[:4])
        number = next((n for n, line in enumerate(self._lines, 1) if begin in " ".join(line.split())), 0)
        label = f"{self._title}, L{number}" if number else self._title
        return f"- \u201c{one_line(sentence)}\u201d ({link(self._target, label)})"


def _about(found: Sequence[Subject], said: Sequence[str]) -> list[tuple[Subject, list[str]]]:
    """The subjects that a source speaks of, those with most sentences first, each with some of its sentences."""
    rows: list[tuple[Subject, list[str]]] = []
    for subject in found:
        named = re.compile(rf"(?<!\w){re.escape(subject.title)}(?!\w)", re.IGNORECASE)
        mine = [one for one in said if named.search(one)] if subject.kind != "topic" else []
        if mine:
            rows.append((subject, mine))
    return [(subject, mine[:MOST_LINES]) for subject, mine in sorted(rows, key=lambda row: -len(row[1]))[:MOST_PAGES]]
