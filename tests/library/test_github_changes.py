"""What has changed on GitHub: told once, oldest first, and nothing lost on the way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from github_case import filled, opened
from opened import Held

from servers.github import GitHubServer
from servers.github_content import Repo
from vademecum.library.library import Library


@pytest.fixture
def server() -> Iterator[GitHubServer]:
    with GitHubServer() as made:
        yield made


@pytest.fixture
def clock() -> Held:
    return Held()


@pytest.fixture
def repo(server: GitHubServer) -> Repo:
    return filled(server)


def followed(server: GitHubServer, folder: Path, clock: Held, **settings: Any) -> Library:
    return opened(server, folder, clock, repos=["acme/heliotrope"], **settings)


def test_changes_are_told_once_and_oldest_first(server: GitHubServer, repo: Repo, tmp_path: Path, clock: Held) -> None:
    lib = followed(server, tmp_path, clock)
    start = lib.changes("github")
    assert [one.title for one in start.items] == [
        "Replace the relay",
        "Heater stays on",
        "acme/heliotrope v1.0: First light",
    ]
    assert lib.changes("github", start.cursor).items == ()
    server.issue(repo, 3, "New lamp", at="2026-05-05T10:00:00Z")
    server.comment(repo, 2, "ping", at="2026-05-06T10:00:00Z")
    server.publish(repo, "v1.1", "more", at="2026-05-05T12:00:00Z")
    then = lib.changes("github", start.cursor)
    assert [one.ref for one in then.items] == [
        "github:acme/heliotrope#3", "github:acme/heliotrope/releases/v1.1", "github:acme/heliotrope#2",
    ]  # fmt: skip
    assert lib.changes("github", then.cursor).items == ()
    lib.close()


@pytest.mark.parametrize("inclusive", [True, False])
def test_a_change_in_the_same_second_is_not_lost(
    server: GitHubServer, repo: Repo, tmp_path: Path, clock: Held, inclusive: bool
) -> None:
    server.inclusive = inclusive
    lib = followed(server, tmp_path, clock, follow="issues")
    start = lib.changes("github")
    server.issue(repo, 4, "Same second", at="2026-05-02T10:00:00Z")
    found = lib.changes("github", start.cursor)
    assert [one.title for one in found.items] == ["Same second"]
    assert lib.changes("github", found.cursor).items == ()
    lib.close()


def test_many_changes_of_one_second_are_all_told(server: GitHubServer, repo: Repo, tmp_path: Path, clock: Held) -> None:
    lib = followed(server, tmp_path, clock, follow="issues")
    cursor = lib.changes("github").cursor
    for number in range(100, 750):
        server.issue(
            repo, number, f"bulk {number}", at="2026-05-09T10:00:00Z" if number < 600 else "2026-05-10T10:00:00Z"
        )
    seen: list[str] = []
    for _ in range(6):
        found = lib.changes("github", cursor)
        seen += [one.title for one in found.items]
        cursor = found.cursor
    assert sorted(seen) == sorted(f"bulk {number}" for number in range(100, 750))
    assert lib.changes("github", cursor).items == ()
    lib.close()


def test_files_that_were_removed_are_told(server: GitHubServer, repo: Repo, tmp_path: Path, clock: Held) -> None:
    lib = followed(server, tmp_path, clock, follow=["files"])
    start = lib.changes("github")
    assert start.items == ()
    repo.files["before"] = repo.files["main"]
    repo.files["main"] = {"README.md": b"# New\n", "docs/a.md": b"a"}
    found = {one.ref.partition(":")[2]: one.kind for one in lib.changes("github", start.cursor).items}
    assert found == {
        "acme/heliotrope:README.md": "file",
        "acme/heliotrope:docs/a.md": "file",
        "acme/heliotrope:logo.png": "removed",
        "acme/heliotrope:src/deep/pump.py": "removed",
        "acme/heliotrope:src/heat.py": "removed",
    }
    lib.close()


def test_a_history_that_was_rewritten_is_told(server: GitHubServer, repo: Repo, tmp_path: Path, clock: Held) -> None:
    lib = followed(server, tmp_path, clock, follow="files")
    start = lib.changes("github")
    repo.files["main"] = {"README.md": b"# New\n"}
    found = lib.changes("github", start.cursor)
    assert found.items == ()
    assert "rewritten" in found.hint
    assert lib.changes("github", found.cursor).hint == ""
    lib.close()


@pytest.mark.usefixtures("repo")
def test_a_repository_that_is_gone_does_not_hide_the_others(server: GitHubServer, tmp_path: Path, clock: Held) -> None:
    lib = opened(server, tmp_path, clock, repos=["acme/gone", "acme/heliotrope"])
    found = lib.changes("github")
    assert len(found.items) == 3
    assert "acme/gone" in found.hint
    lib.close()


def test_without_repositories_to_follow_nothing_is_asked(server: GitHubServer, tmp_path: Path, clock: Held) -> None:
    lib = opened(server, tmp_path, clock)
    assert "library.github.repos" in lib.changes("github").hint
    assert server.requests == []
    lib.close()
