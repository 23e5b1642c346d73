"""`vademecum forget --user`: it shows, asks, erases, and prints one receipt for all agents."""

from __future__ import annotations

import vademecum
from cli.command_line import COMMAND, PLAIN_ENV, Cli
from cli.terminal import Terminal
from vademecum.model import Origin


def test_a_person_is_forgotten_by_every_agent_after_a_yes(cli: Cli) -> None:
    with vademecum.open(cli.home, user="ana") as vm:
        vm.session(key="hers").user("My cat is called Miso.")
        vm.as_(agent="lyra").memory.add("user", "Has a cat.", origin=Origin.user("ana"))
    assert cli.process("forget", "--user", "ana", "--yes", "--json").json["error"]["code"] == "refused"
    planned = cli("forget", "--user", "ana", "--dry-run", "--json").json
    assert [one["agent"] for one in planned["agents"]] == ["default", "lyra"]
    with Terminal([COMMAND, "--home", str(cli.home), "forget", "--user", "ana"], PLAIN_ENV) as terminal:
        terminal.expect("Erase all of ana for good?")
        terminal.line("y")
        terminal.expect("Erased for good: 1 message, 1 session.")
        terminal.expect("folder removed")
        assert terminal.wait() == 0
    left = cli("forget", "--user", "ana", "--dry-run", "--json").json
    assert (left["agents"], left["folders"]) == ([], [])
    assert [p for p in cli.home.rglob("*") if p.is_file() and b"Miso" in p.read_bytes()] == []


def test_one_thing_is_forgotten_at_a_time(cli: Cli) -> None:
    assert cli("forget", "--user", "ana", "--entry", "x", "--dry-run").code == 2
