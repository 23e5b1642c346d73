"""GitHub against its stand-in: a library that asks it, and a repository to ask for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from opened import Held, library

from servers.github import TOKEN, GitHubServer
from servers.github_content import Repo
from vademecum.library.library import Library


def opened(server: GitHubServer, folder: Path, clock: Held, *, token: str = TOKEN, **settings: Any) -> Library:
    env = {"GITHUB_TOKEN": token} if token else {}
    return library(folder, "github", {"base_url": server.base, **settings}, env=env, clock=clock)


def filled(server: GitHubServer) -> Repo:
    """A repository with an issue that was answered, a pull request that was reviewed, files and a release."""
    made = server.repo("acme/heliotrope", description="A greenhouse in software.")
    made.files["main"] = {
        "README.md": b"# Heliotrope\n\nKeep plants warm.",
        "src/heat.py": "def warm(): return 'wärm'\n".encode(),
        "src/deep/pump.py": b"PUMP = 1\n",
        "logo.png": b"\x89PNG\r\n\0\0binary",
    }
    made.files["v1"] = {"README.md": b"# Old\n"}
    server.issue(made, 1, "Heater stays on", "The heater never stops.\r\nSince Monday.", labels=["bug", "urgent"])
    server.comment(made, 1, "It is the relay.", by="ada")
    server.issue(made, 2, "Replace the relay", "Fixes the heater.", pull=True, at="2026-05-01T12:00:00Z")
    server.change(made, 2, "src/heat.py", "@@ -1 +1 @@\n-relay = 1\n+relay = 2")
    server.change(made, 2, "logo.png", None, status="added")
    server.review(made, 2, "Looks right.", by="grace")
    server.review_comment(made, 2, "src/heat.py", 1, "Why two?", by="grace")
    server.publish(made, "v1.0", "Heater fixed.", name="First light")
    return made
