"""Notes: one fact a file, read on demand; and the approved skills, which are read the same way.

Idea: the files are the person's, so a write changes the lines it means, and the index gets one line for each.
Invariant: nothing is written that the index has no room to name, no name leads out of the folder, and two names that a
disk might take for one are refused instead of overwritten.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vademecum.clock import Clock, iso, now_ms
from vademecum.config import MemoryConfig
from vademecum.core.index import Index, index_line
from vademecum.core.note_history import NoteLog, state_of
from vademecum.core.note_types import NOTE_TYPES, Note, NoteChange, NoteHead, Place
from vademecum.core.slugs import check_slug, same, slug_of
from vademecum.disk import read_bytes, to_bytes, to_text, visible
from vademecum.errors import (
    BlockedError,
    ConflictError,
    FullError,
    NotFoundError,
    StorageError,
    UnreadableError,
    UsageError,
)
from vademecum.files import LOCK_SECONDS, locked, write_atomic
from vademecum.frontmatter import FrontMatter, one_line, scalar
from vademecum.gate.audit import AuditEntry
from vademecum.gate.candidate import Accepted, Act, Action, Candidate, Effect, Proposal, Staged
from vademecum.home import AgentFolder
from vademecum.late import dataclass
from vademecum.model import Actor, Origin
from vademecum.store.erasure import MARK

if TYPE_CHECKING:
    from vademecum.core.repair import Diagnosis
    from vademecum.core.undo import Drift
    from vademecum.gate.door import Gate

_SAVED = "It is on disk and complete: do not repeat this call."


@dataclass(frozen=True, slots=True)
class _Writer:
    origin: Origin
    session: str | None = None
    unattended: bool = False
    act: Act | None = None
    redacted: tuple[str, ...] = ()
    proposed: str = ""


class Notes:
    """The notes and skills of one agent, shared by its users. Thread-safe, and safe beside other processes."""

    def __init__(
        self,
        folder: AgentFolder,
        actor: Actor,
        config: MemoryConfig,
        gate: Gate,
        clock: Clock = now_ms,
        *,
        lock_seconds: float = LOCK_SECONDS,
    ) -> None:
        self.folder = folder
        self.actor = actor
        self.config = config
        self.gate = gate
        self._clock = clock
        self._log = NoteLog(gate.audit, actor, lambda place: place.link in self.index().paths)
        self._lock_seconds = lock_seconds

    def list(self) -> tuple[NoteHead, ...]:
        """Every note, then every skill, each by slug; files whose front matter is broken included."""
        return tuple(self._head(place) for place in self.places())

    def read(self, slug: str) -> Note:
        """The note or skill of that slug or name. Raises NotFoundError, UsageError, UnreadableError."""
        return self._note(self._find(slug))

    def write(
        self,
        name: str,
        description: str,
        type: str,  # noqa: A002  the front matter's word
        body: str,
        *,
        origin: Origin | None = None,
        session: str | None = None,
        unattended: bool = False,
        proposed: str = "",
    ) -> NoteChange:
        """Make the note `name` (or the one of that slug) say this; lines of the file that need not change stay.

        With `proposed`, which says why, it waits for a person whatever the policy says.

        Raises UsageError, ConflictError (another note's name differs only in case or spelling of letters), FullError
        (no room in the index), UnreadableError (its front matter is broken), BlockedError, LockedError, StorageError.
        """
        if type not in NOTE_TYPES:
            raise UsageError(
                f"{type!r} is not a type of note. Nothing was written.", f"Use one of {', '.join(NOTE_TYPES)}."
            )
        (name, description, body), kinds = self._clean(name, description, body)
        writer = _Writer(origin or Origin.assistant(), session, unattended, redacted=kinds, proposed=proposed)
        with self._locked():
            place = self._place_for(name, skill=False)
            return self._write(place, self._composed(place, name, description, body, type), writer)

    def write_skill(
        self,
        name: str,
        description: str,
        body: str,
        *,
        origin: Origin | None = None,
        session: str | None = None,
        unattended: bool = False,
    ) -> NoteChange:
        """Propose (or, as a person, write) the skill `name`. Raises as `write`."""
        (name, description, body), kinds = self._clean(name, description, body)
        writer = _Writer(origin or Origin.assistant(), session, unattended, redacted=kinds)
        with self._locked():
            place = self._place_for(name, skill=True)
            return self._write(place, self._composed(place, name, description, body, ""), writer)

    def remove(
        self,
        slug: str,
        *,
        origin: Origin | None = None,
        session: str | None = None,
        unattended: bool = False,
        proposed: str = "",
    ) -> NoteChange:
        """Remove the note or skill, and its line of the index; `proposed` as in `write`.

        Raises NotFoundError, and what `write` raises.
        """
        writer = _Writer(origin or Origin.assistant(), session, unattended, proposed=proposed)
        with self._locked():
            return self._remove(self._find(slug), writer)

    def _clean(self, *texts: str) -> tuple[list[str], tuple[str, ...]]:
        """The texts without secrets, before a name becomes a file's and a mark has to be quoted in front matter."""
        found = [self.gate.redactor.redact(text) for text in texts]
        return [one.text for one in found], tuple(kind for one in found for kind in one.kinds)

    def index_text(self) -> str:
        """The index as it stands in the prompt, before anything in it is made inert. Raises UnreadableError."""
        return visible(self.index().plain)

    def index(self) -> Index:
        """The index file as it is now."""
        return Index.parse(to_text(read_bytes(self.folder.index) or b""))

    def carry_out(self, proposal: Proposal, *, skill: bool) -> str:
        """Write or remove what a person approved; says what was done. Raises ConflictError when it changed since."""
        slug = check_slug(proposal.target)
        place = Place(slug, skill, self._path(slug, skill=skill))
        writer = _Writer(proposal.origin, proposal.session, act=Act("approved", proposal.decision, proposal.id))
        with self._locked():
            if self._now(place) != proposal.before:
                raise ConflictError(
                    f"The {place.what} {slug!r} changed since this was proposed. The newer text was kept.",
                    "Reject this proposal; a new one can be made from what is there now.",
                )
            if proposal.action == "remove":
                return self._remove(place, writer).message
            return self._write(place, FrontMatter.parse(proposal.text), writer).message

    def revert(self, entry: AuditEntry, by: Origin) -> str:
        """Bring back the file as it was before row `entry` of the history; says what was done.

        Raises ConflictError when the file is no longer as that row left it, RefusedError when its text was erased.
        """
        slug, skill = check_slug(entry.target), entry.tier == "skills"
        place = Place(slug, skill, self._path(slug, skill=skill))
        act = Act("undone", str(by), entry.proposal, f"undoes {entry.n}")
        with self._locked():
            before = self._log.text_before(entry, place, self._raw(place))
            writer = _Writer(self._log.origin_before(entry), entry.session, act=act)
            done = self._remove(place, writer) if before is None else self._write(place, before, writer)
        return f"Row {entry.n} was undone. {done.message}"

    def text_of(self, place: Place) -> str:
        """The text of a file, empty when it is gone."""
        return _plain(self._raw(place) or "")

    def erase(self, slug: str, texts: Sequence[str] | None, origin: Origin, by: Origin, *, skill: bool) -> None:
        """Erase a note or skill for good, or cut `texts` out of it, as the person `by`; nothing when it is gone."""
        place = Place(slug, skill, self._path(slug, skill=skill))
        writer = _Writer(origin, act=Act("forgotten", str(by)))
        with self._locked():
            raw = self._raw(place)
            if raw is None:
                return
            if texts is None:
                self._remove(place, writer)
                return
            for text in texts:
                raw = raw.replace(text, MARK)
            self._write(place, FrontMatter.parse(raw), writer)

    def drift(self) -> list[Drift]:
        """Where the files are not as the history left them: edited by hand, or a write that never happened."""
        return self._log.drift(
            [(place, self._raw(place)) for place in self.places()],
            lambda slug, skill: Place(slug, skill, self._path(slug, skill=skill)),
        )

    def current(self, proposal: Proposal, *, skill: bool) -> str:
        """The text of the file that `proposal` is for, empty when there is none."""
        slug = check_slug(proposal.target)
        return self._now(Place(slug, skill, self._path(slug, skill=skill)))

    def _now(self, place: Place) -> str:
        """The file's text without secrets, which no proposal holds."""
        return self.gate.redactor.clean(_plain(self._raw(place) or ""))

    def diagnose(self) -> tuple[Diagnosis, ...]:
        """What is unusual in the notes, the skills and their index."""
        from vademecum.core.repair import diagnose_notes  # only doctor needs it

        return diagnose_notes(self)

    def repair(self) -> str:
        """Give every note and skill that the index does not name its line; says what was done. Raises FullError."""
        with self._locked():
            before = index = self.index()
            missing = [place for place in self.places() if place.link not in before.paths]
            for place in missing:
                index = index.with_line(place.link, self._line(place, self._head(place)), "")
            self._check_room(before, index)
            if missing:
                write_atomic(self.folder.index, to_bytes(index.text))
        return f"{len(missing)} lines added to the index." if missing else "The index names every note already."

    def places(self) -> Iterator[Place]:
        """Every note and skill that is on disk."""
        for path in sorted(self.folder.notes.glob("*.md")):
            if not path.name.startswith(".") and path.name.casefold() != "index.md":
                yield Place(path.stem, False, path)
        for path in sorted(self.folder.skills.glob("*/SKILL.md")):
            yield Place(path.parent.name, True, path)

    def _path(self, slug: str, *, skill: bool) -> Path:
        return self.folder.skills / slug / "SKILL.md" if skill else self.folder.notes / f"{slug}.md"

    def _locked(self):
        return locked(self.folder.index, seconds=self._lock_seconds)

    def _raw(self, place: Place) -> str | None:
        data = read_bytes(place.path)
        return None if data is None else to_text(data)

    def _head(self, place: Place) -> NoteHead:
        try:
            note = self._note(place)
        except UnreadableError as error:
            return NoteHead(place.slug, place.slug, "", "", place.skill, error.message)
        return NoteHead(note.slug, note.name, note.description, note.type, note.skill, note.problem)

    def _note(self, place: Place) -> Note:
        raw = self._raw(place)
        if raw is None:
            raise NotFoundError(f"The {place.what} {place.slug!r} is gone.", "List them again.")
        parts = FrontMatter.parse(raw)
        readable = not parts.problem
        body = visible(parts.body if readable else raw.removeprefix("\ufeff")).replace("\r\n", "\n").strip("\n")
        name, description, kind = (visible(one_line(parts.get(key))) for key in ("name", "description", "type"))
        return Note(
            slug=place.slug,
            name=name or place.slug,
            description=description,
            type="skill" if place.skill else kind,
            body=body,
            text=visible(raw),
            path=place.path,
            skill=place.skill,
            problem=parts.problem,
        )

    def _find(self, slug: str) -> Place:
        slug = self.gate.redactor.clean(slug)
        wanted = check_slug(slug)
        places = list(self.places())
        for equal in (str.__eq__, same):
            found = [place for place in places if equal(place.slug, wanted)]
            if found:
                break
        else:
            found = [place for place in places if _same_name(self._head(place).name, slug.strip())]
        if found:
            return found[0]
        import difflib  # only on the way to an error

        close = difflib.get_close_matches(wanted, [place.slug for place in places], n=3)
        raise NotFoundError(
            f"There is no note {wanted!r}.", f"Did you mean {', '.join(close)}?" if close else "`list` names them all."
        )

    def _place_for(self, name: str, *, skill: bool) -> Place:
        """Where a write to `name` goes: the note of exactly that slug or name, else a new one."""
        places = [place for place in self.places() if place.skill == skill]
        exact = next((place for place in places if place.slug == name.strip()), None)
        if exact is not None:
            return exact
        slug = slug_of(name)
        for place in places:
            if same(place.slug, slug):
                called = self._head(place).name
                if _same_name(called, name):
                    return place
                raise ConflictError(
                    f"The {place.what} {place.slug!r} exists and is called {called!r}, which a disk may not tell from "
                    f"{one_line(name)!r}. Nothing was written.",
                    f"Choose a name that differs in more than case or punctuation, or write to {place.slug!r}.",
                )
        return Place(slug, skill, self._path(slug, skill=skill))

    def _composed(self, place: Place, name: str, description: str, body: str, kind: str) -> FrontMatter:
        """The file as it should be: surgery on what is there, or a new one."""
        title, hook = one_line(name), one_line(description)
        if not hook or not body.strip():
            raise UsageError(
                f"The {place.what} has no {'description' if not hook else 'text'}. Nothing was written.",
                "Give a one-line `description` for the index, and the text as `content`.",
            )
        for text in (title, hook, body):
            _check_encodable(text)
        raw = self._raw(place)
        if raw is None:
            lines = [f"name: {scalar(title)}", f"description: {scalar(hook)}"] + ([f"type: {kind}"] if kind else [])
            return FrontMatter.parse("\n".join(["---", *lines, "---", "", body.replace("\r\n", "\n").strip("\n"), ""]))
        parts = FrontMatter.parse(raw)
        if parts.problem:
            raise UnreadableError(
                f"{place.path} was left as it is: {parts.problem}.",
                "Correct its first lines by hand, or write the fact under another name.",
            )
        for key, value in (("description", hook), ("type", kind)):
            parts = parts.with_value(key, value) if value else parts
        parts = parts if parts.get("name") or place.slug == name.strip() else parts.with_value("name", title)
        return parts.with_body(body)

    def _write(self, place: Place, after: FrontMatter, writer: _Writer) -> NoteChange:
        before = self._raw(place)
        if after.text == before:
            return NoteChange(place.slug, "duplicate", "It says exactly that already: do not repeat it.", "", "", "")
        index = self.index()
        changed = index.with_line(place.link, self._line(place, _head_of(place, after)), self._line_now(place))
        self._check_room(index, changed)
        action: Action = "add" if before is None else "replace"

        def final(text: str) -> FrontMatter:
            return self._final(before, after if text == _plain(after.text) else FrontMatter.parse(text), writer)

        admitted = self._admit(place, action, after.text, before, writer, final=lambda text: final(text).text)
        if isinstance(admitted, NoteChange):
            return admitted
        written = final(admitted.text)
        changed = index.with_line(place.link, self._line(place, _head_of(place, written)), self._line_now(place))
        write_atomic(place.path, to_bytes(written.text))
        if changed != index:
            write_atomic(self.folder.index, to_bytes(changed.text))
        message = f"The {place.what} {place.slug!r} was {'written' if before is None else 'rewritten'}."
        note = " ".join([_SAVED, *([admitted.note] if admitted.note else []), *self._fullness(changed)])
        shown = visible(written.text.removeprefix("\ufeff"))
        return NoteChange(place.slug, "done", message, note, visible(before or ""), shown)

    def _final(self, before: str | None, after: FrontMatter, writer: _Writer) -> FrontMatter:
        """The file as it is written: dated, unless a person has seen the text, and with the byte order mark it had."""
        if writer.act is None and (before is None or after.get("updated")):
            after = after.with_literal("created" if before is None else "updated", iso(self._clock())[:10])
        undone = writer.act is not None and writer.act.decision == "undone"
        if before and before.startswith("\ufeff") and not after.text.startswith("\ufeff") and not undone:
            after = FrontMatter.parse("\ufeff" + after.text)
        return after

    def _remove(self, place: Place, writer: _Writer) -> NoteChange:
        before = self._raw(place) or ""
        admitted = self._admit(place, "remove", "", before, writer, final=None)
        if isinstance(admitted, NoteChange):
            return admitted
        index = self.index()
        changed = index.without(place.link)
        if changed != index:  # first, so that a crash in between leaves a note without a line and no line without one
            write_atomic(self.folder.index, to_bytes(changed.text))
        try:
            place.path.unlink()
        except OSError as error:
            raise StorageError(
                f"Could not remove {place.path}: {error.strerror or error}. It is kept.", "Check its permissions."
            ) from error
        if place.skill and not any(place.path.parent.iterdir()):
            place.path.parent.rmdir()
        return NoteChange(place.slug, "done", f"The {place.what} {place.slug!r} was removed.", _SAVED, before, "")

    def _admit(
        self,
        place: Place,
        action: Action,
        text: str,
        before: str | None,
        writer: _Writer,
        *,
        final: Callable[[str], str] | None,
    ) -> Accepted | NoteChange:
        """The gate's answer, once it is in the history; `final` gives the file's text for the one that it lets in."""
        self._log.record_hand_edit(place, before)

        def effect(text: str) -> Effect:
            after = None if final is None else final(text)
            return Effect(before or "", after or "", "", state_of(before), state_of(after))

        candidate = Candidate(
            tier=place.tier,
            action=action,
            target=place.slug,
            text=_plain(text),
            origin=writer.origin,
            actor=self.actor,
            before=_plain(before or ""),
            session=writer.session,
            unattended=writer.unattended,
            redacted=writer.redacted,
            reason=writer.proposed,
            propose=bool(writer.proposed),
            effect=effect,
        )
        if writer.act is not None:
            return Accepted(candidate.text, note=self.gate.intend(candidate, writer.act))
        decision = self.gate.admit(candidate)
        if not isinstance(decision, Staged):
            return decision
        message = "This waits for a person's approval. Nothing was written yet; do not repeat it."
        shown, note = visible(decision.proposal.text), decision.note
        return NoteChange(place.slug, "staged", message, note, visible(before or ""), shown, decision.proposal.id)

    def _line(self, place: Place, head: NoteHead) -> str:
        return index_line(head.name, place.link, head.description)

    def _line_now(self, place: Place) -> str:
        raw = self._raw(place)
        return "" if raw is None else self._line(place, _head_of(place, FrontMatter.parse(raw)))

    def _check_room(self, before: Index, after: Index) -> None:
        limit = self.config.index_char_limit
        if after.used <= limit or after.used < before.used or after == before:
            return
        lines = "\n".join(f"  {line}" for line in visible(before.plain).splitlines())
        raise FullError(
            f"The index of notes is full: it has {before.used:,} of {limit:,} characters, this change would make "
            f"{after.used:,}. Nothing was written, nothing dropped.\nIts lines:\n{lines}",
            "Merge notes, remove those that no longer hold, or shorten descriptions; then write again.",
        )

    def _fullness(self, index: Index) -> Iterator[str]:
        if index.used >= self.config.consolidate_at * self.config.index_char_limit:
            percent = index.used * 100 // self.config.index_char_limit
            yield f"The index of notes is {percent}% full: time to merge or remove notes."


def _head_of(place: Place, parts: FrontMatter) -> NoteHead:
    name, description = parts.get("name") or place.slug, parts.get("description")
    return NoteHead(place.slug, name, description, parts.get("type"), place.skill, parts.problem)


def _plain(raw: str) -> str:
    """A file's text as the gate and a person see it."""
    return visible(raw.removeprefix("\ufeff"))


def _same_name(one: str, other: str) -> bool:
    return unicodedata.normalize("NFC", one_line(one)) == unicodedata.normalize("NFC", one_line(other))


def _check_encodable(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BlockedError(
            f"The text holds half a character (a lone surrogate) at position {error.start}. Nothing was written.",
            "Send the text again with that character whole or left out.",
        ) from error
