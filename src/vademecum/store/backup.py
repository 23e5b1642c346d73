"""One file that holds a whole home, and the way back.

Idea: a zip that any system opens: `home/...` with the database copied by SQLite's own online backup, `adopted/<agent>/`
for agents that live elsewhere, and a manifest with the SHA-256 of each. Invariant: a restore checks every name, size,
hash and the database's integrity in a folder of its own before it replaces anything, and what was there stays beside.
That folder is locked as long as it is worked in, so that one left by a killed process can be told and removed.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import secrets
import shutil
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, cast

import apsw

from vademecum import __version__
from vademecum.clock import iso, now_ms
from vademecum.config import Config
from vademecum.errors import LockedError, NotFoundError, RefusedError, StorageError, UnreadableError
from vademecum.files import locked
from vademecum.home import Home, folder_name
from vademecum.store.database_copy import (
    check_database,
    copy_database,
    copy_foreign,
    is_beside_database,
    is_database,
)

FORMAT = 1
MANIFEST = "manifest.json"
MANIFEST_BYTES = 64 << 20
TOTAL_BYTES = 64 << 30
"""A larger archive is refused unless the caller raises the bound."""
_PIECE = 1 << 20
_DATABASE = "home/state.db"
_BACKUP, _RESTORE, _CHECK = ".vademecum-backup-", ".restoring-", "vademecum-check-"
"""What the names of the folders begin with that are worked in: beside an archive, after a home's name, in TMPDIR."""
_BAD_ZIP = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OverflowError,
    ValueError,
)
"""What reading a damaged archive raises."""


@dataclass(frozen=True, slots=True)
class BackupReport:
    """A backup that was made or verified: how many files, their bytes unpacked, when it was made, what was left out.

    `missing` says what should be in it and could not be saved; empty when all of it was.
    """

    path: Path
    files: int
    bytes: int
    made_at: str
    left_out: tuple[str, ...] = ()
    missing: str = ""


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """What a restore did: the home, where the replaced one is kept (None: there was none), and notes for the person."""

    home: Path
    kept: Path | None
    files: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    size: int
    sha256: str
    mode: int


def backup(
    home: Home,
    config: Config,
    target: Path | None = None,
    *,
    include_env: bool = False,
    beside: Sequence[tuple[Path, str]] = (),
) -> BackupReport:
    """Write everything of `home`, and the files of adopted agents, into one zip.

    `target`: a file that does not exist yet, or a folder; default: a new file in `backups/`. `beside`: files elsewhere
    that go along, each with its place below `adopted/`. Providers' databases are copied by SQLite. `.env` (keys and
    tokens), `secret.key` and the keys that agents sign with are left out unless asked for; so is a database that is
    damaged, and the report says it. Other processes may go on working. What killed backups left beside the target or
    the home is removed. Raises NotFoundError when there is no home, RefusedError when the target exists, StorageError
    when the disk refuses (no half archive remains).
    """
    if not home.root.is_dir():
        raise NotFoundError(f"There is no home at {home.root}; nothing to back up.", "Check --home.")
    path = _target(home, target)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(home, path.parent)
        with _workplace(path.with_name(_BACKUP + secrets.token_hex(6))) as folder:
            temporary = folder / path.name
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            report = _write(home, config, temporary, path, include_env=include_env, beside=beside)
            with temporary.open("rb+") as stream:
                os.fsync(stream.fileno())
            if path.exists():
                raise RefusedError(f"{path} exists already and was left as it is.", "Choose another name.")
            temporary.replace(path)
    except OSError as error:
        raise StorageError(
            f"The backup could not be written: {error.strerror or error}. No archive was left behind.",
            "Check free space and permissions of the target.",
        ) from error
    return report


