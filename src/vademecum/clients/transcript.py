"""Reading a Claude Code transcript: which lines somebody said, and which the program put there.

Idea: one JSON object a line; a line is a person's words only when nothing marks it as the program's (meta, side chain,
summary, reminder, hook output, queue bookkeeping). Invariant: text that a hook injected never comes out as the user's,
and a line that is not understood raises `UnreadableLine` instead of being guessed at.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Literal, cast

import msgspec

from vademecum.clock import parse_iso
from vademecum.search.prepare import well_formed

RESULT_CHARS = 4_000
"""Characters kept of a tool's result: three quarters from its head, the rest from its tail."""
ARGUMENT_CHARS = 1_000
"""Characters kept of one argument of a tool call."""
OPEN_CALLS = 50
"""Calls remembered while their result has not come."""
OWN_TOOLS = "mcp__vademecum__"
"""How Claude Code names our own tools; what they answer is memory already and is not recorded again."""

_INJECTED = (
    "system-reminder|local-command-stdout|local-command-stderr|local-command-caveat|command-message|command-contents|"
    "bash-stdout|bash-stderr|task-notification|teammate-message|ide_opened_file|ide_selection|ide_diagnostics|"
    "new-diagnostics|user-prompt-submit-hook|session-start-hook|post-tool-use-hook"
)
_TYPED = "command-name|command-args|bash-input|user-memory-input"
OWN_BEGIN, OWN_END = "<!-- vademecum begin", "<!-- vademecum end"
_LEADING = (
    rf"(?s)\s*(?:<(?P<tag>{_INJECTED}|{_TYPED})\b[^>]*>(?P<inner>.*?)</(?P=tag)>|{OWN_BEGIN}.*?{OWN_END}[^>]*-->)\s*"
)
_TRAILING = r"(?s)\s*<system-reminder>(?:(?!<system-reminder>).)*</system-reminder>\s*\Z"
_INTERRUPTED = "[Request interrupted by user"


class UnreadableLine(ValueError):
    """A line that is not what a transcript holds."""


class Said(msgspec.Struct, frozen=True):
    """One message: `source` is the line's uuid (with the block's number for results), `time` UTC ms or None."""

    role: Literal["user", "assistant", "tool"]
    text: str
    source: str
    time: int | None
    prompt: str = ""
    tool: str = ""
    args: dict[str, Any] = {}


class Entry(msgspec.Struct, frozen=True):
    """What one line holds: messages, a title, text that reached the context by a hook, text that a hook printed."""

    said: tuple[Said, ...] = ()
    title: str = ""
    title_rank: int = 0
    injected: str = ""
    printed: str = ""


_NOTHING = Entry()


class Parser:
    """Turns lines into entries. `calls` are tool calls whose result has not come yet: keep it between runs.

    Lines up to `since` (UTC ms; 0: none), and then also those without a time, hold nothing.
    """

    def __init__(self, calls: dict[str, list[Any]] | None = None, *, since: int = 0) -> None:
        self.calls: dict[str, list[Any]] = dict(calls or {})
        self.since = since

    def entry(self, raw: bytes) -> Entry:
        """What the line `raw` holds. Raises UnreadableLine."""
        line = _decode(raw)
        if line.get("forkedFrom"):  # a copy of another session's line
            return _NOTHING
        if self.since and (_time(line) or 0) <= self.since:
            return _NOTHING
        match line.get("type"):
            case "attachment":
                return self._attachment(raw, line)
            case "custom-title":
                return Entry(title=_text(line.get("customTitle")), title_rank=2)
            case "ai-title":
                return Entry(title=_text(line.get("aiTitle")), title_rank=1)
            case "user" | "assistant" if line.get("isSidechain"):
                return _NOTHING
            case "user":
                return self._user(raw, line)
            case "assistant":
                return self._assistant(raw, line)
            case "saved_hook_context" | "system":
                return Entry(injected=_flat(line.get("content")))
            case _:
                return _NOTHING

    def _attachment(self, raw: bytes, line: dict[str, Any]) -> Entry:
        what = _mapping(line.get("attachment"))
        match what.get("type"):
            case "hook_additional_context":
                return Entry(injected=_flat(what.get("content")))
            case "hook_success":  # plain output is what reached the context, JSON output is only what was printed
                return Entry(injected=_flat(what.get("content")), printed=_text(what.get("stdout")))
            case "queued_command" if _by_person(what) and what.get("commandMode", "prompt") == "prompt":
                text = person_words(_flat(what.get("prompt")))
                return Entry((self._said("user", text, raw, line),)) if text else _NOTHING
            case _:
                return _NOTHING

    def _user(self, raw: bytes, line: dict[str, Any]) -> Entry:
        content = _mapping(line.get("message")).get("content")
        blocks = _blocks(content)
        said = [
            self._result(raw, line, number, block)
            for number, block in enumerate(blocks)
            if block.get("type") == "tool_result"
        ]
        machine = any(
            line.get(mark)
            for mark in ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "sourceToolUseID", "toolUseResult")
        )
        if machine or not _by_person(line):
            return Entry(tuple(said), injected="" if said else _flat(content))
        text = "\n".join(words for block in blocks if (words := person_words(_block_text(block))))
        if text and not text.startswith(_INTERRUPTED):
            said.insert(0, self._said("user", text, raw, line))
        return Entry(tuple(said))

    def _assistant(self, raw: bytes, line: dict[str, Any]) -> Entry:
        message = _mapping(line.get("message"))
        if line.get("isApiErrorMessage") or message.get("model") == "<synthetic>":
            return _NOTHING
        blocks = _blocks(message.get("content"))
        for block in blocks:
            if block.get("type") == "tool_use":
                self.calls[_text(block.get("id"))] = [_text(block.get("name")), _bounded(_mapping(block.get("input")))]
        while len(self.calls) > OPEN_CALLS:
            del self.calls[next(iter(self.calls))]
        text = "\n\n".join(words for block in blocks if (words := _block_text(block).strip()))
        return Entry((self._said("assistant", text, raw, line),)) if text else _NOTHING

    def _result(self, raw: bytes, line: dict[str, Any], number: int, block: dict[str, Any]) -> Said:
        name, args = self.calls.pop(_text(block.get("tool_use_id")), ["", {}])
        text = _flat(block.get("content"))
        if name.startswith(OWN_TOOLS):
            name, text = name.removeprefix(OWN_TOOLS), "(an answer of vademecum itself)"
        source = f"{_uuid(raw, line)}:{number}"
        return Said("tool", shortened(text, RESULT_CHARS), source, _time(line), tool=name or "tool", args=args)

    def _said(self, role: Literal["user", "assistant"], text: str, raw: bytes, line: dict[str, Any]) -> Said:
        return Said(role, text, _uuid(raw, line), _time(line), prompt=_text(line.get("promptId")))


