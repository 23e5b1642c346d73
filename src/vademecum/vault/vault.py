"""What several agents share, as one object: the log and what is unseen of it, decisions, projects, checkpoints, resume.

Idea: each verb belongs to the class that does it; what is put together here is who writes in which conversation, so
that one's own words are no news, and what the author of a change had seen. Invariant: nothing is read or made before
it is asked for, and there is no way to write under another agent's name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from vademecum.errors import UsageError
from vademecum.late import dataclass, replace
from vademecum.model import Origin, tokens
from vademecum.obsidian import link_prefix
from vademecum.search.prepare import well_formed
from vademecum.vault.against import found_by, may_concern, named, pointed_out, told, typed
from vademecum.vault.entry import Entry, Logged
from vademecum.vault.page import By

if TYPE_CHECKING:
    from vademecum.store import Database
    from vademecum.vault.against import Against
    from vademecum.vault.checkpoints import Checkpoints, Kept, State
    from vademecum.vault.decision_text import Decision
    from vademecum.vault.decisions import Decided, Decisions
    from vademecum.vault.delta import Delta, Reading
    from vademecum.vault.live import LiveLog
    from vademecum.vault.merge import Merged
    from vademecum.vault.projects import Project, ProjectChange, Projects, Wanted
    from vademecum.vault.resume import Brief
    from vademecum.vault.verify import Report

SHELL = "cli"
_POINTED = 400


@dataclass(frozen=True, slots=True)
class Parts:
    """What a vault is made of; each is made when it is first used."""

    db: Callable[[], Database]
    live: Callable[[], LiveLog]
    decisions: Callable[[], Decisions]
    projects: Callable[[], Projects]
    checkpoints: Callable[[], Checkpoints]
    against: Against
    brief: Callable[[str | None, int], Brief]


def window(session: str | None, channel: str = "") -> str:
    """What a conversation is called by its cursor: its session, else its channel, else the shell."""
    return session or (f"channel:{channel}" if channel else SHELL)


class Vault:
    """The vault of a home, for one agent. Thread-safe, and safe beside other processes and machines.

    Every writing verb takes `origin` (default: the assistant) and raises what `Gate.admit` raises.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    @cached_property
    def live(self) -> LiveLog:
        """The log itself."""
        return self._parts.live()

    @cached_property
    def reading(self) -> Reading:
        """How far each conversation has read."""
        from vademecum.vault.delta import Reading

        return Reading(self.live, self._parts.db())

    @property
    def in_use(self) -> bool:
        """True when there is a log, a decision or a project in the vault's folder."""
        paths = self.live.paths
        return paths.live.is_dir() or paths.decisions.exists() or paths.projects.is_dir()

    # --- the log

    def log(
        self,
        type: str,  # noqa: A002  the design's word
        summary: str,
        *,
        channel: str = "",
        ref: str | None = None,
        body: str = "",
        at: int | None = None,
        origin: Origin | None = None,
        session: str | None = None,
        unattended: bool = False,
    ) -> Logged:
        """Append one entry; see `LiveLog.append`. In the conversation that wrote it, it is seen already.

        When it may contradict a standing decision, it names that, and its author is told. Raises UsageError for the
        type `decision`, of which the log is told by `decide` alone.
        """
        if type.strip().casefold() == "decision":
            raise UsageError(
                "An entry of the type `decision` tells of one that is in Decisions.md. Nothing was written.",
                'Decide it: `vademecum decide "..."`, or the type `note` for what was only said.',
            )
        return self._log(
            type, summary, channel=channel, ref=ref, body=body, at=at, origin=origin, session=session,
            unattended=unattended,
        )  # fmt: skip

    def _log(
        self,
        type: str,  # noqa: A002  the design's word
        summary: str,
        *,
        channel: str = "",
        ref: str | None = None,
        body: str = "",
        at: int | None = None,
        origin: Origin | None = None,
        session: str | None = None,
        unattended: bool = False,
    ) -> Logged:
        found = found_by(self._against, type, summary, body, ref)
        done = self.live.append(
            type, summary, channel=channel, ref=ref, body=self._naming(body, found), at=at, origin=origin,
            session=session, unattended=unattended,
        )  # fmt: skip
        return self._known(told(done, found), session, channel)

    def amend(
        self, id: str, summary: str, *, body: str = "", channel: str = "", origin: Origin | None = None,  # noqa: A002
        session: str | None = None,
    ) -> Logged:  # fmt: skip
        """Append an entry that corrects or completes another one, which stays as it is. Raises NotFoundError."""
        found = found_by(self._against, "amend", summary, body)
        body = self._naming(body, found)
        done = self.live.amend(id, summary, body=body, channel=channel, origin=origin, session=session)
        return self._known(told(done, found), session, channel)

    def point_out(self, statement: str, what: str, *, origin: Origin, session: str | None = None) -> str:
        """Say in the log that `statement`, which was kept elsewhere as `what`, may contradict a standing decision, and
        give the sentence for its author; nothing happens when it contradicts none.

        Raises what `LiveLog.append` raises.
        """
        found = self._against([statement])
        if not found:
            return ""
        ids = ", ".join(one.id for one in found[:3])
        line = f"May contradict the decision {ids}: {' '.join(statement.split())}"
        line = line if len(line) <= _POINTED else f"{line[: _POINTED - 1]}…"
        body = f"Kept as {what}.\n\n{self._naming('', found)}"
        self.live.append("contradiction", line, body=body, origin=origin, session=session)
        return pointed_out(found, words=False)  # the answer may go to a model, which has not heard its author

    def _against(self, statements: Sequence[str]) -> tuple[Decision, ...]:
        return self._parts.against(statements) if may_concern(statements, self.live.paths.decisions) else ()

    def _naming(self, body: str, found: Sequence[Decision]) -> str:
        return named(body, found, link_prefix(self.live.paths.root), self.live.actor.agent) if found else body

    def ack(
        self, id: str, note: str = "", *, channel: str = "", origin: Origin | None = None,  # noqa: A002
        session: str | None = None,
    ) -> Logged:  # fmt: skip
        """Append that this agent has seen an entry of another one; see `acks.acknowledge`."""
        from vademecum.vault.acks import acknowledge

        done = acknowledge(self.live, id, note, channel=channel, origin=origin, session=session)
        return self._known(done, session, channel)

    def delta(self, session: str | None = None, *, channel: str = "", budget: int = 600, remind: bool = True) -> Delta:
        """What this conversation has not seen; `commit` it when it has reached the reader. See `Reading.delta`.

        What a person typed into the log, and may contradict a standing decision, is pointed out below it.
        """
        found = self.reading.delta(self._window(session, channel), budget=budget, remind=remind)
        lines = typed(found.entries, self._against) if any(not one.agent for one in found.entries) else []
        if not lines:
            return found
        from vademecum.vault.delta import LEAST

        room = max(LEAST, budget) - sum(tokens(line) + 1 for line in lines)
        if found.tokens > room:
            found = self.reading.delta(self._window(session, channel), budget=room, remind=remind)
            lines = typed(found.entries, self._against)
        text = "\n".join([found.text, *lines])
        return replace(found, text=text, tokens=tokens(text))

    def commit(self, delta: Delta, *, turn: str = "", how: str = "prompt") -> None:
        """See `Reading.commit`."""
        self.reading.commit(delta, turn=turn, how=how)

    def unacknowledged(self, limit: int = 100) -> tuple[Entry, ...]:
        """See `acks.unacknowledged`."""
        from vademecum.vault.acks import unacknowledged

        return unacknowledged(self.live, self.reading, limit)

    def tail(self, n: int = 20) -> tuple[Entry, ...]:
        """The newest `n` entries, the oldest first."""
        return self.live.tail(n)

    def acked_by(self, entries: Sequence[Entry]) -> dict[str, tuple[str, ...]]:
        """Which agents have acknowledged them, by id, in the order of time: those that signed it."""
        from vademecum.store import vault_index as index
        from vademecum.vault.marks import ACK

        found: dict[str, tuple[str, ...]] = {}
        for entry in entries:
            rows = [row for row in index.referring(self._parts.db(), entry.id) if row.type == ACK]
            names = dict.fromkeys(one.agent for one in self.live.entries(rows) if one.signed == "valid")
            if names:
                found[entry.id] = tuple(names)
        return found

    def verify(self) -> Report:
        """Prove every entry of the log, and what it proves of the pages; see `verify.verify` and `proving`."""
        from vademecum.vault import proving

        report, book = self.live.verify(), self._decisions.book()
        told = proving.decisions_told(self.live)
        faults = (*report.faults, *proving.faults_of(book), *proving.compared(told, book))
        faults = (*faults, *proving.unfinished(self.live.paths.root))
        notes = tuple(proving.notes_on(self.live, self._parts.projects().every(), told))
        return replace(report, faults=faults, notes=notes)

    def merge(self, *, restore: bool = False, dry_run: bool = False, origin: Origin | None = None) -> Merged:
        """Fold what sync tools and git left behind in the log and the pages; see `merge.merge` and `fold_pages`."""
        from vademecum.vault.folding import fold_pages

        done = self.live.merge(restore=restore, dry_run=dry_run)
        by = By(origin or Origin.file())
        return fold_pages(self._parts.projects(), done, by=by, agents=self.live.keys.pins(), dry_run=dry_run)

    def _window(self, session: str | None, channel: str) -> str:
        """What the conversation is called where cursors are kept: no secret that its name may hold."""
        name = well_formed(window(session, channel))
        return self.live.gate.redactor.session(name) or name

    def _known(self, done: Logged, session: str | None, channel: str) -> Logged:
        if done.entry is not None:
            self.reading.wrote(self._window(session, channel), done.entry)
        return done

    def told(self, kind: str, summary: str, /, *, ref: str, body: str, by: By) -> Logged:
        """Tell the log of a decision or a project's change, and which others about the same its author had seen."""
        from vademecum.store import vault as rows
        from vademecum.store import vault_index as index
        from vademecum.vault.marks import SEEN, WINDOW_MS, taken_over, touched

        db, me, now = self._parts.db(), self.live.actor.agent, self.live.clock()
        self.live.refresh()
        subjects, _ = touched(Entry("", now, me, by.channel, kind, summary, body, ref))
        read = subjects if kind == "project" else taken_over(body)  # a project is written at the version that was read
        seen: list[str] = []
        for subject in subjects:
            for other in rows.touching(db, subject, now, WINDOW_MS):
                row = next(iter(index.by_ids(db, [other.id])), None)
                if row is not None and other.agent != me and (subject in read or self.reading.saw(row)):
                    seen.append(other.id)
        if seen:
            body = f"{body}\n{SEEN}: {', '.join(dict.fromkeys(seen))}".lstrip("\n")
        return self._log(kind, summary, channel=by.channel, ref=ref, body=body, origin=by.origin, session=by.session)

    # --- what stands, where the work stands

    @cached_property
    def _decisions(self) -> Decisions:
        return self._parts.decisions()

    def decide(
        self,
        what: str,
        *,
        why: str = "",
        alternatives: str = "",
        project: str = "",
        supersedes: Sequence[str] = (),
        channel: str = "",
        origin: Origin | None = None,
        session: str | None = None,
    ) -> Decided:
        """Write down a decision, and tell the log; see `Decisions.decide`."""
        by = By(origin or Origin.assistant(), channel, session)
        return self._decisions.decide(
            what, by=by, why=why, alternatives=alternatives, project=project, supersedes=supersedes
        )

    def decisions(self, *, about: str = "", as_of: int | None = None, all_: bool = False) -> tuple[Decision, ...]:
        """What stands (or stood at `as_of`, UTC ms), newest last; with `about` what a question is about, best first."""
        book = self._decisions.book()
        found = book.decisions if all_ else book.standing(as_of=as_of)
        if not about:
            return found
        from vademecum.store.message_index import tokenizer

        return tuple(self._decisions.about(about, found, tokenizer(self._parts.db())))

    def project(self, name: str) -> Project:
        """The state of a project. Raises NotFoundError."""
        return self._parts.projects().show(name)

    def projects(self) -> tuple[Project, ...]:
        """All projects."""
        return self._parts.projects().list()

    def set_project(
        self,
        name: str,
        wanted: Wanted,
        *,
        version: str | None = None,
        channel: str = "",
        origin: Origin | None = None,
        session: str | None = None,
    ) -> ProjectChange:
        """Change a project that was read as `version`, and tell the log; see `Projects.set`."""
        by = By(origin or Origin.assistant(), channel, session)
        return self._parts.projects().set(name, wanted, version=version, by=by)

    def checkpoint(
        self,
        task: str,
        *,
        done: str = "",
        next: str = "",  # noqa: A002  the design's word
        questions: Sequence[str] = (),
        files: Sequence[str] = (),
        state: State = "working",
        channel: str = "",
        origin: Origin | None = None,
        session: str | None = None,
    ) -> Kept:
        """Write down where the work stands; see `Checkpoints.save`."""
        by = By(origin or Origin.assistant(), channel, session)
        return self._parts.checkpoints().save(
            task, by=by, done=done, next=next, questions=questions, files=files, state=state
        )

    def resume(self, agent: str | None = None, *, budget: int = 1_500) -> Brief:
        """The brief of this agent, or of another one whose work is taken over."""
        return self._parts.brief(agent, budget)
