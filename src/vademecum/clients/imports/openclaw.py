"""Taking over OpenClaw: its sessions, in files or in its database, and the memory files of its workspace.

Idea: a session belongs to the conversation that its key names; the owner's own come in as the owner's, those of groups
and other people as those of users of their own. Invariant: what the gateway wrote around a message (envelopes,
heartbeat prompts, other sessions' words) is never the user's; instructions of the workspace are left where they are.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vademecum.clients.imports.conversation import Conversation, Conversations, Turn
from vademecum.clients.imports.documents import Document, Documents
from vademecum.clients.imports.reading import mapping, mappings, moment, text_of, within
from vademecum.clients.imports.report import ImportReport, Progress, Tally
from vademecum.clients.imports.takeover import Takeover, take_transcript
from vademecum.clients.imports.transcript import (
    OWN_TOOLS,
    RESULT_CHARS,
    Entry,
    Parser,
    Said,
    UnreadableLine,
    decoded,
    shortened,
    time_of,
)
from vademecum.clients.openclaw_lines import OurLines
from vademecum.clients.place import Place
from vademecum.errors import NotFoundError, UnreadableError, VademecumError
from vademecum.store.foreign import Event, ForeignDatabase

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

CHANNEL = "openclaw"
DATABASE = "openclaw-agent.sqlite"
UNLISTED = f"{CHANNEL}:unlisted"
"""The account of sessions whose conversation is not known any more, where there are other people's."""
_MEMORIES = {"MEMORY.md": "user", "USER.md": "user", "DREAMS.md": "reference"}
_LEFT = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "TOOLS.md", "HEARTBEAT.md", "BOOT.md")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_AROUND = re.compile(
    r"(?s)\A\s*(?:[\w ]+ \(untrusted[^)\n]*\):\s*```json\n.*?\n```\s*|\[[^\]\n]*\d{4}-\d\d-\d\d[^\]\n]*\]\s*)+"
)
"""What the gateway writes before a message: who sent it, and when."""
_ID_LINE = re.compile(r"\n\[message_id: [^\]\n]*\]\s*\Z")
_AUTOMATIC = re.compile(r"\s*(?:Read HEARTBEAT\.md|System: |Pre-compaction memory flush|A new session was started)")
_QUIET = frozenset({"HEARTBEAT_OK", "NO_REPLY", ""})
_OTHERS = re.compile(r":(?:group|channel|room|dm|direct):")
_MACHINES = re.compile(r"(?:\A|:)(?:cron|hook|subagent|heartbeat|acp):")


def import_openclaw(
    vm: Vademecum,
    path: Path | None = None,
    *,
    mine: Collection[str] = (),
    dry_run: bool = False,
    progress: Progress | None = None,
) -> ImportReport:
    """Take over the state folder of OpenClaw at `path` (default: its own), a workspace, or one session's file.

    `mine` names conversations that are `vm`'s own user's, as `openclaw:telegram:dm:42`; groups and direct messages of
    several people become sessions of users of these names. Raises NotFoundError when there is nothing at `path`.
    """
    agents = Place.find(CHANNEL).sessions
    root = path or (agents.parent if agents else Path("~/.openclaw")).expanduser()
    if not root.exists():
        raise NotFoundError(f"There is nothing at {root}; nothing was imported.", "Give the path of its state folder.")
    tally = Tally(dry_run)
    keys = _keys(root, tally)
    owners = _Owners(vm, keys, frozenset(mine), tally)
    files = [] if root.is_file() else sorted(_transcripts(root), key=lambda one: one.stat().st_mtime)
    found = [root] if root.is_file() else within(files, root, tally)
    for done, file in enumerate(found, 1):
        name = file.name.partition(".jsonl")[0]
        one = owners.of(keys.get(name))
        if one is not None:
            live = one.history.by_key(f"{CHANNEL}:{name}") is not None
            take_transcript(Takeover(one, file, name, CHANNEL, OpenClawParser), file, tally, live=live)
        if progress:
            progress(done, len(found), file.name)
    for file in sorted(root.rglob(DATABASE)) if root.is_dir() else []:
        _take_database(file, owners, tally)
    for workspace in _workspaces(root):
        take_workspace(vm, workspace, tally)
    owners.report()
    return tally.report()