def verify(archive: Path, *, max_bytes: int = TOTAL_BYTES) -> BackupReport:
    """Check `archive` as a restore would, in a temporary folder, and change nothing.

    Raises UnreadableError that says what is wrong with it, RefusedError when it is larger than `max_bytes` unpacked.
    """
    try:
        with _workplace(Path(tempfile.gettempdir()) / (_CHECK + secrets.token_hex(6))) as folder:
            return _unpack(archive, folder, max_bytes)
    except OSError as error:
        raise StorageError(
            f"{archive} could not be unpacked for the check: {error.strerror or error}.", "Check free space in TMPDIR."
        ) from error


def restore(home: Home, archive: Path, *, max_bytes: int = TOTAL_BYTES) -> RestoreReport:
    """Put the state of `archive` in the place of `home`, once all of it was checked.

    The replaced home is kept beside it; its `.env` (when the archive has none) and its `backups/` stay with the home.
    Agents that live in an adopted folder are put into `adopted/<agent>/` of the home and not over that folder. Stop
    servers of this home first: they would go on writing into the replaced one. Raises as `verify` does; StorageError
    when the disk refuses, and then the home is as it was.
    """
    root = Path(os.path.realpath(home.root))
    stamp = datetime.fromtimestamp(now_ms() / 1000, tz=UTC).strftime("%Y%m%dT%H%M%SZ")
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
        with _workplace(root.with_name(f"{root.name}{_RESTORE}{secrets.token_hex(6)}")) as staging:
            checked = _unpack(archive, staging, max_bytes)
            notes = _settle(staging, root)
            return RestoreReport(home.root, _swap(staging / "home", root, stamp), checked.files, notes)
    except OSError as error:
        raise StorageError(
            f"The restore could not be carried out: {error.strerror or error}. {home.root} is as it was.",
            "Check free space and permissions; a home that is a mount point cannot be replaced, restore with --home"
            " into another folder.",
        ) from error


def leftovers(home: Home, *folders: Path) -> list[Path]:
    """What backups, restores and checks left that were killed: of `home`, in `folders`, and in TMPDIR. Changes nothing.

    Each is a folder with a copy of the home, or a part of one. Those that a running process works in are not named.
    """
    return [folder for folder in _abandoned(home, *folders) if folder.is_dir()]


def _abandoned(home: Home, *folders: Path) -> list[Path]:
    """The folders whose lock is there and that nobody holds; the folder itself may have gone, or not come."""
    root = Path(os.path.realpath(home.root))
    locks = [lock for folder in {home.backups, *folders} for lock in folder.glob(f"{_BACKUP}*.lock")]
    locks += root.parent.glob(f"{glob.escape(root.name)}{_RESTORE}*.lock")
    locks += Path(tempfile.gettempdir()).glob(f"{_CHECK}*.lock")
    return sorted(folder for lock in locks if _is_free(folder := lock.with_suffix("")))


def _is_free(folder: Path) -> bool:
    try:
        with locked(folder, seconds=0):
            return True
    except (LockedError, StorageError):  # somebody works in it, or it is another person's
        return False


def remove_leftovers(home: Home, *folders: Path) -> list[Path]:
    """Remove the `leftovers` and return those that went; one that somebody else owns stays."""
    found = leftovers(home, *folders)
    for folder in _abandoned(home, *folders):
        with contextlib.suppress(LockedError, StorageError), locked(folder, seconds=0):
            _clear(folder)
    return [folder for folder in found if not folder.exists()]


@contextlib.contextmanager
def _workplace(folder: Path) -> Generator[Path]:
    """A new private folder that goes away at the end. It exists only as long as its lock, beside it, is held."""
    with locked(folder):
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            _clear(folder)


def _clear(folder: Path) -> None:
    """Remove a folder and then its lock, which the caller holds."""
    shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():
        with contextlib.suppress(OSError):  # Windows keeps a file that is open; it is empty
            _lock_of(folder).unlink()


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")


