"""Facts as Markdown that a person reads and edits: a file a kind, an entry a fact, its fields in a fence below it.

    ## 01JD2Q...

    Postgres listens on port 5433.

    ~~~fact
    scope: agent
    origin: user:owner
    ...
    ~~~

Idea: the text is free, the fields are lines of `name: JSON`. Invariant: what is written is read back to the same bytes,
whatever a text holds; a line of a text that could be taken for the frame carries one backslash more; what cannot be
read is named with its line, and the entries round it are read.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from vademecum.bank.types import Evidence, Fact, Kind, Scope
from vademecum.clock import iso, parse_iso
from vademecum.model import Origin

FENCE, END = "~~~fact", "~~~"
NEW = "new"
"""The heading of an entry that a person adds."""
_HEADING = re.compile(r"## (\S{1,40})\s*")
_FRAME = re.compile(r"(\\*)(?=## |~~~)")
_TITLES: dict[Kind, str] = {
    "decision": "Decisions",
    "fact": "Facts",
    "failure": "Failures",
    "preference": "Preferences",
    "environment": "Environment",
    "convention": "Conventions",
    "workflow": "Workflows",
    "quirk": "Quirks",
}
_ABOUT = (
    "Edit the text of an entry, or add one under `## new`, and read the file back with `vademecum fact import`.\n"
    "The fields between the fences are kept by the program."
)
_TIMES = ("learnt_at", "valid_from", "valid_to", "used_at")
_PLAIN = ("scope", "origin", "speaker", "superseded_by", "base", "seal", "agent", "user")
_COUNTS = ("uses", "confirmations")


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a file: `fields` as they stand, None for one that a person added. `line` counts from 1."""

    id: str
    kind: Kind
    text: str
    line: int
    fields: Mapping[str, Any] | None = None
    evidence: tuple[Evidence, ...] = ()
    detail: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Broken:
    """An entry that could not be read: where, and why. The rest of the file was read."""

    file: str
    line: int
    why: str


def file_name(kind: Kind) -> str:
    """The file of a kind: `decision.md`."""
    return f"{kind}.md"


def render(kind: Kind, facts: Sequence[Fact], seal: Mapping[str, str]) -> str:
    """The file of `kind` with `facts`, each with its `seal` by id."""
    parts = [f"# {_TITLES[kind]}\n\n{_ABOUT}\n"]
    parts += [_rendered(fact, seal[fact.id]) for fact in facts]
    return "\n".join(parts)


def _rendered(fact: Fact, seal: str) -> str:
    fields = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in _fields(fact).items()]
    fields += [f"evidence: {json.dumps(_said(one), ensure_ascii=False)}" for one in fact.evidence]
    fields += [f'base: "{base_of(fact)}"', f'seal: "{seal}"']
    return "\n".join([f"## {fact.id}", "", _framed(fact.text), "", FENCE, *fields, END, ""])


def base_of(fact: Fact) -> str:
    """What an entry is recognised by: the first 16 digits of the SHA-256 of all that is written of it."""
    said = [_said(one) for one in fact.evidence]
    whole = json.dumps([fact.id, fact.kind, fact.text, _fields(fact), said], ensure_ascii=False)
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _fields(fact: Fact) -> dict[str, Any]:
    """What is written of a fact besides text and evidence; what says nothing is left out."""
    given: dict[str, Any] = {
        "scope": fact.scope,
        "agent": fact.actor.agent,
        "user": fact.actor.user,
        "origin": str(fact.origin),
        "speaker": fact.speaker,
        "learnt_at": iso(fact.learnt_at),
        "valid_from": _time(fact.valid_from),
        "valid_to": _time(fact.valid_to),
        "superseded_by": fact.superseded_by,
        "entities": list(fact.entities),
        "derived": fact.derived,
        "uses": fact.uses,
        "used_at": _time(fact.used_at),
        "confirmations": fact.confirmations,
        **{f"detail.{name}": value for name, value in fact.detail.items()},
    }
    return {name: value for name, value in given.items() if value not in (None, "", [], False, 0)}


def _said(one: Evidence) -> dict[str, Any]:
    given: dict[str, Any] = {
        "quote": one.quote,
        "origin": str(one.origin),
        "at": iso(one.at),
        "session": one.session,
        "message": one.message,
        "speaker": one.speaker,
        "stated": None if one.stated in (None, one.origin) else str(one.stated),
    }
    return {name: value for name, value in given.items() if value not in (None, "")}


def _time(at: int | None) -> str | None:
    return None if at is None else iso(at)


def _framed(text: str) -> str:
    return "\n".join(_FRAME.sub(r"\1\\", line, count=1) if _FRAME.match(line) else line for line in text.split("\n"))


