"""Secrets that are stored already: found in files and database, and replaced there when a person asks for it.

Idea: the files are read as text, the database row by row, both with today's rules; what was written before a rule was
made, or by a person into a file, is found like that. Invariant: finding changes nothing; replacing changes a file in
one step after its intent is in the history, and afterwards neither a table, nor the search index, nor a page that was
freed holds the value. Backups, `.env` and the configuration are named and never changed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote

from vademecum.disk import read_bytes, to_bytes, to_text
from vademecum.errors import UnreadableError
from vademecum.files import locked, write_atomic
from vademecum.gate.audit import Event
from vademecum.gate.candidate import Action, Candidate
from vademecum.gate.keys import key_of
from vademecum.gate.proposals import sha256_of
from vademecum.model import OWNER, Actor, Origin, StoreName
from vademecum.page import Page, page_at
from vademecum.store import scrub
from vademecum.vault.paths import VaultPaths

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.core.entries import Document
    from vademecum.store.scrub import Cells

MAX_BYTES = 64 << 20
"""Larger files are passed over and named."""

_CHAINED = "a row of the history cannot be changed without breaking its chain"
_BY_HAND = "it is left for a person: a configuration is not changed here"
_SIGNED = "the log is signed and is not changed here: `vademecum forget` erases it for good, decision and entry"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Found:
    """A stored secret. `place` is a file or a table's column, `line` counts from 1, 0 in the database.

    `kept` says why it is not replaced, empty when it can be or was.
    """

    place: str
    line: int
    rule: str
    kept: str = ""


def find_stored(vm: Vademecum) -> list[Found]:
    """Every secret that files and database hold in clear. Changes nothing.

    Takes about 1 s for 2 MB. Raises StorageError, LockedError; a file that cannot be read is named in the list.
    """
    return [*_in_files(vm, None), *_in_database(vm, change=False)]


def redact_stored(vm: Vademecum, by: Origin) -> list[Found]:
    """Replace every stored secret by its mark, at the wish of `by`; returns what was there, and why some was left.

    Other processes may go on; the database is written anew and locked meanwhile. Raises StorageError, LockedError.
    """
    found = [*_in_files(vm, by), *_in_database(vm, change=True)]
    from vademecum.bank.facts.reindex import reindex as index_facts
    from vademecum.sessions.reindex import reindex

    with vm.db.atomic():
        reindex(vm.db)
        index_facts(vm.db)
    if not scrub.compact(vm.db):
        why = "an old page may still hold it: another process keeps the database open; run it again when that has ended"
        found = [replace(one, kept=why) if not one.line and not one.kept else one for one in found]
    return found


# --- files


def _in_files(vm: Vademecum, by: Origin | None) -> Iterator[Found]:
    for root, actor, path in _files(vm):
        name = path.relative_to(vm.home.root).as_posix() if path.is_relative_to(vm.home.root) else str(path)
        try:
            data = read_bytes(path) if path.stat().st_size <= MAX_BYTES else None
        except (OSError, UnreadableError) as error:
            yield Found(name, 1, "unread", str(getattr(error, "message", error)))
            continue
        if data is None:
            yield Found(name, 1, "unread", f"larger than {MAX_BYTES >> 20} MB")
            continue
        text = _decoded(data)[0] if path.suffix != ".jsonl" else _said_in(data)
        secrets = vm.redactor.find(text)
        if not secrets:
            continue
        kept = _BY_HAND if path == vm.home.config else _kept_in_vault(vm, path)
        if by is not None and not kept:
            _redact_file(vm, root, actor, path, by)
        for secret in secrets:
            yield Found(name, text.count("\n", 0, secret.start) + 1, secret.rule, kept)


def _files(vm: Vademecum) -> Iterator[tuple[Path, Actor | None, Path]]:
    """Every file that may hold text: `(folder of its agent, agent and user, file)`; no actor outside of agents."""
    home, seen = vm.home, set[Path]()
    agents = {vm.home.agent(name, vm.config).root: name for name in vm.config.agents}
    if home.agents.is_dir():
        agents |= {folder: unquote(folder.name) for folder in sorted(home.agents.iterdir()) if folder.is_dir()}
    private = {home.env, home.secret_key, *(Path(f"{home.database}{end}") for end in ("", "-wal", "-shm", "-journal"))}
    for root, name in agents.items():
        for part in (root / "SOUL.md", root / "memories", root / "notes", root / "skills", root / "memory"):
            for path in _walk(part, set()):
                seen.add(path)
                user = path.parent.name if path.parent.parent == root / "memories" / "users" else ""
                yield root, Actor(name, unquote(user) or OWNER), path
    for path in _walk(home.root, {home.backups, home.keys}):
        if path not in seen and path not in private:
            seen.add(path)
            yield home.root, None, path
    vault = VaultPaths.of(home, vm.config.vault)  # its own pages only: the folder around them is a person's
    for part in (vault.decisions, vault.live, vault.projects, vault.agents, vault.ledgers):
        for path in _walk(part, set()):
            if path not in seen:
                yield vault.root, None, path


def _said_in(data: bytes) -> str:
    """The text of a ledger of the vault: what its entries say, a line each, without keys and signatures; any other file
    whole."""
    from vademecum.vault.ledger import Record, read_head, records

    if read_head(data) is None:
        return _decoded(data)[0]
    lines = [""] * (data.count(b"\n") + 1)
    for one in records(data):
        if isinstance(one, Record) and one.copy is not None:
            lines[one.line_number - 1] = " ".join(one.copy).replace("\n", " ")
    return "\n".join(lines)


def _kept_in_vault(vm: Vademecum, path: Path) -> str:
    """Why a file of the vault is left as it is; empty for any other."""
    paths = VaultPaths.of(vm.home, vm.config.vault)
    signed = path == paths.decisions or paths.live in path.parents or paths.ledgers in path.parents
    return _SIGNED if signed else ""


def _walk(folder: Path, skip: set[Path]) -> Iterator[Path]:
    if folder.is_file():
        yield folder
        return
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if Path(at, name) not in skip)
        for name in sorted(names):
            path = Path(at, name)
            if path.is_file() and path.suffix not in (".lock", ".zip", ".db") and not name.startswith("state.db"):
                yield path


def _decoded(data: bytes) -> tuple[str, str]:
    if data[:2] in _UTF16:
        try:
            return data.decode("utf-16"), "utf-16"
        except UnicodeDecodeError:
            pass
    return to_text(data), "utf-8"


def _redact_file(vm: Vademecum, root: Path, actor: Actor | None, path: Path, by: Origin) -> None:
    store = _store_of(root, path)
    if actor is not None and store is not None:
        _redact_store(vm.as_(actor.agent, actor.user), store, by)
        return
    lock = root / "notes" / "INDEX.md" if actor is not None and path != root / "SOUL.md" else path
    with _page_of(path).held() if _is_page(vm, path) else locked(lock):
        before, encoding = _decoded(read_bytes(path) or b"")
        after = vm.redactor.redact(before)
        data = to_bytes(after.text) if encoding == "utf-8" else after.text.encode(encoding)
        tier, target = _tier_of(root, actor, path)
        event = Event(
            decision="redacted",
            tier=tier,
            action="replace",
            target=target,
            origin=Origin.file(),
            actor=actor or vm.actor,
            after=after.text,
            by=str(by),
            rule=_rule(after.kinds),
            base=hashlib.sha256(read_bytes(path) or b"").hexdigest(),
            state=hashlib.sha256(data).hexdigest(),
        )
        vm.gate.audit.record(event)
        write_atomic(path, data)


def _is_page(vm: Vademecum, path: Path) -> bool:
    paths = VaultPaths.of(vm.home, vm.config.vault)
    return path.parent in (paths.projects, paths.agents)


def _page_of(path: Path) -> Page:
    """A page of the vault, with the lock that its writers take."""
    root, folder = path.parent.parent, path.parent.name
    return page_at(root, folder, path.name, lock=folder if folder == "Projects" else "")


def _store_of(root: Path, path: Path) -> StoreName | None:
    if path == root / "memories" / "MEMORY.md":
        return "memory"
    own = path.name == "USER.md" and path.is_relative_to(root / "memories")
    return "user" if own else None


def _tier_of(root: Path, actor: Actor | None, path: Path) -> tuple[str, str]:
    if actor is not None and path.parent == root / "notes" and path.name != "INDEX.md":
        return "notes", path.stem
    if actor is not None and path.name == "SKILL.md" and path.parent.parent == root / "skills":
        return "skills", path.parent.name
    return "files", path.relative_to(root).as_posix()


def _redact_store(own: Vademecum, store: StoreName, by: Origin) -> None:
    from vademecum.core.plan import Plan
    from vademecum.core.undo import effect_of

    path = own.memory.path(store)
    with locked(path):
        before = own.memory.load(store)
        after, kinds = _redacted(own, before)
        effect = effect_of(Plan.rewritten(before, after))
        event = Event(
            decision="redacted",
            tier="core",
            action="replace",
            target=store,
            origin=Origin.file(),
            actor=own.actor,
            before=effect.before,
            after=effect.after,
            by=str(by),
            rule=_rule(kinds),
            places=effect.places,
            base=effect.base,
            state=effect.state,
        )
        own.gate.audit.record(event)
        write_atomic(path, after.encode())
        for old, new in zip(before.texts, after.texts, strict=False):
            if old != new:
                scrub.rename_entry(own.db, sha256_of(old), sha256_of(new))


def _redacted(own: Vademecum, document: Document) -> tuple[Document, tuple[str, ...]]:
    """The document with each entry redacted; should a secret stand across entries, with the whole text redacted."""
    kinds: tuple[str, ...] = ()
    after = document
    for index, text in enumerate(document.texts):
        clean = own.redactor.redact(text)
        if clean.kinds:
            after, kinds = after.replaced(index, clean.text), kinds + clean.kinds
    whole = own.redactor.redact(after.text)
    return (after, kinds) if not whole.kinds else (type(after).parse(whole.text, after.encoding), kinds + whole.kinds)


def _rule(kinds: tuple[str, ...]) -> str:
    return " ".join(dict.fromkeys(f"secret:{kind}" for kind in kinds))


# --- database


def _in_database(vm: Vademecum, *, change: bool) -> Iterator[Found]:
    for row in scrub.cells(vm.db):
        changed: dict[str, str] = {}
        for column, text in row.texts.items():
            kinds: list[str] = []
            clean = _clean_cell(vm, row.table, column, text, kinds)
            if clean != text:
                changed[column] = clean
                yield from (Found(f"state.db {row.table}.{column} ({row.name})", 0, kind) for kind in kinds)
        if changed and change:
            _put(vm, row, changed)
    for row in scrub.cells(vm.db, audit=True):
        for column, text in row.texts.items():
            kinds = []
            _clean_cell(vm, row.table, column, text, kinds)
            yield from (Found(f"state.db audit.{column} ({row.name})", 0, kind, _CHAINED) for kind in kinds)


def _clean_cell(vm: Vademecum, table: str, column: str, text: str, kinds: list[str]) -> str:
    if column in ("origin", "outside", "stated"):
        origin = Origin.parse(text)
        clean = vm.redactor.origin(origin)
        kinds += ["address"] if clean != origin else []
        return str(clean) if clean != origin else text
    if text[:1] in "[{" and (table, column) != ("contents", "text"):
        try:
            value: Any = json.loads(text)
        except ValueError:
            value = None
        if value is not None:
            clean = vm.redactor.value(value, kinds)
            return json.dumps(clean, ensure_ascii=False) if kinds else text
    redacted = vm.redactor.redact(text)
    kinds += redacted.kinds
    return redacted.text


def _put(vm: Vademecum, row: Cells, changed: dict[str, str]) -> None:
    values: dict[str, str] = dict(changed)
    if row.table == "contents":  # filed under its hash: what is left of it would be another text
        scrub.remove(vm.db, row)
        return
    if row.table == "sessions" and "snapshot" in changed:
        values["snapshot_sha256"] = hashlib.sha256(changed["snapshot"].encode()).hexdigest()
    if row.table == "proposals":
        values |= _rebound({**row.texts, **changed})
    scrub.put(vm.db, row, cast("dict[str, Any]", values))


def _rebound(proposal: dict[str, str]) -> dict[str, str]:
    """What binds a proposal to its bytes, for the bytes that it has now."""
    text, before = proposal.get("text", ""), proposal.get("before", "")
    action, origin = cast("Action", proposal["action"]), Origin.parse(proposal["origin"])
    candidate = Candidate(proposal["tier"], action, proposal["target"], text, origin, Actor(), before)
    return {"sha256": sha256_of(text), "base": sha256_of(before), "key": key_of(candidate)}