def _target(home: Home, target: Path | None) -> Path:
    stamp = datetime.fromtimestamp(now_ms() / 1000, tz=UTC).strftime("%Y%m%dT%H%M%S.%f")[:-3]
    name = f"vademecum-{stamp}Z.zip"
    path = home.backups / name if target is None else target / name if target.is_dir() else target
    if path.exists():
        raise RefusedError(f"{path} exists already and was left as it is.", "Choose another name.")
    return path.absolute()


def _write(
    home: Home,
    config: Config,
    temporary: Path,
    path: Path,
    *,
    include_env: bool,
    beside: Sequence[tuple[Path, str]],
) -> BackupReport:
    entries, left_out, missing = list[_Entry](), list[str](), ""
    made_at, folder = iso(now_ms()), temporary.parent
    elsewhere = [(source, f"adopted/{name}") for source, name in beside if source.is_file()]
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        for source, name in (*_sources(home, config, folder, left_out, include_env=include_env), *elsewhere):
            try:
                name.encode("utf-8")
                entries.append(_put(archive, _packable(source, name, folder, left_out), name, like=source))
            except UnicodeEncodeError:
                left_out.append(f"{os.fsencode(source)!r} (its name is not UTF-8)")
            except FileNotFoundError:
                left_out.append(f"{name} (it went away meanwhile)")
        if home.database.exists():
            copy = folder / "state.db"
            missing = _copied(home.database, copy)
            if missing:
                left_out.append(missing)
            else:
                entries.append(_put(archive, copy, _DATABASE))
        adopted = {name: agent.path for name, agent in config.agents.items()}
        manifest = {
            "format": FORMAT,
            "program": f"vademecum {__version__}",
            "made_at": made_at,
            "adopted": adopted,
            "files": [{"path": e.name, "size": e.size, "sha256": e.sha256, "mode": e.mode} for e in entries],
        }
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False))
    size = sum(entry.size for entry in entries)
    return BackupReport(path, len(entries), size, made_at, tuple(left_out), missing)


def _copied(database: Path, copy: Path) -> str:
    """Copy the database; empty when that gave a sound one, else what is not saved and why.

    Raises LockedError, and StorageError when there is no room.
    """
    try:
        copy_database(database, copy)
        fault = check_database(copy)
    except StorageError as error:
        if isinstance(error.__cause__, apsw.FullError):
            raise
        fault = str(error.__cause__ or error)
    kept = "sessions, proposals, jobs and tokens are not in this backup; the files are"
    return f"state.db cannot be read whole ({fault}): {kept}" if fault else ""


def _sources(
    home: Home, config: Config, own: Path, left_out: list[str], *, include_env: bool
) -> Iterator[tuple[Path, str]]:
    database = {home.database.with_name(home.database.name + end) for end in ("", "-wal", "-shm", "-journal")}
    if home.env.exists() and not include_env:
        left_out.append(".env (keys and tokens)")
    signing = [path for path in home.keys.glob("*") if path.name != "pinned.json"] if home.keys.is_dir() else []
    if signing and not include_env:
        left_out.append("keys/ (what agents sign with)")
    derived = {home.cache.with_name(home.cache.name + end) for end in ("", "-wal", "-shm", "-journal")}
    private = () if include_env else (home.env, home.secret_key, *signing)
    for path in _files(home.root, skip={home.backups, own, *database, *derived, *private}):
        place = path.relative_to(home.root)
        if place.parts[0] != "providers" or not is_beside_database(path):
            yield path, f"home/{place.as_posix()}"
    for name in config.agents:
        folder = home.agent(name, config)
        if folder.root.is_relative_to(home.root):
            continue
        for part in (folder.soul, folder.root / "memories", folder.notes, folder.skills, folder.daily):
            for path in [part] if part.is_file() else _files(part, skip=set()):
                yield path, f"adopted/{folder_name(name)}/{path.relative_to(folder.root).as_posix()}"