def _transcripts(root: Path) -> Iterator[Path]:
    """Files of sessions, also of those that were reset."""
    for file in root.rglob("*.jsonl*"):
        name, _, behind = file.name.partition(".jsonl")
        if file.is_file() and file.parent.name == "sessions" and (not behind or behind.startswith(".reset.")) and name:
            yield file


def _keys(root: Path, tally: Tally) -> dict[str, str]:
    """The conversation of every session, where `sessions.json` names it."""
    found = dict[str, str]()
    for file in root.rglob("sessions/sessions.json") if root.is_dir() else [root.parent / "sessions.json"]:
        try:
            for key, about in decoded(file.read_bytes()).items():
                found[text_of(mapping(about).get("sessionId"))] = key
        except FileNotFoundError:
            continue
        except (OSError, UnreadableLine) as error:
            tally.problem(file, 0, getattr(error, "strerror", None) or str(error))
    return found


class _Owners:
    """Whose a session is, by the key of its conversation."""

    def __init__(self, vm: Vademecum, keys: dict[str, str], mine: frozenset[str], tally: Tally) -> None:
        self._vm = vm
        self._mine = mine
        self._tally = tally
        self._users = dict[str, "Vademecum"]()
        self._counts = dict[str, int]()
        self._machines = 0
        self._mixed = any(_OTHERS.search(key) for key in keys.values())

    def of(self, key: str | None) -> Vademecum | None:
        """Who is given the session; None for what a timer or another program said to the agent."""
        if key and _MACHINES.search(key):
            self._machines += 1
            return None
        if key is None or _OTHERS.search(key):
            rest = re.sub(r"\Aagent:[^:]*:", "", key or "")
            account = f"{CHANNEL}:{rest}" if key else UNLISTED
            if account in self._mine or (key is None and not self._mixed):
                return self._vm
            self._counts[account] = self._counts.get(account, 0) + 1
            if account not in self._users:
                self._users[account] = self._vm.as_(user=account)
            return self._users[account]
        return self._vm

    def report(self) -> None:
        for account, count in self._counts.items():
            self._tally.notes.append(
                f"{count} sessions are those of {account!r}; if that is you, import again with `--mine {account}`."
            )
        if self._machines:
            self._tally.notes.append(f"{self._machines} sessions of timers, hooks and subagents were left out.")


def _take_database(file: Path, owners: _Owners, tally: Tally) -> None:
    try:
        with ForeignDatabase(file) as database:
            for session, events in itertools.groupby(database.events(), key=lambda one: one.session):
                lines = list(events)
                vm = owners.of(lines[0].key or None)
                if vm is not None:
                    Conversations(vm, CHANNEL, tally).take(_conversation(session, lines, file, tally), file)
    except VademecumError as error:
        tally.problem(file, 0, error.message)


def _conversation(session: str, events: list[Event], file: Path, tally: Tally) -> Conversation:
    parser, turns, digest, packed = OpenClawParser(), list[Turn](), hashlib.sha256(), 0
    for event in events:
        if not event.line:
            packed += 1
            continue
        digest.update(event.line)
        try:
            for said in parser.entry(event.line).said:
                if said.role in ("user", "assistant", "tool"):
                    turns.append(Turn(said.role, said.text, said.source, said.time, said.tool, said.args, said.place))
        except UnreadableLine as error:
            tally.problem(file, 0, f"event {event.number} of session {session}: {error}")
    if packed:
        why = f"{packed} events of session {session} are stored compressed; `openclaw sessions export` gives them"
        tally.problem(file, 0, why)
    return Conversation(session, "", None, turns, digest.hexdigest())


