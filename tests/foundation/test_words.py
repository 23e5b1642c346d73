"""Ids, times, origins, errors, and what an import of the package costs."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vademecum
from vademecum import errors
from vademecum.clock import iso, parse_iso
from vademecum.ids import new_id
from vademecum.model import Origin, tokens

parts = st.text(max_size=30)


@given(
    st.sampled_from(["person", "user", "assistant", "tool", "connector", "agent", "import", "file"]),
    parts,
    parts,
    parts,
)
def test_an_origin_survives_printing_and_parsing(kind: str, name: str, item: str, digest: str) -> None:
    origin = Origin(kind, name, item, digest)  # type: ignore[arg-type]
    printed = str(origin)
    assert Origin.parse(printed) == origin and "\n" not in printed and " " not in printed
    joined = origin.joined(Origin.assistant(), Origin.tool("a+b!c#d", "u"), origin)
    assert Origin.parse(str(joined)) == joined and set(joined.parts) >= {origin, Origin.assistant()}
    assert joined.joined(joined) == joined


@pytest.mark.parametrize("text", ["", "root", "person2:x", "TOOL:x"])
def test_a_text_that_is_no_origin_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an origin"):
        Origin.parse(text)


def test_ids_increase_and_carry_their_time() -> None:
    ids = [new_id() for _ in range(5000)]
    assert ids == sorted(set(ids)) and all(len(one) == 26 for one in ids)
    assert new_id(1_000) < new_id(2_000) < ids[0]


@given(st.integers(0, 4_000_000_000_000))
def test_times_print_in_utc_and_parse_back(ms: int) -> None:
    assert parse_iso(iso(ms)) == ms and iso(ms).endswith("Z")


def test_tokens_are_a_quarter_of_the_bytes_rounded_up() -> None:
    assert [tokens(text) for text in ("", "a", "abcd", "abcde", "漢字")] == [0, 1, 1, 2, 2]


def test_every_error_has_a_code_of_its_own_and_an_exit_code() -> None:
    def below(kind: type[errors.VademecumError]) -> list[type[errors.VademecumError]]:
        return [kind, *(deeper for child in kind.__subclasses__() for deeper in below(child))]

    kinds = [kind for kind in below(errors.VademecumError) if kind.__module__ == errors.__name__]
    assert len({kind.code for kind in kinds}) == len(kinds)
    assert {kind.exit_code for kind in kinds if issubclass(kind, errors.UsageError)} == {2}
    assert {kind.exit_code for kind in kinds if not issubclass(kind, errors.UsageError)} == {1}
    drawn = errors.__doc__ or ""
    assert all(kind.__name__ in drawn for kind in kinds)


def test_the_public_names_are_what_the_package_gives() -> None:
    assert {name: getattr(vademecum, name) for name in vademecum.__all__}.keys() == set(vademecum.__all__)
    with pytest.raises(AttributeError):
        _ = vademecum.nothing_of_the_kind


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, vademecum, vademecum.agent.vademecum; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {
        "mcp",
        "pydantic",
        "pydantic_ai",
        "rich",
        "click",
        "ruamel.yaml",
        "asyncio",
        "numpy",
        "starlette",
        "httpx2",
    }
    assert not heavy & set(loaded)
