"""`vademecum export` and `import vademecum`: what a person and a script see, and who may."""

from __future__ import annotations

from pathlib import Path

import vademecum
from cli.command_line import COMMAND, PLAIN_ENV, Cli
from cli.terminal import Terminal
from vademecum.model import Origin


def test_a_home_goes_out_and_only_a_person_brings_it_into_an_empty_one(cli: Cli, tmp_path: Path) -> None:
    with vademecum.open(cli.home) as vm:
        vm.memory.add("memory", "Deploys are on Fridays.", origin=Origin.user())
        vm.session(key="work").user("When do we deploy?")
    out = tmp_path / "out"
    done = cli("export", str(out), "--json").json
    assert (done["success"], done["path"], done["counts"]["messages"]) == (True, str(out), 1)
    again = cli("export", str(out), "--json")
    assert (again.code, again.json["error"]["code"]) == (1, "conflict")
    new = Cli(tmp_path / "new", cli._capsys, cli._patch)
    refused = new.process("import", "vademecum", str(out), "--json")
    assert refused.json["error"]["code"] == "refused"
    assert new("import", "vademecum", str(out), "--dry-run", "--json").json["messages"] == 1
    with Terminal([COMMAND, "--home", str(new.home), "import", "vademecum", str(out)], PLAIN_ENV) as terminal:
        terminal.expect("Brought in 1 session, 1 message")
        assert terminal.wait() == 0
    assert new("memory", "show", "--json").json["memory"]["entries"] == ["Deploys are on Fridays."]
    assert new("export", str(tmp_path / "again")).code == 0
    assert (tmp_path / "again" / "manifest.json").read_bytes() == (out / "manifest.json").read_bytes()


def test_a_person_who_is_not_known_gets_no_empty_folder(cli: Cli, tmp_path: Path) -> None:
    done = cli("export", str(tmp_path / "out"), "--user", "nobody", "--json")
    assert (done.code, done.json["error"]["code"]) == (1, "not_found")
    assert not (tmp_path / "out").exists()
