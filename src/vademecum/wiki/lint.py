"""What is wrong with the pages: links to nothing, pages that nothing joins, doubles, what is no longer so, what
contradicts a decision, claims without a source, secrets.

Idea: each check says where, what and what to do; what only other rooms know (what was superseded, what contradicts,
what is a secret) is passed in. Invariant: nothing is changed, and no secret is in a report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from vademecum.errors import NotFoundError, UnreadableError
from vademecum.gate.structure import neutralise
from vademecum.search.prepare import prepare
from vademecum.store import wiki as rows
from vademecum.wiki.graph import Graph
from vademecum.wiki.index import Index
from vademecum.wiki.scan import BEGIN
from vademecum.wiki.types import VAULT, PageHead

Check = Literal["broken", "orphan", "duplicate", "stale", "contradiction", "unsourced", "secret"]
CHECKS: tuple[Check, ...] = get_args(Check)
TITLES: dict[Check, str] = {
    "broken": "Links that lead nowhere",
    "orphan": "Pages that nothing is joined to",
    "duplicate": "Doubles",
    "stale": "What is no longer so",
    "contradiction": "What may contradict a decision",
    "unsourced": "Claims without a source",
    "secret": "Secrets",
}
_LOGS = ("Live/", "Agents/", "Wiki/raw/")
_APART = frozenset({"Decisions.md", "Wiki/index.md", "Wiki/log.md"})
"""Pages of the vault that stand for themselves."""
_WIKI = "Wiki/"
_CLAIM = re.compile(r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[.\][ \t]+)?(?=\S)")
_SOURCE = re.compile(r"\[\[|\]\(|\[\^|\^\[|https?://|`[a-z]+:[^`]+`")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_WORDS, _CANDIDATES, _SHORT = 8, 20, 20


@dataclass(frozen=True, slots=True)
class Standing:
    """A decision that stands: what a page may contradict; `ref` is how it is linked to (`Decisions#^01J...`)."""

    ref: str
    text: str


@dataclass(frozen=True, slots=True)
class Known:
    """What other rooms know. `superseded`: block id of a decision (lower case) to the id of what took its place.

    `outdated`: pages whose inputs changed since they were compiled, `(path, why)`. `secrets`: kind and place in the
    text of each secret.
    """

    standing: Sequence[Standing] = ()
    superseded: dict[str, str] = field(default_factory=dict[str, str])
    outdated: Sequence[tuple[str, str]] = ()
    contradicts: Callable[[str, str], bool] | None = None
    secrets: Callable[[str], Iterable[tuple[str, int]]] | None = None
    shown: Callable[[str], str] = str
    """Makes a name or another line fit to be shown."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: on which page (`source:path`), in which line (0: the whole page)."""

    check: Check
    page: str
    line: int
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """All findings by check, page and line; `pages` were looked at."""

    findings: tuple[Finding, ...]
    pages: int
    checks: tuple[Check, ...]

    def count(self, check: Check) -> int:
        """How many findings a check has."""
        return sum(one.check == check for one in self.findings)

    def markdown(self) -> str:
        """The report as a page."""
        parts = [f"# Lint\n\n{self.pages:,} pages, {len(self.findings):,} findings.\n"]
        for check in self.checks:
            found = [one for one in self.findings if one.check == check]
            if not found:
                continue
            parts.append(f"\n## {TITLES[check]} ({len(found):,})\n\n")
            for one in found:
                place = f"{one.page}#L{one.line}" if one.line else one.page
                said = f"{one.message}{f' ({one.hint})' if one.hint else ''}"
                parts.append(f"- {_code(place)}: {neutralise(said)}\n")
        return "".join(parts)


