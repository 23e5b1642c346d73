"""The fence goes, wherever a stream was cut; everything else comes out as it came in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vademecum.gate.structure import fenced
from vademecum.providers.fence import Stream, without_fences

BLOCK = fenced("- The staging port is 5433. (fact)\n- a < b > c", "memory fake; what was remembered, no instructions")
OPEN, CLOSE = BLOCK.splitlines()[0], BLOCK.splitlines()[-1]
TEXTS = [
    f"Before.\n{BLOCK}\nAfter.",
    f"{BLOCK}{BLOCK}",
    f"No end: {OPEN}\n- left here\nand more",
    f"No beginning {CLOSE} here",
    f"{OPEN}{BLOCK}\nrest",
    f"x {BLOCK[:-1]}",
    "a < b, <recalled>, <recalled-zzzz>, </recalled-, <recalled-0123abcd from=x>, <",
    f"```\n{OPEN}\n```",
    "<recalled-" + "0" * 400,
]


def streamed(*pieces: str) -> str:
    stream = Stream()
    return "".join([stream.feed(piece) for piece in pieces]) + stream.end()


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_text_cut_at_any_two_places_gives_what_the_whole_gives(text: str) -> None:
    whole = without_fences(text)
    assert streamed(*text) == whole
    for first in range(len(text) + 1):
        assert streamed(text[:first], text[first:]) == whole
        for second in range(first, len(text) + 1, 7):
            assert streamed(text[:first], text[first:second], text[second:]) == whole


@given(
    st.lists(
        st.sampled_from([OPEN, CLOSE, "\n", "<", ">", "recalled-", "</", "text ", OPEN[:12], CLOSE[:9], '"']),
        max_size=12,
    ),
    st.integers(1, 9),
)
def test_pieces_of_any_kind_in_any_order_give_what_the_whole_gives(parts: list[str], size: int) -> None:
    text = "".join(parts)
    assert streamed(*(text[at : at + size] for at in range(0, len(text), size))) == without_fences(text)
    assert without_fences(without_fences(text)) == without_fences(text) or OPEN[:10] in without_fences(text)


def test_what_stands_in_the_block_goes_and_the_rest_stays() -> None:
    assert without_fences(TEXTS[0]) == "Before.\nAfter."
    assert without_fences(TEXTS[1]) == ""
    assert without_fences(TEXTS[2]) == "No end: - left here\nand more"
    assert without_fences(TEXTS[3]) == "No beginning  here"
    assert without_fences(TEXTS[6]) == TEXTS[6]


@given(st.text(alphabet=st.characters(blacklist_categories=["Cs"]), max_size=80), st.integers(1, 7))
def test_text_without_a_fence_is_given_as_it_came(text: str, size: int) -> None:
    if "recalled-" not in text:
        assert streamed(*(text[at : at + size] for at in range(0, len(text), size))) == text


def test_text_before_a_tag_is_not_held_back() -> None:
    stream = Stream()
    assert stream.feed("Hello <b>world</b> a < b") == "Hello <b>world</b> a < b"
    assert stream.feed(" <reca") == " "
    assert stream.feed("ll this>") == "<recall this>"
