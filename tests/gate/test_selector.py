"""Selectors: what a person points at, held against printed origins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vademecum.errors import UsageError
from vademecum.gate.selector import Selector
from vademecum.model import Origin

PAGE = Origin.tool("web_fetch", "https://Bad.example/a b?x=1#y", "9f86d081")
MADE_OF_IT = Origin.assistant().joined(Origin.agent("lyra"), PAGE)


@pytest.mark.parametrize(
    ("text", "origin", "meant"),
    [
        ("url:https://Bad.example/a b?x=1#y", PAGE, True),
        ("url:https://Bad.example/a b?x=1#y", MADE_OF_IT, True),
        ("url:bad.example", MADE_OF_IT, True),
        ("url:https://Bad.example/*", MADE_OF_IT, True),
        ("url:https://Bad.example/a", PAGE, False),
        ("url:example", PAGE, False),
        ("url:notbad.example", PAGE, False),
        ("tool:web_fetch", MADE_OF_IT, True),
        ("tool:web", PAGE, False),
        ("tool:web*", PAGE, True),
        ("agent:lyra", MADE_OF_IT, True),
        ("agent:lyr", MADE_OF_IT, False),
        ("connector:arxiv", Origin.connector("arxiv", "2401.1", "v2"), True),
        ("connector:arxiv#2401.1", Origin.connector("arxiv", "2401.1", "v2"), True),
        ("connector:arxiv#2401.2", Origin.connector("arxiv", "2401.1", "v2"), False),
        ("import:/a/fi+le!", Origin.import_("/a/fi+le!", "x"), True),
        ("user:42", Origin.assistant().joined(Origin.user("42")), True),
        ("user:42", Origin.user("420"), False),
    ],
)
def test_a_selector_means_what_came_from_there_and_what_was_made_of_it(text: str, origin: Origin, meant: bool) -> None:
    selector = Selector.parse(text)
    assert selector.matches(Origin.parse(str(origin))) is meant
    if meant:
        assert selector.needle in str(origin).lower()


def test_a_session_means_what_was_made_in_it_whatever_its_origin() -> None:
    selector = Selector.parse("session:01m8abc")
    assert selector.matches(Origin.person(), session="01M8ABC")
    assert not selector.matches(Origin.person(), session="01M8ABD")
    assert not selector.matches(Origin.person())


def test_pages_that_are_no_longer_named_one_by_one_count_where_the_page_was_read() -> None:
    many = Origin.assistant().joined(Origin.tool("web_fetch", "*"))
    selector = Selector.parse("url:bad.example")
    assert selector.matches(many, session="A", heard={"A"})
    assert not selector.matches(many, session="B", heard={"A"})


@pytest.mark.parametrize("text", ["", "url:", "url:*", "page", "entry:x", "nobody:x", "user:owner"])
def test_what_names_no_source_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        Selector.parse(text)


@given(url=st.text(min_size=1).map(str.strip).filter(lambda text: text.strip("*")), digest=st.text())
def test_the_needle_never_hides_an_address_that_matches(url: str, digest: str) -> None:
    origin = Origin.assistant().joined(Origin.tool("fetch", url, digest))
    selector = Selector.parse(f"url:{url}")
    if selector.matches(origin):
        assert selector.needle in str(origin).lower()
