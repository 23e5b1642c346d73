"""arXiv through its Atom API: searches, papers, versions, PDFs, errors, and the distance between requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from papers import pdf

from servers.arxiv import TOO_FAST, Arxiv, Paper
from servers.rest import Fault
from vademecum.errors import NotFoundError, SourceError, UsageError
from vademecum.library.arxiv import search_query
from vademecum.library.library import Library
from vademecum.store.schema_cache import open_cache

NOW = 1_764_000_000_000
ABSTRACT = "We show that memory helps agents. Recall rises by 12 percent. The cost is small."


class Time:
    def __init__(self) -> None:
        self.now = NOW
        self.slept: list[float] = []

    def __call__(self) -> int:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 3))
        self.now += round(seconds * 1000)


@pytest.fixture
def arxiv() -> Iterator[Arxiv]:
    with Arxiv() as server:
        server.papers.append(Paper("2401.01234", "Memory for agents", ABSTRACT, version=2))
        server.papers.append(Paper("2401.09999", "Other things", "Nothing of it.", authors=("Grace Hopper",)))
        server.papers.append(Paper("hep-th/9901001", "Old strings", "About strings.", category="hep-th"))
        yield server


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def library(arxiv: Arxiv, time: Time, tmp_path: Path) -> Iterator[Library]:
    made = library_of(arxiv, time, tmp_path)
    yield made
    made.close()


def library_of(server: Arxiv, time: Time, tmp_path: Path, **settings: Any) -> Library:
    db = open_cache(tmp_path / "cache.db")
    return Library(
        {"arxiv": {"base_url": f"{server.url}/api", **settings}},
        env={},
        folder=tmp_path,
        db=lambda: db,
        clean=lambda text: text,
        clock=time,
        sleep=time.sleep,
    )


def test_a_search_gives_papers_with_ref_version_authors_and_time(library: Library) -> None:
    found = library.search("arxiv", "memory agents")
    (one,) = found.items
    assert (one.ref, one.revision, one.title) == ("arxiv:2401.01234", "v2", "Memory for agents")
    assert one.authors == ("Ada Lovelace", "Alan Turing")
    assert one.url == "https://arxiv.org/abs/2401.01234v2"
    assert one.time == 1_704_218_400_000
    assert one.snippet == ABSTRACT
    assert one.detail["category"] == "cs.CL"
    assert found.cursor == ""


def test_results_are_paged_by_a_cursor(library: Library, arxiv: Arxiv) -> None:
    arxiv.papers[:] = [Paper(f"2402.0{n:04}", f"Paper {n} on memory", "x") for n in range(7)]
    first = library.search("arxiv", "memory", limit=3)
    second = library.search("arxiv", "memory", limit=3, cursor=first.cursor)
    third = library.search("arxiv", "memory", limit=3, cursor=second.cursor)
    assert [len(one.items) for one in (first, second, third)] == [3, 3, 1]
    assert third.cursor == ""
    assert len({item.ref for one in (first, second, third) for item in one.items}) == 7


def test_requests_are_three_seconds_apart(library: Library, time: Time) -> None:
    for words in ("memory", "strings", "things"):
        library.search("arxiv", words)
    assert time.slept == [3.0, 3.0]


def test_a_busy_server_is_asked_again_after_the_time_that_it_names(library: Library, arxiv: Arxiv, time: Time) -> None:
    arxiv.faults.append(TOO_FAST)
    assert library.search("arxiv", "memory").items
    assert time.slept == [3.0]  # its own pace is longer than the two seconds asked for


def test_a_server_that_stays_busy_is_an_error_that_may_pass(library: Library, arxiv: Arxiv) -> None:
    arxiv.always = TOO_FAST
    with pytest.raises(SourceError, match="HTTP 503") as caught:
        library.search("arxiv", "memory")
    assert caught.value.passing
    assert "no copy" in caught.value.hint


def test_a_paper_is_read_as_metadata_and_abstract_and_then_as_text(library: Library, arxiv: Arxiv) -> None:
    arxiv.state.pdf = pdf(["Introduction", "The whole text of the paper stands here."])
    head = library.read("arxiv:2401.01234")
    assert head.text.startswith("# Memory for agents\n\nAda Lovelace, Alan Turing")
    assert ABSTRACT in head.text
    assert (head.part, head.next, head.revision) == ("abstract", "text", "v2")
    full = library.read("arxiv:2401.01234", part="text")
    assert "The whole text of the paper stands here." in full.text
    assert full.next == ""
    assert arxiv.requests[-1].path == "/pdf/2401.01234v2"


@pytest.mark.parametrize(
    "ref",
    ["arxiv:2401.01234", "arxiv:2401.01234v2", "arxiv:https://arxiv.org/abs/2401.01234", "arxiv:arXiv:2401.01234",
     "arxiv:http://arxiv.org/pdf/2401.01234v2.pdf"],
)  # fmt: skip
def test_an_id_is_understood_as_people_copy_it(library: Library, ref: str) -> None:
    assert library.read(ref).title == "Memory for agents"


def test_an_old_id_is_read(library: Library) -> None:
    assert library.read("arxiv:hep-th/9901001").title == "Old strings"


def test_an_unknown_paper_is_not_found_and_a_wrong_id_is_a_wrong_call(library: Library, arxiv: Arxiv) -> None:
    with pytest.raises(NotFoundError, match=r"no paper 2401\.55555"):
        library.read("arxiv:2401.55555")
    asked = len(arxiv.requests)
    with pytest.raises(UsageError, match="no arXiv id"):
        library.read("arxiv:../../etc/passwd")
    assert len(arxiv.requests) == asked


def test_an_error_entry_is_an_error_in_arxivs_own_words(library: Library) -> None:
    with pytest.raises(UsageError, match="malformed query"):
        library.search("arxiv", "cat:cs.CL AND (ti:memory")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<html><p>busy", "no feed"),
        (b"<rss version='2.0'/>", "no Atom feed"),
        (b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>', "document type"),
        (b"", "no feed"),
        ('<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE x []><x/>'.encode("utf-16"), "no feed"),
    ],
)
def test_what_is_no_feed_is_an_error(library: Library, arxiv: Arxiv, body: bytes, said: str) -> None:
    arxiv.faults.append(Fault(body=body))
    with pytest.raises(SourceError, match=said):
        library.search("arxiv", "memory")


@pytest.mark.parametrize(
    ("query", "filters", "sent"),
    [
        ("agent memory", {}, "all:agent AND all:memory"),
        ('"agent memory" recall', {}, 'all:"agent memory" AND all:recall'),
        ("au:turing AND ti:machine", {}, "(au:turing AND ti:machine)"),
        ("memory AND recall", {}, "all:memory AND all:recall"),
        ("", {"author": "Ada Lovelace", "category": "cs.CL"}, 'au:"Ada Lovelace" AND cat:cs.CL'),
        ("x", {"since": "2024-03-01"}, "all:x AND submittedDate:[202403010000 TO 299912312359]"),
        ("?? ()", {}, ""),
    ],
)
def test_a_query_becomes_arxivs_own(query: str, filters: dict[str, str], sent: str) -> None:
    assert search_query(query, filters) == sent


def test_filters_reach_the_api_and_an_unknown_one_is_refused(library: Library, arxiv: Arxiv) -> None:
    assert [one.ref for one in library.search("arxiv", "", filters={"author": "Hopper"}).items] == ["arxiv:2401.09999"]
    with pytest.raises(UsageError, match="no filter 'auther'"):
        library.search("arxiv", "x", filters={"auther": "Hopper"})
    with pytest.raises(UsageError, match="is no date"):
        library.search("arxiv", "x", filters={"since": "soon"})
    assert len(arxiv.requests) == 1


def test_changes_name_what_is_newer_than_the_cursor_oldest_first(arxiv: Arxiv, time: Time, tmp_path: Path) -> None:
    library = library_of(arxiv, time, tmp_path, follow="cat:cs.CL")
    first = library.changes("arxiv")
    assert {one.ref for one in first.items} == {"arxiv:2401.01234", "arxiv:2401.09999"}
    assert library.changes("arxiv", first.cursor).items == ()
    arxiv.papers.append(Paper("2405.00001", "Newer", "x", updated="2024-05-02T00:00:00Z"))
    arxiv.papers.append(Paper("2405.00002", "Newest", "x", updated="2024-05-03T00:00:00Z"))
    arxiv.papers.append(Paper("2405.00003", "Elsewhere", "x", updated="2024-05-03T00:00:00Z", category="hep-th"))
    second = library.changes("arxiv", first.cursor)
    assert [one.title for one in second.items] == ["Newer", "Newest"]
    assert library.changes("arxiv", second.cursor).items == ()
    library.close()


def test_changes_without_something_to_follow_say_what_to_set(library: Library) -> None:
    with pytest.raises(UsageError, match="what you follow") as caught:
        library.changes("arxiv")
    assert "library.arxiv.follow" in caught.value.hint


def test_without_a_network_the_cached_copy_is_given_with_its_age(library: Library, arxiv: Arxiv, time: Time) -> None:
    library.search("arxiv", "memory")
    library.read("arxiv:2401.01234")
    time.now += 3 * 24 * 3_600_000
    with arxiv.down():
        found, read = library.search("arxiv", "memory"), library.read("arxiv:2401.01234")
        for one in (found, read):
            assert one.cached
            assert one.fetched < time.now - 2 * 24 * 3_600_000
            assert "could not be reached" in one.problem
        assert ABSTRACT in read.text
        with pytest.raises(SourceError, match="could not be reached") as caught:
            library.search("arxiv", "something else")
        assert "no copy of it in the cache" in caught.value.hint


PAGE = b"<!DOCTYPE html><html><title>Sign in</title></html>"


@pytest.mark.parametrize(
    "fault",
    [
        Fault(200, PAGE),
        Fault(403, PAGE, {"Content-Type": "text/html"}),
        Fault(404, PAGE),
        Fault(302, b"", {"Location": "http://10.0.0.1/login"}),
        Fault(302, b"", {"Location": "https://portal.invalid/login"}),
        Fault(200, b'<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>x</id'),
    ],
)
def test_where_a_portal_answers_in_its_place_the_cached_copy_is_given(
    library: Library, arxiv: Arxiv, time: Time, fault: Fault
) -> None:
    library.search("arxiv", "memory")
    time.now += 3 * 24 * 3_600_000
    arxiv.always = fault
    found = library.search("arxiv", "memory")
    assert (found.cached, len(found.items)) == (True, 1)
    assert found.problem


def test_nonsense_in_the_feed_is_left_out(library: Library, arxiv: Arxiv) -> None:
    arxiv.papers[0].updated = "garbage"
    found = library.search("arxiv", "memory")
    assert found.items[0].time is None


@pytest.mark.parametrize("cursor", ["²", "-1", "x", "9" * 30])
def test_a_cursor_of_a_search_that_is_none_is_a_wrong_call(library: Library, cursor: str) -> None:
    with pytest.raises(UsageError, match="no cursor"):
        library.search("arxiv", "memory", cursor=cursor)


def test_more_new_papers_than_one_call_names_are_named_by_the_next(arxiv: Arxiv, time: Time, tmp_path: Path) -> None:
    library = library_of(arxiv, time, tmp_path, follow="cat:cs.CL")
    cursor = library.changes("arxiv").cursor
    for number in range(1, 701):
        when = f"2024-05-{number // 30 + 1:02}T00:00:{number % 30:02}Z"
        arxiv.papers.append(Paper(f"2405.{number:05}", f"Paper {number}", "x", updated=when))
    first = library.changes("arxiv", cursor)
    assert "more" in first.hint
    arxiv.papers.append(Paper("2406.00001", "Meanwhile", "x", updated="2024-06-03T00:00:00Z"))
    second = library.changes("arxiv", first.cursor)
    third = library.changes("arxiv", second.cursor)
    refs = {one.ref for found in (first, second, third) for one in found.items}
    assert len(refs) == 701
    assert library.changes("arxiv", third.cursor).items == ()
    library.close()


@pytest.mark.parametrize("cursor", ["garbage", "2024-99-99", "jnull", "jWzFd", "²"])
def test_a_cursor_of_changes_that_is_none_is_a_wrong_call(
    arxiv: Arxiv, time: Time, tmp_path: Path, cursor: str
) -> None:
    library = library_of(arxiv, time, tmp_path, follow="cat:cs.CL")
    with pytest.raises(UsageError, match="no cursor"):
        library.changes("arxiv", cursor)
    library.close()
