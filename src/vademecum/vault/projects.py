"""The state of each project: one page, rewritten by whoever has read what is there.

Idea: front matter for what programs ask (status, owner, next step, blockers), free text for the rest; a write names the
version that it was made from. Invariant: nobody overwrites what he has not seen, an edit in Obsidian counts like any
other write; lines, keys and text that a write does not mean stay byte for byte.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vademecum.clock import iso
from vademecum.disk import visible
from vademecum.errors import ConflictError, NotFoundError, RefusedError, UsageError, VademecumError
from vademecum.frontmatter import FrontMatter, one_line
from vademecum.gate.candidate import Act, Effect, Proposal, Staged
from vademecum.gate.door import Gate, blocked
from vademecum.model import Origin
from vademecum.obsidian import hashed_slug, one_form, slug_of
from vademecum.page import NO_VERSION, Page, state_of, version_of
from vademecum.vault.copies import sides
from vademecum.vault.marks import PAGE
from vademecum.vault.page import By, Desk
from vademecum.vault.paths import VaultPaths
from vademecum.vault.project_text import (
    FOLDER,
    MARKED,
    MERGE,
    NAMES,
    Project,
    Wanted,
    as_snippet,
    blockers_of,
    difference,
    differing,
    name_in,
    origin_of,
    readable,
    wanted_in,
    with_wanted,
)

if TYPE_CHECKING:
    from vademecum.gate.audit import AuditEntry
    from vademecum.gate.candidate import Accepted
    from vademecum.gate.quarantine import Check


_TOLD = 400
LONGEST_TEXT = 64_000
"""Most characters of a project's free text."""
_STAMPS = ("updated:", "updated_by:")


@dataclass(frozen=True, slots=True)
class ProjectChange:
    """What became of it, and the page as it is now; `note` is for the author."""

    outcome: Literal["done", "unchanged", "staged"]
    project: Project
    message: str
    note: str = ""
    proposal: str | None = None


@dataclass(frozen=True, slots=True)
class Copied:
    """What became of a sync tool's copy: it is `known`, or its difference was brought to a person as `proposal`."""

    known: bool = False
    diff: str = ""
    proposal: str = ""
    refused: str = ""