def _files(folder: Path, skip: set[Path]) -> Iterator[Path]:
    """Regular files below `folder`; links to files count as what they point to, links to folders are not followed."""
    for root, folders, names in os.walk(folder):
        here = Path(root)
        folders[:] = sorted(name for name in folders if here / name not in skip)
        for name in sorted(names):
            path = here / name
            temporary = name.endswith(".lock") or (name.startswith(".") and name.endswith(".tmp"))
            if path not in skip and not temporary and path.is_file():
                yield path


def _packable(source: Path, name: str, folder: Path, left_out: list[str]) -> Path:
    """The file to pack: of a provider's database a copy that SQLite made while others may write, else `source`."""
    if not name.startswith(("home/providers/", "adopted/@providers/")) or not is_database(source):
        return source
    copy = folder / "provider.db"
    fault = copy_foreign(source, copy)
    if fault:
        left_out.append(f"the state of {name} by SQLite ({fault}): the file is in it as it lay there")
    return source if fault else copy


def _put(archive: zipfile.ZipFile, source: Path, name: str, *, like: Path | None = None) -> _Entry:
    """Pack a file, with the mode of `like` (None: its own)."""
    digest, size = hashlib.sha256(), 0
    mode = stat.S_IMODE((like or source).stat().st_mode)
    info = zipfile.ZipInfo(name, date_time=datetime.now(tz=UTC).timetuple()[:6])
    info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, (stat.S_IFREG | mode) << 16
    with source.open("rb") as stream, archive.open(info, "w", force_zip64=True) as out:
        while piece := stream.read(_PIECE):
            digest.update(piece)
            size += len(piece)
            out.write(piece)
    return _Entry(name, size, digest.hexdigest(), mode)


def _unpack(path: Path, folder: Path, max_bytes: int) -> BackupReport:
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = _manifest(archive)
            entries = _checked_names(archive, manifest)
            total = sum(entry.size for entry in entries)
            if total > max_bytes:
                raise RefusedError(
                    f"{path} holds {total:,} bytes unpacked, over the bound of {max_bytes:,}. Nothing was replaced.",
                    "Raise the bound if you trust it.",
                )
            for entry in entries:
                _extract(archive, entry, folder)
    except FileNotFoundError as error:
        raise NotFoundError(f"There is no archive {path}.", "Check the name; nothing was changed.") from error
    except _BAD_ZIP as error:
        raise _bad(path, str(error) or type(error).__name__) from error
    database = folder / _DATABASE
    if database.exists() and (fault := check_database(database)):
        raise _bad(path, f"its database is damaged: {fault}")
    return BackupReport(path, len(entries), total, str(manifest.get("made_at", "")))


def _manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    if MANIFEST not in archive.namelist():
        raise ValueError("it has no manifest, so it is no backup of vademecum")
    if archive.getinfo(MANIFEST).compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise ValueError("its manifest is packed in a way that no backup is")
    if archive.getinfo(MANIFEST).file_size > MANIFEST_BYTES:
        raise ValueError("its manifest is too large")
    manifest = json.loads(archive.read(MANIFEST))
    if not isinstance(manifest, dict) or cast("dict[str, Any]", manifest).get("format") != FORMAT:
        raise ValueError(f"its manifest is not of format {FORMAT}")
    return cast("dict[str, Any]", manifest)


