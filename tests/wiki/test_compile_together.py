"""Compiles of several processes at once, and a forgetting beside them: whole pages, and nothing comes back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from vademecum.agent import compiling
from vademecum.wiki import blocks
from wiki.knowing import PERSON, WEB, compiled, knowing, opened, outcomes, page, text, told

PROGRAM = """\
import sys
import vademecum
vm = vademecum.open(sys.argv[1], agent="lyra", config={"memory.provider": "bank", "embedder": "off"})
print(vm.wiki.compile().line)
vm.close()
"""


def test_processes_that_compile_at_once_leave_whole_pages_and_one_line_in_the_log(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    vm.close()
    command = [sys.executable, "-W", "error", "-c", PROGRAM, str(tmp_path)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    said = [one.communicate() for one in running]
    assert [one.returncode for one in running] == [0, 0, 0], said
    assert sorted("made" in out for out, _ in said) == [False, False, True]
    for path in ("Entities/anna-berg", "Projects/kestrel", "index"):
        block, problem = blocks.find(text(vm, path))
        assert problem == ""
        assert block is not None
        assert not block.edited
    assert text(vm, "log").count("· compile ·") == 1
    assert set(outcomes(compiled(opened(tmp_path))).values()) == {"unchanged"}


def test_what_is_forgotten_between_two_compiles_does_not_come_back(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    told(vm, "It is said that Anna Berg moves to Berlin.", 9, origin=WEB)
    compiled(vm)
    other = opened(tmp_path)
    before = compiling.collect(other).inputs
    assert any("Berlin" in claim.text for claim in before.claims)
    vm.forget("url:bad.example", by=PERSON)
    compiled(other)
    for path in (tmp_path / "vault" / "Wiki").rglob("*.md"):
        assert "Berlin" not in path.read_text("utf-8")
    assert page(vm, "Entities/anna-berg").exists()
