"""Taking over a Hermes home: its two memory files through the gate, its conversations into the history.

Idea: entries keep their text, sessions their times, titles, parents and channels. Invariant: originals are only read;
run again, only what is new is stored; what other people said to a gateway becomes their session and not the owner's.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from vademecum.agent.taint import Trail, outside_of, rules, taint
from vademecum.clients.imports.report import ImportReport, Progress, Tally
from vademecum.clients.imports.transcript import RESULT_CHARS, shortened
from vademecum.core.entries import Document
from vademecum.errors import NotFoundError, VademecumError
from vademecum.gate.trust import tool_origin
from vademecum.model import Origin, StoreName
from vademecum.sessions.types import NewMessage
from vademecum.store.hermes import HermesMessage, HermesSession, HermesState
from vademecum.store.imported import Imported, Item

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

BATCH = 500
_BLOCKS = ("\x00json:", "\x01json:")
"""What Hermes writes before content that is a list of blocks."""


def import_hermes(
    vm: Vademecum,
    path: Path | None = None,
    *,
    mine: Collection[str] = (),
    dry_run: bool = False,
    progress: Progress | None = None,
) -> ImportReport:
    """Take over the Hermes home at `path` (default: `$HERMES_HOME`, else `~/.hermes`).

    `mine` names accounts of a gateway that are `vm`'s own user, as `telegram:42`; sessions of every other account
    become sessions of a user of that name. Raises NotFoundError when there is no Hermes home at `path`.
    """
    root = (path or Path(os.environ.get("HERMES_HOME") or "~/.hermes")).expanduser()
    files: dict[StoreName, Path] = {"memory": root / "memories" / "MEMORY.md", "user": root / "memories" / "USER.md"}
    database = root / "state.db"
    if not any(found.exists() for found in (*files.values(), database)):
        raise NotFoundError(f"There is no Hermes home at {root}; nothing was imported.", "Give its path.")
    tally = Tally(dry_run)
    if root.resolve() == vm.folder.root.resolve():
        tally.notes.append("Its memories are this agent's own files already.")
    else:
        for store, file in files.items():
            _take_entries(vm, store, file, tally)
    if database.exists():
        try:
            with HermesState(database) as state:
                _take_sessions(vm, state, set(mine), tally, progress)
        except VademecumError as error:
            tally.problem(database, 0, error.message)
    return tally.report()


def _take_entries(vm: Vademecum, store: StoreName, file: Path, tally: Tally) -> None:
    try:
        data = file.read_bytes()
        texts = Document.decode(data).texts
    except FileNotFoundError:
        return
    except OSError as error:
        tally.problem(file, 0, error.strerror or str(error))
        return
    origin = Origin.import_(str(file), hashlib.sha256(data).hexdigest()[:16])
    imported, source = Imported(vm.db), f"hermes-{store}/{vm.actor.agent}/{vm.actor.user}"
    for number, text in enumerate(texts, 1):
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        if imported.get(source, digest) is not None:
            tally.known += 1
            continue
        try:
            if tally.dry_run:
                tally.foresee(vm, "core", store, text, origin)
            else:
                change = vm.memory.add(store, text, origin=origin)
                imported.put(Item(source, digest, digest, vm.clock()))
                tally.staged += change.outcome == "staged"
                if change.outcome == "duplicate":
                    tally.known += 1
                    continue
            tally.entries += 1
        except VademecumError as error:
            tally.problem(file, 0, f"entry {number}: {error.message}")


def _take_sessions(vm: Vademecum, state: HermesState, mine: set[str], tally: Tally, progress: Progress | None) -> None:
    sessions, ids, others = state.sessions(), dict[str, str](), Counter[str]()
    for done, session in enumerate(sessions, 1):
        account = f"{session.source or 'hermes'}:{session.user}" if session.user else ""
        own = not account or account in mine or session.user in mine
        new = _take_session(vm if own else vm.as_(user=account), state, session, ids, tally)
        if new and not own:
            others[account] += 1
        if progress:
            progress(done, len(sessions), session.title or session.id)
    for account, count in others.items():
        tally.notes.append(
            f"{count} sessions are those of the user {account!r}; if that is you, import again and name it as yours."
        )


def _take_session(vm: Vademecum, state: HermesState, session: HermesSession, ids: dict[str, str], tally: Tally) -> bool:
    imported, source = Imported(vm.db), f"hermes-session/{vm.actor.agent}/{vm.actor.user}"
    before = imported.get(source, session.id)
    last, new = int(before.detail) if before else 0, 0
    rows = state.messages(session.id, last)
    calls = dict[str, tuple[str, dict[str, Any]]]()
    trail = Trail(rules(vm))
    if before is not None and not tally.dry_run:
        trail.outside = outside_of(vm, _opened(vm, session, ids))
    while batch := list(itertools.islice(rows, BATCH)):
        messages = [made for row in batch for made in _messages(vm, session, row, calls)]
        messages = [one if one.role == "user" else replace(one, origin=trail.of(one.origin)) for one in messages]
        if tally.dry_run:
            new += len(messages)
            continue
        with vm.db.atomic():
            if messages:
                new += vm.history.record_many(_opened(vm, session, ids), messages)
                if trail.outside is not None:
                    taint(vm, _opened(vm, session, ids), trail.outside)
            imported.put(Item(source, session.id, "", vm.clock(), str(batch[-1].id)))
    tally.messages += new
    tally.sessions += new > 0
    tally.known += new == 0 and before is not None
    if new and not tally.dry_run:
        vm.history.end(ids[session.id], session.end_reason or "imported")
    return new > 0


def _opened(vm: Vademecum, session: HermesSession, ids: dict[str, str]) -> str:
    if session.id not in ids:
        info = vm.history.open(
            source=f"hermes:{session.id}",
            channel=session.source,
            title=session.title,
            parent=ids.get(session.parent),
            opened_at=session.started_at or None,
        )
        ids[session.id] = info.id
    return ids[session.id]


def _messages(
    vm: Vademecum, session: HermesSession, row: HermesMessage, calls: dict[str, tuple[str, dict[str, Any]]]
) -> Iterator[NewMessage]:
    text, time, source = _content(row.content), row.time or session.started_at or None, f"hermes:{row.id}"
    if row.role == "tool":
        name, args = calls.pop(row.call, (row.tool, dict[str, Any]()))
        made = [{"name": name, "args": args}] if args else None
        origin = tool_origin(name or row.tool or "tool", args, text)
        yield NewMessage("tool", shortened(text, RESULT_CHARS), origin, name or row.tool, made, time, source=source)
    elif row.role == "assistant":
        calls |= _calls(row.calls)
        if text.strip():
            yield NewMessage("assistant", text, Origin.assistant(), time=time, source=source)
    elif row.role == "user" and text.strip():
        if row.observed:  # said by others in the same chat, and not to the agent
            origin = Origin.connector(session.source or "hermes", session.id)
            yield NewMessage("tool", text, origin, session.source or "hermes", time=time, source=source)
        else:
            yield NewMessage("user", text, Origin.user(vm.actor.user), time=time, source=source)


def _calls(raw: str) -> dict[str, tuple[str, dict[str, Any]]]:
    found = dict[str, tuple[str, dict[str, Any]]]()
    for call in _json_list(raw):
        function = cast("dict[str, Any]", call.get("function") or {})
        arguments = function.get("arguments")
        try:
            args: object = json.loads(arguments) if isinstance(arguments, str) else arguments
        except ValueError:
            args = {"arguments": arguments}
        known = cast("dict[str, Any]", args) if isinstance(args, dict) else {}
        short = {key: shortened(value, 1_000) if isinstance(value, str) else value for key, value in known.items()}
        found[str(call.get("id") or "")] = (str(function.get("name") or ""), short)
    return found


def _content(raw: str) -> str:
    mark = next((mark for mark in _BLOCKS if raw.startswith(mark)), None)
    if mark is None:
        return raw
    blocks = _json_list(raw[len(mark) :])
    return "\n".join(str(block.get("text") or f"[{block.get('type') or 'attachment'}]") for block in blocks)


def _json_list(raw: str) -> list[dict[str, Any]]:
    try:
        value: Any = json.loads(raw) if raw else []
    except ValueError:
        return []
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]
