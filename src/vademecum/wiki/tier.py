"""The wiki as the gate knows it: what a person approves, takes back or forgets is carried out here.

Idea: a compiled line cites its sources, so what is forgotten is found on the pages by whose line it is; filed pages are
found by the history. Invariant: an erasure reaches compiled pages and the history's copies of them at once, and leaves
the block to be made anew by the next compile; a person's text around a block loses only the forgotten words themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from vademecum.disk import visible
from vademecum.errors import ConflictError, RefusedError, StorageError
from vademecum.gate.candidate import Act, Action, Candidate, Effect
from vademecum.gate.selector import Copy
from vademecum.model import Origin
from vademecum.page import NO_FILE, state_of
from vademecum.store.erasure import MARK
from vademecum.wiki import blocks, filing
from vademecum.wiki.page_text import WIKI, citing, without
from vademecum.wiki.shelf import INDEX, LOG, RAW, REASON, TIER, Shelf, whole_page
from vademecum.wiki.subjects import FOLDERS

if TYPE_CHECKING:
    from vademecum.gate.audit import AuditEntry
    from vademecum.gate.candidate import Proposal
    from vademecum.gate.selector import Selector

_FILED = (filing.ANSWERS, filing.SOURCES)
_WRITES = "tier = 'wiki' AND agent = :agent AND decision IN ('accepted', 'approved') AND state <> ''"
_APPROVED, _UNDONE = "approved", "undone"  # names no inputs: the next compile looks at the page again

Sources = Callable[["Selector"], Collection[str]]
"""What is meant, as the pages cite it: `fact:ID`, `note:SLUG`, `Decisions#^ID`, `Projects/SLUG`."""


class WikiTier:
    """`Wiki/` of one vault, as one agent writes to it: `place` of a copy is a path below it."""

    name = TIER

    def __init__(self, shelf: Shelf, sources: Sources) -> None:
        self._shelf = shelf
        self._sources = sources

    # --- what a person approves

    def current(self, proposal: Proposal) -> str:
        """See `Tier.current`."""
        if proposal.target.endswith(filing.FROM):
            return ""
        raw, block, _ = self._shelf.block(proposal.target)
        text = block.inner if block is not None else raw or ""
        return self._shelf.gate.redactor.clean(visible(text))

    def apply(self, proposal: Proposal) -> str:
        """See `Tier.apply`."""
        act = Act("approved", proposal.decision, proposal.id)
        folder = proposal.target.partition("/")[0]
        if proposal.target.endswith(filing.FROM) or folder in _FILED:
            return filing.write(self._shelf, proposal.target, proposal.text, proposal.origin, act, proposal.session)
        with self._shelf.page(INDEX).held():
            raw, block, problem = self._shelf.block(proposal.target)
            if self.current(proposal) != proposal.before or problem:
                raise ConflictError(
                    f"The page {proposal.target} changed since this was proposed. The newer text was kept.",
                    "Reject this proposal; the next compile makes a new one.",
                )
            return self._compiled(proposal, raw, block, act)

    def _compiled(self, proposal: Proposal, raw: str | None, block: blocks.Block | None, act: Act) -> str:
        shelf, path = self._shelf, proposal.target
        if proposal.action == "remove" and raw is not None and block is not None:
            self._record(path, "remove", Effect(block.inner, "", "", state_of(raw), NO_FILE), proposal.origin, act)
            shelf.remove(path, raw)
            return f"{shelf.name(path)} was removed: nothing is known of it any more."
        title = shelf.title(path, raw) if raw is not None else proposal.reason.removeprefix(REASON)
        made = blocks.render(proposal.text, by=shelf.actor.agent, inputs=_APPROVED, origin=proposal.origin)
        after = blocks.replaced(raw, block, made) if raw is not None and block is not None else whole_page(title, made)
        before = block.inner if block is not None else ""
        effect = Effect(before, proposal.text, title, state_of(raw), state_of(after))
        self._record(path, "add" if raw is None else "replace", effect, proposal.origin, act)
        shelf.page(path).put(raw, after)
        return f"{shelf.name(path)} was {'made' if raw is None else 'changed'}."

    # --- what a person takes back

    def undo(self, entry: AuditEntry, by: Origin) -> str:
        """See `Tier.undo`: a block comes back as it was, a page that the write made goes. The log only grows."""
        shelf, path = self._shelf, entry.target.removesuffix(filing.FROM)
        if path == LOG or path != entry.target:
            raise RefusedError(
                f"Row {entry.n} added to a page; it cannot be undone. Nothing was changed.",
                f"Take the lines out of {shelf.name(path)} in an editor.",
            )
        with shelf.page(INDEX).held():
            if filing.state_now(shelf, path) != entry.state:
                raise ConflictError(
                    f"{shelf.name(path)} changed since row {entry.n}, which cannot be undone. Nothing was changed.",
                    f"`vademecum history {entry.n}` shows the texts.",
                )
            act = Act("undone", str(by), entry.proposal, f"undoes {entry.n}")
            if entry.base == NO_FILE:
                self._take_away(path, entry, by, act)
                return f"Row {entry.n} was undone. {shelf.name(path)} is gone."
            if not entry.before:
                raise RefusedError(f"The text from before row {entry.n} was erased or never kept.")
            self._bring_back(path, entry, entry.before, by, act)
        return f"Row {entry.n} was undone. {shelf.name(path)} says what it said before."

    def _take_away(self, path: str, entry: AuditEntry, by: Origin, act: Act) -> None:
        self._record(path, "remove", Effect(entry.after or "", "", entry.places, entry.state, NO_FILE), by, act)
        try:
            self._shelf.page(path).path.unlink()
        except OSError as error:
            raise StorageError(
                f"Could not remove {self._shelf.name(path)}: {error.strerror or error}.", "Check its permissions."
            ) from error

    def _bring_back(self, path: str, entry: AuditEntry, inner: str, by: Origin, act: Act) -> None:
        shelf = self._shelf
        raw, block, _ = shelf.block(path)
        origin = block.origin.joined(entry.origin) if block is not None else entry.origin
        made = blocks.render(inner, by=shelf.actor.agent, inputs=_UNDONE, origin=origin)
        title = entry.places or path.rpartition("/")[2]
        after = blocks.replaced(raw, block, made) if raw is not None and block is not None else whole_page(title, made)
        effect = Effect(entry.after or "", inner, title, entry.state, state_of(after))
        self._record(path, "replace" if raw else "add", effect, by, act)
        shelf.page(path).put(raw, after)

    def _record(self, path: str, action: Action, effect: Effect, origin: Origin, act: Act) -> None:
        candidate = Candidate(
            TIER, action, path, effect.after, origin, self._shelf.actor, before=effect.before, restated=True,
            effect=lambda _: effect,
        )  # fmt: skip
        self._shelf.gate.intend(candidate, act)

    # --- what a person forgets

    def copies(self, selector: Selector) -> list[Copy]:
        """See `Keeper.copies`."""
        gone = self._sources(selector)
        found: list[Copy] = []
        for path in [*self._shelf.paths([*FOLDERS.values(), *_FILED]), INDEX, LOG]:
            raw, block, _ = self._shelf.block(path)
            if raw is None:
                continue
            lines = citing(block.inner, gone) if block is not None and gone else []
            if selector.kind == "entry":
                lines += [line for line in visible(raw).splitlines() if selector.value in line]
            if lines:
                origin = block.origin if block is not None else Origin.file()
                found.append(Copy(TIER, path, "\n".join(dict.fromkeys(lines)), str(origin), whole=False))
        return [*found, *self._filed(selector)]

    def _filed(self, selector: Selector) -> list[Copy]:
        """Filed pages and raw sources that came from there."""
        shelf = self._shelf
        if selector.kind == "entry":
            return []
        heard = shelf.gate.quarantine.heard(shelf.actor.agent, selector)
        found: dict[str, Copy] = {}
        for row in shelf.gate.audit.store.rows(_WRITES, {"agent": shelf.actor.agent}):
            path = row.target.removesuffix(filing.FROM)
            if path.partition("/")[0] not in (*_FILED, RAW) and path == row.target:
                continue
            origin = Origin.parse(row.origin)
            if not selector.matches(origin, session=row.session, user=row.user, heard=heard):
                continue
            if filing.state_now(shelf, path) == NO_FILE:
                continue
            whole = path == row.target
            text = shelf.gate.audit.store.texts([row.after_sha256]).get(row.after_sha256, "")
            found.setdefault(row.target, Copy(TIER, path, text, row.origin, row.user, row.session, whole=whole))
        return list(found.values())

    def erase(self, copies: Sequence[Copy], texts: Sequence[str], by: Origin) -> None:
        """See `Keeper.erase`."""
        if not copies:
            return
        with self._shelf.page(INDEX).held():
            for copy in copies:
                if copy.whole:
                    self._forget_file(copy, by)
                else:
                    self._forget_lines(copy, texts, by)
        self._forget_history({copy.place for copy in copies})

    def _forget_file(self, copy: Copy, by: Origin) -> None:
        state = filing.state_now(self._shelf, copy.place)
        if state == NO_FILE:
            return
        act = Act("forgotten", str(by))
        self._record(copy.place, "remove", Effect(copy.text, "", "", state, NO_FILE), Origin.parse(copy.origin), act)
        self._shelf.page(copy.place).path.unlink(missing_ok=True)

    def _forget_lines(self, copy: Copy, texts: Sequence[str], by: Origin) -> None:
        shelf, path = self._shelf, copy.place
        raw, block, _ = shelf.block(path)
        if raw is None:
            return
        lines = set(copy.text.split("\n"))
        after = raw
        if block is not None:
            inner = _cut(without(block.inner, lines), texts)
            made = blocks.render(inner, by=block.by, inputs="forgotten", origin=block.origin)
            after = blocks.replaced(raw, block, made)
        quoted = {line for line in lines if f"{WIKI}/{RAW}/" in line}  # what an ingest has added to the page
        kept = (line for line in re.findall(r"[^\n]*\n|[^\n]+", after) if line.rstrip("\r\n") not in quoted)
        after = _cut("".join(kept), texts)
        bare = block is not None and path != INDEX and blocks.is_bare(raw, block, shelf.title(path, raw))
        if bare and not _says(after):
            after = ""
        if after == raw:
            return
        state = state_of(after) if after else NO_FILE
        act = Act("forgotten", str(by))
        effect = Effect(copy.text, MARK if after else "", "", state_of(raw), state)
        self._record(path, "replace" if after else "remove", effect, Origin.parse(copy.origin), act)
        if after:
            shelf.page(path).put(raw, after)
        else:
            shelf.remove(path, raw)

    def _forget_history(self, paths: Collection[str]) -> None:
        """Take the texts of these pages out of the history: a line that is gone stands in each of them."""
        store = self._shelf.gate.audit.store
        for path in paths:
            rows = store.rows("tier = 'wiki' AND target IN (:path, :more)", {"path": path, "more": path + filing.FROM})
            store.erase([sha for row in rows for sha in (row.before_sha256, row.after_sha256) if sha])


def _cut(text: str, texts: Sequence[str]) -> str:
    for one in texts:
        text = text.replace(one, MARK)
    return text


def _says(page: str) -> bool:
    """Whether anything is left in the block of a page but its head and links to other pages."""
    found = blocks.find(page)[0]
    said = [line for line in (found.inner if found else "").splitlines() if line.startswith("- ")]
    return bool(said)
