"""A backup is one file that restores whole, or not at all."""

from __future__ import annotations

import hashlib
import json
import random
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vademecum.config import AgentConfig, Config
from vademecum.errors import NotFoundError, RefusedError, StorageError, UnreadableError
from vademecum.home import Home
from vademecum.store import Database, migrate
from vademecum.store.backup import backup, leftovers, remove_leftovers, restore, verify
from vademecum.store.heartbeats import Heartbeat, Heartbeats
from vademecum.surfaces.cli import main

CONFIG = Config()


@pytest.fixture
def full(home: Home) -> Home:
    """A home with an agent, a config, keys, and a database with rows in its write-ahead log."""
    memories = home.agents / "default" / "memories"
    memories.mkdir(parents=True)
    (memories / "MEMORY.md").write_bytes("Größe\r\n§\nzwei".encode())
    (home.agents / "default" / "SOUL.md").write_text("I am.")
    (home.agents / "default" / "notes").mkdir()
    (home.agents / "default" / "notes" / "Case.md").write_text("one")
    (home.agents / "default" / "notes" / "case.md").write_text("another")
    home.config.write_text("# mine\n")
    home.env.write_text("OPENAI_API_KEY=secret\n")
    home.env.chmod(0o600)
    (home.root / "config.yaml.lock").write_text("")
    database = Database(home.database)
    migrate(database)
    for n in range(50):
        Heartbeats(database).beat(Heartbeat("test", f"hook{n}", n, None, 1, "ok", "x" * 200))
    database.close()
    return home


def test_a_restore_into_an_empty_place_gives_the_same_files_and_rows(full: Home, tmp_path: Path) -> None:
    report = backup(full, CONFIG, tmp_path / "b.zip", include_env=True)
    other = Home(tmp_path / "other")

    done = restore(other, report.path)

    assert _tree(other) == _tree(full)
    assert done.kept is None
    assert done.files == report.files
    assert _hooks(other) == _hooks(full)
    assert stat.S_IMODE(other.env.stat().st_mode) == 0o600
    assert stat.S_IMODE(other.root.stat().st_mode) == 0o700


def test_keys_are_left_out_unless_asked_for_and_stay_through_a_restore(full: Home) -> None:
    report = backup(full, CONFIG)

    with zipfile.ZipFile(report.path) as archive:
        assert not [name for name in archive.namelist() if name.endswith(".env")]
    assert any(".env" in left for left in report.left_out)
    restore(full, report.path)
    assert full.env.read_text() == "OPENAI_API_KEY=secret\n"


def test_a_restore_keeps_what_it_replaces_and_the_backups(full: Home) -> None:
    report = backup(full, CONFIG)
    memory = full.agents / "default" / "memories" / "MEMORY.md"
    old = memory.read_bytes()
    memory.write_bytes(b"newer")

    done = restore(full, report.path)

    assert memory.read_bytes() == old
    assert done.kept is not None
    assert (done.kept / "agents" / "default" / "memories" / "MEMORY.md").read_bytes() == b"newer"
    assert report.path.exists()
    assert verify(report.path).files == report.files


def test_the_default_archive_is_private_and_holds_no_other_backups(full: Home) -> None:
    first = backup(full, CONFIG)
    second = backup(full, CONFIG)

    assert first.path != second.path
    assert stat.S_IMODE(second.path.stat().st_mode) == 0o600
    with zipfile.ZipFile(second.path) as archive:
        assert not [name for name in archive.namelist() if "backups" in name or name.endswith((".lock", "-wal"))]


def test_a_backup_while_another_connection_writes_is_consistent(full: Home, tmp_path: Path) -> None:
    stop = threading.Event()
    database = Database(full.database)

    def write() -> None:
        n = 0
        while not stop.is_set():
            with database.atomic():  # always in pairs
                Heartbeats(database).beat(Heartbeat("left", f"{n}", n, None, 1, "ok", ""))
                Heartbeats(database).beat(Heartbeat("right", f"{n}", n, None, 1, "ok", ""))
            n += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        reports = [backup(full, CONFIG, tmp_path / f"{n}.zip") for n in range(3)]
    finally:
        stop.set()
        writer.join()
    database.close()

    for n, report in enumerate(reports):
        other = Home(tmp_path / f"home{n}")
        restore(other, report.path)
        copy = Database(other.database)
        assert len(Heartbeats(copy).of("left")) == len(Heartbeats(copy).of("right"))
        copy.close()


