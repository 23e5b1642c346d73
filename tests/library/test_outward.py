"""What leaves the library, whatever a source gives: no crash, no secret, no end of it, nothing of another source."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from vademecum.errors import ConfigError, NotFoundError, SourceError, VademecumError
from vademecum.library import registry
from vademecum.library.asking import LEFT
from vademecum.library.contract import ChangesFound, Document, Found, Item, LibrarySource
from vademecum.library.library import Library
from vademecum.library.outward import FROM_OUTSIDE
from vademecum.store import Database
from vademecum.store.schema_cache import open_cache

NOW = 1_764_000_000_000
SECRET = "hunter2"


class Wild(LibrarySource):
    """A source that gives what a test says."""

    type: ClassVar[str] = "wild"
    about: ClassVar[str] = "Made for tests."
    gives: ClassVar[Callable[[], Any]]

    def search(self, query: str, *, limit: int = 10, cursor: str = "", filters: Mapping[str, str]) -> Found:
        return type(self).gives()

    def read(self, id: str, *, part: str = "") -> Document:  # noqa: A002  the contract's word
        given = type(self).gives()
        if part and isinstance(given, Document) and part not in given.parts:
            raise NotFoundError(f"There is no {part}.")
        return given

    def changes(self, since: str = "") -> ChangesFound:
        return type(self).gives()


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    made = open_cache(tmp_path / "cache.db")
    yield made
    made.close()


@pytest.fixture
def library(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setattr(registry, "source_class", lambda type_: Wild)
    return library_of(db, tmp_path)


def library_of(db: Database, folder: Path, settings: Mapping[str, Any] | None = None) -> Library:
    return Library(
        {"wild": settings},
        env={},
        folder=folder,
        db=lambda: db,
        clean=lambda text: text.replace(SECRET, "[secret]"),
        clock=lambda: NOW,
    )


def gives(value: Any) -> None:
    Wild.gives = staticmethod(lambda: value)


def raises(error: BaseException) -> None:
    def fail() -> Any:
        raise error

    Wild.gives = staticmethod(fail)


@pytest.mark.parametrize(
    "item",
    [
        Item("wild:1", None),  # pyright: ignore[reportArgumentType]
        Item("wild:1", "t", snippet=5),  # pyright: ignore[reportArgumentType]
        Item("wild:1", "t", time="yesterday"),  # pyright: ignore[reportArgumentType]
        Item("wild:1", "t", authors="Somebody"),  # pyright: ignore[reportArgumentType]
        Item("wild:1", "t", detail=[1]),  # pyright: ignore[reportArgumentType]
        Item(5, "t"),  # pyright: ignore[reportArgumentType]
        Item("garbage", "t"),
        Item("other:1", "t"),
        Item("wild:" + "x" * 5000, "t"),
        {"ref": "wild:1"},
    ],
)
def test_an_item_of_the_wrong_form_is_the_sources_error(library: Library, item: Any) -> None:
    gives(Found((item,)))
    with pytest.raises(SourceError):
        library.search("wild", "x")
    gives(ChangesFound((item,), "c"))
    with pytest.raises(SourceError):
        library.changes("wild")


@pytest.mark.parametrize(
    "document",
    [
        "text",
        None,
        Document("wild:1", "t", None),  # pyright: ignore[reportArgumentType]
        Document("wild:1", "t", "x", parts=("a", 5)),  # pyright: ignore[reportArgumentType]
        Document("other:1", "t", "x"),
        Document("garbage", "t", "x"),
    ],
)
def test_a_document_of_the_wrong_form_or_of_another_source_is_the_sources_error(
    library: Library, document: Any
) -> None:
    gives(document)
    with pytest.raises(SourceError):
        library.read("wild:1")


def test_a_time_that_no_calendar_has_is_left_out(library: Library) -> None:
    gives(Found((Item("wild:1", "t", time=10**30),)))
    assert library.search("wild", "x").items[0].time is None


def test_half_a_pair_of_utf_16_is_replaced_and_can_be_kept(library: Library) -> None:
    gives(Found((Item("wild:1", "half \ud800 pair", detail={"k\ud800": "v\udfff"}),), hint="\ud800"))
    found = library.search("wild", "query \ud800")
    assert found.items[0].title == "half ? pair"
    json.dumps([found.hint, dict(found.items[0].detail)], ensure_ascii=False).encode()
    gives(Document("wild:1", "t", "half \ud800 pair", parts=("a\ud800",)))
    document = library.read("wild:1")
    (document.text + document.parts[0]).encode()


def test_everything_that_is_named_is_bounded(library: Library) -> None:
    long = "w" * 100_000
    item = Item(
        "wild:1", long, long, f"https://e/{long}", long, 1, (long,) * 100, long, {f"{n}{long}": long for n in range(50)}
    )
    gives(Found((item,) * 100, hint=long))
    found = library.search("wild", "x")
    assert len(found.items) == 10
    (shown, *_) = found.items
    size = sum(
        map(len, (shown.title, shown.snippet, shown.url, shown.revision, shown.kind, *shown.authors, found.hint))
    )
    assert size + sum(len(key) + len(value) for key, value in shown.detail.items()) < 10_000
    gives(Found((), cursor="c" * 1_000_000))
    with pytest.raises(SourceError, match="cursor"):
        library.search("wild", "y")


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "h", "\njavascript:x"]
)
def test_an_address_that_is_no_web_page_is_not_shown(library: Library, url: str) -> None:
    gives(Found((Item("wild:1", "t", url=url),)))
    assert library.search("wild", "x").items[0].url == ""


def test_no_field_shows_a_secret_and_none_is_kept(library: Library, db: Database) -> None:
    said = f"x {SECRET}"
    item = Item(f"wild:{SECRET}", said, said, f"https://e/?t={SECRET}", said, 1, (said,), said, {said: said})
    gives(Found((item,), SECRET, said))
    found = library.search("wild", f"who uses {SECRET}?")
    gives(Document(f"wild:{SECRET}", said, said, f"https://e/?t={SECRET}", said, parts=(said,), detail={said: said}))
    document = library.read(f"wild:{SECRET}")
    assert SECRET not in repr(found)
    assert SECRET not in repr(document)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert SECRET.encode() not in db.path.read_bytes()


def test_a_part_with_a_secret_in_its_name_is_read_by_the_name_that_is_shown(library: Library) -> None:
    gives(Document("wild:1", "t", "The text.", parts=(f"Key {SECRET}", "Two")))
    (shown, _) = library.read("wild:1").parts
    assert shown == "Key [secret]"
    assert library.read("wild:1", part=shown).text == "The text."


def test_the_words_of_an_error_are_bounded_without_secrets_and_marked(library: Library) -> None:
    raises(SourceError(f"The password is {SECRET}\n\ud800 " + "w " * 9000, f"Use {SECRET}."))
    with pytest.raises(SourceError) as caught:
        library.search("wild", "x")
    assert SECRET not in caught.value.message + caught.value.hint
    assert len(caught.value.message) <= 500
    caught.value.message.encode()
    assert FROM_OUTSIDE in caught.value.__notes__


@pytest.mark.parametrize("error", [SystemExit(9), KeyError("x"), KeyboardInterrupt(), RecursionError(), MemoryError()])
def test_a_package_that_ends_the_process_or_raises_anything_is_an_error_of_ours(
    library: Library, error: BaseException
) -> None:
    raises(error)
    with pytest.raises(SourceError):
        library.search("wild", "x")


def test_a_source_that_never_answers_is_left_behind_and_after_some_of_them_asked_no_more(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "source_class", lambda type_: Wild)
    library = library_of(db, tmp_path, {"seconds": 1})
    end, done = threading.Event(), threading.Semaphore(0)

    def hang() -> Found:
        end.wait()
        done.release()
        return Found(())

    Wild.gives = staticmethod(hang)
    try:
        for _ in range(LEFT):
            with pytest.raises(SourceError, match="left behind") as caught:
                library.search("wild", "x")
            assert caught.value.passing
        with pytest.raises(SourceError, match="still busy"):
            library.search("wild", "x")
    finally:
        end.set()
        for _ in range(LEFT):
            done.acquire()


@pytest.mark.parametrize("seconds", [0, "30", True, 100_000])
def test_the_time_of_a_look_up_is_a_number_within_reason(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: Any
) -> None:
    monkeypatch.setattr(registry, "source_class", lambda type_: Wild)
    with pytest.raises(ConfigError, match="seconds"):
        library_of(db, tmp_path, {"seconds": seconds}).search("wild", "x")


def test_all_changes_are_given_since_the_cursor_counts_them_as_told(library: Library) -> None:
    gives(ChangesFound(tuple(Item(f"wild:{n}", str(n)) for n in range(1400)), "c"))
    assert len(library.changes("wild").items) == 1400


def test_a_source_of_another_package_that_describes_itself_wrongly_is_listed_with_what_is_wrong(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Wild, "about", 7)
    (known,) = [one for one in library.sources() if one.name == "wild"]
    assert not known.available.ok
    with pytest.raises(VademecumError):
        gives(7)
        library.read("wild:1")


@pytest.mark.parametrize("base", ["http://example.org/api", "https://me:secret@example.org", "nonsense", 7])
def test_an_address_that_may_not_be_asked_is_told_in_the_list(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base: Any
) -> None:
    monkeypatch.setattr(registry, "source_class", lambda type_: Wild)
    (known, *_) = library_of(db, tmp_path, {"base_url": base}).sources()
    assert not known.available.ok
    assert "secret" not in known.available.reason