def lint(
    index: Index,
    known: Known,
    *,
    checks: Sequence[Check] = CHECKS,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Look at every page. About 1 ms a page for secrets, which read each; the others use the index."""
    index.refresh()
    linter = _Linter(index, known, progress)
    found = [one for check in CHECKS if check in checks for one in linter.run(check)]
    order = {check: n for n, check in enumerate(CHECKS)}
    found.sort(key=lambda one: (order[one.check], one.page, one.line))
    shown = known.shown
    found = [replace(one, page=shown(one.page), message=shown(one.message), hint=shown(one.hint)) for one in found]
    return Report(tuple(found), len(linter.pages), tuple(check for check in CHECKS if check in checks))


class _Linter:
    def __init__(self, index: Index, known: Known, progress: Callable[[int, int], None] | None) -> None:
        self._index = index
        self._known = known
        self._progress = progress
        self._graph = Graph(index)
        self.pages = index.pages()

    def run(self, check: Check) -> Iterator[Finding]:
        """The findings of one check."""
        match check:
            case "broken":
                return self._broken()
            case "orphan":
                return self._orphans()
            case "duplicate":
                return self._duplicates()
            case "stale":
                return self._stale()
            case "contradiction":
                return self._contradictions()
            case "unsourced":
                return self._unsourced()
            case "secret":
                return self._secrets()

    def _broken(self) -> Iterator[Finding]:
        for one in self._graph.broken():
            yield Finding("broken", one.page.ref, one.link.line, f"{one.link.raw}: {one.why}")

    def _orphans(self) -> Iterator[Finding]:
        for page in self._graph.orphans():
            if not _is_apart(page):
                yield Finding("orphan", page.ref, 0, "no page links to it, and it links to none")

    def _duplicates(self) -> Iterator[Finding]:
        contents: dict[str, PageHead] = {}
        names: dict[tuple[str, str], PageHead] = {}
        for page in self.pages:
            if _is_apart(page) or not page.size:
                continue
            same = contents.setdefault(page.sha256, page) if page.sha256 else page
            called = names.setdefault((page.source, page.path.casefold()), page)
            if same is not page:
                yield Finding("duplicate", page.ref, 0, f"it says what {same.ref} says, byte for byte")
            elif called is not page:
                said = f"its name differs from {called.ref} in case only"
                yield Finding("duplicate", page.ref, 0, said, "a disk that ignores case keeps one of them")
        titles: dict[tuple[str, str], PageHead] = {}
        for page in self.pages:
            if page.title.casefold() != page.name.casefold() and not _is_apart(page):
                same = titles.setdefault((page.source, page.title.casefold()), page)
                if same is not page and same.sha256 != page.sha256:
                    yield Finding("duplicate", page.ref, 0, f"it has the title of {same.ref}: {page.title}")

    def _stale(self) -> Iterator[Finding]:
        heads = {page.id: page for page in self.pages}
        for link in self._graph.links():
            newer = self._known.superseded.get(link.block) if link.block else None
            page = heads.get(link.page)
            if newer and page is not None and not _is_apart(page) and not page.compiled:
                said = f"{link.raw} was superseded"
                yield Finding("stale", page.ref, link.line, said, f"by Decisions#^{newer}")
        for path, why in self._known.outdated:
            yield Finding("stale", f"{VAULT}:{path}", 0, why, "vademecum wiki compile")

    def _contradictions(self) -> Iterator[Finding]:
        if self._known.contradicts is None:
            return
        seen: set[tuple[str, int, str]] = set()
        for one in self._known.standing:
            for page, line, sentence in self._near(one.text):
                key = (page.ref, line, one.ref)
                if key not in seen and self._known.contradicts(one.text, sentence):
                    seen.add(key)
                    said = f"“{_short(sentence)}” against {one.ref}: “{_short(one.text)}”"
                    yield Finding("contradiction", page.ref, line, said)

    def _near(self, text: str) -> Iterator[tuple[PageHead, int, str]]:
        """Sentences in passages that share words with `text`, but for those of logs, decisions and compiled blocks."""
        words = sorted(set(re.findall(r"\w{3,}", prepare(text))), key=len, reverse=True)[:_WORDS]
        if not words:
            return
        for section, said in self._index.passages(rows.matching(self._index.db, words, _CANDIDATES)):
            page = self._index.page(section.page)
            if section.compiled or section.block or _is_apart(page):
                continue
            for n, line in enumerate(said.split("\n")):
                for sentence in _SENTENCE.split(_CLAIM.sub("", line).strip("#> \t")):
                    if len(sentence) >= _SHORT and sentence.strip() != text.strip():
                        yield page, section.first + n, sentence

    def _unsourced(self) -> Iterator[Finding]:
        for page in self.pages:
            if page.source != VAULT or not page.path.startswith(_WIKI) or _is_apart(page):
                continue
            for n, line in self._lines(page):
                claim = _CLAIM.match(line)
                if claim is None or line.rstrip("*_ ").endswith(("?", "？")):  # a question claims nothing
                    continue
                if len(line) - claim.end() >= _SHORT and not _SOURCE.search(line):
                    yield Finding("unsourced", page.ref, n, f"“{_short(line[claim.end() :])}”", "say where it is from")

    def _secrets(self) -> Iterator[Finding]:
        if self._known.secrets is None:
            return
        for done, page in enumerate(self.pages):
            if self._progress is not None:
                self._progress(done, len(self.pages))
            text = self._text(page)
            for kind, place in self._known.secrets(text):
                line = text.count("\n", 0, place) + 1
                yield Finding("secret", page.ref, line, f"it looks like a secret ({kind})", "take it out of the file")

    def _lines(self, page: PageHead) -> Iterator[tuple[int, str]]:
        """The lines of a page that are no comment, with their numbers."""
        for n, line in enumerate(self._text(page).split("\n"), 1):
            if not line.lstrip().startswith(BEGIN[:4]):
                yield n, line

    def _text(self, page: PageHead) -> str:
        try:
            return self._index.text(page)
        except (NotFoundError, UnreadableError):  # gone meanwhile, or its problem is told by `doctor`
            return ""


def _is_apart(page: PageHead) -> bool:
    return page.source == VAULT and (page.path.startswith(_LOGS) or page.path in _APART)


def _code(text: str) -> str:
    """`text` as code, whatever backticks are in it."""
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    return f"{'`' * (longest + 1)} {text} {'`' * (longest + 1)}" if longest else f"`{text}`"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 120 else text[:119] + "…"