def test_an_adopted_agent_is_in_the_archive_and_is_not_restored_over_its_folder(full: Home, tmp_path: Path) -> None:
    hermes = tmp_path / "hermes"
    (hermes / "memories").mkdir(parents=True)
    (hermes / "SOUL.md").write_text("Hermes.")
    (hermes / "memories" / "MEMORY.md").write_text("kept")
    (hermes / "state.db").write_bytes(b"not ours")
    report = backup(full, Config(agents={"hermes": AgentConfig(str(hermes))}), tmp_path / "b.zip")
    (hermes / "SOUL.md").write_text("newer")

    done = restore(full, report.path)

    assert (hermes / "SOUL.md").read_text() == "newer"
    assert (full.root / "adopted" / "hermes" / "SOUL.md").read_text() == "Hermes."
    assert (full.root / "adopted" / "hermes" / "memories" / "MEMORY.md").read_text() == "kept"
    assert not (full.root / "adopted" / "hermes" / "state.db").exists()
    assert any("adopted" in note for note in done.notes)


def _rewritten(source: Path, target: Path, change: Any) -> Path:
    """A copy of an archive; `change` gets `{name: bytes}` and the manifest, and may alter both."""
    with zipfile.ZipFile(source) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(parts["manifest.json"])
    change(parts, manifest)
    parts["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in parts.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFLNK | 0o777) << 16 if data == b"/etc/passwd" else 0
            archive.writestr(info, data)
    return target


def _listed(manifest: dict[str, Any], name: str, data: bytes) -> None:
    manifest["files"].append(
        {"path": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest(), "mode": 0o644}
    )


def _change_a_file(parts: dict[str, bytes], manifest: dict[str, Any]) -> None:
    parts["home/agents/default/SOUL.md"] = b"I ax."


def _add_unlisted(parts: dict[str, bytes], manifest: dict[str, Any]) -> None:
    parts["home/more.md"] = b"x"


def _take_away(parts: dict[str, bytes], manifest: dict[str, Any]) -> None:
    del parts["home/config.yaml"]


def _traverse(parts: dict[str, bytes], manifest: dict[str, Any]) -> None:
    parts["home/../../evil"] = b"x"
    _listed(manifest, "home/../../evil", b"x")


def _absolute(parts: dict[str, bytes], manifest: dict[str, Any]) -> None:
    parts["/tmp/evil"] = b"x"
    _listed(manifest, "/tmp/evil", b"x")


def _elsewhere(parts: dict[str, bytes], manifest: dict[str, Any]) -> None:
    parts["etc/evil"] = b"x"
    _listed(manifest, "etc/evil", b"x")


def _link(parts: dict[str, bytes], manifest: dict[str, Any]) -> None:
    parts["home/link"] = b"/etc/passwd"
    _listed(manifest, "home/link", b"/etc/passwd")


def _wrong_size(parts: dict[str, bytes], manifest: dict[str, Any]) -> None:
    manifest["files"][0]["size"] += 1


def _newer_format(parts: dict[str, bytes], manifest: dict[str, Any]) -> None:
    manifest["format"] = 99


def _file_as_folder(parts: dict[str, bytes], manifest: dict[str, Any]) -> None:
    parts["home/config.yaml/inside"] = b"x"
    _listed(manifest, "home/config.yaml/inside", b"x")


def _damaged_database(parts: dict[str, bytes], manifest: dict[str, Any]) -> None:
    data = bytearray(parts["home/state.db"])
    data[4096 * 3 : 4096 * 4] = b"\xff" * 4096
    parts["home/state.db"] = bytes(data)
    entry = next(entry for entry in manifest["files"] if entry["path"] == "home/state.db")
    entry["sha256"] = hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    "change",
    [
        _change_a_file,
        _add_unlisted,
        _take_away,
        _traverse,
        _absolute,
        _elsewhere,
        _link,
        _wrong_size,
        _newer_format,
        _file_as_folder,
        _damaged_database,
    ],
)
def test_a_tampered_archive_is_refused_and_the_home_stays(full: Home, tmp_path: Path, change: Any) -> None:
    good = backup(full, CONFIG, tmp_path / "good.zip")
    bad = _rewritten(good.path, tmp_path / "bad.zip", change)
    before, beside = _tree(full), sorted(path.name for path in full.root.parent.iterdir())

    with pytest.raises(UnreadableError) as caught:
        restore(full, bad)

    assert caught.value.hint
    assert _tree(full) == before
    assert sorted(path.name for path in full.root.parent.iterdir()) == beside
    with pytest.raises(UnreadableError):
        verify(bad)