def person_words(text: str) -> str:
    """`text` without what the program put before and after the person's words; empty when nothing is left.

    A command comes out as it was typed (`/review the parser`, `!ls`). Tags in the middle stay: people quote them.
    """
    if "<" not in text:  # nearly always, and the patterns cost a hook more than its work
        return text.strip()
    typed: list[str] = []
    while (found := re.match(_LEADING, text)) is not None:
        text = text[found.end() :]
        typed.append(_as_typed(found["tag"] or "", (found["inner"] or "").strip()))
    while (reminder := re.search(_TRAILING, text)) is not None:
        text = text[: reminder.start()]
    return " ".join(part for part in (*typed, text.strip()) if part)


def _as_typed(tag: str, inner: str) -> str:
    match tag:
        case "command-name" | "command-args":
            return inner
        case "bash-input":
            return f"!{inner}"
        case "user-memory-input":
            return f"#{inner}"
        case _:
            return ""


def shortened(text: str, limit: int) -> str:
    """`text`, or its head and tail with a note of how many characters were left out between them."""
    if len(text) <= limit:
        return text
    head, tail = limit * 3 // 4, limit // 4
    return f"{text[:head]}\n[… {len(text) - head - tail:,} characters left out …]\n{text[-tail:]}"


def _decode(raw: bytes) -> dict[str, Any]:
    try:
        line = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        try:  # JavaScript writes half of a surrogate pair when a text was cut inside an emoji
            line = json.loads(well_formed(json.dumps(json.loads(raw), ensure_ascii=False)))
        except (ValueError, RecursionError) as error:
            raise UnreadableLine(f"not JSON ({error})") from error
    if not isinstance(line, dict):
        raise UnreadableLine("not a JSON object")
    return cast("dict[str, Any]", line)


def _by_person(line: dict[str, Any]) -> bool:
    origin = line.get("origin")
    return not isinstance(origin, dict) or cast("dict[str, object]", origin).get("kind", "human") == "human"


def _uuid(raw: bytes, line: dict[str, Any]) -> str:
    return _text(line.get("uuid")) or "sha256-" + hashlib.sha256(raw.strip()).hexdigest()[:32]


def _time(line: dict[str, Any]) -> int | None:
    stamp = line.get("timestamp")
    try:
        return parse_iso(stamp) if isinstance(stamp, str) else None
    except ValueError:
        return None


def _blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    items = cast("list[object]", content) if isinstance(content, list) else []
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]


def _block_text(block: dict[str, Any]) -> str:
    match block.get("type"):
        case "text":
            return _text(block.get("text"))
        case "image":
            return "[image]"
        case "document":
            return "[document]"
        case _:
            return ""


def _flat(content: Any) -> str:
    if isinstance(content, list) and all(isinstance(item, str) for item in cast("list[object]", content)):
        return "\n".join(cast("list[str]", content))
    return "\n".join(words for block in _blocks(content) if (words := _block_text(block)))


def _bounded(args: dict[str, Any]) -> dict[str, Any]:
    kept = dict[str, Any]()
    for key, value in args.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        small = not isinstance(value, str) and len(text) <= ARGUMENT_CHARS
        kept[key] = value if small else shortened(text, ARGUMENT_CHARS)
    return kept


def _mapping(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
