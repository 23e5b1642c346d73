"""Late classes and patterns are what the standard library's are."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
from functools import cached_property
from typing import ClassVar

import pytest

from vademecum import late
from vademecum.late import dataclass, field


@dataclass(frozen=True, slots=True)
class Point:
    """A point."""

    x: int
    y: int = 2
    names: tuple[str, ...] = ()
    why: str = field(default="", compare=False, repr=False)
    zero: ClassVar[int] = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Standard:
    """The same by the standard library."""

    x: int
    y: int = 2
    names: tuple[str, ...] = ()
    why: str = dataclasses.field(default="", compare=False, repr=False)
    zero: ClassVar[int] = 0


@dataclass(slots=True)
class Heap:
    """Something that changes."""

    rows: list[int] = field(default_factory=list[int])
    total: int = 0

    def __post_init__(self) -> None:
        self.total = sum(self.rows)


@dataclass(frozen=True)
class Line:
    """Something with an attribute that is computed once."""

    length: int

    @cached_property
    def twice(self) -> int:
        return self.length * 2


@dataclass(frozen=True, slots=True)
class Named(Point):
    """A point with one field more."""

    name: str = "a"


class Plain(Line):
    """A class of the ordinary kind below a frozen one."""


def test_it_is_printed_compared_hashed_and_matched_as_the_standard_one() -> None:
    assert repr(Point(1, names=("a",), why="w")) == repr(Standard(1, names=("a",), why="w")).replace(
        "Standard", "Point"
    )
    assert Point(1, why="a") == Point(1, why="b") != Point(2)
    assert Point(1) != Standard(1)
    assert hash(Point(1, why="a")) == hash(Standard(1))
    assert Point.__match_args__ == Standard.__match_args__
    assert not hasattr(Point(1), "__dict__")
    assert Point.zero == 0


def test_the_standard_librarys_functions_take_it() -> None:
    assert dataclasses.replace(Point(1), y=5) == Point(1, 5)
    assert dataclasses.asdict(Point(1)) == dataclasses.asdict(Standard(1))
    assert dataclasses.astuple(Heap([1, 2])) == ([1, 2], 3)
    assert [f.name for f in dataclasses.fields(Point)] == [f.name for f in dataclasses.fields(Standard)]
    assert dataclasses.is_dataclass(Point)


def test_it_is_copied_and_pickled() -> None:
    for made in (Point(1, 3, ("a",), "w"), Heap([1]), Line(4), Named(1, name="n")):
        assert copy.copy(made) == copy.deepcopy(made) == pickle.loads(pickle.dumps(made)) == made


@pytest.mark.parametrize(
    ("made", "name"), [(Point(1), "x"), (Point(1), "other"), (Line(1), "length"), (Plain(1), "length")]
)
def test_what_is_frozen_is_not_changed(made: object, name: str) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, name, 3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        delattr(made, name)


def test_what_is_not_frozen_is_changed_and_not_hashed() -> None:
    first, second = Heap(), Heap()
    first.rows.append(1)
    first.total = 9

    assert (second.rows, first.total) == ([], 9)
    with pytest.raises(TypeError):
        hash(first)


def test_a_class_below_has_the_fields_of_both() -> None:
    assert repr(Named(1, name="n")) == "Named(x=1, y=2, names=(), name='n')"
    assert Named(1) != Point(1)
    assert Line(2).twice == 4
    assert Plain(3).twice == 6


def test_wrong_arguments_are_refused_the_first_time_and_later() -> None:
    @dataclass(frozen=True, slots=True)
    class Fresh:
        one: int

    for _ in range(2):
        with pytest.raises(TypeError):
            Fresh()  # pyright: ignore[reportCallIssue]
        with pytest.raises(TypeError):
            Fresh(1, two=2)  # pyright: ignore[reportCallIssue]
    assert Fresh(one=1).one == 1


def test_a_faulty_class_is_refused_when_it_is_made() -> None:
    with pytest.raises(ValueError, match="default"):

        @dataclass(slots=True)
        class _Shared:
            rows: list[int] = []  # noqa: RUF012

    with pytest.raises(TypeError, match="behind"):

        @dataclass(slots=True)
        class _Order:
            one: int = 0
            two: int  # pyright: ignore[reportGeneralTypeIssues]


def test_a_pattern_is_compiled_when_it_is_used() -> None:
    wrong = late.pattern("(")
    with pytest.raises(re.error):
        wrong.search("a")

    found = late.pattern(r"(?P<word>a+)", re.IGNORECASE)
    assert found.pattern == r"(?P<word>a+)"
    match = found.search("xAa")
    assert match is not None
    assert match["word"] == "Aa"
    assert found.sub("b", "aXa") == "bXb"
    assert found.groups == 1


def test_one_is_made_from_another_of_either_kind() -> None:
    assert late.replace(Point(1, why="w"), y=5) == Point(1, 5)
    assert late.replace(Point(1, why="w"), y=5).why == "w"
    assert late.replace(Standard(1), y=5) == Standard(1, 5)
    with pytest.raises(TypeError):
        late.replace(Point(1), z=5)
    with pytest.raises(TypeError):
        late.replace("a point", z=5)