def test_an_unchanged_copy_of_an_archive_is_accepted(full: Home, tmp_path: Path) -> None:
    good = backup(full, CONFIG, tmp_path / "good.zip")

    assert verify(_rewritten(good.path, tmp_path / "same.zip", lambda parts, manifest: None)).files == good.files


def test_an_archive_over_the_bound_is_refused(full: Home, tmp_path: Path) -> None:
    report = backup(full, CONFIG, tmp_path / "b.zip")

    with pytest.raises(RefusedError):
        verify(report.path, max_bytes=report.bytes - 1)
    assert verify(report.path, max_bytes=report.bytes).bytes == report.bytes


def test_a_flipped_bit_is_refused_in_words_or_changes_nothing(home: Home, tmp_path: Path) -> None:
    home.root.mkdir()
    words = "".join(random.Random(7).choices("abcdefghij \n", k=600)).encode()
    home.config.write_bytes(words)
    good = backup(home, CONFIG, tmp_path / "b.zip").path.read_bytes()
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        info = archive.getinfo("home/config.yaml")
    begin = info.header_offset + 30 + sum(struct.unpack_from("<HH", good, info.header_offset + 26))
    content = range(begin, begin + info.compress_size)
    bad, refused = tmp_path / "bad.zip", set[int]()

    for at in range(len(good)):
        data = bytearray(good)
        data[at] ^= 1 << at % 8
        bad.write_bytes(data)
        try:
            verify(bad)
        except (UnreadableError, StorageError, RefusedError):
            refused.add(at)
        else:  # a time, a flag, a code that no letter has
            with zipfile.ZipFile(bad) as archive:
                assert archive.read("home/config.yaml") == words

    assert len(refused & set(content)) > 0.95 * len(content)
    assert len(refused) > 0.75 * len(good)


