"""Taking over a project of Basic Memory: its notes as notes or documents, its observations and relations as facts.

Idea: `- [category] text #tag (context)` is an observation, `- relation [[Target]] (context)` a relation, wherever they
stand; each becomes a fact about the note's title. Invariant: the note itself comes in whole, with these lines in it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from vademecum.clients.imports.documents import Documents
from vademecum.clients.imports.facts import Facts, Statement, kind_of
from vademecum.clients.imports.markdown import document, is_markdown, key_of, read_page
from vademecum.clients.imports.reading import moment, nothing_in, parts
from vademecum.clients.imports.report import ImportReport, Progress, Tally

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

SOURCE = "basic-memory"
_OBSERVATION = re.compile(r"^\s*[-*+]\s+\[(?P<category>[^\[\]()\n]{2,60})\]\s+(?P<text>\S.*)$")
_RELATION = re.compile(r"^\s*[-*+]\s+(?P<how>[^\[\n]{0,80}?)\s*\[\[(?P<target>[^\]\n]+)\]\](?P<context>\s*\(.*\))?\s*$")
_FENCE = re.compile(r"\s*(```|~~~)")


def import_basic_memory(
    vm: Vademecum, path: Path, *, dry_run: bool = False, progress: Progress | None = None
) -> ImportReport:
    """Take over the Markdown files of the project at `path` (a folder or an archive).

    Raises NotFoundError when there is nothing of it at `path`.
    """
    tally, done = Tally(dry_run), 0
    documents, facts = Documents(vm, SOURCE, tally), Facts(vm, SOURCE, tally)
    for part in parts(path, is_markdown, tally):
        done += 1
        read = read_page(part, tally)
        if read is not None:
            front, body = read
            page = document(part, path, front, body)
            documents.take(page, part.file, part.place)
            head = front.text.count("\n") - front.body.count("\n") if not front.problem else 0
            at = moment(front.get("modified") or front.get("created"))
            for line, one in statements(page.name, key_of(part, path), body, at):
                facts.take(one, part.file, part.place, head + line)
        if progress:
            progress(done, done, part.base)
    if not done:
        nothing_in(path, "Markdown file", tally)
    return tally.report()


def statements(title: str, key: str, body: str, at: int | None) -> Iterator[tuple[int, Statement]]:
    """The observations and relations of a note, each with its line of `body`."""
    fenced = False
    for number, line in enumerate(body.splitlines(), 1):
        if _FENCE.match(line):
            fenced = not fenced
        if fenced:
            continue
        if (found := _RELATION.match(line)) is not None:
            how, target = found["how"].strip().replace("_", " ") or "relates to", found["target"].split("|")[0].strip()
            text = f"{title} {how} {target}{found['context'] or ''}"
            yield number, Statement(_key(key, text), text, "fact", at, (title, target))
        elif (found := _OBSERVATION.match(line)) is not None:
            text = f"{title}: {found['text'].strip()}"
            yield number, Statement(_key(key, text), text, kind_of(found["category"]), at, (title,))


def _key(key: str, text: str) -> str:
    return f"{key}#{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
