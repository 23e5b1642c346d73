"""What sync tools and git leave behind is folded by id: nothing lost, nothing twice, the order the same."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.vault.live import LiveLog

NOVEMBER = 1_795_996_210_000


def machine(root: Path, name: str, agent: str, vault: Path) -> Vademecum:
    """A home of its own on the vault `vault`."""
    return vademecum.open(root / f"home-{name}", agent, config={"vault.path": str(vault)})


def add(log: LiveLog, summary: str, at: int, body: str = "") -> str:
    entry = log.append("work", summary, at=at, body=body).entry
    assert entry is not None
    return entry.id


def ids(log: LiveLog) -> list[str]:
    return [entry.id for entry in log.read(0, 10_000).entries]


@pytest.fixture
def two(tmp_path: Path) -> tuple[Vademecum, Vademecum, list[str]]:
    """Two machines with a copy of one vault each, on both of which something was written since."""
    one = machine(tmp_path, "one", "lyra", tmp_path / "one")
    known = [add(one.live, f"common {n}", NOVEMBER + n * 10) for n in range(3)]
    month = one.live.paths.month(NOVEMBER)
    month.write_text("# November\n\n" + month.read_text() + "- bought milk\n")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    two = machine(tmp_path, "two", "ella", tmp_path / "two")
    for n in range(3):
        known.append(add(one.live, f"lyra {n}", NOVEMBER + 1000 + n * 20, body="a\n\nb"))
        known.append(add(two.live, f"ella {n}", NOVEMBER + 1010 + n * 20))
    return one, two, known


@pytest.mark.parametrize(
    "suffix",
    [
        ".sync-conflict-20261129-174205-ABCDEF7",
        " (conflicted copy 2026-11-29)",
        " (Ella's conflicted copy 2026-11-29)",
        " (Conflicted copy phone 202611291742)",
        " (In Konflikt stehende Kopie von Ella 2026-11-29)",
        " 2",
        " (1)",
    ],
)
def test_conflict_copies_are_folded_by_id(two: tuple[Vademecum, Vademecum, list[str]], suffix: str) -> None:
    one, other, known = two
    month, theirs = one.live.paths.month(NOVEMBER), other.live.paths.month(NOVEMBER)
    shutil.copy(theirs, month.with_name(f"{month.stem}{suffix}.md"))
    for ledger in other.live.paths.ledgers.iterdir():
        target = one.live.paths.ledgers / ledger.name
        shutil.copy(ledger, target.with_name(f"{ledger.stem}{suffix}.jsonl") if target.exists() else target)
    planned = one.live.merge(dry_run=True)
    assert planned.dry_run and month.with_name(f"{month.stem}{suffix}.md").exists()
    done = one.live.merge()
    assert (done.added, done.doubles, done.twins, done.left) == (3, 0, (), ())
    assert (done.files, done.copies) == (planned.files, planned.copies)
    found = ids(one.live)
    assert set(known) < set(found) and len(found) == len(set(found)) == len(known) + 1  # and the line about milk
    text = month.read_text()
    assert text.startswith("# November\n") and text.count("bought milk") == 1
    lines = [line for line in text.splitlines() if line.startswith("- 2026")]
    assert lines == sorted(lines) and len(lines) == 9
    assert [path.name for path in one.live.paths.live.iterdir()] == [month.name]
    report = one.live.verify()
    assert (report.ok, report.signed, report.by_hand) == (True, 9, 1)
    before = month.read_bytes()
    assert one.live.merge().files == () and month.read_bytes() == before


def test_both_sides_come_to_the_same_file(two: tuple[Vademecum, Vademecum, list[str]]) -> None:
    one, other, _ = two
    mine, theirs = one.live.paths.month(NOVEMBER), other.live.paths.month(NOVEMBER)
    first, second = mine.read_bytes(), theirs.read_bytes()
    mine.with_name("2026-11.sync-conflict-20261129-174205-ABCDEF7.md").write_bytes(second)
    theirs.with_name("2026-11.sync-conflict-20261129-174205-ABCDEF7.md").write_bytes(first)
    one.live.merge()
    other.live.merge()
    assert mine.read_bytes() == theirs.read_bytes()


def test_twins_that_differ_are_both_kept_and_named(two: tuple[Vademecum, Vademecum, list[str]]) -> None:
    one, other, known = two
    month = one.live.paths.month(NOVEMBER)
    changed = other.live.paths.month(NOVEMBER).read_text().replace("common 1", "common one, and more")
    month.with_name("2026-11 (conflicted copy).md").write_text(changed)
    done = one.live.merge()
    (twin,) = done.twins
    assert twin.id == known[1] and len(twin.lines) == 2
    lines = month.read_text().splitlines()
    assert {"common 1" in lines[n - 1] or "common one, and more" in lines[n - 1] for n in twin.lines} == {True}
    assert [fault.kind for fault in one.live.verify().faults if fault.id == known[1]] == ["changed"]


def test_doubles_in_one_file_are_dropped_and_typed_lines_are_not(two: tuple[Vademecum, Vademecum, list[str]]) -> None:
    one, _, known = two
    month = one.live.paths.month(NOVEMBER)
    month.write_text(month.read_text() * 2)
    done = one.live.merge()
    assert done.doubles == 6
    text = month.read_text()
    assert [text.count(f"^{id_}") for id_ in known if id_ in text] == [1] * 6
    assert text.count("bought milk") == 2  # a person may have bought milk twice


def test_a_file_with_nothing_to_merge_and_a_persons_own_file_are_not_touched(
    two: tuple[Vademecum, Vademecum, list[str]],
) -> None:
    one, _, _ = two
    month = one.live.paths.month(NOVEMBER)
    own = month.with_name("2026-11 review.md")
    own.write_text("- what went well\n")
    decisions = one.live.paths.root / "Decisions.sync-conflict-20261129-174205-ABCDEF7.md"
    (one.live.paths.root / "Decisions.md").write_text("# one\n")
    decisions.write_text("# two\n")
    before = month.stat().st_mtime_ns, month.stat().st_ino
    done = one.live.merge()
    assert (done.files, done.copies, done.left) == ((), (), (decisions.name,))
    assert (month.stat().st_mtime_ns, month.stat().st_ino) == before
    assert own.read_text() == "- what went well\n"


def test_a_line_of_windows_and_a_mark_at_the_beginning_stay(two: tuple[Vademecum, Vademecum, list[str]]) -> None:
    one, other, _ = two
    month = one.live.paths.month(NOVEMBER)
    month.write_bytes(b"\xef\xbb\xbf" + month.read_bytes().replace(b"\n", b"\r\n"))
    month.with_name("2026-11 (1).md").write_bytes(other.live.paths.month(NOVEMBER).read_bytes())
    assert one.live.merge().added == 3
    data = month.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf# November\r\n") and data.count(b"\n") == data.count(b"\r\n")


def test_what_a_sync_tool_overwrote_is_put_back_from_the_signed_copies(
    two: tuple[Vademecum, Vademecum, list[str]],
) -> None:
    one, other, known = two
    month = one.live.paths.month(NOVEMBER)
    month.write_bytes(other.live.paths.month(NOVEMBER).read_bytes())  # the newer one won
    assert {fault.kind for fault in one.live.verify().faults} == {"removed"}
    assert one.live.merge().restored == ()
    done = one.live.merge(restore=True)
    assert len(done.restored) == 3
    assert set(known) <= set(ids(one.live))
    shutil.copy(next(other.live.paths.ledgers.glob("ella*")), one.live.paths.ledgers)
    assert one.live.verify().ok


# --- git


def git(folder: Path, *args: str, check: bool = True) -> str:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "init.defaultBranch=main"]
    command = ["git", "-C", str(folder), *identity, *args]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)


@pytest.fixture
def clones(tmp_path: Path) -> tuple[Vademecum, Vademecum]:
    if shutil.which("git") is None:
        pytest.skip("needs git")
    (tmp_path / "one").mkdir()
    git(tmp_path / "one", "init", "-q")
    one = machine(tmp_path, "one", "lyra", tmp_path / "one")
    one.live.prepare()
    add(one.live, "the beginning", NOVEMBER)
    commit(tmp_path / "one", "begin")
    git(tmp_path, "clone", "-q", str(tmp_path / "one"), str(tmp_path / "two"))
    return one, machine(tmp_path, "two", "ella", tmp_path / "two")


def fetch_and_merge(into: Path, source: Path) -> None:
    git(into, "fetch", "-q", str(source))
    git(into, "merge", "-q", "--no-edit", "FETCH_HEAD")


def test_two_clones_that_both_went_on_hold_everything_once_after_merging(
    clones: tuple[Vademecum, Vademecum], tmp_path: Path
) -> None:
    one, two = clones
    known = ids(one.live)
    for round_ in range(3):
        for n in range(4):
            at = NOVEMBER + round_ * 1000 + n * 10
            known.append(add(one.live, f"lyra {round_}.{n}", at, body="same\n\nsame too" if n % 2 else ""))
            known.append(add(two.live, f"ella {round_}.{n}", at, body="same\n\nsame too" if n % 2 else ""))
        commit(tmp_path / "one", "lyra")
        commit(tmp_path / "two", "ella")
        fetch_and_merge(tmp_path / "one", tmp_path / "two")
        one.live.merge()
        if git(tmp_path / "one", "status", "--porcelain"):
            commit(tmp_path / "one", "merged")
        fetch_and_merge(tmp_path / "two", tmp_path / "one")
    assert ids(one.live) == ids(two.live) and set(ids(one.live)) == set(known) and len(known) == 25
    for log in (one.live, two.live):
        report = log.verify()
        assert report.ok, report.faults
        assert report.signed == 25
    assert git(tmp_path / "one", "status", "--porcelain") == ""  # locks and notes are no part of it


def test_bodies_that_a_line_wise_merge_mixed_up_are_put_right(
    clones: tuple[Vademecum, Vademecum], tmp_path: Path
) -> None:
    one, two = clones
    boiler = "\n".join(["Traceback (most recent call last):", *(f"  file {n}" for n in range(8)), "", "Error"])
    add(one.live, "lyra met an error", NOVEMBER + 10, body=f"lyra's own\n{boiler}\nlyra's end")
    add(two.live, "ella met it too", NOVEMBER + 10, body=f"ella's own\n{boiler}\nella's end")
    commit(tmp_path / "one", "lyra")
    commit(tmp_path / "two", "ella")
    fetch_and_merge(tmp_path / "one", tmp_path / "two")
    assert not one.live.verify().ok  # git keeps the lines that both have once
    done = one.live.merge()
    assert len(done.restored) == 2
    assert one.live.verify().ok
    assert {entry.body.count("Traceback") for entry in one.live.tail(2)} == {1}


def test_a_git_merge_that_stopped_with_marks_is_finished(clones: tuple[Vademecum, Vademecum], tmp_path: Path) -> None:
    one, two = clones
    for vm in (one, two):
        (vm.live.paths.root / ".gitattributes").write_text("")
    boiler = "\n".join(f"line {n}" for n in range(6))
    known = [
        add(one.live, "lyra", NOVEMBER + 10, body=f"a\n{boiler}"),
        add(two.live, "ella", NOVEMBER + 10, body=boiler),
    ]
    known.append(add(two.live, "more", NOVEMBER + 20))
    commit(tmp_path / "one", "lyra")
    commit(tmp_path / "two", "ella")
    git(tmp_path / "one", "fetch", "-q", str(tmp_path / "two"))
    git(tmp_path / "one", "merge", "-q", "--no-edit", "FETCH_HEAD", check=False)
    month = one.live.paths.month(NOVEMBER)
    assert "<<<<<<<" in month.read_text()
    assert "ledger" in {fault.kind for fault in one.live.verify().faults}
    one.live.merge()
    assert "<<<<<<<" not in month.read_text() and "=======" not in month.read_text()
    report = one.live.verify()
    assert report.ok, report.faults
    assert set(known) <= set(ids(one.live))


def test_an_agent_with_one_key_on_two_machines_has_a_chain_that_forks_and_is_proved(tmp_path: Path) -> None:
    one = machine(tmp_path, "one", "lyra", tmp_path / "one")
    known = [add(one.live, "the beginning", NOVEMBER)]
    one.close()
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    shutil.copytree(tmp_path / "home-one", tmp_path / "home-two")
    two = machine(tmp_path, "two", "lyra", tmp_path / "two")
    known += [add(one.live, "here", NOVEMBER + 10), add(two.live, "there", NOVEMBER + 20)]
    for path in (one.live.paths.month(NOVEMBER), next(one.live.paths.ledgers.iterdir())):
        theirs = tmp_path / "two" / path.relative_to(tmp_path / "one")
        shutil.copy(theirs, path.with_name(f"{path.stem}.sync-conflict-20261129-174205-ABCDEF7{path.suffix}"))
    one.live.merge()
    assert ids(one.live) == known
    report = one.live.verify()
    assert report.ok and report.signed == 3
    add(one.live, "and on", NOVEMBER + 30)
    assert one.live.verify().ok
