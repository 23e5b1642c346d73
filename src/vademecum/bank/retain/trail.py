"""What the tools of an exchange teach: a command that failed and what mended it, and the steps that led to a success.

Idea: a failure is a call whose output says so, with one line as its signature; its fix is the next call of the same
program that succeeded, and what was done in between. Invariant: nothing is called a fix that was not seen to succeed
after that failure; of an output only the signature's line is kept, word for word.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vademecum.bank.retain.exchanges import Row
from vademecum.gate.trust import OWN_TOOLS

SIGNATURE_CHARS = 200
COMMAND_CHARS = 300
MOST_STEPS = 8
MANY_STEPS = 3
"""Steps that make a workflow."""

_COMMANDS = ("command", "cmd", "script", "shell_command")
_FILES = ("file_path", "path", "notebook_path", "filename")
_EXIT = re.compile(r"(?i)\bexit(?:ed)?(?:[ _]with)?[ _](?:code|status)[\"']?[:= ]{1,3}(-?\d{1,4})\b")
_SIGNATURE = re.compile(
    r"(?im)^[ \t>|]{0,8}(?P<line>(?:[\w.]{0,80}(?:error|exception|panic)\b(?:\[\w{1,12}\])?:? .*"
    r"|(?:fatal|npm err!|error\[e\d{1,6}\]|segmentation fault|permission denied)\b.*"
    r"|.{1,120}: (?:command not found|no such file or directory|permission denied|not found)\b.*"
    r"|(?:e {2,4}|failed ).*(?:error|exception|assert).*))$"
)
_SAYS_SO = re.compile(
    r"(?m)^[ \t]{0,8}(?:Traceback \(most recent call last\)|fatal: |panic: |error(?:\[E\d{1,6}\])?: |npm ERR! "
    r"|(?:[\w.]{1,80})?(?:Error|Exception): |bash: |sh: |zsh: |make: \*\*\* )"
)
_QUIET = frozenset(
    {"cd", "ls", "pwd", "cat", "head", "tail", "echo", "which", "true", "grep", "rg", "find", "sed", "wc"}
)
"""Programs that look and change nothing: no steps of a workflow, and no failures worth knowing."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call: its tool, the command or the file, whether it failed, and the line that says why."""

    row: Row
    tool: str
    does: str
    failed: bool
    signature: str

    @property
    def program(self) -> str:
        """The first word of a command, past `cd ... &&`, variables and `sudo`."""
        return _program(self.does)


@dataclass(frozen=True, slots=True)
class Mended:
    """A failure and what mended it: the failed step, the steps in between, and the one that succeeded."""

    failed: Step
    between: tuple[Step, ...]
    worked: Step


def steps(rows: Sequence[Row]) -> list[Step]:
    """The calls among `rows` that do something on the person's machine, in order."""
    return list(_steps(rows))


def _steps(rows: Sequence[Row]) -> Iterator[Step]:
    for row in rows:
        if row.role != "tool" or not row.calls or not row.tool or row.tool in OWN_TOOLS:
            continue
        does = _does(row.calls[0].get("args"))
        if does:
            failed, signature = _failure(row.content, command=_is_command(row.calls[0].get("args")))
            yield Step(row, row.tool, does, failed, signature)


def _does(args: object) -> str:
    if not isinstance(args, Mapping):
        return ""
    given: Mapping[str, Any] = args  # pyright: ignore[reportUnknownVariableType]  JSON from the database
    for key in _COMMANDS:
        value: object = given.get(key)
        if isinstance(value, list):
            value = " ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        if isinstance(value, str) and value.strip():
            return " ".join(value.split())[:COMMAND_CHARS]
    return next((str(given[key])[:COMMAND_CHARS] for key in _FILES if given.get(key)), "")


def _is_command(args: object) -> bool:
    return isinstance(args, Mapping) and any(key in args for key in _COMMANDS)


def _failure(output: str, *, command: bool) -> tuple[bool, str]:
    """Whether a call failed by its own word, and the line that names the failure (empty when none does)."""
    codes = [int(code) for code in _EXIT.findall(output[:4_000])]
    failed = any(codes) or (not codes and command and _SAYS_SO.search(output) is not None)
    if not failed and output.startswith("{"):
        try:
            answer: object = json.loads(output)
        except ValueError:
            answer = None
        failed = isinstance(answer, dict) and answer.get("success") is False  # pyright: ignore[reportUnknownMemberType]
    if not failed:
        return False, ""
    lines = [found["line"].strip() for found in _SIGNATURE.finditer(output)]
    return True, lines[-1][:SIGNATURE_CHARS] if lines else ""


def _program(command: str) -> str:
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    n = 0
    while n < len(words):
        word = words[n]
        if word == "cd" and "&&" in words[n : n + 4]:
            n = words.index("&&", n) + 1
        elif "=" in word.split("/")[0] or word in ("sudo", "env", "time", "uv", "run", "npx", "poetry", "exec"):
            n += 1
        else:
            return word.rsplit("/", 1)[-1]
    return words[0] if words else ""


def mended(found: Sequence[Step]) -> list[Mended]:
    """Each failure that a later step of the same program put right; of several failures of one, the last counts."""
    pairs: list[Mended] = []
    for n, step in enumerate(found):
        if not step.failed or not step.signature or not step.program or step.program in _QUIET:
            continue
        for m in range(n + 1, len(found)):
            later = found[m]
            if later.tool != step.tool or later.program != step.program or not _akin(step.does, later.does):
                continue
            if later.failed:
                break  # that one is looked at in its own turn
            between = tuple(one for one in found[n + 1 : m] if not one.failed and one.program not in _QUIET)
            if later.does != step.does or between:
                pairs.append(Mended(step, between[-MOST_STEPS:], later))
            break
    return pairs


def _akin(one: str, other: str) -> bool:
    """Whether two commands are for the same purpose: half of the words of the shorter are in the longer."""
    words, others = set(one.split()), set(other.split())
    shorter = min(len(words), len(others))
    return one == other or (shorter > 1 and 2 * len(words & others) >= shorter)


def working_steps(found: Sequence[Step]) -> list[Step]:
    """The steps that did something and succeeded; of the same thing done again, the last time."""
    last = {step.does: step for step in found if not step.failed and step.program not in _QUIET}
    kept = [step for step in found if last.get(step.does) is step]
    return kept[:MOST_STEPS]


def fix_of(pair: Mended) -> str:
    """What mended a failure, in one line: the steps in between when the same command then worked, else the command."""
    if pair.worked.does != pair.failed.does:
        return pair.worked.does
    return "; ".join(step.does for step in pair.between)