class OpenClawParser(Parser):
    """Lines of a transcript: entries with `type`, `id` and `timestamp`."""

    def _entry(self, raw: bytes, line: dict[str, Any]) -> Entry:  # noqa: ARG002  lines are named by their `id`
        message = mapping(line.get("message"))
        match line.get("type"):
            case "message":
                return self._spoken(line, message)
            case "custom_message":
                text = shortened(_words(line.get("content")), RESULT_CHARS)
                if not text:
                    return Entry()
                return Entry((self._made("tool", text, line, tool=text_of(line.get("customType")) or "extension"),))
            case "session_info":
                return Entry(title=text_of(line.get("name")), title_rank=2)
            case _:
                return Entry()

    def _spoken(self, line: dict[str, Any], message: dict[str, Any]) -> Entry:
        words = _words(message.get("content"))
        match message.get("role"):
            case "user":
                text = _ID_LINE.sub("", _AROUND.sub("", words, count=1)).strip()
                kind = text_of(mapping(message.get("provenance")).get("kind"))
                if kind and kind != "external_user":
                    return Entry((self._made("tool", text, line, tool=kind),))
                if not text or _AUTOMATIC.match(text):
                    return Entry()
                return Entry((self._made("user", text, line),))
            case "assistant":
                for block in mappings(message.get("content")):
                    if block.get("type") == "toolCall":
                        self._call(
                            text_of(block.get("id")), text_of(block.get("name")), mapping(block.get("arguments"))
                        )
                return Entry() if words.strip() in _QUIET else Entry((self._made("assistant", words.strip(), line),))
            case "toolResult":
                return Entry((self._result_of(line, message, words),))
            case _:
                return Entry()

    def _result_of(self, line: dict[str, Any], message: dict[str, Any], words: str) -> Said:
        name, args, place = self.calls.pop(text_of(message.get("toolCallId")), ["", {}, ""])
        name = name or text_of(message.get("toolName")) or "tool"
        if name.startswith((OWN_TOOLS, "vademecum__")):
            name, words = name.rpartition("__")[2], "(an answer of vademecum itself)"
        made = self._made("tool", shortened(words, RESULT_CHARS), line, tool=name)
        return Said("tool", made.text, made.source, made.time, tool=name, args=args, place=place)

    def _made(self, role: Any, text: str, line: dict[str, Any], tool: str = "") -> Said:
        time = time_of(line) or moment(mapping(line.get("message")).get("timestamp"))
        return Said(role, text, f"openclaw:{text_of(line.get('id'))}", time, tool=tool)


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    found = list[str]()
    for block in mappings(content):
        kind = block.get("type")
        found.append(text_of(block.get("text")) if kind == "text" else "[image]" if kind == "image" else "")
    return "\n".join(filter(None, found))


def _workspaces(root: Path) -> list[Path]:
    if not root.is_dir():
        return []
    found = [one for one in sorted(root.glob("workspace*")) if one.is_dir()]
    own = any((root / name).is_file() for name in _MEMORIES) or (root / "memory").is_dir()
    return [*found, root] if own else found


def take_workspace(vm: Vademecum, folder: Path, tally: Tally) -> None:
    """Take over the memory files of the workspace `folder`, by whatever path, without what is ours in them."""
    folder = folder.resolve()
    documents, ours = Documents(vm, CHANNEL, tally), OurLines(vm)
    files = [folder / name for name in _MEMORIES] + sorted((folder / "memory").rglob("*.md"))
    for file in within(files, folder, tally):
        try:
            body = ours.outside(file.read_bytes(), file).decode("utf-8-sig", "replace")
        except FileNotFoundError:
            continue
        except UnreadableError as error:
            tally.problem(file, 0, error.message)
            continue
        except OSError as error:
            tally.problem(file, 0, error.strerror or str(error))
            continue
        day = _DAY.match(file.stem)
        about = f"What OpenClaw noted in {file.relative_to(folder)}"
        kind: Any = _MEMORIES.get(file.name, "reference")
        time = moment(day.group()) if day else None
        name = f"OpenClaw {file.stem}" if file.parent == folder or day else file.stem
        documents.take(Document(str(file), name, about, kind, body, note=not day, time=time), file)
    left = [name for name in _LEFT if (folder / name).is_file()]
    if left:
        tally.notes.append(f"{', '.join(left)} of {folder} are instructions, not memory, and were left as they are.")
