"""RetainDB as a provider: the contract, and the ten tools for the model.

Idea: an exchange is handed over with its turn's id, and the job that makes memories from it is looked after until it is
done. Invariant: a turn counts as stored when RetainDB has worked it in; a job that is under way is not started twice,
also not after a restart.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast
from urllib.parse import quote

from vademecum.clock import iso
from vademecum.errors import ProviderError, StorageError, VademecumError
from vademecum.files import write_atomic
from vademecum.gate.selector import Selector
from vademecum.model import Actor, ToolSpec
from vademecum.providers import settings as read
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
from vademecum.providers.http import Http
from vademecum.providers.matching import is_meant, plain
from vademecum.providers.retaindb.api import Api, JobFailed, Memory
from vademecum.providers.retaindb.files import Files
from vademecum.providers.retaindb.options import HOSTED, Options, options
from vademecum.providers.retaindb.tools import KINDS, TOOLS, WRITING

_LONGEST_QUERY = 2_000
_AT_START = 10  # memories of the profile that a session begins with
_SHARE = 0.6  # of the time of a request that a job is waited for
_JOBS = "jobs.json"
_KEPT = "RetainDB lists no sessions: what is only in one is erased with `session:ID`. Its backups are out of reach."


class RetainDB(Provider):
    """RetainDB, hosted or a server of one's own."""

    name: ClassVar[str] = "retaindb"

    def __init__(self) -> None:
        self._opened: tuple[Options, Context, Api] | None = None
        self._closing = threading.Event()
        self._syncing = threading.Lock()

    def available(self, settings: Mapping[str, Any], env: Mapping[str, str]) -> Availability:
        """A key."""
        try:
            said = options(settings, env)
        except VademecumError as error:
            return Availability(False, error.message, error.hint)
        if not said.key:
            return Availability(
                False, "RETAINDB_API_KEY is missing.", "Get a key at retaindb.com, or from your server."
            )
        return Availability(True)

    @classmethod
    def config_schema(cls) -> tuple[Setting, ...]:
        """Nothing but the key is needed."""
        return (
            Setting("api_key", "the key", env="RETAINDB_API_KEY", secret=True, required=True),
            Setting("base_url", "address of a server of your own", HOSTED, env="RETAINDB_BASE_URL"),
            Setting("project", "the project; default: one for each agent", env="RETAINDB_PROJECT"),
            Setting("user_id", "your id in the project; default: owner"),
            Setting("write_mode", "wait for memories to be made, or look after the job", "sync",
                    choices=("sync", "async")),
            Setting("top_k", "memories that are asked for", "8"),
            Setting("files_from", "folder from which the model may upload files; empty: none"),
        )  # fmt: skip

    def open(self, context: Context) -> None:
        """Read the settings; nothing is sent yet. Raises ProviderError."""
        with read.ours():
            said = options(context.settings, context.env)
            headers = {"Authorization": f"Bearer {said.key}", "X-API-Key": said.key}
            http = Http("RetainDB", said.base, headers=headers, seconds=context.seconds, clock=context.clock)
            project = said.project_of(context.actor.agent)
            api = Api(http, project, closing=self._closing, seconds=context.seconds * _SHARE)
            self._opened = said, context, api

    def close(self) -> None:
        """Stop waiting for jobs and let go of the connections."""
        self._closing.set()
        if self._opened is not None:
            self._opened[2].http.close()

    @property
    def _all(self) -> tuple[Options, Context, Api]:
        assert self._opened is not None, "open comes first"
        return self._opened

    @property
    def _api(self) -> Api:
        return self._all[2]

    def _user(self, user: str = "") -> str:
        said, context, _ = self._all
        return said.user_of(Actor(context.actor.agent, user) if user else context.actor)

    def system_block(self) -> str:
        """What the model needs to know of the tools."""
        return (
            "RetainDB keeps long-term memories about the user. retaindb_search finds them by meaning, retaindb_context "
            "puts together what matters for a task, retaindb_remember keeps a fact, retaindb_forget erases one. "
            "Conversations are handed over by themselves."
        )

    def on_session_start(self, session: str) -> Sequence[Recalled]:  # noqa: ARG002  the profile is the user's
        """The beginning of the profile."""
        return [_recalled(one) for one in self._api.profile(self._user())[:_AT_START] if one.text.strip()]

    def prefetch(self, query: str) -> Sequence[Recalled]:
        """What fits the user's words."""
        text = query.strip()[:_LONGEST_QUERY]
        if not text:
            return ()
        found = self._api.search(self._user(), text, limit=self._all[0].top_k)
        return [_recalled(one) for one in found if one.text.strip()]

    # --- what is told

    def sync_turn(self, turn: TurnRecord) -> None:
        """Hand an exchange over, unless it is there or on its way, and wait until it is worked in."""
        if not turn.user.strip():
            return
        with self._syncing:
            job = self._jobs().get(turn.id, "")
            if job and self._worked_in(turn.id, job):
                return
            if self._is_there(turn):
                return
            mode = self._all[0].write_mode
            job = self._api.ingest(self._user(), turn.session, _messages(turn), mode=mode)
            if job:
                self._note(turn.id, job)
                self._worked_in(turn.id, job)

    def _worked_in(self, turn: str, job: str) -> bool:
        """Wait for a job; False when it is not known any more. Raises ProviderError if it failed, or goes on."""
        try:
            self._api.follow(job)
        except JobFailed:
            self._note(turn, "")
            raise
        except ProviderError as error:
            if error.status != 404:
                raise
            self._note(turn, "")
            return False
        self._note(turn, "")
        return True

    def _is_there(self, turn: TurnRecord) -> bool:
        """Whether something in the session was made from that turn: it says so, or has its very words."""
        for one in self._api.session(self._user(), turn.session):
            if one.metadata.get("turn") == turn.id:
                return True
            if not one.metadata.get("turn") and plain(one.text) == plain(turn.user):
                return True
        return False

    @property
    def _ledger(self) -> Path:
        return self._all[1].folder / _JOBS

    def _jobs(self) -> dict[str, str]:
        """The jobs that are under way, by turn."""
        if not self._ledger.is_file():
            return {}
        try:
            found: object = json.loads(self._ledger.read_bytes())
        except (OSError, ValueError) as error:
            raise ProviderError(
                f"{self._ledger} cannot be read: {error}.", "Delete it; turns may be doubled."
            ) from error
        held = cast("dict[object, object]", found) if isinstance(found, dict) else {}
        return {str(turn): str(job) for turn, job in held.items()}

    def _note(self, turn: str, job: str) -> None:
        """Write down which job a turn is in; an empty one: none any more."""
        before = self._jobs()
        after = {key: value for key, value in before.items() if key != turn} | ({turn: job} if job else {})
        if after == before:
            return
        try:
            write_atomic(self._ledger, json.dumps(after).encode(), mode=0o600)
        except StorageError as error:
            raise ProviderError(error.message, error.hint, passing=True) from error

    def on_memory_write(self, change: MemoryChange) -> None:
        """What goes into the core is a memory as well; what leaves it is none any more."""
        if change.before:
            for one in self._exactly(change.before):
                self._api.delete(one.id)
        if change.after and not self._exactly(change.after):
            self._add(change.after, kind="preference" if change.store == "user" else "factual")

    def _exactly(self, text: str) -> list[Memory]:
        found = self._api.search(self._user(), text[:_LONGEST_QUERY], limit=20)
        return [one for one in found if one.id and plain(one.text) == plain(text)]

    def _add(self, text: str, *, kind: str, importance: float = 0.7) -> str:
        said, context, api = self._all
        return api.add(
            self._user(), text, kind=kind, importance=importance, session=context.session, mode=said.write_mode
        )

    def store(self, text: str, *, kind: str = "fact") -> str:
        """Keep a text word for word; its id."""
        return self._add(text, kind=kind if kind in KINDS else "factual")

    # --- tools

    def tools(self) -> tuple[ToolSpec, ...]:
        """All ten."""
        return TOOLS

    def writes(self, name: str, args: Mapping[str, Any]) -> bool:  # noqa: ARG002
        """Whether a tool stores or erases."""
        return name in WRITING or name not in {tool.name for tool in TOOLS}

    def call_tool(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Run a tool. Raises ProviderError."""
        with read.ours():
            if name.endswith(("_file", "_files")):
                return self._with_files(name, args)
            match name:
                case "retaindb_profile":
                    return {"memories": [_shown(one) for one in self._api.profile(self._user())]}
                case "retaindb_search":
                    limit = int(read.number(args, "top_k", self._all[0].top_k, least=1, most=20))
                    found = self._api.search(self._user(), read.given(args, "query")[:_LONGEST_QUERY], limit=limit)
                    return {"results": [_shown(one) for one in found], "count": len(found)}
                case "retaindb_context":
                    text, found = self._api.context(self._user(), read.given(args, "query")[:_LONGEST_QUERY])
                    return {"context": text, "results": [_shown(one) for one in found]}
                case "retaindb_remember":
                    kind = read.text(args, "memory_type", "factual")
                    if kind not in KINDS:
                        raise ProviderError(f"There is no memory_type {kind!r}; nothing was stored.", ", ".join(KINDS))
                    importance = read.number(args, "importance", 0.7, least=0, most=1)
                    made = self._add(read.given(args, "content"), kind=kind, importance=importance)
                    return {"outcome": "stored", "memory_id": made}
                case "retaindb_forget":
                    held = self._own(read.given(args, "memory_id"))
                    self._api.delete(held.id)
                    return {"outcome": "erased", "memory_id": held.id, "memory": held.text}
                case _:
                    names = ", ".join(tool.name for tool in TOOLS)
                    raise ProviderError(f"RetainDB has no tool {name}.", f"There are {names}.")

    def _with_files(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
        files = self._files()
        match name:
            case "retaindb_upload_file":
                scope = read.text(args, "scope", "USER")
                if scope not in ("USER", "PROJECT", "ORG"):
                    raise ProviderError(f"There is no scope {scope!r}; nothing was sent.", "USER, PROJECT or ORG.")
                held = files.upload(read.given(args, "local_path"), read.text(args, "remote_path"), scope)
                wanted = read.flag(args, "ingest", default=False)
                return {**held, **(files.ingest(held["file_id"]) if wanted else {"outcome": "uploaded"})}
            case "retaindb_list_files":
                limit = int(read.number(args, "limit", 50, least=1, most=500))
                return {"files": files.list(read.text(args, "prefix"), limit)}
            case "retaindb_read_file":
                return files.read(read.given(args, "file_id"))
            case "retaindb_ingest_file":
                return files.ingest(read.given(args, "file_id"))
            case "retaindb_delete_file":
                return files.delete(read.given(args, "file_id"))
            case _:
                raise ProviderError(f"RetainDB has no tool {name}.")

    def _files(self) -> Files:
        said, context, api = self._all
        parts = (quote(part, safe="") for part in (context.actor.agent, self._user()))
        folder = f"/vademecum/{'/'.join(parts)}/"
        return Files(api.http, project=api.project, user=self._user(), folder=folder, source=said.files_from)

    def _own(self, memory: str) -> Memory:
        """The memory with that id, if it is this user's: it says so, or stands in the user's profile."""
        found, user = self._api.get(memory), self._user()
        if found is not None and not found.user:
            found = next((one for one in self._api.profile(user) if one.id == memory), None)
        if found is None or found.user not in ("", user):
            raise ProviderError(
                f"There is no memory {memory!r}; nothing was changed.", "retaindb_search gives ids.", status=404
            )
        return found

    # --- forgetting and taking out

    def forget(self, selector: Selector) -> Forgotten:
        """Erase the memories of a session, of a user, or those that a person names by id or text."""
        match selector.kind:
            case "session":
                count = self._erase(self._api.session(self._user(), selector.value))
            case "user":
                count = self._erase_user(self._user(selector.value))
            case "entry":
                near = self._api.search(self._user(), selector.value[:_LONGEST_QUERY], limit=20)
                held = {one.id: one for one in (*self._api.profile(self._user()), *near)}.values()
                count = self._erase([one for one in held if is_meant(selector.value, one.id, one.text)])
            case _:
                return Forgotten(0, "RetainDB does not know which source a memory came from.")
        return Forgotten(count, _KEPT)

    def _erase(self, found: Sequence[Memory]) -> int:
        ids = [one.id for one in found if one.id]
        for one in ids:
            self._api.delete(one)
        return len(ids)

    def _erase_user(self, user: str) -> int:
        """Erase in parts: an older server lists only so many at a time."""
        gone: set[str] = set()
        while True:
            part = [one for one in self._api.profile(user) if one.id and one.id not in gone]
            if not part:
                return len(gone)
            self._erase(part)
            gone.update(one.id for one in part)

    def facts(self, since: int = 0) -> Iterable[Recalled]:
        """The memories that were made or changed since then."""
        found = self._api.profile(self._user())
        return [_recalled(one) for one in found if one.at is None or one.at >= since]

    def export(self) -> Iterable[Recalled]:
        """All that is kept of the user."""
        return [_recalled(one) for one in self._api.profile(self._user())]

    def backup_paths(self) -> tuple[Path, ...]:
        """The jobs that are under way."""
        return (self._ledger,) if self._ledger.is_file() else ()


def _messages(turn: TurnRecord) -> list[dict[str, Any]]:
    said = (("user", turn.user), ("assistant", turn.assistant))
    common = {"timestamp": iso(turn.at), "metadata": {"turn": turn.id, "number": turn.number}}
    return [{"role": role, "content": text, **common} for role, text in said if text.strip()]


def _shown(one: Memory) -> dict[str, Any]:
    return {"memory_id": one.id, "memory": one.text, "type": one.kind, "score": one.score}


def _recalled(one: Memory) -> Recalled:
    detail = {"session": one.session} if one.session else {}
    return Recalled(one.id or plain(one.text)[:80], one.text, one.kind, one.score, one.at, detail)
