"""Reading an export of a home back into an empty one.

Idea: it is what a person's own home said, so that person vouches for the origins in it, as with a backup; therefore
only a person may, and only where nothing is yet. Every text passes the gate all the same. Invariant: what is brought in
is what the export says, under the same ids; a load that was cut short is carried on by the same command, and nothing
comes in twice; what cannot be read is named with its file and line, and the rest comes in.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from vademecum.clients.export import FORMAT, MANIFEST, RECORDS, VERSION
from vademecum.clients.imports.reading import mapping
from vademecum.clients.imports.report import ImportReport, Progress, Tally
from vademecum.clients.imports.vademecum_files import Placing, is_untouched
from vademecum.clients.imports.vademecum_rows import Loading
from vademecum.errors import ConflictError, NotFoundError, RefusedError, UnreadableError
from vademecum.home import Home
from vademecum.model import Origin
from vademecum.store import portable
from vademecum.store.imported import Imported, Item

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

LINE_BYTES = 64 << 20
"""A longer line is no record."""


def import_vademecum(
    home: Home, folder: Path, *, by: Origin, dry_run: bool = False, progress: Progress | None = None
) -> ImportReport:
    """Bring the export in `folder` into `home`, which must be empty: a new one, or one in which nothing is kept yet.

    A home that this import was begun in goes on where it was. About 0.3 ms of processor time a message, 500 of
    them in memory. Raises RefusedError unless `by` is a person, NotFoundError when `folder` is no export,
    UnreadableError for one of a newer version, ConflictError when the home is not empty.
    """
    if not dry_run and any(part.kind != "person" for part in by.parts):
        raise RefusedError(
            f"Only a person can bring in an export, and this call comes from {by}: what it says of where things came "
            "from would be believed. Nothing was changed.",
            "Run `vademecum import vademecum` in a terminal of your own.",
        )
    export = _Export(folder.expanduser())
    tally = Tally(dry_run)
    export.check(tally)
    if dry_run:
        return _counted(export, tally)
    if home.root.exists() and _check_empty(home, export.digest):
        tally.known = sum(export.counts.values())
        tally.notes.append("This export came in before; nothing was changed.")
        return tally.report()
    placing = Placing(home, export.folder, tally)
    if "config.yaml" in export.names:
        placing.config()
    placing.folders(export.agents())
    vm = _opened(home, export)
    try:
        imported = Imported(vm.db)
        imported.put(Item(portable.OWN, "export", export.digest, vm.clock(), "begun"))
        placing.files(vm, by, [name for name in export.names if not name.startswith(f"{RECORDS}/")])
        _load(vm, export, tally, progress)
        imported.put(Item(portable.OWN, "export", export.digest, vm.clock(), "done"))
    finally:
        vm.close()
    if export.user is not None:
        tally.notes.append(f"It is the export of one person, {export.user}: the agents' own memory is not in it.")
    tally.notes.append("Keys and tokens are in no export: agents that sign in a vault get new keys.")
    return tally.report()


def _opened(home: Home, export: _Export) -> Vademecum:
    from vademecum.agent.vademecum import open as open_home

    agents = export.agents() or ["default"]
    return open_home(home.root, agents[0])


def _load(vm: Vademecum, export: _Export, tally: Tally, progress: Progress | None) -> None:
    loading, total = Loading(vm, tally, export.folder), sum(export.counts.values())
    steps = (
        ("sessions", loading.sessions),
        ("messages", loading.messages),
        ("facts", loading.facts),
        ("links", loading.links),
        ("proposals", loading.proposals),
    )
    for kind, step in steps:
        for done, _ in enumerate(step(export.records(kind, tally)), 1):
            if progress is not None and done % 500 == 0:
                progress(done, total, kind)
    for kind in portable.PLAIN:
        loading.plain(kind, export.records(kind, tally))


def _counted(export: _Export, tally: Tally) -> ImportReport:
    tally.sessions, tally.messages = (sum(1 for _ in export.records(k, tally)) for k in ("sessions", "messages"))
    tally.notes_written = sum(name.startswith("agents/") and "/notes/" in name for name in export.names)
    tally.entries = sum(1 for _ in export.records("facts", tally))
    return tally.report()


def _check_empty(home: Home, digest: str) -> bool:
    """True when this very export is in it already; raises ConflictError when anything else is."""
    from vademecum.agent.vademecum import agent_names
    from vademecum.agent.vademecum import open as open_home
    from vademecum.config import load

    config = load(home.config)
    names = agent_names(home, config)
    if home.database.exists():
        with open_home(home.root, names[0] if names else "default") as vm:
            item = Imported(vm.db).get(portable.OWN, "export")
            if item is not None and item.sha256 == digest:
                return item.detail == "done"
            empty = portable.is_empty(vm.db)
    else:
        empty = True
    kept = [name for name in names if not is_untouched(home.agent(name, config))]
    if not empty or kept or config.agents:
        what = f"the agents {', '.join(kept)} have files" if kept else "it has conversations, facts or adopted agents"
        raise ConflictError(
            f"The home {home.root} is not empty: {what}. Nothing was brought in.",
            "Name a new home: vademecum --home FOLDER import vademecum ...",
        )
    return False


class _Export:
    """An export's folder, read with distrust: its names come from the disk, its records one line at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            raw = (folder / MANIFEST).read_bytes()
            read = cast("object", json.loads(raw))
        except (FileNotFoundError, NotADirectoryError) as error:
            raise NotFoundError(
                f"There is no export in {folder}: it has no {MANIFEST}. Nothing was brought in.",
                "`vademecum export FOLDER` makes one; a folder without that file is not whole.",
            ) from error
        except (OSError, ValueError, RecursionError) as error:
            raise UnreadableError(f"{folder / MANIFEST} cannot be read: {error}. Nothing was brought in.") from error
        manifest = cast("dict[str, Any]", read if isinstance(read, dict) else {})
        if manifest.get("format") != FORMAT or manifest.get("version") != VERSION:
            raise UnreadableError(
                f"{folder / MANIFEST} is of {manifest.get('format')!r}, version {manifest.get('version')!r}; this "
                f"program reads {FORMAT!r}, version {VERSION}. Nothing was brought in.",
                "Use the version of vademecum that wrote it, or a newer one.",
            )
        self.digest = hashlib.sha256(raw).hexdigest()
        user, counts, files = manifest.get("user"), mapping(manifest.get("counts")), mapping(manifest.get("files"))
        self.user = user if isinstance(user, str) else None
        self.counts: dict[str, int] = {kind: count for kind, count in counts.items() if isinstance(count, int)}
        self._hashes: dict[str, object] = files
        found = [path for path in folder.rglob("*") if path.is_file() or path.is_symlink()]
        there = {path.relative_to(folder).as_posix(): _through_link(path, folder) for path in found}
        self.names = sorted(name for name, linked in there.items() if name in files and not linked)
        self._strange = {name: "it is a link" if linked else "the manifest does not list it; it was left out"
                         for name, linked in there.items() if name not in (MANIFEST, *self.names)}  # fmt: skip

    def check(self, tally: Tally) -> None:
        """Name what is missing, changed or not of the export."""
        for name in sorted({*self._hashes} - {*self.names} - {*self._strange}):
            tally.problem(self.folder / name, 0, "it is missing")
        for name, why in sorted(self._strange.items()):
            tally.problem(self.folder / name, 0, why)
        for name in self.names:
            if _sha256(self.folder / name) != self._hashes[name]:
                tally.problem(self.folder / name, 0, "it is not as it was exported; what can be read of it came in")

    def agents(self) -> list[str]:
        """The agents whose files are in it."""
        from urllib.parse import unquote

        parts = [name.split("/") for name in self.names if name.startswith("agents/")]
        return sorted({unquote(one[1]) for one in parts if len(one) > 2})

    def records(self, kind: str, tally: Tally) -> Iterator[tuple[int, dict[str, Any]]]:
        """The records of a kind with their lines' numbers; a line that is none is named and passed over."""
        path = self.folder / RECORDS / f"{kind}.jsonl"
        if f"{RECORDS}/{kind}.jsonl" not in self.names:
            return
        with path.open("rb") as lines:
            number = 0
            while line := lines.readline(LINE_BYTES):
                number += 1
                try:
                    record = cast("object", json.loads(line.decode("utf-8", "surrogatepass")))
                except (ValueError, RecursionError):
                    tally.problem(path, number, "it is no JSON object" if line.endswith(b"\n") else "it is cut short")
                    continue
                if isinstance(record, dict):
                    yield number, cast("dict[str, Any]", record)
                else:
                    tally.problem(path, number, "it is no JSON object")


def _through_link(path: Path, root: Path) -> bool:
    return any(part.is_symlink() for part in (path, *path.parents[: len(path.relative_to(root).parts)]))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
