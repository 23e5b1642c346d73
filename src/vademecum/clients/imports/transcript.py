"""Reading a Claude Code transcript: which lines somebody said, and which the program put there.

Idea: one JSON object a line; a line is a person's words only when nothing marks it as the program's (meta, side chain,
summary, reminder, hook output, queue bookkeeping). Invariant: text that a hook injected never comes out as the user's,
what entered the context from somewhere else, or in a way that is not known, comes out as heard from outside, and a line
that is not understood raises `UnreadableLine` instead of being guessed at.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Literal, cast

import msgspec

from vademecum.clock import parse_iso
from vademecum.gate.trust import fetched
from vademecum.late import pattern
from vademecum.search.prepare import well_formed

RESULT_CHARS = 4_000
"""Characters kept of a tool's result: three quarters from its head, the rest from its tail."""
ARGUMENT_CHARS = 1_000
"""Characters kept of one argument of a tool call."""
OPEN_CALLS = 50
"""Calls remembered while their result has not come."""
OWN_TOOLS = "mcp__vademecum__"
"""How Claude Code names our own tools; what they answer is memory already and is not recorded again."""

_AGENTS = "task-notification|teammate-message|cross-session-message|user-prompt-submit-hook|session-start-hook"
_FOREIGN = rf"{_AGENTS}|post-tool-use-hook|mcp-resource|mcp-resource-update|mcp-polling-update|channel-message"
_OUTPUT = pattern(
    rf"(?i)<(?P<tag>local-command-stdout|local-command-stderr|bash-stdout|bash-stderr|{_FOREIGN}|channel(?=\s+source=))\b"
)
"""From such a tag on a message is what a program put out, whatever stands in it: an output may hold a closing tag."""
_INJECTED = (
    "system-reminder|local-command-caveat|command-message|command-contents|ide_opened_file|ide_selection|"
    "ide_diagnostics|new-diagnostics"
)
_TYPED = "command-name|command-args|bash-input|user-memory-input"
OWN_BEGIN, OWN_END = "<!-- vademecum begin", "<!-- vademecum end"
_LEADING = (  # what a program put in is taken to its last closing tag, what was typed to the first
    rf"(?s)\s*(?:<(?P<put>{_INJECTED})\b[^>]*>.*</(?P=put)>|<(?P<tag>{_TYPED})\b[^>]*>(?P<inner>.*?)</(?P=tag)>"
    rf"|{OWN_BEGIN}.*?{OWN_END}[^>]*-->)\s*"
)
_BASH_INPUT = pattern(r"(?s)\s*<bash-input>(.*?)</bash-input>")
_BASH = "bash-input"
"""Under this name the last command of the bash mode is kept among the calls."""
_LOCAL_ATTACHMENTS = frozenset(
    {"file", "edited_text_file", "edited_image_file", "compact_file_reference", "already_read_file", "directory",
     "pdf_reference", "selected_lines_in_ide", "opened_file_in_ide", "todo", "todos", "todo_reminder", "task_reminder",
     "diagnostics", "nested_memory", "relevant_memories", "current_session_memory", "plan_mode", "plan_mode_exit",
     "plan_mode_reentry", "plan_file_reference", "auto_mode", "auto_mode_exit", "skill_listing", "skill_discovery",
     "dynamic_skill", "invoked_skills", "deferred_tools_delta", "command_permissions", "agent_listing_delta",
     "mcp_instructions_delta", "output_style", "date_change", "critical_system_reminder", "compaction_reminder",
     "context_efficiency", "token_usage", "output_token_usage", "budget_usd", "ultrathink_effort",
     "verify_plan_reminder", "structured_output", "max_turns_reached", "agent_mention", "hook_non_blocking_error",
     "hook_cancelled", "hook_system_message", "hook_error_during_execution", "hook_permission_decision"}
)  # fmt: skip
"""The workspace, the client's own reminders and configuration, and what only a person gets to see."""
_BOOKKEEPING = frozenset(
    {"summary", "file-history-snapshot", "queue-operation", "last-prompt", "tag", "progress", "agent-name",
     "agent-color", "agent-setting", "mode", "permission-mode", "worktree-state", "pr-link", "attribution-snapshot",
     "content-replacement", "task-summary"}
)  # fmt: skip
_QUIET_SYSTEM = frozenset(
    {"turn_duration", "api_error", "local_command", "compact_boundary", "microcompact_boundary", "informational",
     "stop_hook_summary", "away_summary", "bridge_status", "api_metrics", "memory_saved", "permission_retry",
     "scheduled_task_fire", "agents_killed"}
)  # fmt: skip
_SPOKEN = frozenset({"text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "mcp_tool_use"})
_SHOWN = frozenset({"text", "image", "document", "tool_result", "tool_reference"})
_INTERRUPTED = "[Request interrupted by user"


Speaker = Literal["user", "assistant", "interrupted"]


class UnreadableLine(ValueError):
    """A line that is not what a transcript holds."""


class Said(msgspec.Struct, frozen=True):
    """One message: `source` is the line's uuid (with the block's number for results), `time` UTC ms or None.

    `heard` is no message: text that entered the context from `tool` (`place`: its address) and is not kept.
    `interrupted`: the user broke off the exchange before it.
    """

    role: Literal["user", "assistant", "tool", "heard", "interrupted"]
    text: str
    source: str
    time: int | None
    prompt: str = ""
    tool: str = ""
    args: dict[str, Any] = {}
    place: str = ""


class Entry(msgspec.Struct, frozen=True):
    """What one line holds: messages, a title, text that reached the context by a hook, text that a hook printed.

    `strange`: why it, or a part of it, was not understood.
    """

    said: tuple[Said, ...] = ()
    title: str = ""
    title_rank: int = 0
    injected: str = ""
    printed: str = ""
    strange: str = ""


_NOTHING = Entry()
_NO_CONTENT = Entry(strange="its `message` has no `content` that is a text or a list")


def unknown_kind(kind: object) -> str:
    """What to say of a line whose `type` is `kind`, which no version that is known writes."""
    return f"a line of the type {kind!r:.60} is not known" if kind is not None else "it has no `type`"


class Parser:
    """Turns lines into entries. `calls` are tool calls whose result has not come yet: keep it between runs.

    Lines up to `since` (UTC ms; 0: none), and then also those without a time, hold nothing.
    """

    def __init__(self, calls: dict[str, list[Any]] | None = None, *, since: int = 0) -> None:
        self.calls: dict[str, list[Any]] = dict(calls or {})
        self.since = since

    def entry(self, raw: bytes) -> Entry:
        """What the line `raw` holds. Raises UnreadableLine."""
        line = decoded(raw)
        if self.since and (time_of(line) or 0) <= self.since:
            return _NOTHING
        entry = self._entry(raw, line)
        if line.get("forkedFrom") or line.get("isSidechain"):  # kept elsewhere, yet this context has heard of it
            said = tuple(_heard(one.tool, one.place) for one in entry.said if one.role in ("tool", "heard"))
            return Entry(said, strange=entry.strange)
        return entry

    def _entry(self, raw: bytes, line: dict[str, Any]) -> Entry:
        match line.get("type"):
            case "attachment":
                return self._attachment(raw, line)
            case "custom-title":
                return Entry(title=_text(line.get("customTitle")), title_rank=2)
            case "ai-title":
                return Entry(title=_text(line.get("aiTitle")), title_rank=1)
            case "user":
                return self._user(raw, line) if _has_content(line) else _NO_CONTENT
            case "assistant":
                return self._assistant(raw, line) if _has_content(line) else _NO_CONTENT
            case "saved_hook_context":
                return _hooked(line.get("content"))
            case "system":
                strange = line.get("content") and _text(line.get("subtype", "informational")) not in _QUIET_SYSTEM
                hooked = _hooked(line.get("content"))
                return hooked if strange else Entry(injected=hooked.injected)
            case kind if _text(kind) in _BOOKKEEPING:
                return _NOTHING
            case kind:
                heard = (_heard(_text(kind) or "unknown line"),) if "message" in line or "content" in line else ()
                return Entry(heard, strange=unknown_kind(kind))

    def _attachment(self, raw: bytes, line: dict[str, Any]) -> Entry:
        what = _mapping(line.get("attachment"))
        match what.get("type"):
            case "hook_additional_context":
                return _hooked(what.get("content"))
            case "hook_success":  # plain output is what reached the context, JSON output is only what was printed
                entry = _hooked(what.get("content"))
                return msgspec.structs.replace(entry, printed=_text(what.get("stdout")))
            case "queued_command" if _by_person(what) and what.get("commandMode", "prompt") == "prompt":
                prompt = _flat(what.get("prompt"))
                said = [*self._outputs(prompt), *_foreign_blocks(what.get("prompt"))]
                if text := person_words(prompt):
                    said.append(self._said("user", text, raw, line))
                return Entry(tuple(said))
            case kind if _text(kind) in _LOCAL_ATTACHMENTS:
                return _NOTHING
            case kind:
                place = next((_text(what[key]) for key in ("uri", "url") if _text(what.get(key))), "*")
                return Entry((_heard(_text(kind) or "unknown attachment", place),))

    def _user(self, raw: bytes, line: dict[str, Any]) -> Entry:
        content = _mapping(line.get("message")).get("content")
        blocks = _blocks(content)
        said = _foreign_blocks(content)
        for number, block in enumerate(blocks):
            if block.get("type") == "tool_result":
                said += [*_foreign_blocks(block.get("content")), self._result(raw, line, number, block)]
        machine = any(
            line.get(mark)
            for mark in ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "sourceToolUseID", "toolUseResult")
        )
        texts = [_block_text(block) for block in blocks]
        said += self._outputs("\n".join(texts))
        if not _by_person(line):
            said.append(_heard(_text(_mapping(line.get("origin")).get("kind")) or "unknown sender"))
        if machine or not _by_person(line):
            return Entry(tuple(said), injected="" if said else _flat(content))
        words = list[str]()
        for text in texts:
            words.append(person_words(text))
            if _OUTPUT.search(text):
                break
        text = "\n".join(filter(None, words))
        if text.startswith(_INTERRUPTED):
            said.insert(0, self._said("interrupted", "", raw, line))
        elif text:
            said.insert(0, self._said("user", text, raw, line))
        return Entry(tuple(said))

    def _assistant(self, raw: bytes, line: dict[str, Any]) -> Entry:
        message = _mapping(line.get("message"))
        if line.get("isApiErrorMessage") or message.get("model") == "<synthetic>":
            return _NOTHING
        blocks = _blocks(message.get("content"))
        for block in blocks:
            if block.get("type") == "tool_use":
                self._call(_text(block.get("id")), _text(block.get("name")), _mapping(block.get("input")))
        said = _foreign_blocks(message.get("content"), _SPOKEN)
        text = "\n\n".join(words for block in blocks if (words := _block_text(block).strip()))
        if text:
            said.append(self._said("assistant", text, raw, line))
        return Entry(tuple(said))

    def _call(self, key: str, name: str, args: dict[str, Any]) -> None:
        """Remember a call; where it fetched from is found in the whole of its arguments."""
        self.calls.pop(key, None)
        self.calls[key] = [name, _bounded(args), fetched(name, args) or ""]
        while len(self.calls) > OPEN_CALLS:
            del self.calls[next(iter(self.calls))]

    def _result(self, raw: bytes, line: dict[str, Any], number: int, block: dict[str, Any]) -> Said:
        name, args, *rest = self.calls.pop(_text(block.get("tool_use_id")), ["", {}, ""])
        place = _text(rest[0]) if rest else fetched(name, args) or ""
        text = _flat(block.get("content"))
        if name.startswith(OWN_TOOLS):
            name, text = name.removeprefix(OWN_TOOLS), "(an answer of vademecum itself)"
        source = f"{uuid_of(raw, line)}:{number}"
        text = shortened(text, RESULT_CHARS)
        return Said("tool", text, source, time_of(line), tool=name or "tool", args=args, place=place)

    def _outputs(self, text: str) -> list[Said]:
        """What a message with a program's output makes the context hear; a shell's is judged by its command."""
        if "<" not in text:
            return []
        if (typed := _BASH_INPUT.match(text)) is not None:
            self._call(_BASH, "Bash", {"command": typed[1]})
        said = list[Said]()
        for found in _OUTPUT.finditer(text):
            tag = found["tag"].lower()
            if tag.startswith("bash-"):
                name, _, place = self.calls.get(_BASH, [tag, {}, ""])
                said.append(_heard(name, place))
            elif not tag.startswith("local-command-"):
                said.append(_heard(tag))
        return [one for number, one in enumerate(said) if one not in said[:number]]

    def _said(self, role: Speaker, text: str, raw: bytes, line: dict[str, Any]) -> Said:
        return Said(role, text, uuid_of(raw, line), time_of(line), prompt=_text(line.get("promptId")))


def _has_content(line: dict[str, Any]) -> bool:
    message = _mapping(line.get("message"))
    return isinstance(message.get("content"), str | list)


def _heard(tool: str, place: str = "") -> Said:
    return Said("heard", "", "", None, tool=tool, place=place)


def _hooked(content: Any) -> Entry:
    """Text that a hook brought into the context; all but our own comes from outside."""
    items = cast("list[object]", content) if isinstance(content, list) else [content]
    texts = [_text(item) or _flat([item]) for item in items]
    strange = any(text.strip() and not _is_own(text.strip()) for text in texts)
    return Entry((_heard("hook", "*"),) if strange else (), injected=_flat(content))


def _is_own(text: str) -> bool:
    """True for what our own hook gave, also when the client cut it; false when something follows it."""
    return text.startswith(OWN_BEGIN) and (OWN_END not in text or text.rpartition(OWN_END)[2].count(">") <= 1)


def _foreign_blocks(content: Any, known: frozenset[str] = _SHOWN) -> list[Said]:
    """Blocks that bring text from somewhere else: a server's tool, a page, and whatever kind is not known."""
    return [
        _heard(_text(block.get("type")) or "unknown block", "*")
        for block in _blocks(content)
        if _text(block.get("type")) not in known or _mapping(block.get("source")).get("type") == "url"
    ]


def outside_tags(text: str) -> set[str]:
    """Tags in `text` that hold another agent's or server's words."""
    tags = {found["tag"].lower() for found in _OUTPUT.finditer(text)} if "<" in text else set[str]()
    return {tag for tag in tags if not tag.startswith(("bash-", "local-command-"))}


def person_words(text: str) -> str:
    """`text` without what the program put before and after the person's words; empty when nothing is left.

    A command comes out as it was typed (`/review the parser`, `!ls`). From the first tag of a program's output on,
    nothing is the person's; other tags in the middle stay: people quote them.
    """
    if "<" not in text:  # nearly always, and the patterns cost a hook more than its work
        return text.strip()
    if (output := _OUTPUT.search(text)) is not None:
        text = text[: output.start()]
    while (text := text.rstrip()).endswith("</system-reminder>") and (begin := text.rfind("<system-reminder>")) >= 0:
        text = text[:begin]
    typed: list[str] = []
    while (found := re.match(_LEADING, text)) is not None:
        text = text[found.end() :]
        typed.append(_as_typed(found["tag"] or "", (found["inner"] or "").strip()))
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


def decoded(raw: bytes) -> dict[str, Any]:
    """The JSON object that `raw` is. Raises UnreadableLine."""
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


def uuid_of(raw: bytes, line: dict[str, Any]) -> str:
    """What names a line within its transcript: its uuid, else the hash of its bytes."""
    return _text(line.get("uuid")) or "sha256-" + hashlib.sha256(raw.strip()).hexdigest()[:32]


def time_of(line: dict[str, Any]) -> int | None:
    """When a line was written, UTC ms; None when it does not say."""
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
