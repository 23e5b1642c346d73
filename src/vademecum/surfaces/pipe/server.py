"""`vademecum pipe`: requests and answers, one JSON object a line.

Idea: `{"id": 1, "do": "context", "session": "...", ...}` is answered by `{"id": 1, "ok": {...}}` or
`{"id": 1, "error": {"code", "message", "hint"}}`, in the order in which they are done. Invariant: calls of one
conversation do not overtake one another; whatever a request holds, it is answered and the next one is done; the
process ends when its input ends, and what was told by then is kept.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from vademecum.core.entries import Document
from vademecum.errors import StorageError, UnreadableError, UsageError, VademecumError
from vademecum.late import pattern
from vademecum.model import StoreName
from vademecum.surfaces.logs import log_to_stderr
from vademecum.surfaces.mcp.background import Background
from vademecum.surfaces.pipe.conversation import Conversation, Peer

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

THREADS = 4
VERSION = 1
"""Of the protocol; `hello` tells it."""
LINE_BYTES = 16 << 20
"""A longer line is passed over and answered with an error."""
_NUMBER = pattern(rb'\s*\{\s*"id"\s*:\s*(\d{1,18}|"[^"\\]{0,100}")\s*[,}]')
"""The `id` of a line that cannot be read, when it stands first."""

Args = dict[str, Any]
_PAGE = "docs/hermes.md lists what there is."

log = logging.getLogger("vademecum.pipe")


def run(vm: Vademecum, reading: BinaryIO | None = None, writing: BinaryIO | None = None) -> int:
    """Serve until the input ends; 0 then."""
    log_to_stderr("pipe", vm.redactor)
    out = writing or os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    if writing is None:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever prints must not break a line of the protocol
    server = Server(vm, out)
    try:
        for line, is_whole in _lines(reading or sys.stdin.buffer):
            if not is_whole:
                server.refuse(
                    line, f"The line is longer than {LINE_BYTES >> 20} MB and was passed over.", "Shorten it."
                )
            elif line.strip():
                server.take(line)
    finally:
        server.close()
    return 0


class Server:
    """Takes requests, a thread of a small pool each."""

    def __init__(self, vm: Vademecum, out: BinaryIO) -> None:
        self._vm = vm
        self._out = out
        self._writing = threading.Lock()
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="pipe")
        self._requests = ThreadPoolExecutor(THREADS, thread_name_prefix="pipe-request")
        self._background = Background(vm)
        self._conversations: dict[str, Conversation] = {}
        self._queues: dict[str, list[Args]] = {}
        self._queueing = threading.Lock()
        self._is_warm = False

    def take(self, line: bytes) -> None:
        """Queue the request of one line behind those of the same conversation."""
        try:
            request: object = json.loads(line)
        except (ValueError, RecursionError):  # also what is nested without end
            request = None
        if not isinstance(request, dict):
            self.refuse(line, "The line is no JSON object, or nested too deeply.", "One object a line.")
            return
        args = cast("Args", request)
        if not isinstance(args.get("id"), str | int | None):
            self.refuse(line, "The `id` is neither a number nor a text.", "Number the requests.")
            return
        key = str(args.get("session") or "")
        with self._queueing:
            queue = self._queues.setdefault(key, [])
            queue.append(args)
            if len(queue) == 1:
                self._pool.submit(self._work, key)

    def refuse(self, line: bytes, why: str, hint: str) -> None:
        """Answer a line that is not taken, under its number as far as that can be seen."""
        found = _NUMBER.match(line)
        self._send(_answered(json.loads(found[1]) if found else None, _error(UsageError(why, hint))))

    def _work(self, key: str) -> None:
        """Do what waits for a conversation, in order, until nothing does: a request of which a fault comes is answered
        with that, for whoever asked must not wait for ever, nor those behind it."""
        waiting = True
        while waiting:
            with self._queueing:
                args = self._queues[key][0]
            fault = self._requests.submit(self._answer, key, args).exception()
            if fault is not None:
                log.error("a request failed", exc_info=fault)
                said = StorageError("This failed by a fault of vademecum's; its log says more.", "Report it.")
                self._send(_answered(args.get("id"), _error(said)))
            with self._queueing:
                self._queues[key].pop(0)
                waiting = bool(self._queues[key])
                if not waiting:
                    del self._queues[key]

    def _answer(self, key: str, args: Args) -> None:
        id_ = args.get("id")
        try:
            line = _answered(id_, {"ok": self._done(key, args)})
        except VademecumError as error:
            line = _answered(id_, _error(error))
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            log.warning("a request failed", exc_info=True)
            line = _answered(id_, _error(UsageError(f"The request is not as it should be: {error!r}.", _PAGE)))
        self._send(line)

    def _done(self, key: str, args: Args) -> object:
        match args.get("do"):
            case "hello":
                return {"protocol": VERSION, "agent": self._vm.actor.agent, "folder": str(self._vm.folder.root)}
            case "tools":
                return {"tools": [_schema(spec) for spec in self._vm.tools()]}
            case "open":
                self._warm()
                self._conversations[key] = Conversation(*self._peer(key, args))
                return {"prompt": self._conversations[key].prompt()}
            case other:
                return self._in(self._of(key), str(other), args)

    def _warm(self) -> None:
        """Load what a recall needs, once: the first message has no time to wait for it."""
        self._background.start()
        if not self._is_warm and self._vm.config.memory.provider == "bank":
            self._vm.bank.recall("what is known of the user", limit=1, unasked=True)
        self._is_warm = True

    def _in(self, talk: Conversation, what: str, args: Args) -> object:
        match what:
            case "context":
                return talk.context(str(args["text"]))
            case "answer":
                return talk.answer(str(args["text"]), str(args["answer"]), _objects(args, "tools"))
            case "call":
                return talk.call(str(args["name"]), _object(args, "args"))
            case "heard":
                return talk.heard(str(args["name"]), _object(args, "args"), str(args.get("text") or ""))
            case "remembered":
                told = (str(args.get(name) or "") for name in ("action", "target", "content", "old_text"))
                return talk.remembered(*told)
            case "delegated":
                return talk.delegated(str(args.get("task") or ""), str(args.get("result") or ""))
            case "end":
                return talk.end(str(args.get("reason") or "closed"))
            case "close":
                talk.release()
                return self._conversations.pop(talk.peer.id, None) and None
            case other:
                raise UsageError(f"There is nothing called {other!r} to do.", _PAGE)

    def _of(self, key: str) -> Conversation:
        found = self._conversations.get(key)
        if found is None:
            raise UsageError(f"The conversation {key!r} is not open.", "Open it first.")
        return found

    def _peer(self, key: str, args: Args) -> tuple[Vademecum, Peer]:
        if not key:
            raise UsageError("A conversation needs a name.", 'Give "session".')
        account, mine = str(args.get("user") or ""), {str(one) for one in _list(args, "mine")}
        vm = self._vm if not account or account in mine else self._vm.as_(user=account)
        home = Path(str(args["home"])) if args.get("home") else None
        adopted = home is not None and home.resolve() == vm.folder.root.resolve()
        peer = Peer(
            host=str(args.get("host") or "host"),
            id=key,
            channel=str(args.get("channel") or ""),
            title=str(args.get("title") or ""),
            parent=str(args.get("parent") or ""),
            writes=args.get("writes") is not False,
            adopted=adopted,
            shares=None if home is None or adopted else _entries(home),
        )
        return vm, peer

    def _send(self, line: bytes) -> None:
        with self._writing:
            try:
                self._out.write(line)
                self._out.flush()
            except (OSError, ValueError):  # the host is gone; the end of the input comes next
                return

    def close(self) -> None:
        """Do what was asked, leave the conversations open for whoever resumes them, and close the memory."""
        self._pool.shutdown(wait=True)
        self._requests.shutdown(wait=True)
        for talk in self._conversations.values():
            talk.release()
        self._background.stop()
        self._vm.close()


def _entries(home: Path) -> dict[StoreName, list[str]]:
    """What a host that keeps files of the same shape puts into its prompt itself."""
    files: dict[StoreName, str] = {"memory": "MEMORY.md", "user": "USER.md"}
    found: dict[StoreName, list[str]] = {}
    for store, name in files.items():
        try:
            found[store] = list(Document.decode((home / "memories" / name).read_bytes()).texts)
        except (OSError, UnreadableError) as error:  # then the host shows nothing of it either
            log.info("%s of the host is not read: %s", name, error)
    return found


def _lines(reading: BinaryIO) -> Iterator[tuple[bytes, bool]]:
    """Each line, and whether it is whole; of one that is too long its beginning, and the rest is read past."""
    while line := reading.readline(LINE_BYTES + 1):
        is_whole = len(line) <= LINE_BYTES or line.endswith(b"\n")
        rest = b"" if is_whole else line
        while rest and not rest.endswith(b"\n"):
            rest = reading.readline(1 << 16)
        yield line, is_whole


def _object(args: Args, name: str) -> dict[str, Any]:
    found: object = args.get(name) or {}
    if not isinstance(found, dict):
        raise UsageError(f"`{name}` is no object; nothing was done.", _PAGE)
    return cast("dict[str, Any]", found)


def _list(args: Args, name: str) -> Sequence[Any]:
    found: object = args.get(name) or []
    if not isinstance(found, list):
        raise UsageError(f"`{name}` is no list; nothing was done.", _PAGE)
    return cast("list[Any]", found)


def _objects(args: Args, name: str) -> Sequence[Mapping[str, Any]]:
    found = _list(args, name)
    if not all(isinstance(one, dict) for one in found):
        raise UsageError(f"`{name}` holds something that is no object; nothing was done.", _PAGE)
    return found


def _answered(id_: object, found: Mapping[str, object]) -> bytes:
    return json.dumps({"id": id_} | dict(found), ensure_ascii=True, default=str).encode() + b"\n"


def _schema(spec: Any) -> dict[str, object]:
    return {"name": spec.name, "description": spec.description, "parameters": spec.parameters}


def _error(error: VademecumError) -> dict[str, object]:
    return {"error": {"code": error.code, "message": error.message, "hint": error.hint}}
