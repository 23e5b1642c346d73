"""Decisions: one file that only grows, in which each stands until another supersedes it.

Idea: the file is the truth, small enough to be read whole; what stands is computed from who supersedes whom. Invariant:
no verb changes a block that is there (an erasure leaves a marked tombstone); a decision is in the file before the live
log tells of it, and one that was not told of because its process died is told of by the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vademecum.clock import iso
from vademecum.disk import visible
from vademecum.errors import AmbiguousError, ConflictError, NotFoundError, UsageError, VademecumError
from vademecum.gate.candidate import Act, Effect, Proposal, Staged
from vademecum.ids import new_id
from vademecum.model import Origin
from vademecum.obsidian import closing, link, link_prefix, one_form
from vademecum.page import Page, eol_of
from vademecum.vault.against import may_share, shared
from vademecum.vault.decision_text import FILE, Decision, parse, render
from vademecum.vault.page import By, Desk
from vademecum.vault.paths import VaultPaths

if TYPE_CHECKING:
    from vademecum.gate.candidate import Accepted

TARGET = "decisions"
"""The target of a decision, in the policy and in the history."""
LONGEST = 300
"""Most characters of what is decided: it is a heading."""
LONGEST_TEXT = 8_000
_MOST_BOOKS = 8
_SETTLED_NS = 100_000_000  # a file that was written later may be written again without another time of change
_TOLD_AGAIN = 20  # newest decisions of this home that are looked for in the live log

Contradicts = Callable[[str, str], bool]
"""Whether two statements are about the same and may exclude each other."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of it. `contradicts` are standing decisions that it may exclude; `note` is for the author."""

    outcome: Literal["new", "duplicate", "staged"]
    decision: Decision
    contradicts: tuple[Decision, ...]
    message: str
    note: str = ""
    proposal: str | None = None


@dataclass(frozen=True, slots=True)
class Book:
    """All decisions, by time and id, each with what supersedes it; and what is wrong with the file."""

    decisions: tuple[Decision, ...]
    problems: tuple[str, ...] = ()

    @staticmethod
    def of(text: str, signed: Callable[[Decision], bool] | None = None) -> Book:
        """The decisions of a file's text; `signed` says which of two blocks with one id is its author's."""
        found, problems = parse(text, signed)
        later: dict[str, list[str]] = {}
        for one in found:
            for id_ in one.supersedes:
                later.setdefault(id_, []).append(one.id)
        known = {one.id for one in found}
        for id_, by in later.items():
            if id_ not in known:
                problems.append(f"{FILE}: {by[0]} supersedes {id_}, which is not in the file.")
            elif len(by) > 1:
                problems.append(f"{FILE}: {', '.join(by)} each supersede {id_}: somebody has to decide between them.")
        ordered = sorted(found, key=lambda one: (one.time or 0, one.id))
        known_now = (replace(one, superseded_by=tuple(later[one.id])) if one.id in later else one for one in ordered)
        return Book(tuple(known_now), tuple(problems))

    def standing(self, *, as_of: int | None = None) -> tuple[Decision, ...]:
        """Those that stand, or stood at that time (UTC ms); typed ones without a date count from the beginning."""
        there = [one for one in self.decisions if as_of is None or (one.time or 0) <= as_of]
        gone = {id_ for one in there for id_ in one.supersedes}
        return tuple(one for one in there if one.id not in gone and not one.is_forgotten)

    def find(self, id_: str) -> Decision:
        """The decision of that id, of a beginning of it, or of those words. Raises NotFoundError, AmbiguousError."""
        wanted = id_.strip().removeprefix("^")
        exact = [one for one in self.decisions if wanted in (one.id, one.id.removeprefix("#"))]
        begun = [one for one in self.decisions if len(wanted) >= 4 and one.id.startswith(wanted.upper())]
        found = exact or begun or [one for one in self.decisions if one_form(one.what) == one_form(wanted)]
        if len(found) == 1:
            return found[0]
        if found:
            raise AmbiguousError(
                f"{len(found)} decisions are called {id_!r}. Nothing was written.",
                "Give more of the id.",
                tuple(f"{one.id} {one.what}" for one in found),
            )
        raise NotFoundError(f"There is no decision {id_!r}.", "`vademecum decisions --all` lists them with their ids.")


_books: dict[Path, tuple[tuple[int, int, int], Book]] = {}
"""What this process has read of files, with time of change (ns), size and number."""