class Projects:
    """The pages of one vault's projects, for one agent. Thread-safe, and safe beside other processes and editors."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def every(self) -> tuple[Project, ...]:
        """Every project, by file name, also those in quarantine."""
        return tuple(self._read(path.stem) for path in self._paths())

    def list(self) -> tuple[Project, ...]:
        """Every project that is not in quarantine, by file name."""
        check = self.desk.gate.quarantine.check(self.desk.actor.agent)
        return tuple(one for one in self.every() if check is None or not self._held(check, one))

    def _held(self, check: Check, one: Project) -> bool:
        by = one.updated_by
        other = by and by not in (self.desk.actor.agent, self.desk.actor.user)
        origin = Origin.agent(by).joined(*one.origin.parts) if other else one.origin
        return check(origin, None, "") is not None

    def _check_shown(self, one: Project) -> None:
        """Raises RefusedError for a page that is in quarantine."""
        check = self.desk.gate.quarantine.check(self.desk.actor.agent)
        if check is not None and self._held(check, one):
            raise RefusedError(
                f"The page of {one.name!r} is not shown: it holds what comes from a source in quarantine. Nothing was "
                "written.",
                "A person can give it back with `vademecum release`.",
            )

    def show(self, name: str) -> Project:
        """The project called `name`, or whose file is. Raises NotFoundError, UnreadableError, and RefusedError when it
        is in quarantine."""
        slug = self._slug(name)
        if slug is None:
            close = difflib.get_close_matches(name, [one.name for one in self.list()], n=3, cutoff=0.5)
            raise NotFoundError(
                f"There is no project {name!r}.",
                f"Did you mean {', '.join(close)}?" if close else "`project set` makes it.",
            )
        found = self._read(slug)
        self._check_shown(found)
        return found

    def page_of(self, name: str) -> str:
        """The link target of a project's page; empty when there is none."""
        slug = self._slug(name)
        return f"{FOLDER}/{slug}" if slug else ""

    def set(self, name: str, wanted: Wanted, *, version: str | None, by: By) -> ProjectChange:
        """Change the project `name`, which was read as `version` (None: the writer thinks that it is new; `none`: that
        no project is called exactly so, whatever files there are).

        Raises ConflictError with a diff when it is no longer that, UnreadableError (front matter is no YAML; nothing
        is rewritten), UsageError, BlockedError, LockedError, StorageError.
        """
        wanted, kinds = self._clean(wanted)
        name = one_form(self.desk.cleaned(name)[0][0])
        _check_name(name, self.desk.gate)
        with self._page(slug_of(name, "project")).held():  # one lock for all, so that a new one's file is free
            slug = self._slug(name, exactly=version == NO_VERSION) or self._new_slug(name)
            raw = self._page(slug).raw()
            self._check_shown(self._project(slug, raw))
            self._check_seen(slug, name, raw, version, wanted)
            return self._write(slug, name, raw, wanted, by=by, kinds=kinds)

    def _write(
        self, slug: str, name: str, raw: str | None, wanted: Wanted, *, by: By, kinds: tuple[str, ...] = ()
    ) -> ProjectChange:
        parts = readable(raw, slug)
        if raw is not None and with_wanted(parts, wanted) == parts:
            return ProjectChange("unchanged", self._read(slug), "It says that already.")

        stamp = iso(self.desk.clock())  # once: the history knows the page by its hash before it is written

        def final(snippet: str) -> str:
            return self._final(name, raw, wanted_in(snippet), by, stamp)

        snippet = as_snippet(name, wanted)
        answer = self._admit(slug, snippet, raw, final, by=by, kinds=kinds)
        if isinstance(answer, Staged):
            message = "This waits for a person's approval. Nothing was written yet; do not repeat it."
            now = self._project(slug, raw)
            return ProjectChange("staged", now, message, answer.note, answer.proposal.id)
        after = final(answer.text)
        self._page(slug).put(raw, after)
        message = f"The project {name!r} was {'made' if raw is None else 'changed'} ({FOLDER}/{slug}.md)."
        note = f"{answer.note} {self._tell(slug, name, _said(wanted_in(answer.text)), after, by)}".strip()
        return ProjectChange("done", self._project(slug, after), message, note)

    def _tell(self, slug: str, name: str, said: str, after: str, by: By) -> str:
        """Tell the live log what was set, and the hash of the page that is left; what went wrong there."""
        if self.desk.told is None:
            return ""
        summary = f"{name}: {said}"
        summary = summary if len(summary) <= _TOLD else f"{summary[: _TOLD - 1]}…"
        try:
            body = f"Project: {name}\n{PAGE}: {state_of(after)}"
            self.desk.told("project", summary, ref=f"{FOLDER}/{slug}", body=body, by=by)
        except VademecumError as error:
            return f"The live log does not tell of it ({error.message})."
        return ""

    def _admit(
        self,
        slug: str,
        snippet: str,
        raw: str | None,
        final: Callable[[str], str],
        *,
        by: By,
        kinds: tuple[str, ...] = (),
        propose: bool = False,
    ) -> Accepted | Staged:
        before = visible(raw or "")

        def effect(text: str) -> Effect:
            after = final(text)
            return Effect(before, visible(after), "", state_of(raw), state_of(after))

        action = "add" if raw is None else "replace"
        return self.desk.admit(
            _target(slug), action, snippet, by, before=before, effect=effect, redacted=kinds, propose=propose
        )

    def _final(self, name: str, raw: str | None, wanted: Wanted, by: By, stamp: str) -> str:
        """The page as it is written; `raw` without front matter gets some before its text."""
        parts = with_wanted(readable(raw, name), wanted)
        if not parts.get("project"):
            parts = parts.with_value("project", name)
        parts = parts.with_literal("updated", stamp)
        parts = parts.with_value("updated_by", self.desk.author(by))
        if len(by.origin.parts) > 1 or parts.get("origin"):  # what it was made of goes with it, also to other homes
            earlier = origin_of(parts.get("origin"))
            parts = parts.with_value("origin", str(by.origin.joined(*earlier.parts)))
        return parts.text

    def _check_seen(self, slug: str, name: str, raw: str | None, version: str | None, wanted: Wanted) -> None:
        now = version_of(raw)
        if version == now or (raw is None and version is None):
            return
        if raw is None:
            raise ConflictError(
                f"The project {name!r} is gone. Nothing was written.", "Set it without a version.", version=now
            )
        seen = self._seen(slug, version)
        if seen is None:
            parts = readable(raw, slug)
            seen, title = with_wanted(parts, wanted).text, ("what you wanted to write", "what is there now")
            diff = difference(seen, raw, title)
        else:
            diff = difference(seen, raw, ("what you have read", "what is there now"))
        why = "changed since you have read it" if version else "exists, and you do not say which version you have read"
        why = "exists already" if version == NO_VERSION else why
        other = ""
        if version != NO_VERSION and self._named(slug) != name:
            other = f"; for a project of its own that is called {name!r}, --version {NO_VERSION}"
        raise ConflictError(
            f"The project {name!r} {why}. Nothing was written; the newer state was kept.",
            f"Read it (`project show`), and write what is still right with --version {now}{other}.",
            version=now,
            diff=diff,
        )

    def _seen(self, slug: str, version: str | None) -> str | None:
        """The text of the version, when this home wrote it."""
        if version is None:
            return None
        store = self.desk.gate.audit.store
        rows = store.rows("tier = 'vault' AND target = :target AND state <> ''", {"target": _target(slug)}, 200)
        for row in rows:
            for state, sha in ((row.state, row.after_sha256), (row.base, row.before_sha256)):
                if state.startswith(version):
                    return store.texts([sha]).get(sha)
        return None

    def _went_on(self, slug: str, earlier: str, now: str) -> bool:
        """Whether this home's writes lead from one state of the page to another: having written a state is not enough,
        for a sync tool may have put another machine's in its place."""
        where = "tier = 'vault' AND target = :target AND state <> ''"
        rows = self.desk.gate.audit.store.rows(where, {"target": _target(slug)})
        came_from: dict[str, set[str]] = {}
        for row in rows:
            came_from.setdefault(row.state, set()).add(row.base)
        todo, known = [now], {now}
        while todo:
            todo += (new := came_from.get(todo.pop(), set()) - known)
            known |= new
        return earlier in known

    # --- copies that a sync tool made

    def fold(self, slug: str, copy: str, *, by: By, dry_run: bool = False) -> Copied:
        """Whether a copy of the page says nothing that this home has not; else propose what it says, to a person.

        The page stays as it is, and so does the copy: approving compares and sets like any other write.
        """
        raw = self._page(slug).raw() or ""
        if copy == raw:
            return Copied(known=True)
        if self._went_on(slug, state_of(copy), state_of(raw)):
            return Copied(known=True)
        own = set(raw.splitlines())
        if all(line in own or line.startswith(_STAMPS) for line in copy.splitlines()):
            return Copied(known=True)
        diff = difference(raw, copy, ("the page", "the copy"))
        wanted = differing(self._project(slug, raw), self._project(slug, copy))
        if dry_run or wanted == Wanted():
            return Copied(diff=diff)
        cleaned, kinds = self._clean(wanted)
        name = self._named(slug)
        snippet = as_snippet(name, cleaned)
        stamp = iso(self.desk.clock())
        try:
            answer = self._admit(
                slug,
                snippet,
                raw,
                lambda text: self._final(name, raw, wanted_in(text), by, stamp),
                by=by,
                kinds=kinds,
                propose=True,
            )
        except RefusedError as error:  # a person rejected exactly that
            return Copied(diff=diff, refused=error.message)
        return Copied(diff=diff, proposal=answer.proposal.id if isinstance(answer, Staged) else "")

    # --- what a person approves and takes back

    def current(self, proposal: Proposal) -> str:
        """The text of the page that `proposal` is for, without secrets, which no proposal holds."""
        return self.desk.gate.redactor.clean(visible(self._page(_slug_in(proposal.target)).raw() or ""))

    def carry_out(self, proposal: Proposal) -> str:
        """Write what a person approved; says what was done. Raises ConflictError when the page changed since."""
        slug = _slug_in(proposal.target)
        by = By(proposal.origin, session=proposal.session, act=Act("approved", proposal.decision, proposal.id))
        page = self._page(slug)
        with page.held():
            raw = page.raw()
            if self.current(proposal) != proposal.before:
                raise ConflictError(
                    f"The project {slug!r} changed since this was proposed. The newer text was kept.",
                    "Reject this proposal; a new one can be made from what is there now.",
                )
            wanted = wanted_in(proposal.text)
            return self._write(slug, name_in(proposal.text, slug), raw, wanted, by=by).message

    def revert(self, entry: AuditEntry, by: Origin) -> str:
        """Bring back the page as it was before row `entry` of the history; says what was done.

        Raises ConflictError when the page is no longer as that row left it, RefusedError when its text was erased.
        """
        slug = _slug_in(entry.target)
        page = self._page(slug)
        with page.held():
            raw = page.raw()
            if state_of(raw) != entry.state:
                raise ConflictError(
                    f"The project {slug!r} changed since row {entry.n}, which cannot be undone. Nothing was changed.",
                    f"`vademecum history {entry.n}` shows the texts; write what you want again.",
                )
            if entry.before is None or (not entry.before and entry.before_sha256):
                raise RefusedError(f"The text from before row {entry.n} was erased or never kept.")
            after = entry.before
            effect = Effect(visible(raw or ""), after, "", entry.state, state_of(after))
            act = Act("undone", str(by), entry.proposal, f"undoes {entry.n}")
            self.desk.admit(
                entry.target, "replace", after, By(by, act=act), before=effect.before, effect=lambda _: effect
            )
            page.put(raw, after)
        told = self._tell(
            slug, self._named(slug), f"brought back as it was before row {entry.n} of the history", after, By(by)
        )
        return f"Row {entry.n} was undone. The project {slug!r} is as it was before. {told}".rstrip()

    # --- files

    def _page(self, slug: str) -> Page:
        return self.desk.page(FOLDER, f"{slug}.md", lock=FOLDER)

    def _paths(self) -> Iterator[Path]:
        return iter(VaultPaths(self.desk.root).files(self.desk.root / FOLDER, ".md"))

    def _slug(self, name: str, *, exactly: bool = False) -> str | None:
        """The file of the project called `name`: by its front matter, else (not `exactly`) by its file's name."""
        name = one_form(name)
        if not name:
            return None
        there = {path.stem: path for path in self._paths()}
        likely = [slug for slug in (name, slug_of(name, "project"), hashed_slug(name, "project")) if slug in there]
        for slug in dict.fromkeys((*likely, *there)):
            if self._named(slug) == name:
                return slug
        return name if name in there and not exactly else None

    def _new_slug(self, name: str) -> str:
        """A file for a new project: no other's, also on a disk that ignores case or folds letters."""
        taken = {one_form(path.stem).casefold() for path in self._paths()}
        slug = slug_of(name, "project")
        return slug if one_form(slug).casefold() not in taken else hashed_slug(name, "project")

    def _named(self, slug: str) -> str:
        parts = FrontMatter.parse(_one_side(self._page(slug).raw() or "")[0])
        return one_form(visible(parts.get("project"))) or slug

    def _read(self, slug: str) -> Project:
        return self._project(slug, self._page(slug).raw())

    def _project(self, slug: str, raw: str | None) -> Project:
        text, marked = _one_side(raw or "")
        parts = FrontMatter.parse(text)
        status, owner, next_, updated, by = (
            visible(one_line(parts.get(key))) for key in (*NAMES, "updated", "updated_by")
        )
        body = parts.body if parts.opening and not parts.problem else text.removeprefix("\ufeff")
        problem = parts.problem if raw and (parts.opening or "closing" in parts.problem) else ""
        return Project(
            slug,
            one_form(visible(parts.get("project"))) or slug,
            version_of(raw),
            status,
            owner,
            next_,
            blockers_of(parts),
            updated,
            by,
            visible(body).replace("\r\n", "\n").strip("\n"),
            marked or problem,
            origin_of(parts.get("origin")),
        )

    def _clean(self, wanted: Wanted) -> tuple[Wanted, tuple[str, ...]]:
        """The same without secrets, each value on one line. Raises UsageError."""
        kinds: list[str] = []

        def clean(text: str) -> str:
            (found,), found_kinds = self.desk.cleaned(text)
            kinds.extend(found_kinds)
            return found

        status, owner, next_ = (
            None if value is None else one_line(clean(value)) for value in (wanted.status, wanted.owner, wanted.next)
        )
        blockers = None if wanted.blockers is None else tuple(one_line(clean(one)) for one in wanted.blockers)
        blockers = None if blockers is None else tuple(one for one in blockers if one)
        text = None if wanted.text is None else clean(wanted.text)
        if text and len(text) > LONGEST_TEXT:
            raise UsageError(
                f"The text has {len(text):,} characters, {LONGEST_TEXT:,} are possible. Nothing was written.",
                "Keep the long form in pages of its own, and link to them.",
            )
        return Wanted(status, owner, next_, blockers, text), tuple(kinds)


def _check_name(name: str, gate: Gate) -> None:
    """Raises BlockedError for a name that the log would refuse after the page was written."""
    hidden = gate.inspect(name)
    if hidden:
        raise blocked(hidden)


def _said(wanted: Wanted) -> str:
    rows = zip(NAMES, (wanted.status, wanted.owner, wanted.next), strict=True)
    said = [f"{key}: {value}" for key, value in rows if value is not None]
    said += [] if wanted.blockers is None else [f"blockers: {', '.join(wanted.blockers) or 'none'}"]
    said += [] if wanted.text is None else ["text changed"]
    return "; ".join(said)


def _one_side(raw: str) -> tuple[str, str]:
    """The page, or one side of it where a git merge stopped; then what is wrong with it, too."""
    both = sides(raw)
    return (raw, "") if both is None else (both[0], f"{MARKED}: {MERGE}")


def _target(slug: str) -> str:
    return f"projects/{slug}"


def _slug_in(target: str) -> str:
    return target.partition("/")[2]
