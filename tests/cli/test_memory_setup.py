"""`memory setup`, `status`, `off`: the memory next to the core is chosen, tried out, and left again."""

from __future__ import annotations

import signal
import stat
from collections.abc import Iterator
from typing import Any

import pytest

import vademecum
from cli.command_line import COMMAND, PLAIN_ENV, Cli
from cli.terminal import Terminal
from servers.mem0 import KEY, Mem0Server
from servers.rest import DROP, Request, status
from vademecum.surfaces.cli.origin import agent_mark


class Lossy(Mem0Server):
    """It answers that it has stored what it is told, and has not."""

    def _put(self, text: str, body: dict[str, Any]) -> dict[str, Any]:
        made = super()._put(text, body)
        return self.memories.pop(made["id"])


class Unforgetting(Mem0Server):
    """It answers that it has erased what it was told to erase, and has not."""

    def answer(self, request: Request) -> tuple[int, Any]:
        if request.method == "DELETE":
            return 200, {"message": "Memory deleted successfully!"}
        return super().answer(request)


class Slow(Mem0Server):
    """What was stored is found from the third search on."""

    searches = 0

    def answer(self, request: Request) -> tuple[int, Any]:
        if request.path == "/search":
            self.searches += 1
            if self.searches <= 4:  # each recall searches by user and by agent
                return 200, {"results": []}
        return super().answer(request)


@pytest.fixture(autouse=True)
def _a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    while mark := agent_mark():
        monkeypatch.delenv(mark)
    monkeypatch.delenv("MEM0_API_KEY", raising=False)


@pytest.fixture
def server() -> Iterator[Mem0Server]:
    with Mem0Server() as running:
        yield running


def mem0(cli: Cli, server: Mem0Server, *more: str, key: str = KEY) -> Any:
    sets = ["mode=server", f"host={server.url}", f"api_key={key}"]
    return cli("memory", "setup", "mem0", *(part for one in sets for part in ("--set", one)), "--yes", *more)


def files(cli: Cli) -> dict[str, bytes]:
    return {name: (cli.home / name).read_bytes() for name in ("config.yaml", ".env") if (cli.home / name).exists()}


def test_a_memory_is_tried_out_and_written(cli: Cli, server: Mem0Server) -> None:
    cli("init")
    (cli.home / ".env").chmod(0o644)
    before = (cli.home / "config.yaml").read_text()
    done = mem0(cli, server)
    assert (done.code, "found after" in done.out, "mem0" in done.out) == (0, True, True)
    after = (cli.home / "config.yaml").read_text()
    assert set(before.splitlines()) - set(after.splitlines()) == {"  provider: bank"}
    assert f'host: "{server.url}"' in after
    assert KEY not in after + done.out + done.err
    assert f"MEM0_API_KEY={KEY}" in (cli.home / ".env").read_text().splitlines()
    assert stat.S_IMODE((cli.home / ".env").stat().st_mode) == 0o600
    assert server.memories == {}  # the canary was taken back
    assert any("canary" in str(request.body) for request in server.requests)
    again = mem0(cli, server, "--json").json
    assert (again["files"], again["round_trip"]["erased"]) == ([], True)
    shown = cli("memory", "status", "--json").json["provider"]
    assert (shown["provider"], shown["place"], shown["trouble"]) == ("mem0", "service", "")


def test_a_memory_that_loses_what_it_is_told_is_found_out_and_nothing_is_written(cli: Cli) -> None:
    cli("init")
    before = files(cli)
    with Lossy() as server:
        failed = mem0(cli, server, "--wait", "0", "--json")
        assert (failed.code, failed.json["error"]["code"]) == (1, "provider")
        assert "did not find it" in failed.json["error"]["message"]
        assert files(cli) == before
        assert mem0(cli, server, "--no-check").code == 0
        assert files(cli) != before
        checked = cli("memory", "status", "--check", "--wait", "0", "--json")
    assert checked.code == 1
    assert checked.json["provider"]["check"]["success"] is False


def test_a_memory_that_does_not_forget_is_said_to(cli: Cli) -> None:
    cli("init")
    with Unforgetting() as server:
        done = mem0(cli, server, "--wait", "0")
        assert done.code == 0
        assert "NOT erased" in done.out
        assert "still recalls it" in done.out
        assert "vademecum canary" in done.out
        data = mem0(cli, server, "--wait", "0", "--json").json
    assert data["round_trip"]["erased"] is False
    assert "still recalls" in data["round_trip"]["left"]


def test_a_memory_that_learns_slowly_is_waited_for(cli: Cli) -> None:
    cli("init")
    with Slow() as server:
        done = mem0(cli, server, "--json")
    assert (done.code, done.json["round_trip"]["erased"]) == (0, True)
    assert done.json["round_trip"]["found_after"] > 0


