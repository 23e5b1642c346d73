"""The compile: pages for projects, names and topics below `Wiki/`, written into managed blocks of the vault's pages.

Idea: a block says from which inputs it was made, so only pages whose inputs changed are written, wherever the vault was
copied to. Invariant: a person's text around a block stays byte for byte, lines that a person wrote into one are moved
out behind it before it is made anew, and what cannot be told apart is left as it is and said; the same inputs give the
same bytes.
"""

from __future__ import annotations

import difflib
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Literal

from vademecum.disk import visible
from vademecum.errors import BlockedError, RefusedError, UnreadableError
from vademecum.gate.candidate import Act, Action, Candidate, Effect, Staged
from vademecum.gate.trust import Rules, joined_outside
from vademecum.model import Origin
from vademecum.page import NO_FILE, state_of
from vademecum.wiki import blocks
from vademecum.wiki.blocks import Block
from vademecum.wiki.claims import Inputs, origin_of
from vademecum.wiki.index_page import index_text, log_line
from vademecum.wiki.page_text import Sentence, block_text, prose_of
from vademecum.wiki.shelf import INDEX, REASON, TIER, Shelf, whole_page
from vademecum.wiki.subjects import FOLDERS, Subject, subjects

VERSION = 1
"""Changes with what the lines of a page look like."""
_EMPTY = "\n*Nothing is known of it any more.*\n\n"

Outcome = Literal["made", "changed", "unchanged", "removed", "staged", "left"]
Progress = Callable[[int, int], object]
Prose = Callable[[Subject], "Sequence[Sentence] | None"]
"""What a model says of a subject; None when it may not be asked any more."""


