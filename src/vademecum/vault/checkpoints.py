"""What an agent was doing, written down every few steps: the last ten, on the agent's own page.

Idea: between two marked lines of `Agents/<agent>.md` each checkpoint is a section, newest first, signed by its agent;
whoever takes over begins with the first. Invariant: the page is replaced whole, so a killed process leaves the
checkpoints before or after; what a person wrote outside of the marks stays byte for byte, and so does a section that
was edited by hand, which then is not proved any more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from vademecum.clock import iso, stored_iso
from vademecum.disk import visible
from vademecum.errors import UsageError
from vademecum.gate.candidate import Act, Effect, Proposal, Staged
from vademecum.ids import new_id
from vademecum.model import Origin
from vademecum.obsidian import closing, field, lines, one_form, own_slug, plain, quiet
from vademecum.page import Page, eol_of
from vademecum.vault.page import By, Desk

FOLDER = "Agents"
KEPT = 10
LONGEST = 8_000
"""Most characters of all that a checkpoint says."""
MOST_FILES, MOST_QUESTIONS = 50, 20

BEGIN = "%% vademecum checkpoints: what stands up to the line `end` is written by the agent. Write below it. %%"
END = "%% vademecum checkpoints: end %%"
_BEGIN = re.compile(r"%% vademecum checkpoints: (?!end\b).*%%[ \t]*")
_END = re.compile(r"%% vademecum checkpoints: end %%[ \t]*")
_HEADING = re.compile(r"### (\S+Z) · (.*?)[ \t]*$")
_FIELD = re.compile(r"- ([A-Z][a-z]+):(?: (.*))?$")
_ID = re.compile(r"\^([0-7][0-9A-HJKMNP-TV-Z]{25})[ \t]*$")

State = Literal["working", "finished"]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where an agent stood at `time` (UTC ms): `finished` when there is nothing to go on with.

    `origin` is what it was made of, as its host knew it; `signature` is the agent's, over the section without it;
    `text` is the section as it stands in the file.
    """

    id: str
    time: int
    task: str
    done: str = ""
    next: str = ""
    questions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    state: State = "working"
    channel: str = ""
    session: str | None = None
    origin: Origin = Origin("assistant")  # noqa: RUF009  frozen
    signature: str = ""
    text: str = ""

    @property
    def said(self) -> str:
        """All that it says, as one text."""
        return "\n".join(part for part in (self.task, self.done, self.next, *self.questions, *self.files) if part)


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of a checkpoint; `note` is for the author."""

    outcome: Literal["done", "staged"]
    checkpoint: Checkpoint
    message: str
    note: str = ""
    proposal: str | None = None


class Checkpoints:
    """The checkpoints of one agent (default: the writer's). Another's can only be read."""

    def __init__(self, desk: Desk, agent: str | None = None) -> None:
        self.desk = desk
        self.agent = agent or desk.actor.agent
        self.slug = own_slug(self.agent, "agent")
        self._page: Page = desk.page(FOLDER, f"{self.slug}.md")

    @property
    def exists(self) -> bool:
        """True when the agent has a page here."""
        return self._page.path.exists()

    def list(self) -> tuple[Checkpoint, ...]:
        """The newest first, at most ten but for those that somebody edited. Raises UnreadableError."""
        return tuple(read(self._page.text()))

    def last(self) -> Checkpoint | None:
        """The newest one."""
        return next(iter(self.list()), None)

    def proved(self, one: Checkpoint) -> bool:
        """Whether a key that counts as the agent's signed `one` as it stands on the page."""
        from vademecum.vault.keys import verifies

        pins = self.desk.keys.pins().get(self.agent, ()) if self.desk.keys is not None and one.signature else ()
        data = self._signed(replace(one, signature=""))
        return _untouched(one, one.text) and any(
            self.desk.keys is not None and self.desk.keys.pinned(self.agent, pin.public) is not None
            and verifies(pin.public, one.signature, data)
            for pin in pins
        )  # fmt: skip

    def _signed(self, one: Checkpoint) -> bytes:
        """What is signed: whose checkpoint it is, and all that it says."""
        return f"checkpoint\n{self.agent}\n{render(one)}".encode("utf-8", "surrogatepass")

    def save(
        self,
        task: str,
        *,
        by: By,
        done: str = "",
        next: str = "",  # noqa: A002  the design's word
        questions: Sequence[str] = (),
        files: Sequence[str] = (),
        state: State = "working",
    ) -> Kept:
        """Write down where the work stands; the oldest beyond ten goes.

        Raises UsageError (no task, too long, another agent's page), BlockedError, RefusedError, LockedError,
        StorageError; the checkpoints that were there are kept.
        """
        if self.agent != self.desk.actor.agent:
            raise UsageError(f"Only {self.agent} writes that page. Nothing was written.", "Write your own checkpoint.")
        questions, files = questions[:MOST_QUESTIONS], files[:MOST_FILES]
        (task, done, then, *listed), kinds = self.desk.cleaned(task, done, next, *questions, *files)
        listed = [" ".join(one.split()) for one in listed]
        questions, files = listed[: len(questions)], listed[len(questions) :]
        now = self.desk.clock()
        checkpoint = Checkpoint(
            new_id(now), now, " ".join(task.split()), done, then,
            tuple(one for one in questions if one), tuple(one for one in files if one),
            state, " ".join(by.channel.split()), by.session, by.origin,
        )  # fmt: skip
        _check(checkpoint)
        section = render(checkpoint)
        answer = self._admit(section, by, kinds)
        if isinstance(answer, Staged):
            message = "This waits for a person's approval. Nothing was written yet; do not repeat it."
            return Kept("staged", checkpoint, message, answer.note, answer.proposal.id)
        kept = self._write(answer.text)
        return Kept("done", kept, f"Checkpoint {kept.id} was kept.", answer.note)

    def carry_out(self, proposal: Proposal) -> str:
        """Write a checkpoint that a person approved."""
        by = By(proposal.origin, session=proposal.session, act=Act("approved", proposal.decision, proposal.id))
        self._admit(proposal.text, by, ())
        self._write(proposal.text)
        return f"A checkpoint of {self.agent} was kept."

    def _write(self, section: str) -> Checkpoint:
        """Sign a section that may be written, and put it before the others."""
        (one,) = _sections(section)
        if self.desk.keys is not None and self.agent == self.desk.actor.agent:
            one = replace(one, signature=self.desk.keys.signer(self.agent).sign(self._signed(one)))
        text = render(one)
        with self._page.held():
            self._page.change(lambda raw: (self._with(raw, text), None))
        return replace(one, text=text)

    def _admit(self, section: str, by: By, kinds: tuple[str, ...]):
        def effect(text: str) -> Effect:
            return Effect("", text)

        return self.desk.admit(f"agents/{self.slug}", "add", section, by, effect=effect, redacted=kinds)

    def _with(self, raw: str | None, section: str) -> str:
        """The page with one section more, and without the oldest that are too many."""
        if raw is None or not raw.strip("\ufeff\r\n\t "):
            head = "" if one_form(self.agent) == self.slug else f"Agent: {field(self.agent)}\n\n"
            return f"{raw or ''}{head}{BEGIN}\n\n{section}\n{END}\n"
        end = eol_of(raw)
        section = section.replace("\n", end)
        start, stop, there = _parse(raw)
        if start < 0:
            open_ = closing(visible(raw))
            lead = ("" if raw.endswith("\n") else end) + (f"{open_}{end}" if open_ else "") + end
            return f"{raw}{lead}{BEGIN}{end}{end}{section}{end}{END}{end}"
        inside = raw[start:stop]
        ours = [one for one in there if _untouched(one, inside)]
        for one in ours[KEPT - 1 :]:
            inside = _without(inside, one)
        lead = "" if inside.startswith((end, "\n")) else end
        return f"{raw[:start]}{end}{section}{lead}{inside}{raw[stop:]}"


def read(text: str) -> list[Checkpoint]:
    """The checkpoints on a page, the newest first."""
    return _parse(text)[2]


def folded(text: str, other: str) -> tuple[str, int, list[str]]:
    """`text` with the checkpoints of `other` (a sync tool's copy of the page) that it has not, their number, and what
    only the copy says beside them. Those older than the last ten are not brought back."""
    start, stop, there = _parse(text)
    first, last, theirs = _parse(other)
    if start < 0 or first < 0:
        return text, 0, ["the copy has no checkpoints between the two marks"]
    known, end = {one.id: one for one in there}, eol_of(text)
    left = [f"the copy says something else of {one.id}" for one in theirs if one.id in known and _other(one, known)]
    oldest = min(one.time for one in there) if len(there) >= KEPT else 0
    new = [one for one in theirs if one.id not in known and one.time >= oldest]
    inside = text[start:stop]
    for one in new:
        older = [other for other in _sections(inside) if (other.time, other.id) < (one.time, one.id)]
        at = inside.index(older[0].text) if older else len(inside)
        inside = f"{inside[:at]}{one.text.replace(chr(13), '').replace(chr(10), end)}{end}{inside[at:]}"
    rest = (other[:first] + other[last:]).splitlines()
    lines_ = {line.strip() for line in text.splitlines()}
    left += [f"only the copy has: {line.strip()[:80]}" for line in rest if line.strip() and line.strip() not in lines_]
    return text[:start] + inside + text[stop:], len(new), left


def _other(one: Checkpoint, known: Mapping[str, Checkpoint]) -> bool:
    return one.text.replace("\r", "") != known[one.id].text.replace("\r", "")


def render(one: Checkpoint) -> str:
    """The section, with line feeds."""
    rows = [("Done", quiet(one.done)), ("Next", quiet(one.next))]
    rows += [("Questions", "".join(f"\n- {quiet(item)}" for item in one.questions))]
    rows += [("Files", "".join(f"\n- {_code(item)}" for item in one.files))]
    if one.state != "working":
        rows.append(("State", one.state))
    rows += [("Channel", quiet(one.channel)), ("Session", quiet(" ".join((one.session or "").split())))]
    rows.append(("Origin", "" if one.origin == Origin.assistant() else str(one.origin)))
    rows.append(("Signed", one.signature))
    told = "".join(f"- {name}:{_indented(value)}\n" for name, value in rows if value)
    return f"### {iso(one.time)} · {quiet(one.task)}\n\n{told}\n^{one.id}\n"


def _indented(value: str) -> str:
    first, *rest = value.split("\n")
    lines_ = (f"  {line}" if line else "" for line in rest)
    return "\n".join([f" {first}" if first else "", *lines_])


def _code(path: str) -> str:
    """A path as code, in which nothing is a link or a comment."""
    return f"`{path}`" if "`" not in path and path == path.strip() else quiet(path)


def _parse(text: str) -> tuple[int, int, list[Checkpoint]]:
    """Where the last well-formed pair of marks has its inside (start -1: there is none), and the sections in it."""
    start = stop = begun = -1
    for line in lines(text):
        if line.hidden:
            continue
        if _BEGIN.fullmatch(line.text):
            begun = _after(text, line.start + len(line.text))
        elif _END.fullmatch(line.text) and begun >= 0:
            start, stop, begun = begun, line.start, -1
    if start < 0:
        return -1, -1, []
    return start, stop, _sections(text[start:stop])


def _after(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _sections(inside: str) -> list[Checkpoint]:
    """In the order of the page: a clock that was wrong once does not put one before all that come later."""
    found: list[Checkpoint] = []
    begin, body = -1, list[str]()
    for line in lines(inside):
        if not line.hidden and line.text.startswith(("### ", "## ", "# ")):
            begin, body = line.start, []
        if begin < 0:
            continue
        body.append(line.text)
        block = None if line.hidden else _ID.fullmatch(line.text)
        if block is not None:
            text = inside[begin : _after(inside, line.start)]
            one = _read(body, block[1], text)
            if one is not None:
                found.append(one)
            begin = -1
    return found


def _read(body: Sequence[str], id_: str, text: str) -> Checkpoint | None:
    heading = _HEADING.fullmatch(body[0])
    if heading is None:
        return None
    try:
        time = stored_iso(heading[1])
    except ValueError:
        return None
    fields, current = dict[str, list[str]](), ""
    for line in body[1:]:
        named = _FIELD.fullmatch(line)
        if named is not None and named[1] not in fields:
            current = named[1]
            fields[current] = [named[2] or ""]
        elif current and (not line or line.startswith("  ")):
            fields[current].append(line[2:])
        else:
            current = ""
    told = {name: "\n".join(value).strip("\n") for name, value in fields.items()}
    return Checkpoint(
        id_,
        time,
        plain(heading[2]),
        plain(told.get("Done", "")),
        plain(told.get("Next", "")),
        _items(told.get("Questions", "")),
        _items(told.get("Files", "")),
        "finished" if told.get("State") == "finished" else "working",
        plain(told.get("Channel", "")),
        plain(told.get("Session", "")) or None,
        _origin(told.get("Origin", "assistant")),
        told.get("Signed", ""),
        text,
    )


def _items(value: str) -> tuple[str, ...]:
    items = [line[2:] for line in value.split("\n") if line.startswith("- ")]
    return tuple(item[1:-1] if item[:1] == item[-1:] == "`" and len(item) > 2 else plain(item) for item in items)


def _origin(text: str) -> Origin:
    try:
        return Origin.parse(text)
    except ValueError:
        return Origin.file()


def _untouched(one: Checkpoint, inside: str) -> bool:
    """Whether a section is as it was written: then nobody's words go with it."""
    return one.text.replace("\r\n", "\n") == render(one) and one.text in inside


def _without(inside: str, one: Checkpoint) -> str:
    at = inside.index(one.text)
    rest = inside[at + len(one.text) :]
    return inside[:at] + rest.removeprefix("\r\n" if rest.startswith("\r\n") else "\n")


def _check(one: Checkpoint) -> None:
    if not one.task:
        raise UsageError("A checkpoint needs a task. Nothing was written.", "Say in one line what is being done.")
    size = sum(map(len, (one.task, one.done, one.next, *one.questions, *one.files)))
    if size > LONGEST:
        raise UsageError(
            f"The checkpoint has {size:,} characters, {LONGEST:,} are possible. Nothing was written.",
            "Say only what somebody needs to go on; name files instead of quoting them.",
        )
