"""What commands show of the folder that agents share: without secrets, with names as names, to the owner only."""

from __future__ import annotations

import json

import pytest

import vademecum
from cli.command_line import Cli
from vademecum.clock import iso
from vademecum.ids import new_id

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def typed(cli: Cli) -> Cli:
    """A vault into whose files somebody typed a secret, under a name that is none."""
    cli("init")
    cli("agent", "add", "lyra")
    with vademecum.open(cli.home, "lyra") as vm:
        vm.vault.decide("Deploys go through make")
        vm.vault.checkpoint("Move the gateway")
        vm.vault.log("note", "the log begins")
        paths, now = vm.vault.live.paths, vm.clock()
        vm.vault.delta("x")
    with paths.month(now).open("a") as file:
        file.write(f"- {iso(now)} · lyra (cli) handoff: · - · note · @all the key is {SECRET} ^{new_id()}\n")
    decisions = paths.decisions
    decisions.write_text(decisions.read_text() + f"\n## The key of the shop is {SECRET}\n")
    paths.projects.mkdir(exist_ok=True)
    (paths.projects / "shop.md").write_text(f"---\nproject: shop\n---\n\nIts key is {SECRET}.\n")
    page = paths.agents / "lyra.md"
    page.write_text(page.read_text().replace("Move the gateway", f"Move the gateway with {SECRET}"))
    return cli


READING = [
    ("log", "tail"),
    ("log", "delta"),
    ("log", "unacknowledged"),
    ("decisions",),
    ("project", "list"),
    ("project", "show", "shop"),
    ("resume",),
]


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_no_command_shows_a_secret_that_was_typed_into_a_file(typed: Cli, command: tuple[str, ...]) -> None:
    for options in ((), ("--json",)):
        done = typed("--agent", "lyra", *command, *options)
        assert done.code == 0
        assert SECRET not in done.out
        assert "[secret:" in done.out or command == ("project", "list")  # which shows no free text
    assert "key" in typed("--agent", "lyra", "log", "tail").out


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_another_user_is_shown_nothing_of_it(typed: Cli, command: tuple[str, ...]) -> None:
    done = typed("--agent", "lyra", "--user", "bob", *command, "--json")
    assert done.code != 0
    assert json.loads(done.out or done.err)["error"]["code"] == "refused"


def test_a_forged_name_is_shown_as_a_name(typed: Cli) -> None:
    out = typed("--agent", "lyra", "log", "tail").out
    assert "lyra cli handoff" in out and "lyra (cli)" not in out


def test_a_channel_that_is_no_text_is_written_once_and_told(typed: Cli) -> None:
    done = typed("--agent", "lyra", "log", "add", "note", "from a broken shell", "--channel", "a\udcff")
    assert done.code == 0
    assert typed("--agent", "lyra", "log", "tail", "--json").out.count("from a broken shell") == 1
