"""What a person does with a memory, on a real instance: set it up, talk, ask in another conversation, forget, count.

Idea: all of it goes through vademecum: the command, conversations with their outbox, the receipt. Invariant: nothing of
the memory is reached in another way than a person's or an agent's.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from contract_suite import FACTS, QUESTIONS

import vademecum
from cli.command_line import COMMAND, PLAIN_ENV
from cli.terminal import Terminal
from vademecum.gate.selector import Selector

ROUNDS = 20


def journey(
    home: Path, provider: str, settings: Mapping[str, str], settle: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Do it all; the seconds that things took."""
    given = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    command(home, "memory", "setup", provider, *given, "--yes")
    told: dict[str, str] = {}
    limits = {"memory.recall_seconds": 30}
    with vademecum.open(home, config=limits) as vm:
        for text in FACTS:
            with vm.session(key=text) as s, s.turn(f"Please remember: {text}") as t:
                t.answer("I will remember it.")
            told[text] = s.id
            vm.manager.on_session_end(s.id)
    settle()
    assert command(home, "provider", "status")["results"] == []
    with vademecum.open(home, config=limits) as vm, vm.session(key="asks") as s, s.turn(QUESTIONS[1]) as t:
        assert "green tea" in t.context
        t.answer("Green tea.")
    settle()
    asked = s.id
    for session in (told[FACTS[1]], asked):
        with Terminal(
            [COMMAND, "--home", str(home), "forget", "--session", session, "--yes", "--json"], PLAIN_ENV, columns=4000
        ) as terminal:
            assert terminal.wait() == 0, terminal.screen
            receipt = json.loads(terminal.screen)
        assert provider in json.dumps(receipt), receipt
        assert not [row for row in receipt["left"] if "could not" in json.dumps(row)], receipt
    settle()
    with vademecum.open(home, config=limits) as vm:
        left = "\n".join(one.text for one in vm.manager.ready().export())
        assert "green tea" not in left
        assert "5433" in left
        with vm.session(key="asks again") as s, s.turn(QUESTIONS[1]) as t:
            assert "green tea" not in t.context
        return figures(vm, settle)


def command(home: Path, *args: str) -> Any:
    """A command of vademecum as a process of its own; its JSON."""
    run = [COMMAND, "--home", str(home), *args, "--json"]
    done = subprocess.run(run, capture_output=True, text=True, env=PLAIN_ENV, check=False)
    assert done.returncode == 0, f"{args}: {done.stdout}{done.stderr}"
    return json.loads(done.stdout)


def figures(vm: Any, settle: Callable[[], None]) -> dict[str, Any]:
    """Median seconds of storing one statement, of recalling for one question, of forgetting one statement."""
    memory = vm.manager.ready()
    texts = [f"The service number {number} answers on port {8000 + number}." for number in range(ROUNDS)]
    ids: list[str] = []
    stored = [seconds(lambda text=text: ids.append(memory.store(text))) for text in texts]
    settle()
    questions = [f"On which port does service number {number} answer?" for number in range(ROUNDS)]
    recalled = [seconds(lambda text=text: memory.prefetch(text)) for text in questions]
    forgotten = [seconds(lambda one=one: memory.forget(Selector("entry", one))) for one in ids]
    whole = {"store_s": stored, "recall_s": recalled, "forget_s": forgotten}
    return {key: round(median(value), 4) for key, value in whole.items()}


def seconds(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def shown(capsys: pytest.CaptureFixture[str], name: str, found: Mapping[str, Any]) -> None:
    """Print figures past pytest."""
    with capsys.disabled():
        sys.stdout.write(f"\n{name}: {json.dumps(found)}\n")