def test_an_archive_packed_in_another_way_is_refused(home: Home, tmp_path: Path) -> None:
    bad = tmp_path / "bad.zip"
    with zipfile.ZipFile(bad, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("manifest.json", json.dumps({"format": 1, "files": []}))

    with pytest.raises(UnreadableError):
        verify(bad)


def test_a_restored_database_is_private_whatever_the_archive_says(full: Home, tmp_path: Path) -> None:
    report = backup(full, CONFIG, tmp_path / "b.zip")
    open_to_all = _rewritten(report.path, tmp_path / "old.zip", _readable_by_all)
    with zipfile.ZipFile(report.path) as archive:
        modes = {entry["path"]: entry["mode"] for entry in json.loads(archive.read("manifest.json"))["files"]}
    restore(Home(tmp_path / "other"), open_to_all)

    assert modes["home/state.db"] == 0o600
    assert stat.S_IMODE((tmp_path / "other" / "state.db").stat().st_mode) == 0o600


def _readable_by_all(parts: dict[str, bytes], manifest: dict[str, Any]) -> None:
    for entry in manifest["files"]:
        entry["mode"] = 0o644


def _no_database(database: Path) -> None:
    database.write_bytes(b"garbage" * 4_000)


def _damaged_inside(database: Path) -> None:
    data = bytearray(database.read_bytes())
    data[4096 * 3 : 4096 * 4] = b"\xff" * 4096
    database.write_bytes(bytes(data))


def _a_folder(database: Path) -> None:
    database.unlink()
    database.mkdir()


@pytest.mark.parametrize("broken", [_no_database, _damaged_inside, _a_folder])
def test_a_damaged_database_does_not_keep_the_files_from_being_saved(
    full: Home, tmp_path: Path, broken: Callable[[Path], None]
) -> None:
    broken(full.database)
    report = backup(full, CONFIG, tmp_path / "b.zip")
    other = Home(tmp_path / "other")

    assert "state.db" in report.missing
    assert "not in this backup" in report.missing
    assert report.missing in report.left_out
    restore(other, report.path)
    assert (other.agents / "default" / "memories" / "MEMORY.md").exists()
    assert not other.database.exists()


def test_a_sound_backup_misses_nothing(full: Home, tmp_path: Path) -> None:
    assert backup(full, CONFIG, tmp_path / "b.zip").missing == ""


_SLOW = """
import os, sys
from pathlib import Path
from vademecum.config import Config
from vademecum.home import Home
from vademecum.store import backup

def stuck(*args):
    print("there", flush=True)
    sys.stdin.read()

setattr(backup, sys.argv[1], stuck)
home, archive = Home(Path(sys.argv[2])), Path(sys.argv[3])
{"backup": lambda: backup.backup(home, Config(), archive), "restore": lambda: backup.restore(home, archive),
 "verify": lambda: backup.verify(archive)}[sys.argv[4]]()
"""


def _stuck(full: Home, archive: Path, at: str, what: str) -> subprocess.Popen[bytes]:
    """A process that has come to the function `at` of `what` and stays there."""
    command = [sys.executable, "-c", _SLOW, at, str(full.root), str(archive), what]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"there\n"
    return process


@pytest.mark.parametrize(
    ("what", "at"), [("backup", "copy_database"), ("restore", "_settle"), ("verify", "check_database")]
)
def test_what_a_killed_process_left_is_found_and_removed_by_the_next_backup(
    full: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, at: str
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    (tmp_path / "tmp").mkdir()
    folder = tmp_path / "archives"
    good = backup(full, CONFIG, folder / "good.zip").path
    before = sorted(tmp_path.rglob("*"))
    process = _stuck(full, folder / "new.zip" if what == "backup" else good, at, what)

    assert len(sorted(tmp_path.rglob("*"))) > len(before)
    assert leftovers(full, folder) == []  # somebody works in it
    assert remove_leftovers(full, folder) == []
    process.kill()
    process.communicate()
    (folder / ".vademecum-backup-0.lock").touch()  # of one that was killed before it had a folder
    assert len(leftovers(full, folder)) == 1
    assert sorted(tmp_path.rglob("*")) != before
    backup(full, CONFIG, folder / "next.zip").path.unlink()

    assert leftovers(full, folder) == []
    assert sorted(tmp_path.rglob("*")) == before


def test_doctor_names_what_a_killed_restore_left_and_removes_it(
    full: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(full.root))  # what others left in TMPDIR is not this test's
    left = full.root.with_name(f"{full.root.name}.restoring-0a")
    (left / "home").mkdir(parents=True)
    left.with_name(f"{left.name}.lock").touch()

    main(["--home", str(full.root), "doctor"])
    assert str(left) in capsys.readouterr().out
    assert left.is_dir()
    main(["--home", str(full.root), "doctor", "--repair"])

    assert f"Removed {left}" in capsys.readouterr().out
    assert sorted(path.name for path in full.root.parent.iterdir()) == [full.root.name]


def test_a_backup_into_the_home_does_not_hold_itself(full: Home) -> None:
    report = backup(full, CONFIG, full.root / "b.zip")

    with zipfile.ZipFile(report.path) as archive:
        assert not [name for name in archive.namelist() if "vademecum-backup" in name or name.endswith(".zip")]


@pytest.mark.parametrize("raw", [b"", b"PK", b"no zip at all"])
def test_what_is_no_archive_is_refused(home: Home, tmp_path: Path, raw: bytes) -> None:
    bad = tmp_path / "bad.zip"
    bad.write_bytes(raw)

    with pytest.raises(UnreadableError):
        restore(home, bad)
    assert not home.root.exists()


def test_missing_things_are_named(home: Home, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        backup(home, CONFIG)
    with pytest.raises(NotFoundError):
        restore(home, tmp_path / "none.zip")


def test_an_existing_target_is_not_overwritten(full: Home, tmp_path: Path) -> None:
    target = tmp_path / "b.zip"
    target.write_bytes(b"mine")

    with pytest.raises(RefusedError):
        backup(full, CONFIG, target)
    assert target.read_bytes() == b"mine"


def test_a_target_that_cannot_be_written_leaves_no_half_archive(full: Home, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")

    with pytest.raises(StorageError):
        backup(full, CONFIG, blocked / "b.zip")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "home"]


def _tree(home: Home) -> dict[str, str]:
    left_out = {"backups", "state.db", "state.db-wal", "state.db-shm", "config.yaml.lock"}
    return {
        path.relative_to(home.root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in home.root.rglob("*")
        if path.is_file() and path.relative_to(home.root).parts[0] not in left_out
    }


def _hooks(home: Home) -> dict[str, Heartbeat]:
    database = Database(home.database)
    try:
        return Heartbeats(database).of("test")
    finally:
        database.close()