def _checked_names(archive: zipfile.ZipFile, manifest: dict[str, Any]) -> list[_Entry]:
    try:
        entries = [
            _Entry(str(e["path"]), int(e["size"]), str(e["sha256"]), int(e["mode"]) & 0o777) for e in manifest["files"]
        ]
    except (KeyError, TypeError) as error:
        raise ValueError("its manifest is incomplete") from error
    inside = [info.filename for info in archive.infolist()]
    if sorted(inside) != sorted([MANIFEST, *(entry.name for entry in entries)]):
        raise ValueError("its files are not those of its manifest")
    if len(set(inside)) != len(inside):
        raise ValueError("two of its files have one name")
    for entry in entries:
        info, way = archive.getinfo(entry.name), PurePosixPath(entry.name)
        foreign = os.name == "nt" and any(mark in entry.name for mark in "\\:")  # plain characters elsewhere
        unsafe = foreign or way.is_absolute() or ".." in way.parts or "\0" in entry.name
        if unsafe or len(way.parts) < 2 or way.parts[0] not in {"home", "adopted"} or str(way) != entry.name:
            raise ValueError(f"it holds the name {entry.name!r}, which leads out of a home")
        if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise ValueError(f"{entry.name!r} is packed in a way that no backup is")
        if stat.S_IFMT(info.external_attr >> 16) not in {0, stat.S_IFREG}:
            raise ValueError(f"{entry.name!r} is not a plain file")
        if info.file_size != entry.size or entry.size < 0:
            raise ValueError(f"{entry.name!r} has another size than its manifest says")
    return entries


def _extract(archive: zipfile.ZipFile, entry: _Entry, folder: Path) -> None:
    path, digest, size = folder / entry.name, hashlib.sha256(), 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise ValueError(f"{entry.name!r} is in the way of another of its files") from error
    with archive.open(entry.name) as source, os.fdopen(handle, "wb") as out:
        while piece := source.read(_PIECE):
            size += len(piece)
            if size > entry.size:
                raise ValueError(f"{entry.name!r} is larger than its manifest says")
            digest.update(piece)
            out.write(piece)
        out.flush()
        os.fsync(out.fileno())
    if size != entry.size or digest.hexdigest() != entry.sha256:
        raise ValueError(f"{entry.name!r} is not what its manifest says")
    path.chmod(entry.mode | stat.S_IRUSR | stat.S_IWUSR)


def _settle(staging: Path, root: Path) -> tuple[str, ...]:
    """Bring the unpacked parts into the shape of a home; what only the replaced home has comes along."""
    fresh, notes = staging / "home", list[str]()
    fresh.mkdir(exist_ok=True)
    fresh.chmod(0o700)
    if (fresh / "state.db").is_file():
        (fresh / "state.db").chmod(0o600)  # an archive may say otherwise
    if (staging / "adopted").is_dir():
        shutil.rmtree(fresh / "adopted", ignore_errors=True)
        (staging / "adopted").rename(fresh / "adopted")
        notes.append(
            f"What lives in folders of its own (agents, files of providers) is in {root / 'adopted'}; copy back what "
            "you want."
        )
    if (root / "secret.key").is_file() and not (fresh / "secret.key").exists():
        shutil.copy2(root / "secret.key", fresh / "secret.key")
    for key in root.glob("keys/*.key"):  # an agent with another key would be an alarm to everybody who knows it
        if not (fresh / "keys" / key.name).exists():
            (fresh / "keys").mkdir(mode=0o700, exist_ok=True)
            shutil.copy2(key, fresh / "keys" / key.name)
    old_env = root / ".env"
    if old_env.is_file() and not (fresh / ".env").exists():
        shutil.copy2(old_env, fresh / ".env")
        notes.append("The archive has no .env; the one that was there stays.")
    return tuple(notes)


def _swap(fresh: Path, root: Path, stamp: str) -> Path | None:
    if not root.exists():
        fresh.rename(root)
        return None
    kept = root.with_name(f"{root.name}.before-restore-{stamp}-{secrets.token_hex(2)}")
    root.rename(kept)
    try:
        fresh.rename(root)
    except OSError:
        kept.rename(root)
        raise
    if (kept / "backups").is_dir() and not (root / "backups").exists():
        (kept / "backups").rename(root / "backups")
    return kept


def _bad(path: Path, why: str) -> UnreadableError:
    return UnreadableError(
        f"{path} cannot be restored: {why}. Nothing was replaced.", "Use another backup; `vademecum backup` makes one."
    )
