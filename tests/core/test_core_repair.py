"""Files as people and editors leave them: usable as they are, and put right without losing a word."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.conftest import Core, MakeCore

from vademecum.errors import NotFoundError

FILES = {
    "blank lines": "one\n\n§\n\ntwo\n".encode(),
    "trailing spaces": "one\n§  \ntwo".encode(),
    "empty entries": "§\none\n§\n\n§\ntwo\n§".encode(),
    "windows": "one\r\n§\r\ntwo\r\n".encode(),
    "byte order mark": b"\xef\xbb\xbfone\n\xc2\xa7\ntwo",
    "utf-16": "one\n§\ntwo".encode("utf-16"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_hand_edited_file_reads_takes_changes_and_keeps_its_form(core: Core, name: str) -> None:
    data = FILES[name]
    core.put(data)
    assert [entry.text for entry in core.memory.entries("memory")] == ["one", "two"]
    core.memory.add("memory", "three")
    core.memory.replace("memory", "one", "uno")
    core.memory.remove("memory", "three")
    core.memory.replace("memory", "uno", "one")
    assert core.data() == data


@pytest.mark.parametrize("name", FILES)
def test_a_hand_edited_file_is_seen_and_repaired_with_a_copy(core: Core, name: str) -> None:
    core.put(FILES[name])
    path = core.memory.path("memory")
    found = core.memory.diagnose()
    assert [(d.path, d.repairable) for d in found if d.path == path]
    core.memory.repair(path)
    assert core.data() == "one\n§\ntwo".encode()
    assert [copy.read_bytes() for copy in path.parent.glob("*.before-repair")] == [FILES[name]]
    assert core.memory.diagnose() == []
    assert "no repair" in core.memory.repair(path)


def test_bytes_that_are_not_utf8_stay_and_are_read_as_windows_1252_by_a_repair(core: Core) -> None:
    core.put("café\n§\n".encode("latin-1").replace(b"\xa7", "§".encode()) + "naïve".encode())
    core.memory.add("memory", "new")
    assert core.data().startswith(b"caf\xe9\n")
    core.memory.repair(core.memory.path("memory"))
    assert [entry.text for entry in core.memory.entries("memory")] == ["café", "naïve", "new"]


def test_markdown_without_delimiters_is_one_entry_until_a_repair_makes_one_of_each_block(core: Core) -> None:
    page = "# Facts\n\n- one\n- two\n  and more\n\nA paragraph\nof two lines.\n"
    core.put(page.encode())
    assert len(core.memory.entries("memory")) == 1
    core.memory.repair(core.memory.path("memory"))
    entries = [entry.text for entry in core.memory.entries("memory")]
    assert entries == ["# Facts\n- one", "- two\n  and more", "A paragraph\nof two lines."]
    assert "".join(" ".join(entries).split()) == "".join(page.split())


def test_one_entry_of_several_paragraphs_that_a_tool_wrote_needs_no_repair(core: Core) -> None:
    core.memory.add("memory", "one\n\ntwo")
    assert core.memory.diagnose() == []


def test_one_huge_entry_does_not_lock_the_store(make_core: MakeCore) -> None:
    core = make_core()
    core.put(b"word " * 100_000)
    path = core.memory.path("memory")
    assert any("500" in d.what.replace(",", "") or "499" in d.what for d in core.memory.diagnose() if d.path == path)
    core.memory.replace("memory", "word word", "short")
    core.memory.add("memory", "two")
    assert core.data() == "short \n§\ntwo ".encode() or core.data().split() == "short § two".encode().split()


def test_a_blocked_entry_is_named_by_doctor_and_kept(core: Core) -> None:
    core.put("fine\n§\nhidden \u200b text".encode())
    found = core.memory.diagnose()
    assert len(found) == 1
    assert not found[0].repairable
    assert "kept out of the prompt" in found[0].what


def test_only_a_store_of_this_agent_is_repaired(core: Core) -> None:
    with pytest.raises(NotFoundError):
        core.memory.repair(core.folder.soul)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [b"\n", b"\r\n", "§".encode(), b" ", b"a", b"# b", b"- c", b"\\", b"\xff", "é".encode(), b"```"]
        )
    ).map(b"".join)
)
def test_a_repair_keeps_every_word_in_its_order(core: Core, data: bytes) -> None:
    core.put(data)
    before = "".join("".join(entry.text.split()) for entry in core.memory.entries("memory")).replace("\ufffd", "ÿ")
    core.memory.repair(core.memory.path("memory"))
    after = "".join("".join(entry.text.split()) for entry in core.memory.entries("memory"))
    assert after == before
