"""What a turn of Hermes waits for its memory provider: `python bench/hermes.py [TURNS] [FACTS]`.

Idea: the real Hermes (`./scripts/test-providers hermes` installs it) holds turns with our plug-in, and the same turns
are held in this process without Hermes, plug-in and pipe: the difference is what the plug-in costs. Prints medians.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.clients.catalogue.machine import Machine
from vademecum.clients.hermes.install import plug_in
from vademecum.surfaces.pipe.conversation import Conversation, Peer

PAUSE = 0.2
"""Seconds in which a person thinks, and the background work of the last turn is done."""
ROOT = Path(__file__).resolve().parent.parent


def filled(home: Path, facts: int) -> Vademecum:
    home.mkdir()
    (home / "config.yaml").write_text("memory:\n  provider: bank\nembedder: off\n", encoding="utf-8")
    vm = vademecum.open(home)
    for number in range(facts):
        vm.bank.retain(f"Host number {number} stands in rack {number % 40} of the hall in Zurich.")
    return vm


def direct(vm: Vademecum, turns: int) -> tuple[float, float]:
    """Milliseconds of the same turns where no plug-in is between."""
    talk = Conversation(vm, Peer("bench", "direct"))
    before, after = list[float](), list[float]()
    for number in range(turns):
        time.sleep(PAUSE)
        text = f"Where does host number {number} stand?"
        start = time.perf_counter()
        talk.context(text)
        before.append((time.perf_counter() - start) * 1000)
        start = time.perf_counter()
        talk.answer(text, "In Zurich.", [])
        after.append((time.perf_counter() - start) * 1000)
    return statistics.median(before), statistics.median(after)


def main(turns: int, facts: int) -> None:
    python = Path(os.environ.get("VADEMECUM_PROVIDERS", ROOT / ".venv-providers")) / "hermes" / "bin" / "python"
    if not python.exists():
        raise SystemExit("Hermes is not installed: ./scripts/test-providers hermes")
    with tempfile.TemporaryDirectory() as folder:
        hermes = Path(folder) / "hermes"
        hermes.mkdir()
        vm = filled(Path(folder) / "home", facts)
        plug_in(vm.home, vm.actor, machine=Machine("linux", folder, {"HERMES_HOME": str(hermes)}))
        vm.bank.recall("what is known", unasked=True)
        before, after = direct(vm, turns)
        work = json.dumps({"do": "turns", "count": turns, "pause": PAUSE})
        done = subprocess.run(
            [python, ROOT / "tests" / "real" / "hermes" / "host.py", work],
            env=os.environ | {"HERMES_HOME": str(hermes)},
            capture_output=True,
            text=True,
            check=True,
        )
        found = json.loads(done.stdout)
        vm.close()
    print(f"{facts:,} facts, medians of {turns} turns, in ms")
    print(f"before the model is asked: {found['before']:.1f} with the plug-in, {before:.1f} without it (recall itself)")
    print(f"after it has answered: {found['after']:.2f} with the plug-in (written behind), {after:.1f} without it")
    added = found["way"] + found["after"]
    print(f"the way to the process and back {found['way']:.2f}; the plug-in adds {added:.1f} to a turn")


if __name__ == "__main__":
    main(*(int(arg) for arg in [*sys.argv[1:], "50", "500"][:2]))
