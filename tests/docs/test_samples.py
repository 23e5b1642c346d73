"""Every sample in README and docs runs: Python as programs, shell line by line; links lead to files that exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
CODE = re.compile(r"`[^`\n]+`")
NEEDS_A_PERSON = (
    "vademecum chat",
    "vademecum serve",
    "vademecum mcp",
    "vademecum memory edit",
    "vademecum recall --edit",
    "vademecum review approve",
    "vademecum review edit",
    "vademecum review reject",
    "vademecum review undo",
    "vademecum token new --trust person",
    "VADEMECUM_PERSON_TOKEN=",
    "vademecum undo",
    "vademecum vault key new",
    "vademecum vault key trust",
    "vademecum fact close",
    "vademecum quarantine url",
    "vademecum release",
    "vademecum forget url",
    "vademecum forget --entry",
    "vademecum forget --session",
    "./scripts/",
    "pip ",
    "claude ",
)
"""Commands that wait for input, serve until stopped, or belong to another program; each has tests of its own."""
FOLLOWED = ("README.md", "adopt.md")
"""Pages that somebody types from top to bottom: what they put in is kept, and what they ask is answered."""


def blocks(page: Path, *languages: str) -> list[str]:
    return [body for language, body in BLOCK.findall(page.read_text(encoding="utf-8")) if language in languages]


def links(page: Path) -> list[str]:
    """The relative link targets of a page, those in code left out."""
    text = CODE.sub("", BLOCK.sub("", page.read_text(encoding="utf-8")))
    return [target for target in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in target]


def environment(folder: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("VADEMECUM", "CLAUDE"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    return kept | {"HOME": str(folder), "PATH": path, "PYTHONIOENCODING": "utf-8"}


def commands(page: Path) -> list[str]:
    """The lines of the page's shell blocks that can run by themselves, without comments."""
    joined = "\n".join(blocks(page, "sh")).replace("\\\n", " ")
    lines = [
        " ".join(shlex.split(line, comments=True)) and line.split("  #")[0].strip() for line in joined.splitlines()
    ]
    return [line for line in lines if line and not line.startswith("#") and not line.startswith(NEEDS_A_PERSON)]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_the_python_samples_of_a_page_run_as_one_program(page: Path, tmp_path: Path) -> None:
    program = "\n".join(blocks(page, "python"))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.name)
def test_the_commands_of_a_page_run_in_their_order(page: Path, tmp_path: Path) -> None:
    env = environment(tmp_path)
    for line in commands(page):
        done = subprocess.run(line, shell=True, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        if page.name in FOLLOWED and line.startswith(("vademecum recall", "vademecum memory add")):
            assert not re.search("Nothing found|waits for", done.stdout), f"{line}\n{done.stdout}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    assert [target for target in links(page) if not (page.parent / target).exists()] == []


def test_every_page_of_docs_is_reached_from_the_readme() -> None:
    reached, todo = set[Path](), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in reached:
            continue
        reached.add(page)
        todo += [(page.parent / target).resolve() for target in links(page) if target.endswith(".md")]
    assert [page.name for page in PAGES if page not in reached] == []
