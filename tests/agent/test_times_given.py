"""A time that a caller gives is one that every display can show, or an error that names it; nothing is kept then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.clock import EARLIEST, LATEST
from vademecum.errors import UsageError
from vademecum.model import Origin

ODD = [EARLIEST - 1, LATEST + 1, 2**62, -(2**62)]


@pytest.fixture
def vm(tmp_path: Path) -> Iterator[Vademecum]:
    memory = vademecum.open(tmp_path / "home", config={"memory.provider": "bank", "embedder": "off"})
    yield memory
    memory.close()


@pytest.mark.parametrize("at", ODD)
def test_no_message_and_no_session_is_kept_under_a_time_that_cannot_be_shown(vm: Vademecum, at: int) -> None:
    info = vm.history.open()
    with pytest.raises(UsageError, match=r"time is .* 1000 to 9998"):
        vm.history.record(info.id, "user", "hello", origin=Origin.user(), time=at)
    with pytest.raises(UsageError, match=r"opened_at is .* 1000 to 9998"):
        vm.history.open(opened_at=at)

    assert vm.history.messages(info.id) == []
    assert [one.id for one in vm.history.recent(9)] in ([], [info.id])


@pytest.mark.parametrize("at", ODD)
def test_no_fact_is_kept_corrected_or_closed_at_such_a_time(vm: Vademecum, at: int) -> None:
    for name in ("at", "valid_from", "valid_to"):
        with pytest.raises(UsageError, match=f"{name} is .* 1000 to 9998"):
            vm.bank.retain("The server is in Linz", **{name: at})  # type: ignore[arg-type]
    kept = vm.bank.retain("The server is in Graz").fact
    assert kept is not None
    with pytest.raises(UsageError, match="at is"):
        vm.bank.correct(kept.id, "The server is in Wels", origin=Origin.person(), at=at)
    with pytest.raises(UsageError, match="at is"):
        vm.bank.close(kept.id, at=at, by=Origin.person())

    assert [(one.text, one.valid_to) for one in vm.bank.list(limit=-1)] == [("The server is in Graz", None)]


@pytest.mark.parametrize("at", [*ODD, -1])
def test_no_entry_is_logged_at_a_time_that_its_id_cannot_hold(vm: Vademecum, at: int) -> None:
    with pytest.raises(UsageError, match="1970 to 9998"):
        vm.vault.log("note", "hello", at=at)


def test_a_tool_is_told_that_a_year_is_none(vm: Vademecum) -> None:
    with vm.session() as session:
        answer = session.tool("retain", {"text": "The server is in Graz", "valid_from": "0001-01-01"})

    assert not answer["success"]
    assert "1000 to 9998" in str(answer)
