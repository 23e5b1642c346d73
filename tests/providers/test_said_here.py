"""What the conversation itself holds is not recalled into it again."""

from __future__ import annotations

from pathlib import Path

from fake import Vendor

import vademecum
from vademecum.providers.budget import Screen
from vademecum.providers.contract import Recalled


def test_an_external_memory_does_not_repeat_what_this_conversation_said(tmp_path: Path, vendor: Vendor) -> None:
    vendor.say("The staging port of heliotrope is 5433.", "Marta wants the heliotrope report on Fridays.")
    with vademecum.open(tmp_path / "home", config={"memory.provider": "fake"}) as vm, vm.session() as session:
        with session.turn("Note it: the staging port of heliotrope is 5433!") as first:
            assert "5433" not in first.context
            assert "Fridays" in first.context
            first.answer("Noted.")
        vendor.say("User: note it: the staging port of heliotrope is 5433!\nAssistant: Noted.")
        with session.turn("Which port did I give you for heliotrope?") as second:
            assert "5433" not in second.context
            second.answer("5433.")
    with (
        vademecum.open(tmp_path / "home", config={"memory.provider": "fake"}) as vm,
        vm.session() as other,
        other.turn("Which port does heliotrope use?") as turn,
    ):
        assert "5433" in turn.context
        turn.answer("5433.")


def test_an_incognito_conversation_is_compared_too(tmp_path: Path, vendor: Vendor) -> None:
    vendor.say("The staging port of heliotrope is 5433.")
    with vademecum.open(tmp_path / "home", config={"memory.provider": "fake"}) as vm:
        session = vm.session(incognito=True)
        with session.turn("The staging port of heliotrope is 5433.") as turn:
            assert turn.context == ""
            turn.answer("Yes.")


def test_only_whole_lines_of_the_conversation_count() -> None:
    screen = Screen("fake", lambda _text: (), str, 600)
    said = "We spoke about the port of heliotrope, 5433, and about tea."
    texts = ("The port of heliotrope.", "The port of heliotrope is 5432.", "port of heliotrope, 54")
    block = screen.block([Recalled(text[-4:], text) for text in texts], said=said)
    assert [one.text for one in block.entries] == ["The port of heliotrope is 5432.", "port of heliotrope, 54"]
    assert [one.reason for one in block.left_out] == ["said in this conversation"]
