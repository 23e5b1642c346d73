"""What the index keeps of an entry beside its place: whom it names, and what project or decision it touches.

Idea: a name is `@lyra`; a project or a decision is touched by an entry of those types that says so in its body, and
`Seen:` there tells which other entries about it the author had before him. Invariant: computed from the entry's text
alone, so that every machine marks the same entries.
"""

from __future__ import annotations

from collections.abc import Iterator

from vademecum.late import pattern
from vademecum.vault.entry import ULID, Entry

WINDOW_MS = 15 * 60_000
"""Two agents that touch the same thing within this time, neither having seen the other, are in conflict."""
ACK, CONFLICTING = "ack", ("project", "decision")
SEEN = "Seen"
PAGE = "Page"
"""What stands before the hash of the page that the author of an entry left."""

_NAME = pattern(r"(?<![\w@./-])@(\w[\w.-]{0,79})")
_FIELD = pattern(r"(Project|Supersedes|May contradict|Seen): *(.+)")
_MOST_NAMES = 20


def names_in(entry: Entry) -> str:
    """Whom an entry names, as `,ella,lyra,`; empty for nobody, and for what is an acknowledgement."""
    if "@" not in entry.summary and "@" not in entry.body:
        return ""
    if entry.type == ACK:
        return ""
    found = [name.rstrip(".-").casefold() for name in _NAME.findall(f"{entry.summary}\n{entry.body}")]
    names = [name for name in dict.fromkeys(found) if name][:_MOST_NAMES]
    return f",{','.join(names)}," if names else ""


def project_subject(name: str) -> str:
    """The subject that a project is."""
    return f"project:{' '.join(name.split()).casefold()}"


def decision_subject(id_: str) -> str:
    """The subject that a decision is."""
    return f"decision:{id_}"


def touched(entry: Entry) -> tuple[tuple[str, ...], str]:
    """The subjects that an entry touches, and what its author had seen: ids between spaces."""
    if entry.type not in CONFLICTING or not entry.agent:
        return (), ""
    subjects: list[str] = []
    seen = ""
    for name, value in _fields(entry.body):
        if name == "Project":
            subjects.append(project_subject(value))
        elif name == SEEN:
            seen = f" {' '.join(ULID.findall(value))} "
        elif entry.type == "decision":
            subjects += [decision_subject(one.strip()) for one in value.split(",")]
    if entry.type == "decision" and entry.ref:
        subjects.append(decision_subject(entry.ref.rpartition("#")[2].removeprefix("^")))
    return tuple(dict.fromkeys(subjects)), seen


def taken_over(body: str) -> tuple[str, ...]:
    """The decisions that the body of a new one says it takes the place of: whoever names them has read them."""
    return tuple(
        decision_subject(one.strip())
        for name, value in _fields(body)
        if name == "Supersedes"
        for one in value.split(",")
    )


def _fields(body: str) -> Iterator[tuple[str, str]]:
    for line in body.split("\n"):
        field = _FIELD.fullmatch(line)
        if field is not None:
            yield field[1], field[2].strip()
