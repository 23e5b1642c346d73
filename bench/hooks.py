"""Each hook as a whole process, beside `python -c pass` on the same machine.

    python bench/hooks.py [--runs 15] [--facts 1000] [--windows 2]

Prints medians of wall time and of processor time in milliseconds. The home has 16 entries and ten notes; the
transcript grows by one turn before each call, as it does in use. With `--facts` a second home has so many facts in its
bank, of which each prompt brings some to mind. With `--windows` so many conversations on one home call each hook at the
same time, and between two prompts each of them writes into the shared log; the time is that of the slower one. Codex's
hooks, which read no transcript, stand for those of the other clients.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import vademecum
from vademecum.model import Origin

HOOKS = ("session-start", "user-prompt", "stop", "pre-compact", "session-end")


def timed(command: list[str], stdin: bytes, env: dict[str, str]) -> tuple[float, float]:
    """Wall and processor time of one process, in milliseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run(command, input=stdin, env=env, stdout=subprocess.DEVNULL, check=True)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall * 1000, used * 1000


def at_once(command: list[str], given: list[tuple[bytes, dict[str, str]]]) -> tuple[float, float]:
    """Wall time until the last of several processes ended that began together, and their processor time by number."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=env) for _, env in given]
    for process, (stdin, _) in zip(running, given, strict=True):
        assert process.stdin is not None
        process.stdin.write(stdin)
        process.stdin.close()
    assert [process.wait() for process in running] == [0] * len(running)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall * 1000, used * 1000 / len(running)


def windows(count: int, runs: int, folder: Path, env: dict[str, str]) -> dict[str, list[tuple[float, float]]]:
    """Each hook of Claude Code, and of Codex, in `count` conversations at once that share a log."""
    home = a_home(folder / "shared")
    vm, rows = vademecum.open(home), dict[str, list[tuple[float, float]]]()
    agents = [vm.as_(f"agent{n}") for n in range(count)]
    command, own = str(Path(sys.executable).with_name("vademecum")), env | {"VADEMECUM_HOME": str(home)}
    for client in ("claude-code", "codex"):
        for turn in range(runs):
            for hook in HOOKS if client == "claude-code" else HOOKS[:-1]:
                given = list[tuple[bytes, dict[str, str]]]()
                for n, agent in enumerate(agents):
                    transcript = folder / f"{client}-{n}.jsonl"
                    payload = {"session_id": f"window-{n}", "source": "startup", "turn_id": f"t{turn}"}
                    payload |= {"prompt": a_turn(transcript), "last_assistant_message": f"Answer {turn}."}
                    payload |= {"transcript_path": str(transcript)} if client == "claude-code" else {}
                    given.append((json.dumps(payload).encode(), own | {"VADEMECUM_AGENT": agent.actor.agent}))
                took = at_once([command, "hook", hook, "--client", client], given)
                rows.setdefault(f"{client} {hook}, {count} at once", []).append(took)
            for agent in agents:
                agent.vault.log("work", f"{agent.actor.agent} finished step {turn} for {client}.")
    vm.close()
    return rows


WORDS = ("gateway", "ledger", "parser", "backup", "invoice", "cluster", "router", "printer", "mirror", "sensor")


def a_home(folder: Path, facts: int = 0) -> Path:
    """A home as it looks after some weeks of use, with so many facts in its bank."""
    vm = vademecum.open(folder / ("bank" if facts else "home"))
    for n in range(16):
        vm.memory.add("memory", f"Fact {n}: the service number {n} listens on port {8000 + n}.", origin=Origin.person())
    for n in range(10):
        vm.notes.write(f"note {n}", f"what is in note {n}", "reference", "The body.", origin=Origin.person())
    if facts:
        vm.home.config.write_text("memory:\n  provider: bank\n")
        with vm.db.atomic():
            for n in range(facts):
                kind = ("decision", "failure", "fact", "environment")[n % 4]
                text = f"The {WORDS[n % 10]} of site {n // 10} answers on port {4000 + n} since build {n * 7}."
                vm.bank.retain(text, kind=kind, origin=Origin.user())
    vm.close()
    return vm.home.root


def a_turn(transcript: Path) -> str:
    """Append one turn with a tool call; returns the prompt."""
    prompt = f"Please look at {uuid.uuid4()}"
    call = uuid.uuid4().hex
    lines = [
        {"type": "user", "message": {"role": "user", "content": prompt}},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": call, "name": "Bash", "input": {}}]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": call, "content": "x" * 5000}]}},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "Done. " * 50}]}},
    ]
    with transcript.open("a") as stream:
        for line in lines:
            stream.write(json.dumps(line | {"uuid": str(uuid.uuid4()), "timestamp": "2026-11-29T10:00:00.000Z"}) + "\n")
    return prompt


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--facts", type=int, default=0)
    parser.add_argument("--windows", type=int, default=0)
    given = parser.parse_args()
    runs: int = given.runs
    command = Path(sys.executable).with_name("vademecum")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        transcript = folder / "s.jsonl"
        homes = {"": a_home(folder)} | (
            {f", {given.facts:,} facts": a_home(folder, given.facts)} if given.facts else {}
        )
        print(f"{'process':36}{'wall ms':>10}{'cpu ms':>10}   (median of {runs})")
        env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        rows = {"python -c pass": [timed([sys.executable, "-c", "pass"], b"", env) for _ in range(runs)]}
        for hook in HOOKS:
            for n in range(runs):
                for which, home in homes.items():  # by turns, so that both have the machine's same moods
                    payload = {"session_id": "bench", "transcript_path": str(transcript), "source": "startup"}
                    payload["prompt"] = f"{a_turn(transcript)}: the {WORDS[n % 10]} of site {n}"
                    own = env | {"VADEMECUM_HOME": str(home)}
                    took = timed([str(command), "hook", hook], json.dumps(payload).encode(), own)
                    rows.setdefault(f"hook {hook}{which}", []).append(took)
        if given.windows:
            rows |= windows(given.windows, runs, folder, env)
        for row, took in rows.items():
            wall, used = (statistics.median(each) for each in zip(*took, strict=True))
            print(f"{row:36}{wall:10.0f}{used:10.0f}")


if __name__ == "__main__":
    main()