@pytest.mark.parametrize(("fault", "said"), [(status(401, "Invalid API key."), "401"), (DROP, "store a sentence")])
def test_a_memory_that_refuses_or_is_gone_changes_nothing(cli: Cli, server: Mem0Server, fault: Any, said: str) -> None:
    cli("init")
    before = files(cli)
    server.always = fault
    failed = mem0(cli, server, "--json")
    assert failed.code == 1
    assert said in failed.json["error"]["message"]
    assert "Nothing was changed" in failed.json["error"]["message"]
    assert files(cli) == before


def test_what_is_missing_is_named_before_anything_is_tried(cli: Cli) -> None:
    cli("init")
    before = files(cli)
    failed = cli("memory", "setup", "mem0", "--yes")
    assert (failed.code, "MEM0_API_KEY is missing" in failed.err) == (1, True)
    assert "no setting 'hots'" in cli("memory", "setup", "mem0", "--set", "hots=x", "--yes").err
    assert "Did you mean `host`?" in cli("memory", "setup", "mem0", "--set", "hots=x", "--yes").err
    assert cli("memory", "setup", "mem0", "--set", "mode=cloud", "--yes").code == 2
    assert "Did you mean `mem0`?" in cli("memory", "setup", "memo", "--yes").err
    assert cli("memory", "setup").code == 2  # nobody can be asked
    bad = cli("memory", "setup", "mem0", "--set", "api_key='quoted'", "--yes")
    assert (bad.code, "quoted" in bad.err) == (2, False)
    assert files(cli) == before


def test_a_dry_run_shows_the_change_without_the_key_and_changes_nothing(cli: Cli, server: Mem0Server) -> None:
    cli("init")
    before = files(cli)
    shown = mem0(cli, server, "--dry-run")
    assert "+  provider: mem0" in shown.out
    assert "-  provider: bank" in shown.out
    assert "+MEM0_API_KEY=…" in shown.out
    assert KEY not in shown.out
    assert files(cli) == before
    assert server.requests == []


def test_a_key_is_read_from_standard_input(cli: Cli, server: Mem0Server) -> None:
    cli("init")
    sets = ["--set", "mode=server", "--set", f"host={server.url}", "--set", "api_key=-"]
    done = cli("memory", "setup", "mem0", *sets, "--yes", stdin=f"{KEY}\n".encode())
    assert done.code == 0
    assert f"MEM0_API_KEY={KEY}" in (cli.home / ".env").read_text()


def test_settings_are_typed_and_what_a_person_wrote_stays(cli: Cli) -> None:
    cli.home.mkdir()
    written = (
        "# mine\nmemory:\n  provider: holographic   # for now\n\nproviders:\n  # the numbers\n  holographic:\n"
        "    min_trust: 0.4  # not less\n    own_key: [1, 2]\n"
    )
    (cli.home / "config.yaml").write_text(written)
    sets = ["--set", "min_trust=0.25", "--set", "auto_extract=false", "--set", "half_life_days=30"]
    assert cli("memory", "setup", "holographic", *sets).code == 0
    after = (cli.home / "config.yaml").read_text()
    new = ["    auto_extract: false", "    half_life_days: 30"]
    assert [line for line in after.splitlines() if line not in new] == written.replace("0.4", "0.25").splitlines()
    with vademecum.open(cli.home) as vm:
        assert vm.config.providers["holographic"] == {
            "min_trust": 0.25, "own_key": [1, 2], "auto_extract": False, "half_life_days": 30
        }  # fmt: skip
    assert cli("memory", "setup", "holographic", "--set", "min_trust=").code == 0
    with vademecum.open(cli.home) as vm:
        assert "min_trust" not in vm.config.providers["holographic"]


