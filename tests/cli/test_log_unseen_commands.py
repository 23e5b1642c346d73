"""`log delta`, `ack`, `unacknowledged`: how an agent that has only a shell keeps up with the others."""

from __future__ import annotations

from cli.command_line import Cli


def test_a_shell_agent_reads_what_is_new_acknowledges_it_and_is_left_alone(cli: Cli) -> None:
    for name in ("lyra", "ella"):
        cli("agent", "add", name)
    said = cli("--agent", "lyra", "log", "add", "handoff", "@ella the import is yours", "--json").json
    on = ("--channel", "telegram")
    peeked = cli("--agent", "ella", "log", "delta", *on, "--peek").out
    text = cli("--agent", "ella", "log", "delta", *on).out
    assert "lyra handoff: @ella the import is yours" in text and "the import is yours" in peeked
    again = cli("--agent", "ella", "log", "delta", *on, "--json").json
    assert (again["results"], again["unacknowledged"]) == ([], [said["id"]])
    assert "Not acknowledged by you yet" in again["text"]
    (row,) = cli("--agent", "ella", "log", "unacknowledged", "--json").json["results"]
    assert row["id"] == said["id"]
    done = cli("--agent", "ella", "log", "ack", str(said["id"])[-8:], "on it", *on).out
    assert "Name lyra" in done
    assert cli("--agent", "ella", "log", "delta", *on).out == ""
    assert "Nothing waits" in cli("--agent", "ella", "log", "unacknowledged").out
    first, _ = cli("log", "tail", "--json").json["results"]
    assert first["acked_by"] == ["ella"]
    assert "on it" in cli("--agent", "lyra", "log", "delta", "--session", "terminal").out


def test_an_entry_of_ones_own_and_an_unknown_one_cannot_be_acknowledged(cli: Cli) -> None:
    cli("agent", "add", "lyra")
    said = cli("--agent", "lyra", "log", "add", "work", "a step", "--json").json
    own = cli("--agent", "lyra", "log", "ack", str(said["id"]))
    unknown = cli("--agent", "lyra", "log", "ack", "01M8MXJJFY1MWGXM6ZEXP7ENXM")
    assert own.code != 0 and "your own entry" in own.err
    assert unknown.code != 0 and "no entry" in unknown.err
