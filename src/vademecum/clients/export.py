"""Everything of a home as files that a person reads and a program reads back: Markdown, and JSON by lines.

Idea: the agents' files as they are, each conversation as a page, and one file of records a kind; what an export holds
is decided by the home alone, so that equal homes have equal exports. Invariant: the folder appears under its name only
once all of it is on disk; nothing that exists is written over; no secret and no time of writing is in it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vademecum.clients.export_files import agent_files, config_text, vault_of
from vademecum.clients.export_pages import facts_page, readme, session_page
from vademecum.clients.export_person import copies_elsewhere, own_facts, own_messages
from vademecum.errors import ConflictError, NotFoundError, StorageError, UsageError
from vademecum.files import fsync_folder
from vademecum.home import folder_name
from vademecum.late import dataclass
from vademecum.model import OWNER
from vademecum.store import portable

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

FORMAT, VERSION = "vademecum export", 1
MANIFEST = "manifest.json"
RECORDS = "records"

_UNFINISHED = re.compile(r"\.[0-9a-f]{12}\.tmp$")

Progress = Callable[[int, int, str], None]
"""Called as `(done, total, what)`."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: the folder, how many files, how many records of each kind; `notes` say what was left out."""

    folder: Path
    files: int
    counts: Mapping[str, int]
    notes: tuple[str, ...]


def export(vm: Vademecum, folder: Path, *, user: str | None = None, progress: Progress | None = None) -> Exported:
    """Write the home of `vm`, all its agents, into the new folder `folder`; with `user` what there is of that person.

    Others may go on working meanwhile: the records are of one moment. Memory is bounded: 500 messages are held at a
    time; about 15 s for 100,000 of them. What a killed export to `folder` left beside it is removed. Raises
    ConflictError when `folder` exists, UsageError when it lies in the home, NotFoundError when nothing is kept of
    `user`, StorageError.
    """
    folder = folder.expanduser().absolute()
    if folder.exists() or folder.is_symlink():
        raise ConflictError(f"{folder} exists already. Nothing was written.", "Name a folder that does not exist yet.")
    if folder.resolve().is_relative_to(vm.home.root.resolve()):
        raise UsageError(
            f"{folder} lies in the home {vm.home.root} itself. Nothing was written.", "Name a folder outside of it."
        )
    _remove_unfinished(folder)
    elsewhere = list(copies_elsewhere(vm, user)) if user is not None and user != OWNER else []
    part = folder.with_name(f".{folder.name}.{secrets.token_hex(6)}.tmp")
    try:
        part.mkdir(parents=True, mode=0o700)
        writer = _Writer(part)
        with portable.reading(vm.db):
            _write_all(vm, writer, user, elsewhere, progress)
        if user is not None and not any(writer.counts.values()) and not writer.owned:
            raise NotFoundError(
                f"Nothing is kept of a user {user!r}. Nothing was written.", "Check the name's spelling."
            )
        writer.manifest(user)
        part.rename(folder)
        fsync_folder(os.fspath(folder.parent))
    except OSError as error:
        raise StorageError(
            f"The export could not be written to {folder}: {error.strerror or error}. Nothing is there.",
            "Check free space and permissions, then try again.",
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return Exported(folder, len(writer.files) + 1, writer.counts, tuple(writer.notes))


def _remove_unfinished(folder: Path) -> None:
    """Take away what a killed export to `folder` has left beside it."""
    if folder.parent.is_dir():
        for path in folder.parent.iterdir():
            begins, ends = path.name.startswith(f".{folder.name}."), _UNFINISHED.search(path.name)
            if begins and ends and len(path.name) == len(folder.name) + 18 and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)


def _write_all(
    vm: Vademecum, writer: _Writer, user: str | None, elsewhere: list[dict[str, Any]], progress: Progress | None
) -> None:
    writer.put("README.md", readme(user).encode())
    for file in agent_files(vm, user, writer.notes):
        writer.owned += user is not None
        writer.put(file.name, file.data, runs=file.runs)
    if user is None:
        config, note = config_text(vm)
        writer.notes += [note] if note else []
        if config:
            writer.put("config.yaml", config)
        writer.vault, files = vault_of(vm, writer.notes)
        for file in files:
            writer.put(file.name, file.data)
    _write_sessions(vm, writer, user, progress)
    writer.records("facts", own_facts(portable.facts(vm.db, user), user))
    writer.records("links", portable.links(vm.db, user))
    writer.records("proposals", portable.proposals(vm.db, user))
    for kind in portable.PLAIN:
        if user is None or kind == "entries":
            writer.records(kind, portable.plain(vm.db, kind, user))
    if elsewhere:
        writer.records("elsewhere", elsewhere)
    with writer.opened("facts.md") as page:
        for text in facts_page(own_facts(portable.facts(vm.db, user), user)):
            page(text)


def _write_sessions(vm: Vademecum, writer: _Writer, user: str | None, progress: Progress | None) -> None:
    total, done, said = portable.count_sessions(vm.db, user), 0, 0
    with writer.opened(f"{RECORDS}/sessions.jsonl") as sessions, writer.opened(f"{RECORDS}/messages.jsonl") as out:
        for done, (n, session) in enumerate(portable.sessions(vm.db, user), 1):
            sessions(line_of(session))
            page = f"conversations/{folder_name(session['agent'], any_case=True)}"
            page += f"/{folder_name(session['user'], any_case=True)}/{session['id']}.md"
            with writer.opened(page) as write:
                said_there = portable.messages(vm.db, n, session["id"])
                shown = said_there if user is None else own_messages(said_there, user)
                for text, message in session_page(session, shown):
                    write(text)
                    if message is not None:
                        out(line_of(message))
                        said += 1
            if progress is not None:
                progress(done, total, session["title"] or session["id"])
    writer.counts |= {"sessions": done, "messages": said}


def line_of(record: Mapping[str, Any]) -> str:
    """A record as its line."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


class _Writer:
    """The folder that is being written: what was put where, with its hash."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.files: dict[str, str] = {}
        self.counts: dict[str, int] = {}
        self.notes: list[str] = []
        self.vault: dict[str, object] | None = None
        self.owned = 0
        """Files of the person whose export it is."""

    @contextmanager
    def opened(self, name: str) -> Generator[Callable[[str], None]]:
        """A new file that text is added to, durable when the block ends."""
        path, digest = self._root / name, hashlib.sha256()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:

            def write(text: str) -> None:
                data = text.encode("utf-8", "surrogatepass")
                digest.update(data)
                out.write(data)

            yield write
            out.flush()
            os.fsync(out.fileno())
        self.files[name] = digest.hexdigest()

    def put(self, name: str, data: bytes, *, runs: bool = False) -> None:
        """A new file with these bytes; `runs`: it may be executed."""
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700 if runs else 0o600), "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        self.files[name] = hashlib.sha256(data).hexdigest()

    def records(self, kind: str, records: Iterable[Mapping[str, Any]]) -> None:
        """A file of records, a line each."""
        count = 0
        with self.opened(f"{RECORDS}/{kind}.jsonl") as write:
            for record in records:
                write(line_of(record))
                count += 1
        self.counts[kind] = count

    def manifest(self, user: str | None) -> None:
        """What is in the folder; written last."""
        data = {
            "format": FORMAT,
            "version": VERSION,
            "user": user,
            "vault": self.vault,
            "counts": self.counts,
            "files": dict(sorted(self.files.items())),
        }
        self.put(MANIFEST, (json.dumps(data, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "surrogatepass"))
