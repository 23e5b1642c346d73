"""ByteRover as a provider: the contract, and the three tools for the model.

Idea: recall is `brv search`, which ranks files and asks no model; what a turn said is handed to `brv curate`, which
lets ByteRover's own agent file it, and only when the user said something that lasts. Invariant: an error of `brv` is
an error here; a curation that wrote no file is not reported as stored.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from vademecum.errors import ProviderError
from vademecum.gate.selector import Selector
from vademecum.model import ToolSpec
from vademecum.providers import settings as read
from vademecum.providers.byterover.command import Brv
from vademecum.providers.byterover.tree import LEDGER, Curation, Tree
from vademecum.providers.contract import (
    Availability,
    Context,
    Forgotten,
    MemoryChange,
    Provider,
    Recalled,
    Setting,
    TurnRecord,
)
from vademecum.providers.matching import SHORTEST_PART, is_meant

COMMAND = "brv"
_FOUND = 6
_PART = 2_000  # characters of either side of an exchange
_NOTHING = "no matching knowledge found"
_KEPT = "ByteRover's own logs, and copies that were pushed to its cloud, are out of reach of its command."

TOOLS = (
    ToolSpec(
        "brv_query",
        "Ask the project's knowledge in a whole sentence; ByteRover's agent answers from its files. Takes seconds.",
        {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    ),
    ToolSpec(
        "brv_curate",
        "File durable knowledge: a decision, a pattern, a fact, with its reason. Takes up to two minutes.",
        {"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]},
    ),
    ToolSpec("brv_status", "Whether ByteRover works, and what it has on file.", {"type": "object", "properties": {}}),
)


class ByteRover(Provider):
    """ByteRover, through its command."""

    name: ClassVar[str] = "byterover"

    def __init__(self) -> None:
        self._running: Brv | None = None
        self._files: Tree | None = None
        self._what = "signals"
        self._query_seconds = 10.0
        self._curate_seconds = 120.0
        self._own = Path()
        self._curating = threading.Lock()

    def available(self, settings: Mapping[str, Any], env: Mapping[str, str]) -> Availability:
        """The command is all that is needed; whether it has a model is its own to say."""
        if os.name == "nt":
            return Availability(False, "ByteRover is not supported on Windows.", "Use WSL, or another provider.")
        command = read.text(settings, "command", COMMAND)
        if shutil.which(command, path=env.get("PATH")) is None:
            return Availability(
                False, f"The command {command} was not found.",
                "npm install -g byterover-cli, then `brv providers connect byterover`.",
            )  # fmt: skip
        return Availability(True)

    @classmethod
    def config_schema(cls) -> tuple[Setting, ...]:
        """Nothing is required."""
        return (
            Setting("api_key", "key of your ByteRover account; only for its cloud", env="BRV_API_KEY", secret=True),
            Setting("command", "the command, or its path", COMMAND),
            Setting("project", "folder whose .brv is used; default: one of its own in the home"),
            Setting("curate", "turns to hand over: those with something that lasts, all, or none", "signals",
                    choices=("signals", "all", "off")),
            Setting("query_seconds", "longest wait for a search or a query", "10"),
            Setting("curate_seconds", "longest wait for a curation", "120"),
        )  # fmt: skip

    def open(self, context: Context) -> None:
        """Nothing is started before the first question. Raises ProviderError."""
        said = context.settings
        with read.ours():
            self._what = read.text(said, "curate", "signals").lower()
            if self._what in ("true", "false"):
                self._what = "all" if self._what == "true" else "off"
            if self._what not in ("signals", "all", "off"):
                raise ProviderError(f"curate is {self._what!r}.", "Write signals, all or off.")
            self._query_seconds = read.number(said, "query_seconds", 10, least=0.1, most=600)
            self._curate_seconds = read.number(said, "curate_seconds", 120, least=0.1, most=3600)
        self._own = context.folder
        named = read.text(said, "project") if context.actor.is_owner else ""  # what others say is kept apart
        folder = Path(named).expanduser() if named else self._own / "project"
        self._files = Tree(folder, self._own)
        command = shutil.which(read.text(said, "command", COMMAND), path=context.env.get("PATH"))
        self._running = Brv(command or read.text(said, "command", COMMAND), folder, context.env)

    @property
    def _brv(self) -> Brv:
        assert self._running is not None, "open comes first"
        return self._running

    @property
    def _tree(self) -> Tree:
        assert self._files is not None, "open comes first"
        return self._files

    def close(self) -> None:
        """End what still runs; ByteRover's own daemon ends by itself."""
        if self._running is not None:
            self._running.close()

    def system_block(self) -> str:
        """What the model needs to know of the tools."""
        return (
            "ByteRover keeps the project's knowledge as files. brv_query answers a whole question from them; "
            "brv_curate files what lasts (decisions, patterns, facts, with reasons). Both take seconds: use them when "
            "it matters."
        )

    def prefetch(self, query: str) -> Sequence[Recalled]:
        """The files that fit, ranked by their words; no model is asked."""
        text = " ".join(query.split())
        if sum(character.isalnum() for character in text) < 3:
            return ()
        data = self._brv.run("search", "--limit", str(_FOUND), text=text, seconds=self._query_seconds)
        results: object = data.get("results")
        if not isinstance(results, list):
            raise ProviderError("brv search answered without results.", "Another version of byterover-cli may help.")
        return [one for one in map(_recalled, results) if one is not None]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]

    def sync_turn(self, turn: TurnRecord) -> None:
        """Have an exchange filed, if it carries something that lasts; each turn once."""
        with self._curating:
            if not self._carries(turn) or self._tree.has(turn.id):
                return
            said = f"User: {turn.user[:_PART]}"
            if turn.assistant.strip():
                said += f"\n\nAssistant: {turn.assistant[:_PART]}"
            self._curate(said, turn=turn.id, session=turn.session)

    def _carries(self, turn: TurnRecord) -> bool:
        if self._what == "off" or not turn.user.strip():
            return False
        if self._what == "all":
            return True
        from vademecum.bank.signals.signal import signals

        return any(signal.branch != "skip" for signal in signals(turn.user))

    def _curate(self, text: str, *, turn: str = "", session: str = "") -> tuple[str, ...]:
        """Hand a text over; the files that it went into, which may be none."""
        limit = str(max(10, min(3600, round(self._curate_seconds))))
        data = self._brv.run("curate", "--timeout", limit, text=text, seconds=self._curate_seconds)
        changes: Any = data.get("changes") or {}
        created = tuple(self._tree.relative(str(path)) for path in changes.get("created") or ())
        updated = tuple(self._tree.relative(str(path)) for path in changes.get("updated") or ())
        self._tree.note(Curation(turn, session, created, updated))
        return (*created, *updated)

    def tools(self) -> tuple[ToolSpec, ...]:
        """All three."""
        return TOOLS

    def writes(self, name: str, args: Mapping[str, Any]) -> bool:  # noqa: ARG002
        """Only the curation."""
        return name == "brv_curate"

    def call_tool(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Run a tool. Raises ProviderError."""
        match name:
            case "brv_query":
                limit = str(max(10, round(self._query_seconds)))
                query = read.given(args, "query")
                data = self._brv.run("query", "--timeout", limit, text=query, seconds=self._query_seconds)
                text = str(data.get("result") or "").strip()
                return {"answer": "" if _NOTHING in text.lower() else text, "found": _NOTHING not in text.lower()}
            case "brv_curate":
                files = self._curate(read.given(args, "content"))
                if not files:
                    return {"outcome": "ByteRover filed nothing of it: it found nothing new.", "files": []}
                return {"outcome": "filed", "files": list(files)}
            case "brv_status":
                data = self._brv.run("status", seconds=self._query_seconds)
                held = sum(1 for _ in self._tree.items())
                keys = ("cliVersion", "authStatus", "contextTreeStatus", "projectRoot")
                return {key: data[key] for key in keys if key in data} | {"files": held}
            case _:
                raise ProviderError(
                    f"ByteRover has no tool {name}.", f"There are {', '.join(tool.name for tool in TOOLS)}."
                )

    def store(self, text: str, *, kind: str = "fact") -> str:  # noqa: ARG002  its agent files as it sees fit
        """Have a text filed; the id is the path of the file. Raises ProviderError when none was written."""
        files = self._curate(text)
        if not files:
            raise ProviderError("ByteRover filed nothing of the text.", "It may know it already; ask with brv_query.")
        return files[0]

    def on_memory_write(self, change: MemoryChange) -> None:
        """What goes into the core is filed as well; what leaves it is taken out."""
        if change.before:
            self.forget(Selector("entry", change.before))
        if change.after:
            self._curate(f"{'About the user' if change.store == 'user' else 'Noted'}: {change.after}")

    def forget(self, selector: Selector) -> Forgotten:
        """Erase files that only this made, and cut the text out of those that hold other things as well."""
        own = self._tree.own()
        kept: list[str] = []
        match selector.kind:
            case "session":
                gone = [path for path, curation in own.items() if curation.session == selector.value]
                mixed = {
                    path for one in self._tree.curations() if one.session == selector.value
                    for path in (*one.created, *one.updated)
                } - set(gone)  # fmt: skip
                if mixed:
                    kept.append(
                        f"ByteRover merged it into files that hold other things too: {', '.join(sorted(mixed))}."
                    )
                count = self._tree.erase(gone)
            case "entry":
                meant = [one for one in self._tree.items() if is_meant(selector.value, one.id, one.text)]
                count = self._tree.erase([one.id for one in meant if one.id in own or one.id == selector.value])
                text = selector.value.strip()
                cut = self._tree.cut(text) if len(text) >= SHORTEST_PART else []
                count += len(cut)
                if cut:
                    kept.append(f"Cut out of files that hold other things too: {', '.join(cut)}.")
                kept.append("What ByteRover has put into its own words is not found by a text.")
            case _:
                return Forgotten(0, "ByteRover does not know whose words a file is made from, or which source.")
        return Forgotten(count, " ".join([*kept, _KEPT]))

    def facts(self, since: int = 0) -> Iterable[Recalled]:
        """The files that have changed since then."""
        return [one for one in self._tree.items() if one.at is None or one.at >= since]

    def export(self) -> Iterable[Recalled]:
        """All files."""
        return list(self._tree.items())

    def backup_paths(self) -> tuple[Path, ...]:
        """The files of the tree, and the ledger."""
        if self._files is None:
            return ()
        ledger = self._own / LEDGER
        return (*self._tree.files(), *([ledger] if ledger.is_file() else []))


def _recalled(result: object) -> Recalled | None:
    if not isinstance(result, dict):
        return None
    path, title, excerpt = (str(result.get(key) or "").strip() for key in ("path", "title", "excerpt"))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    if not path or not excerpt:
        return None
    score: object = result.get("score")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    text = excerpt if title.casefold() in excerpt.casefold() else f"{title}: {excerpt}"
    return Recalled(path, text, "note", float(score) if isinstance(score, int | float) else None)