def _mark(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class Decisions:
    """`Decisions.md` of one vault, for one agent. Thread-safe, and safe beside other processes and editors."""

    def __init__(
        self,
        desk: Desk,
        *,
        contradicts: Contradicts | None = None,
        project_page: Callable[[str], str] | None = None,
        signed: Callable[[Decision], bool] | None = None,
    ) -> None:
        """`project_page` gives the link target of a project's page, empty when there is none; `signed` says whether the
        log has a decision in these words."""
        self.desk = desk
        self._page: Page = desk.page(FILE)
        self._contradicts = contradicts
        self._project_page = project_page
        self._signed = signed

    def book(self) -> Book:
        """All that is in the file now, read when it changed since this process read it. Raises UnreadableError."""
        path = self._page.path
        mark = _mark(path)
        known = _books.get(path)
        if known is not None and known[0] == mark:
            return known[1]
        asked: list[Decision] = []

        def signed(one: Decision) -> bool:
            asked.append(one)  # what the log says may change while the file stands
            return self._signed is not None and self._signed(one)

        book = Book.of(self._page.text(), signed)
        if mark is not None and not asked and time.time_ns() - mark[0] > _SETTLED_NS:
            while len(_books) >= _MOST_BOOKS:
                _books.pop(next(iter(_books)), None)
            _books[path] = mark, book
        return book

    def against(self, statement: str, book: Book | None = None, *, most: int | None = None) -> tuple[Decision, ...]:
        """The standing decisions that `statement` may contradict: to be looked at, some are compatible after all.

        Only the `most` that share the most words with it are compared (about 0.5 ms each); None: all that share some.
        """
        check = self._contradicts
        if check is None or not statement.strip():
            return ()
        standing = (book or self.book()).standing()
        near = [one for one in standing if may_share(statement, one.what)]
        if most is not None and len(near) > most:
            best = sorted(near, key=lambda one: (-shared(statement, one.what), -(one.time or 0)))[:most]
            near = [one for one in near if one in best]
        return tuple(one for one in near if check(statement, one.what))

    def about(self, question: str, among: Sequence[Decision], words: Callable[[str], list[str]]) -> list[Decision]:
        """Those of `among` that a question is about, best first; `words` gives the words of a text as an index does."""
        from vademecum.vault.about import about  # reads the lists of stop words

        return about(question, among, words)

    def decide(
        self,
        what: str,
        *,
        by: By,
        why: str = "",
        alternatives: str = "",
        project: str = "",
        supersedes: Iterable[str] = (),
    ) -> Decided:
        """Write down that `what` (one line) was decided; saying the same again changes nothing.

        Raises UsageError (empty, too long), NotFoundError and ConflictError (what it supersedes is not there, or was
        superseded by something that the author may not have seen), BlockedError, LockedError, StorageError.
        """
        (what, why, alternatives, project), kinds = self.desk.cleaned(what, why, alternatives, project)
        what, project = " ".join(what.split()), one_form(project)
        _check(what, why, alternatives)
        now = self.desk.clock()
        decision = Decision(
            new_id(now), what, now, self.desk.author(by), by.channel, why, alternatives, project,
            origin=by.origin, session=by.session,
        )  # fmt: skip
        with self._page.held():
            book = self.book()
            again = _same(book, decision)
            if again is not None and not tuple(supersedes):
                message = "That was decided already, in these words, and stands: do not repeat it."
                return Decided("duplicate", again, (), message)
            old = [self._open(book, one, decision) for one in supersedes]
            decision = replace(decision, supersedes=tuple(dict.fromkeys(one.id for one in old)))
            excluded = tuple(one for one in self.against(f"{what}", book) if one.id not in decision.supersedes)
            decision = replace(decision, contradicts=tuple(one.id for one in excluded))
            return self._write(decision, by, kinds, (*old, *excluded), excluded)

    def _write(
        self,
        decision: Decision,
        by: By,
        kinds: tuple[str, ...],
        named: Sequence[Decision],
        excluded: tuple[Decision, ...],
    ) -> Decided:
        page = self._project_page(decision.project) if self._project_page and decision.project else ""
        block = render(decision, link_prefix(self.desk.root), {one.id: one.what for one in named}, page)
        answer = self._admit(block, decision.id, by, kinds)
        if isinstance(answer, Staged):
            message = "This waits for a person's approval. Nothing was written yet; do not repeat it."
            return Decided("staged", decision, excluded, message, answer.note, answer.proposal.id)
        self._append(answer.text)
        notes = [answer.note, _pointed_out(excluded), *self._tell_all([*_read(answer.text)])]
        message = f"Decided, and it stands until it is superseded ({decision.id})."
        return Decided("new", decision, excluded, message, " ".join(note for note in notes if note))

    def _admit(self, block: str, id_: str, by: By, kinds: tuple[str, ...] = ()) -> Accepted | Staged:
        def effect(text: str) -> Effect:
            return Effect("", text, id_)

        return self.desk.admit(TARGET, "add", block, by, effect=effect, redacted=kinds)

    def _append(self, block: str) -> None:
        def longer(raw: str | None) -> tuple[str, None]:
            if raw is None or not raw.strip("\ufeff\r\n\t "):
                return f"{raw or ''}# Decisions\n\n{block}", None
            end = eol_of(raw)
            open_ = closing(visible(raw))
            lead = ("" if raw.endswith("\n") else end) + (f"{open_}{end}" if open_ else "")
            blank = "" if raw.endswith((end * 2, "\n\n")) and not lead else end
            return f"{raw}{lead}{blank}{block.replace(chr(10), end)}", None

        self._page.change(longer)

    def _open(self, book: Book, id_: str, new: Decision) -> Decision:
        """The decision `id_`, which nothing supersedes yet. Raises NotFoundError, ConflictError."""
        old = book.find(id_)
        if not old.superseded_by:
            return old
        by = book.find(old.superseded_by[-1])
        raise ConflictError(
            f"{old.id} was superseded already, by {by.id} of {iso(by.time or 0)[:10]} ({by.by}): {by.what!r}. Nothing "
            "was written.",
            f"Read it; if {new.what!r} still holds, supersede {by.id}.",
        )

    # --- the live log

    def _tell_all(self, new: Sequence[Decision]) -> list[str]:
        """Tell the live log of `new`, and of earlier ones of this home that it does not have; what went wrong."""
        if self.desk.told is None:
            return []
        try:
            for one in (*self._untold({one.id for one in new}), *new):
                self._tell(one)
        except VademecumError as error:
            return [f"The live log does not tell of it yet ({error.message}); it will with the next decision."]
        return []

    def _tell(self, one: Decision) -> None:
        assert self.desk.told is not None
        body = f"{link(link_prefix(self.desk.root) + one.target)}\n{told_of(one)}".rstrip()
        by = By(one.origin, one.channel, one.session)
        self.desk.told("decision", one.what, ref=one.target, body=body, by=by)

    def _untold(self, known: set[str]) -> list[Decision]:
        """Decisions that this home wrote lately and that stand in no month of the live log: their process died."""
        store = self.desk.gate.audit.store
        where = "tier = 'vault' AND target = :target AND agent = :agent AND decision IN ('accepted', 'approved')"
        rows = store.rows(where, {"target": TARGET, "agent": self.desk.actor.agent}, _TOLD_AGAIN)
        ids = [row.places for row in rows if row.places and row.places not in known]
        there = {one.id: one for one in self.book().decisions}
        mine = [there[id_] for id_ in reversed(ids) if id_ in there and not there[id_].is_forgotten]
        if not mine:
            return []
        oldest = iso(min(one.time or 0 for one in mine))[:7]
        live = [path.read_bytes() for path in VaultPaths(self.desk.root).months() if path.stem >= oldest]
        return [one for one in mine if not any(one.id.encode() in text for text in live)]

    # --- what a person approves

    def carry_out(self, proposal: Proposal) -> str:
        """Write what a person approved; says what was done. Raises ConflictError when what it supersedes moved on."""
        (decision,) = _read(proposal.text)
        by = By(proposal.origin, session=proposal.session, act=Act("approved", proposal.decision, proposal.id))
        with self._page.held():
            book = self.book()
            if any(one.id == decision.id for one in book.decisions):
                return f"The decision {decision.id} is in {FILE} already."
            for id_ in decision.supersedes:
                self._open(book, id_, decision)
            self._admit(proposal.text, decision.id, by)
            self._append(proposal.text)
            note = self._tell_all([decision])
        return " ".join([f"The decision {decision.id} was written.", *note])


def _read(block: str) -> list[Decision]:
    return parse(visible(block))[0]


def _named(one: Decision) -> list[tuple[str, tuple[str, ...]]]:
    return [("Supersedes", one.supersedes), ("May contradict", one.contradicts)]


def _pointed_out(excluded: Sequence[Decision]) -> str:
    """The sentence about standing decisions that a new one may contradict."""
    if not excluded:
        return ""
    told = "; ".join(f"{one.id} ({iso(one.time or 0)[:10]}, {one.by or 'typed'}): {one.what}" for one in excluded)
    return (
        f"It may contradict what stands: {told}. Both stand now: if it takes the place of one, decide again with "
        "`supersedes`; else say in what they differ."
    )


def _same(book: Book, new: Decision) -> Decision | None:
    """A standing decision in the same words, by whomever."""
    for one in book.standing():
        if one_form(one.what).casefold() == one_form(new.what).casefold() and one.project == new.project:
            return one if new.why in ("", one.why) else None
    return None


def _check(what: str, why: str, alternatives: str) -> None:
    if not what:
        raise UsageError("Nothing is decided by an empty text. Nothing was written.", "Say in one line what holds.")
    if len(what) > LONGEST:
        raise UsageError(
            f"What is decided has {len(what)} characters, {LONGEST} are possible. Nothing was written.",
            "Say it in one line, and the rest as `why`.",
        )
    if len(why) + len(alternatives) > LONGEST_TEXT:
        raise UsageError(
            f"Reasons and alternatives may have {LONGEST_TEXT:,} characters. Nothing was written.",
            "Keep the long form in a note or a page of the vault, and link to it.",
        )


def told_of(one: Decision) -> str:
    """What the live log is told of a decision beside its words: all that its author has signed."""
    rows = [("Why", one.why), ("Alternatives", one.alternatives), ("Project", one.project)]
    rows += [(name, ", ".join(ids)) for name, ids in _named(one)]
    return "\n".join(f"{name}: {value}" for name, value in rows if value)


def seen_from(agent: str, one: Decision) -> Origin:
    """Where a decision came from, as `agent` has to take it: what another one wrote is that one's words."""
    if one.by == agent or one.origin.kind != "assistant":
        return one.origin
    return Origin.agent(one.by).joined(*one.origin.parts[1:])