def _unframed(line: str) -> str:
    return line[1:] if line.startswith("\\") and _FRAME.match(line) else line


# Reading


def parse(text: str, file: str, kind: Kind) -> tuple[list[Entry], list[Broken]]:
    """The entries of a file of `kind`, and what could not be read."""
    if text.count("\r\n") == text.count("\n"):  # an editor's line ends; else a text has them
        text = text.replace("\r\n", "\n")
    lines = text.removeprefix("\ufeff").split("\n")
    starts = [n for n, line in enumerate(lines) if line.startswith("## ")]
    entries, broken = list[Entry](), list[Broken]()
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=False):
        try:
            entries.append(_parsed(lines[start:end], start + 1, kind))
        except _Unread as error:
            broken.append(Broken(file, error.line, error.why))
    return entries, broken


class _Unread(Exception):
    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line, self.why = line, why


def _parsed(lines: Sequence[str], first: int, kind: Kind) -> Entry:
    heading = _HEADING.fullmatch(lines[0])
    if heading is None:
        raise _Unread(first, f"the heading names no fact: {lines[0]!r}; write `## {NEW}` for a new one")
    id_ = heading.group(1)
    fence = next((n for n, line in enumerate(lines) if line.strip() == FENCE), None)
    text = "\n".join(map(_unframed, lines[1:fence])).strip()
    if not text:
        raise _Unread(first, "there is no text under the heading")
    if fence is None:
        if id_.lower() != NEW:
            raise _Unread(first, f"the fields of {id_} are missing: no line is `{FENCE}`")
        return Entry(NEW, kind, text, first)
    end = next((n for n in range(fence + 1, len(lines)) if lines[n].strip() == END), None)
    if end is None:
        raise _Unread(first + fence, f"the fence is not closed: no line after it is `{END}`")
    for n in range(end + 1, len(lines)):
        if lines[n].strip():
            raise _Unread(first + n, "there is text behind the fields, which belongs before them")
    return _with_fields(Entry(id_, kind, text, first), lines[fence + 1 : end], first + fence + 1)


def _with_fields(entry: Entry, lines: Sequence[str], first: int) -> Entry:
    fields, detail, evidence = dict[str, Any](), dict[str, str](), list[Evidence]()
    for n, line in enumerate(lines):
        if not line.strip():
            continue
        name, mark, value = line.partition(":")
        try:
            read = json.loads(value) if mark else None
        except ValueError:
            raise _Unread(first + n, f"the value of {name!r} is no JSON: {value.strip()[:60]!r}") from None
        try:
            if name == "evidence":
                evidence.append(_evidence(read))
            elif name.startswith("detail."):
                detail[name.removeprefix("detail.")] = _checked(read, str)
            else:
                fields[name] = _field(name, read)
        except (ValueError, TypeError, KeyError) as error:
            raise _Unread(first + n, f"{line.strip()[:80]!r} cannot be read: {error}") from None
    if missing := [name for name in ("scope", "origin", "learnt_at") if name not in fields]:
        raise _Unread(first, f"a field is missing: {', '.join(missing)}")
    return Entry(entry.id, entry.kind, entry.text, entry.line, fields, tuple(evidence), detail)


def _checked(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise ValueError(f"it should be {kind.__name__}")
    return value


def _field(name: str, value: Any) -> Any:
    if name in _TIMES:
        return parse_iso(_checked(value, str))
    if name in _COUNTS:
        return _checked(value, int)
    if name == "derived":
        return _checked(value, bool)
    if name == "entities":
        return tuple(_checked(one, str) for one in cast("list[Any]", _checked(value, list)))
    if name not in _PLAIN:
        raise ValueError("there is no such field")
    text = str(_checked(value, str))
    if name == "origin":
        Origin.parse(text)
    if name == "scope" and text not in get_args(Scope):
        raise ValueError("there is no such scope")
    return text


def _evidence(value: Any) -> Evidence:
    given = cast("dict[str, Any]", _checked(value, dict))
    unknown = given.keys() - {"quote", "origin", "at", "session", "message", "speaker", "stated"}
    if unknown:
        raise ValueError(f"there is no {', '.join(sorted(unknown))} in evidence")
    origin = Origin.parse(_checked(given["origin"], str))
    return Evidence(
        _checked(given["quote"], str),
        origin,
        parse_iso(_checked(given["at"], str)),
        None if "session" not in given else _checked(given["session"], str),
        None if "message" not in given else _checked(given["message"], int),
        _checked(given.get("speaker", ""), str),
        Origin.parse(_checked(given["stated"], str)) if "stated" in given else origin,
    )
