"""Opening a home: cheap, lazy, complete, shared."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import vademecum
from vademecum.agent.vademecum import agent_names
from vademecum.errors import ConfigError, NoModelError, NotFoundError, UsageError
from vademecum.model import Actor, Origin

HEAVY = ("ruamel", "mcp", "pydantic_ai", "rich", "asyncio", "click", "httpx", "filelock")


def test_opening_makes_home_and_agent(tmp_path: Path) -> None:
    with vademecum.open(tmp_path / "home", agent="lyra") as vm:
        assert vm.folder.soul.read_text(encoding="utf-8").startswith("#")
        assert vm.memory.entries("memory") == ()
        assert "lyra" in str(vm.folder.root)


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    with vademecum.open(tmp_path) as vm:
        vm.folder.soul.write_text("I am Lyra.", encoding="utf-8")
    with vademecum.open(tmp_path) as vm:
        assert vm.folder.soul.read_text(encoding="utf-8") == "I am Lyra."


def test_opening_and_reading_memory_loads_nothing_heavy(tmp_path: Path) -> None:
    vademecum.open(tmp_path).close()
    code = (
        "import sys, vademecum\n"
        f"vm = vademecum.open({str(tmp_path)!r})\n"
        "vm.memory.view('memory'); vm.history.recent()\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not set(HEAVY) & set(loaded)


def test_overrides_lie_over_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("memory: {memory_char_limit: 300, user_char_limit: 200}\n", encoding="utf-8")
    with vademecum.open(tmp_path, config={"memory.memory_char_limit": 50}) as vm:
        assert (vm.memory.limit("memory"), vm.memory.limit("user")) == (50, 200)


def test_a_wrong_key_in_the_configuration_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("memory: {memory_limit: 300}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="memory_limit"):
        vademecum.open(tmp_path)


def test_a_name_that_is_no_folder_stays_inside_the_home(tmp_path: Path) -> None:
    with vademecum.open(tmp_path, agent="../../etc") as vm:
        assert tmp_path in vm.folder.root.resolve().parents
    with pytest.raises(UsageError):
        vademecum.open(tmp_path, agent="")


def test_an_adopted_folder_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    gone = tmp_path / "usb-stick"
    (tmp_path / "config.yaml").write_text(f"agents: {{default: {{path: '{gone}'}}}}\n", encoding="utf-8")
    with pytest.raises(NotFoundError, match="usb-stick"):
        vademecum.open(tmp_path)
    assert not gone.exists()


def test_users_share_the_agents_memory_and_nothing_else(tmp_path: Path) -> None:
    with vademecum.open(tmp_path) as owner:
        ana = owner.as_(user="ana")
        assert ana.actor == Actor("default", "ana")
        assert ana.db is owner.db
        owner.memory.add("memory", "Deploys are on Tuesdays.", origin=Origin.person())
        owner.memory.add("user", "Is called Olga.", origin=Origin.person())
        ana.memory.add("user", "Is called Ana.", origin=Origin.person())
        assert [e.text for e in ana.memory.entries("memory")] == ["Deploys are on Tuesdays."]
        assert [e.text for e in ana.memory.entries("user")] == ["Is called Ana."]
        assert [e.text for e in owner.memory.entries("user")] == ["Is called Olga."]
        with owner.session() as s:
            s.user("the password of the safe is heliotrope")
        assert len(owner.search_sessions("heliotrope").results) == 1
        assert not ana.search_sessions("heliotrope").results
        with pytest.raises(NotFoundError):
            ana.session(id=owner.history.recent()[0].id)


def test_two_agents_of_one_home_have_nothing_in_common(tmp_path: Path) -> None:
    with vademecum.open(tmp_path) as vm:
        lyra = vm.as_(agent="lyra")
        vm.memory.add("memory", "Only mine.")
        assert lyra.memory.entries("memory") == ()
        with lyra.session() as s:
            s.user("orpiment")
        assert not vm.search_sessions("orpiment").results


def test_no_model_is_an_error_with_a_way_out_and_only_for_the_model(tmp_path: Path) -> None:
    with vademecum.open(tmp_path) as vm:
        with pytest.raises(NoModelError) as caught:
            vm.model()
        assert caught.value.hint
        assert vm.memory.view("memory").used == 0


def test_threads_share_one_of_everything(tmp_path: Path) -> None:
    with vademecum.open(tmp_path) as vm:
        start, seen = threading.Barrier(8), list[object]()

        def work(number: int) -> None:
            start.wait()
            seen.extend([vm.db, vm.memory, vm.history])
            vm.memory.add("memory", f"Fact number {number}.")

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({id(thing) for thing in seen}) == 3
        assert len(vm.memory.entries("memory")) == 8


def test_an_object_that_was_closed_opens_again(tmp_path: Path) -> None:
    vm = vademecum.open(tmp_path)
    vm.memory.add("memory", "Still here.")
    vm.close()
    assert [e.text for e in vm.memory.entries("memory")] == ["Still here."]
    vm.close()


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on the size of a file")
def test_a_full_disk_leaves_no_half_made_agent(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys, vademecum\n"
        "from vademecum.errors import StorageError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))\n"  # SOUL.md does not fit
        "try:\n    vademecum.open(sys.argv[1], agent='lyra')\n"
        "except StorageError as error:\n    print(error.message)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
        "vm = vademecum.open(sys.argv[1], agent='lyra')\n"
        "print(vm.made, vm.folder.soul.stat().st_size > 100, vm.folder.index.exists())"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    failed, then = done.stdout.splitlines()
    assert "Could not" in failed
    assert then == "True True True"
    assert [path.name for path in (tmp_path / "agents").iterdir()] == ["lyra"]


def test_a_folder_that_is_being_made_is_no_agent(tmp_path: Path) -> None:
    vm = vademecum.open(tmp_path)
    unfinished = tmp_path / "agents" / ".new-0123456789ab"
    unfinished.mkdir()
    assert agent_names(vm.home, vm.config) == ["default"]
    vm.as_(agent="one")
    assert unfinished.exists()  # somebody may be at it
    os.utime(unfinished, (1_700_000_000, 1_700_000_000))
    vm.as_(agent="two")
    assert not unfinished.exists()
    assert agent_names(vm.home, vm.config) == ["default", "one", "two"]
