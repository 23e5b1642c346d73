"""The `note` tool: how a model lists, reads, writes and removes notes, and reads skills.

Idea: the index in the prompt names them, this tool opens them. Invariant: no answer is longer than a page; a longer
note says where to go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from vademecum.core.held import held_notes
from vademecum.core.note_types import Note, NoteHead, link_of
from vademecum.core.notes import NOTE_TYPES, NoteChange, Notes
from vademecum.errors import RefusedError, UsageError, VademecumError
from vademecum.model import Origin, ToolSpec

if TYPE_CHECKING:
    from vademecum.core.daily import DailyNotes

PAGE_CHARACTERS = 12_000
"""Most characters of a note that one answer holds."""

NOTE_TOOL = ToolSpec(
    name="note",
    description=(
        "Facts too long or too seldom needed for `memory`, one a note; the index in your prompt names them, and the "
        "skills. Read a note before you rely on it or rewrite it. list, read, write (a new one, or the whole new text "
        "of an existing one), remove."
    ),
    parameters={
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["list", "read", "write", "remove"]},
            "name": {"type": "string", "description": "The note's name or file name."},
            "description": {"type": "string", "description": "For write: one line for the index."},
            "type": {"type": "string", "enum": list(NOTE_TYPES)},
            "content": {"type": "string", "description": "For write: the text, Markdown."},
            "offset": {"type": "integer", "description": "For read: first character, to go on in a long note."},
        },
        "required": ["action"],
    },
)

DAILY_NOTE_TOOL = ToolSpec(
    name="note",
    description=f"{NOTE_TOOL.description} today: add a line or two to today's note, which only `recall` finds again.",
    parameters={
        **NOTE_TOOL.parameters,
        "properties": {
            **NOTE_TOOL.parameters["properties"],
            "action": {"type": "string", "enum": ["list", "read", "write", "remove", "today"]},
        },
    },
)
"""The same where daily notes are switched on."""


def today_tool(
    daily: DailyNotes, args: Mapping[str, object], *, origin: Origin, session: str | None, unattended: bool = False
) -> dict[str, object]:
    """Run one call with the action `today`. Never raises for what a model did."""
    try:
        change = daily.append(_text(args, "content"), origin=origin, session=session, unattended=unattended)
    except VademecumError as error:
        return {"success": False, "error": f"{error.message} {error.hint}".strip(), "code": error.code}
    answer: dict[str, object] = {"success": True, "done": True}
    if change.outcome == "staged":
        answer |= {"staged": True, "proposal": change.proposal}
    return answer | {"day": change.day, "message": change.message, "note": change.note}


def note_tool(
    notes: Notes, args: Mapping[str, object], *, origin: Origin, session: str | None, unattended: bool = False
) -> dict[str, object]:
    """Run one call. Never raises for what a model did: the answer is then `success: false`."""
    try:
        match args.get("action"):
            case "list":
                return _list(notes)
            case "read":
                return _read(notes, _text(args, "name"), args.get("offset"))
            case "write":
                change = notes.write(
                    _text(args, "name"),
                    _text(args, "description"),
                    _text(args, "type"),
                    _text(args, "content"),
                    origin=origin,
                    session=session,
                    unattended=unattended,
                )
                return _changed(change)
            case "remove":
                change = notes.remove(_text(args, "name"), origin=origin, session=session, unattended=unattended)
                return _changed(change)
            case other:
                raise UsageError(f"`action` is {other!r}. Nothing was done.", "Use list, read, write or remove.")
    except VademecumError as error:
        return {"success": False, "error": f"{error.message} {error.hint}".strip(), "code": error.code}


def _list(notes: Notes) -> dict[str, object]:
    results: list[dict[str, str]] = []
    left = PAGE_CHARACTERS
    held = held_notes(notes)
    heads = [head for head in notes.list() if not _is_held(head, held)]
    for head in heads:
        row = {"name": head.name, "file": head.slug, "type": head.type, "description": head.description}
        left -= sum(map(len, row.values()))
        if left < 0:
            break
        results.append(row | ({"problem": head.problem} if head.problem else {}))
    answer: dict[str, object] = {"success": True, "results": results}
    if len(results) < len(heads):
        answer["hint"] = f"{len(heads) - len(results)} more are not listed here; the index in your prompt names them."
    return answer


def _is_held(note: Note | NoteHead, held: Mapping[str, object]) -> bool:
    return bool(held) and link_of(note.slug, skill=note.skill) in held


def _read(notes: Notes, name: str, offset: object) -> dict[str, object]:
    note = notes.read(name)
    if _is_held(note, held_notes(notes)):
        raise RefusedError(f"The note {note.slug!r} is in quarantine; only a person can look at it.", "Go on without.")
    start = max(0, offset) if isinstance(offset, int) else 0
    content = note.body[start : start + PAGE_CHARACTERS]
    answer: dict[str, object] = {
        "success": True,
        "name": note.name,
        "file": note.slug,
        "type": note.type,
        "description": note.description,
        "content": content,
    }
    if note.problem:
        answer["problem"] = f"Shown as text: {note.problem}."
    left = len(note.body) - start - len(content)
    if left > 0:
        answer["hint"] = f"{left:,} more characters: read again with offset {start + len(content)}."
    return answer


def _changed(change: NoteChange) -> dict[str, object]:
    answer: dict[str, object] = {"success": True, "done": True}
    if change.outcome == "staged":
        answer |= {"staged": True, "proposal": change.proposal}
    return answer | {"file": change.slug, "message": change.message, "note": change.note}


def _text(args: Mapping[str, object], key: str) -> str:
    value = args.get(key)
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"`{key}` is missing or not a text. Nothing was done.", f"Give `{key}` as a string.")
    return value