def test_switching_names_both_says_what_is_queued_and_asks(cli: Cli, server: Mem0Server) -> None:
    cli("init")
    mem0(cli, server)
    server.always = DROP
    with vademecum.open(cli.home) as vm, vm.session() as session, session.turn("The port is 5433.") as turn:
        turn.answer("Noted.")
    refused = cli("memory", "setup", "holographic", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (2, "usage")
    done = cli("memory", "setup", "holographic", "--yes")
    assert done.code == 0
    assert "mem0 is in use" in done.err
    assert "that mem0 has still to be told" in done.err + done.out
    assert "vademecum provider status mem0 --retry" in done.out
    shown = cli("memory", "status", "--json")
    assert shown.json["provider"]["waiting_for_others"]["mem0"] >= 1
    server.always = None
    delivered = cli("provider", "status", "--retry", "--json")
    assert (delivered.code, delivered.json["results"][0]["left"]) == (0, 0)
    assert any("5433" in one["memory"] for one in server.memories.values())


def test_switching_off_keeps_everything_and_says_where_it_lies(cli: Cli, server: Mem0Server) -> None:
    cli("init")
    mem0(cli, server)
    before = (cli.home / "config.yaml").read_text()
    assert 'provider: ""' in cli("memory", "off", "--dry-run").out
    off = cli("memory", "off")
    assert all(word in off.out for word in ("mem0", "stays there", ".env", "config.yaml", "memory setup mem0"))
    after = (cli.home / "config.yaml").read_text()
    assert after == before.replace("provider: mem0", 'provider: ""')
    assert "MEM0_API_KEY" in (cli.home / ".env").read_text()
    assert cli("memory", "off", "--json").json["outcome"] == "unchanged"
    assert cli("memory", "status", "--json").json["provider"]["word"] == "none"
    again = cli("memory", "setup", "mem0", "--yes")
    assert again.code == 0
    assert (cli.home / "config.yaml").read_text() == before


def test_the_banks_facts_are_counted_when_it_is_switched_off(cli: Cli) -> None:
    cli("init")
    cli("retain", "The staging port is 5433.")
    assert "1 fact stay in state.db" in cli("memory", "off").out


def test_status_tells_by_its_exit_code(cli: Cli, server: Mem0Server) -> None:
    cli("init")
    assert cli("memory", "status").code == 0
    (cli.home / "config.yaml").write_text("memory: {provider: mem0}\n")
    missing = cli("memory", "status")
    assert (missing.code, "MEM0_API_KEY is missing" in missing.out) == (1, True)
    mem0(cli, server)
    with vademecum.open(cli.home) as vm, vm.session() as session, session.turn("The port is 5433.") as turn:
        turn.answer("Noted.")
    told = cli("memory", "status")
    assert told.code == 0
    assert "everything was told" in told.out
    server.always = status(422, "We do not take this.")
    with vademecum.open(cli.home) as vm, vm.session() as session, session.turn("The port is 5434.") as turn:
        turn.answer("Noted.")
    for _ in range(2):
        assert cli("provider", "status", "--retry").code == 1
    refused = cli("memory", "status", "--json")
    shown = refused.json["provider"]
    assert (refused.code, shown["aside"] > 0, "We do not take this" in shown["last_error"]) == (1, True, True)
    assert "refused" in cli("memory", "status").out


def test_an_agent_may_not_choose_where_what_is_said_goes(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("init")
    before = files(cli)
    monkeypatch.setenv("CLAUDECODE", "1")
    for command in (
        ("memory", "setup", "holographic", "--yes"),
        ("memory", "off"),
        ("provider", "migrate", "bank", "holographic", "--yes"),
        ("provider", "status", "mem0", "--drop", "--yes"),
    ):
        refused = cli(*command, "--json")
        assert refused.json["error"]["code"] == "refused", command
    assert files(cli) == before
    assert cli("memory", "setup", "holographic", "--dry-run").code == 0


def test_a_person_is_asked_and_a_key_is_not_shown(cli: Cli, server: Mem0Server) -> None:
    cli("init")
    command = [COMMAND, "--home", str(cli.home), "memory", "setup"]
    with Terminal(command, PLAIN_ENV, columns=60) as terminal:
        terminal.expect("holographic")
        terminal.expect("Which one")
        terminal.line("memo")
        terminal.expect("There is no provider 'memo'")
        terminal.line("mem0")
        terminal.expect("leaves this machine")
        for key, answer in (
            ("[platform]:", "cloud"),
            ("Choose one of platform, server, library.", "server"),
            ("api_key", None),
            ("[none]:", KEY),
            ("[none]:", server.url),
            ("[none]:", ""),
            ("[none]:", ""),
            ("[false]:", ""),
            ("[none]:", ""),
            ("[none]:", ""),
        ):
            terminal.expect(key)
            if answer is not None:
                terminal.line(answer)
        terminal.expect("in the place of bank? [y/N]:")
        terminal.line("y")
        terminal.expect("A sentence was stored")
        terminal.expect("The memory next to the core is mem0")
        assert terminal.wait() == 0
        assert KEY not in terminal.screen
    with vademecum.open(cli.home) as vm:
        assert vm.config.memory.provider == "mem0"
        assert vm.config.providers["mem0"] == {"mode": "server", "host": server.url}
        assert vm.env["MEM0_API_KEY"] == KEY


def test_a_person_who_says_no_changes_nothing(cli: Cli) -> None:
    cli("init")
    before = files(cli)
    with Terminal([COMMAND, "--home", str(cli.home), "memory", "setup", "holographic"], PLAIN_ENV) as terminal:
        for _ in range(4):
            terminal.expect("]:")
            terminal.line("")
        terminal.expect("in the place of bank? [y/N]:")
        terminal.line("n")
        terminal.expect("Nothing was changed.")
        assert terminal.wait() == 0
    with Terminal([COMMAND, "--home", str(cli.home), "memory", "setup", "holographic"], PLAIN_ENV) as terminal:
        terminal.expect("]:")
        terminal.signal(signal.SIGINT)
        assert terminal.wait() == 130
    assert files(cli) == before