@dataclass(frozen=True, slots=True)
class PageChange:
    """What became of a page: `path` below the vault's folder. `kept` are lines that a person had written into the
    block and that stand behind it now; `why` says what is to be known. `diff` is of the block.
    """

    path: str
    title: str
    outcome: Outcome
    why: str = ""
    kept: str = ""
    diff: str = ""
    proposal: str = ""


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a compile did, or with `dry_run` would do. `notes` are sentences for whoever asked."""

    pages: tuple[PageChange, ...]
    dry_run: bool
    with_model: bool = False
    notes: tuple[str, ...] = ()

    def count(self, outcome: Outcome) -> int:
        """How many pages had that outcome."""
        return sum(one.outcome == outcome for one in self.pages)

    @property
    def line(self) -> str:
        """All of it in one line."""
        found = Counter(one.outcome for one in self.pages)
        order: tuple[Outcome, ...] = ("made", "changed", "removed", "staged", "left", "unchanged")
        return ", ".join(f"{found[one]} {one}" for one in order if found[one]) or "nothing to compile"


@dataclass(frozen=True, slots=True)
class Draft:
    """A page as its inputs have it. `said` names what is claimed, `around` what else stands on it."""

    subject: Subject
    said: str
    around: str
    origin: Origin

    def inputs(self, *, prose: bool) -> str:
        """What the block says it was made from."""
        return f"{self.said}.{self.around}.{'prose' if prose else 'plain'}"


class Compiler:
    """Compiles the wiki of one vault, for one agent. `act`: a person has asked for it, so nothing waits."""

    def __init__(self, shelf: Shelf, rules: Rules, *, act: Act | None = None) -> None:
        self.shelf = shelf
        self.act = act
        self._rules = rules

    def held(self) -> AbstractContextManager[None]:
        """Keep other compiles, and what forgets, out. Raises LockedError."""
        return self.shelf.page(INDEX).held()

    def drafts(self, inputs: Inputs) -> list[Draft]:
        """The pages that these inputs give."""
        found = subjects(inputs)
        near = _related(found)
        drafts: list[Draft] = []
        for one in found:
            mine = {claim.source for claim in one.claims}
            conflicts = [two for two in inputs.conflicts if two.one in mine and two.other in mine]
            said = _hash((VERSION, one, conflicts, inputs.prefix))
            around = _hash([(other.path, other.title) for other in near[one.path]])
            parts = [*one.claims, *([one.project] if one.project else [])]
            outside = joined_outside(None, self._rules.outside(origin_of(parts)))
            origin = Origin.assistant() if outside is None else Origin.assistant().joined(outside)
            drafts.append(Draft(one, said, around, origin))
        return drafts

    def unsaid(self, drafts: Sequence[Draft]) -> list[Draft]:
        """Those that a model has not said anything of from what they are made of now."""
        found: list[Draft] = []
        for draft in drafts:
            try:
                block = self.shelf.block(draft.subject.path)[1]
            except UnreadableError:  # it is named when pages are written
                continue
            if block is None or not block.inputs.startswith(f"{draft.said}.") or not block.inputs.endswith(".prose"):
                found.append(draft)
        return found

    def write(
        self,
        inputs: Inputs,
        prose: Mapping[str, Sequence[Sentence]],
        *,
        dry_run: bool = False,
        progress: Progress = lambda _done, _of: None,
    ) -> tuple[PageChange, ...]:
        """Write what changed; `prose` is by `Draft.said`. The caller holds the lock. Raises StorageError, LockedError.

        Raises RefusedError when another agent compiles this wiki.
        """
        self._check_ours()
        drafts = self.drafts(inputs)
        near = _related([one.subject for one in drafts])
        changes: list[PageChange] = []
        for n, draft in enumerate(drafts):
            changes.append(self._page(draft, inputs, near[draft.subject.path], prose.get(draft.said), dry_run=dry_run))
            progress(n + 1, len(drafts))
        changes += self._leftover({one.subject.path for one in drafts}, dry_run=dry_run)
        changes.append(self._index([one.subject for one in drafts], inputs.prefix, dry_run=dry_run))
        written = [one for one in changes if one.outcome in ("made", "changed", "removed")]
        if written and not dry_run:
            self.shelf.append_log(log_line(self.shelf, "compile", written), self.act)
        return tuple(changes)

    # --- a page

    def _page(
        self,
        draft: Draft,
        inputs: Inputs,
        near: Sequence[Subject],
        said: Sequence[Sentence] | None,
        *,
        dry_run: bool,
    ) -> PageChange:
        subject = draft.subject
        try:
            raw, block, problem = self.shelf.block(subject.path)
        except UnreadableError as error:
            return PageChange(self.shelf.name(subject.path), subject.title, "left", why=error.message)
        known = block is not None and block.inputs.startswith(f"{draft.said}.") and block.inputs.endswith(".prose")
        if block is not None and said is None and block.inputs == draft.inputs(prose=known):
            return self._same(PageChange(self.shelf.name(subject.path), subject.title, "unchanged"), block)
        prose: Sequence[Sentence] | str = said or ()
        if said is None and known and block is not None and not block.edited:
            prose = prose_of(block.inner)  # of the same claims: only the neighbours are others
        inner = block_text(subject, conflicts=inputs.conflicts, related=near, prose=prose, prefix=inputs.prefix)
        wanted = draft.inputs(prose=said is not None or bool(prose))
        made = _Made(subject.path, subject.title, inner, wanted, draft.origin)
        return self._put(made, raw, block, problem, dry_run=dry_run)

    def _same(self, change: PageChange, block: Block) -> PageChange:
        why = "It was changed by hand inside of its block, and is kept so until there is something new."
        return replace(change, outcome="unchanged", why=why if block.edited else "")

    def _put(self, made: _Made, raw: str | None, block: Block | None, problem: str, *, dry_run: bool) -> PageChange:
        path = self.shelf.name(made.path)
        change = PageChange(path, made.title, "made" if raw is None else "changed")
        if raw is not None and block is None:
            why = f"It was left as it is: {problem or 'it is a page of yours, without a managed block'}."
            return replace(change, outcome="left", why=why)
        if block is not None and block.inputs == made.inputs:
            return self._same(change, block)
        kept = ""
        if block is not None and block.edited:
            before = self.shelf.text_of(block.sha256)
            if before is None:
                why = "Its block was changed by hand, and what stood there before is not known here: it was left as it"
                return replace(change, outcome="left", why=f"{why} is. Take the block out to have it made anew.")
            kept = blocks.by_hand(before, block.inner, made.inner)
            change = replace(change, why="What was written by hand into its block stands behind it now.", kept=kept)
        if block is not None and block.inner == made.inner:
            return replace(change, outcome="unchanged") if dry_run else self._seal(change, made, raw, block)
        change = replace(change, diff=_diff(block.inner if block else "", made.inner, path))
        return change if dry_run else self._written(change, made, raw, block, kept)

    def _written(self, change: PageChange, made: _Made, raw: str | None, block: Block | None, kept: str) -> PageChange:
        def final(inner: str) -> str:
            text = self._render(inner, made)
            if raw is None or block is None:
                return whole_page(made.title, text)
            return blocks.replaced(raw, block, text, kept)

        before = block.inner if block else ""
        candidate = self._candidate(made, "add" if block is None else "replace", before, raw, final)
        try:
            answer = self.shelf.admit(candidate, self.act)
        except (BlockedError, RefusedError) as error:
            return replace(change, outcome="left", why=error.message)
        if isinstance(answer, Staged):
            return replace(change, outcome="staged", proposal=answer.proposal.id)
        self.shelf.page(made.path).put(raw, final(answer.text))
        return change

    def _seal(self, change: PageChange, made: _Made, raw: str | None, block: Block) -> PageChange:
        """The lines are the same and were made from something else: only the comment is written."""
        if raw is not None:
            after = blocks.replaced(raw, block, self._render(block.inner, made))
            candidate = self._candidate(made, "replace", block.inner, raw, lambda _: after)
            self.shelf.gate.intend(candidate, None)
            self.shelf.page(made.path).put(raw, after)
        return replace(change, outcome="unchanged")

    def _render(self, inner: str, made: _Made) -> str:
        return blocks.render(inner, by=self.shelf.actor.agent, inputs=made.inputs, origin=made.origin)

    def _candidate(
        self, made: _Made, action: Action, before: str, raw: str | None, final: Callable[[str], str]
    ) -> Candidate:
        return Candidate(
            TIER,
            action,
            made.path,
            made.inner,
            made.origin,
            self.shelf.actor,
            before=before,
            reason=f"{REASON}{made.title}",
            restated=True,
            effect=lambda text: Effect(before, text, made.title, state_of(raw), state_of(final(text))),
        )

    # --- what no input speaks of any more

    def _leftover(self, wanted: set[str], *, dry_run: bool) -> Iterator[PageChange]:
        for path in self.shelf.paths(FOLDERS.values()):
            if path in wanted:
                continue
            try:
                raw, block, _ = self.shelf.block(path)
            except UnreadableError as error:
                yield PageChange(self.shelf.name(path), path.rpartition("/")[2], "left", why=error.message)
                continue
            if raw is None or block is None or block.by != self.shelf.actor.agent:
                continue
            title = self.shelf.title(path, raw)
            if block.edited or not blocks.is_bare(raw, block, title):
                made = _Made(path, title, _EMPTY, "none", Origin.assistant())
                yield self._put(made, raw, block, "", dry_run=dry_run)
                continue
            change = PageChange(self.shelf.name(path), title, "removed", diff=_diff(block.inner, "", path))
            yield change if dry_run else self._removed(change, path, raw, block)

    def _removed(self, change: PageChange, path: str, raw: str, block: Block) -> PageChange:
        effect = Effect(block.inner, "", change.title, state_of(raw), NO_FILE)
        candidate = Candidate(
            TIER, "remove", path, "", block.origin, self.shelf.actor, before=block.inner, restated=True,
            effect=lambda _: effect,
        )  # fmt: skip
        answer = self.shelf.admit(candidate, self.act)
        if isinstance(answer, Staged):
            return replace(change, outcome="staged", proposal=answer.proposal.id)
        self.shelf.remove(path, raw)
        return change

    # --- the index

    def _index(self, found: Sequence[Subject], prefix: str, *, dry_run: bool) -> PageChange:
        raw, block, problem = self.shelf.block(INDEX)
        inner = index_text(self.shelf, found, prefix)
        made = _Made(INDEX, "Wiki", inner, _hash(inner), Origin.assistant())
        return self._put(made, raw, block, problem, dry_run=dry_run)

    def _check_ours(self) -> None:
        block = self.shelf.block(INDEX)[1]
        if block is not None and block.by != self.shelf.actor.agent:
            raise RefusedError(
                f"The wiki of this vault is compiled by the agent {block.by!r}. Nothing was written.",
                f"Run it as that one (`--agent {block.by}`); to have this agent compile it from now on, remove "
                f"{self.shelf.name(INDEX)} first.",
            )


@dataclass(frozen=True, slots=True)
class _Made:
    """A block as it is to be written."""

    path: str
    title: str
    inner: str
    inputs: str
    origin: Origin


def _related(found: Sequence[Subject]) -> dict[str, list[Subject]]:
    """Of each page the other ones that share claims with it, those with most of them first."""
    of: dict[str, list[Subject]] = {}
    for one in found:
        if one.kind != "topic":
            for claim in one.claims:
                of.setdefault(claim.source, []).append(one)
    near: dict[str, list[Subject]] = {}
    for one in found:
        shared = Counter(other.path for claim in one.claims for other in of.get(claim.source, ()) if other is not one)
        by_path = {other.path: other for claim in one.claims for other in of.get(claim.source, ())}
        near[one.path] = [by_path[path] for path in sorted(shared, key=lambda path: (-shared[path], path))[:8]]
    return near


def _hash(value: object) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _diff(before: str, after: str, path: str) -> str:
    rows = difflib.unified_diff(visible(before).splitlines(), visible(after).splitlines(), path, path, lineterm="", n=1)
    return "\n".join(rows)
