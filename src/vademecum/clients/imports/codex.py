"""Taking over the sessions of Codex: `rollout-*.jsonl` below `sessions` and `archived_sessions` of its home.

Idea: a rollout holds most messages twice, as an event for the person and as an item for the model; each is taken once.
Invariant: what Codex puts into the context in the user's name (instructions, the environment, an aborted turn) is never
the user's words; what a subagent was told stays out.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vademecum.clients.imports.reading import mapping, mappings, text_of, within
from vademecum.clients.imports.report import ImportReport, Progress, Tally
from vademecum.clients.imports.takeover import Takeover, take_transcript
from vademecum.clients.imports.transcript import (
    OWN_TOOLS,
    RESULT_CHARS,
    Entry,
    Parser,
    Said,
    Speaker,
    UnreadableLine,
    decoded,
    shortened,
    time_of,
    unknown_kind,
    uuid_of,
)
from vademecum.clients.place import Place
from vademecum.errors import NotFoundError

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

CHANNEL = "codex"
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$")
_INJECTED = re.compile(r"\s*(?:<[A-Za-z_][\w-]*[ >]|# AGENTS\.md instructions)")
"""How a message of the role `user` begins that Codex wrote itself."""
_ITEMS = frozenset({"message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
                    "local_shell_call", "web_search_call"})  # fmt: skip
_LINES = frozenset({"session_meta", "turn_context", "compacted", "world_state", "event_msg", "response_item"})
_OLD = frozenset({"reasoning", "ghost_snapshot"})
_REQUEST = "## My request for Codex:"
"""Before this line the extension of an editor writes what is open there."""
_LAST = "last said"
"""Under this and the role what was said last is kept among the calls: the words, and as which of the two kinds."""
_HEAD_BYTES = 4 << 20


def import_codex(
    vm: Vademecum, path: Path | None = None, *, dry_run: bool = False, progress: Progress | None = None
) -> ImportReport:
    """Take over the rollouts below `path` (default: the home of Codex); `path` may also be one rollout.

    Run again, it takes over only what is new. Raises NotFoundError when there is nothing at `path`.
    """
    root = path or Place.find(CHANNEL).sessions
    if root is None or not root.exists():
        where = root or "the home of Codex"
        raise NotFoundError(f"There is nothing at {where}; nothing was imported.", "Give the path of its sessions.")
    tally, others = Tally(dry_run), 0
    for packed in sorted(root.rglob("rollout-*.jsonl.zst")) if root.is_dir() else []:
        tally.problem(packed, 0, "it is compressed: `zstd -d` makes a file of it that can be read")
    files = [] if root.is_file() else sorted(root.rglob("rollout-*.jsonl"), key=lambda one: one.name)
    found = [root] if root.is_file() else within(files, root, tally)
    for done, file in enumerate(found, 1):
        if _is_subagent(file):
            others += 1
        else:
            name = _UUID.search(file.stem)
            recorder = Takeover(vm, file, name.group() if name else file.stem, CHANNEL, CodexParser)
            live = vm.history.by_key(f"{CHANNEL}:{recorder.conversation}") is not None
            take_transcript(recorder, file, tally, live=live)
        if progress:
            progress(done, len(found), file.name)
    if others:
        tally.notes.append(f"{others} sessions of subagents were left out.")
    return tally.report()


def _is_subagent(file: Path) -> bool:
    """What the first line says of the session; a file that cannot be read is left to the recorder."""
    try:
        with file.open("rb") as stream:
            about = mapping(decoded(stream.readline(_HEAD_BYTES)).get("payload"))
    except (OSError, UnreadableLine):
        return False
    return about.get("thread_source") == "subagent" or "subagent" in mapping(about.get("source"))


class CodexParser(Parser):
    """Lines of a rollout: `{"timestamp", "type", "payload"}`, or in old ones the item itself."""

    def _entry(self, raw: bytes, line: dict[str, Any]) -> Entry:
        kind, item = text_of(line.get("type")), mapping(line.get("payload"))
        if kind in _LINES and not isinstance(line.get("payload"), dict):
            return Entry(strange="its `payload` is no object")
        match kind:
            case "event_msg":
                return self._event(raw, line, item)
            case "response_item":
                return self._item(raw, line, item)
            case _ if kind in _ITEMS:  # of the first versions
                return self._item(raw, line, line)
            case _ if kind in _LINES or kind in _OLD or (not kind and {"record_type", "instructions", "git"} & {*line}):
                return Entry()
            case _:
                return Entry(strange=unknown_kind(line.get("type")))

    def _event(self, raw: bytes, line: dict[str, Any], event: dict[str, Any]) -> Entry:
        match event.get("type"):
            case "user_message":
                return self._said_once("user", text_of(event.get("message")), "event", raw, line)
            case "agent_message":
                return self._said_once("assistant", text_of(event.get("message")), "event", raw, line)
            case "turn_aborted":
                return Entry((self._said("interrupted", "", raw, line),))
            case "thread_name_updated":
                return Entry(title=text_of(event.get("thread_name")), title_rank=2)
            case _:
                return Entry()

    def _item(self, raw: bytes, line: dict[str, Any], item: dict[str, Any]) -> Entry:
        kind, call = item.get("type"), text_of(item.get("call_id")) or text_of(item.get("id"))
        match kind:
            case "message":
                words = _words(item.get("content"))
                match item.get("role"):
                    case "assistant":
                        return self._said_once("assistant", words, "item", raw, line)
                    case "user" if not _INJECTED.match(words):
                        return self._said_once("user", words, "item", raw, line)
                    case _:
                        return Entry()
            case "function_call":
                name = text_of(item.get("name"))
                if (space := text_of(item.get("namespace"))) and not name.startswith("mcp__"):
                    name = f"{space.rstrip('_')}__{name}"
                self._call(call, name, _arguments(item.get("arguments")))
            case "custom_tool_call":
                self._call(call, text_of(item.get("name")), {"input": text_of(item.get("input"))})
            case "local_shell_call":
                command = mapping(item.get("action")).get("command")
                self._call(call, "local_shell", {"command": command})
            case "web_search_call":
                action = mapping(item.get("action"))
                place = text_of(action.get("url")) or text_of(action.get("query")) or "*"
                return Entry((Said("heard", "", "", None, tool="web_search", place=place),))
            case "function_call_output" | "custom_tool_call_output":
                return Entry((self._output(raw, line, call, item.get("output")),))
            case _:
                pass
        return Entry()

    def _output(self, raw: bytes, line: dict[str, Any], call: str, output: Any) -> Said:
        name, args, place = self.calls.pop(call, ["", {}, ""])
        text = text_of(output) or _words(output) or text_of(mapping(output).get("content"))
        if text.startswith("{"):  # a shell's: `{"output": ..., "metadata": ...}`
            text = text_of(_arguments(text).get("output")) or text
        if name.startswith(OWN_TOOLS):
            name, text = name.removeprefix(OWN_TOOLS), "(an answer of vademecum itself)"
        text = shortened(text, RESULT_CHARS)
        return Said("tool", text, uuid_of(raw, line), time_of(line), tool=name or "tool", args=args, place=place)

    def _said_once(self, role: Speaker, words: str, kind: str, raw: bytes, line: dict[str, Any]) -> Entry:
        """The message, unless it is the other half of the one before it."""
        words = (words.partition(_REQUEST)[2] or words).strip() if role == "user" else words.strip()
        if not words:
            return Entry()
        last = self.calls.pop(f"{_LAST} {role}", [])
        if last[:1] == [words] and last[2] != kind:
            return Entry()
        self.calls[f"{_LAST} {role}"] = [words, {}, kind]
        return Entry((self._said(role, words, raw, line),))


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    found = list[str]()
    for block in mappings(content):
        kind = text_of(block.get("type"))
        found.append(text_of(block.get("text")) or (f"[{kind.removeprefix('input_')}]" if "image" in kind else ""))
    return "\n".join(filter(None, found))


def _arguments(given: Any) -> dict[str, Any]:
    try:
        made: object = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        return {"arguments": text_of(given)}
    return mapping(made)
