"""The library over its sources: names, bounds, copies, refs, and sources of other packages."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from vademecum.errors import ConfigError, NotFoundError, SourceError, UsageError
from vademecum.library import registry
from vademecum.library.cache import LARGEST, Cache
from vademecum.library.contract import ChangesFound, Context, Document, Found, Item, LibrarySource, Setting
from vademecum.library.library import Library, cut, split
from vademecum.store import Database
from vademecum.store import library as rows
from vademecum.store.library import Copy
from vademecum.store.schema_cache import open_cache

NOW = 1_764_000_000_000


class Shelf(LibrarySource):
    """A source in memory; `trouble` is raised in the place of an answer."""

    type: ClassVar[str] = "shelf"
    about: ClassVar[str] = "Made for tests."

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.asked = 0
        self.trouble: Exception | None = None
        self.text = "Some text."
        self.parts: tuple[str, ...] = ()

    @classmethod
    def settings(cls) -> tuple[Setting, ...]:
        return (Setting("room", "Which room."), Setting("token", "A token.", env="SHELF_TOKEN"))

    def search(self, query: str, *, limit: int = 10, cursor: str = "", filters: Mapping[str, str]) -> Found:
        self._ask()
        return Found(tuple(Item(self.ref(str(n)), f"{query} {n}", "a\n b " * 300) for n in range(limit + 5)), "more")

    def read(self, id: str, *, part: str = "") -> Document:  # noqa: A002  the contract's word
        self._ask()
        return Document(self.ref(id), f"Title of {id}", self.text, revision="r1", part=part, parts=self.parts)

    def changes(self, since: str = "") -> ChangesFound:
        self._ask()
        return ChangesFound((Item("another:1", "Not mine"),), "c")

    def _ask(self) -> None:
        self.asked += 1
        if self.trouble:
            raise self.trouble


class Clock:
    now = NOW

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache_db(tmp_path: Path) -> Iterator[Database]:
    db = open_cache(tmp_path / "cache.db")
    yield db
    db.close()


@pytest.fixture
def library(cache_db: Database, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setattr(registry, "source_class", lambda type_: Shelf)
    return library_of(cache_db, clock, tmp_path)


def library_of(db: Database, clock: Clock, folder: Path, entries: Mapping[str, Any] | None = None) -> Library:
    return Library(
        {"shelf": {"room": "a"}} if entries is None else entries,
        env={},
        folder=folder,
        db=lambda: db,
        clean=lambda text: text.replace("hunter2", "[secret]"),
        clock=clock,
    )


def shelf(library: Library) -> Shelf:
    found = library.source("shelf")
    assert isinstance(found, Shelf)
    return found


def test_results_are_bounded_and_on_one_line(library: Library) -> None:
    found = library.search("shelf", "word", limit=3)
    assert [one.ref for one in found.items] == ["shelf:0", "shelf:1", "shelf:2"]
    assert all(len(one.snippet) <= 400 and "\n" not in one.snippet for one in found.items)
    assert found.items[0].snippet.endswith("…")


def test_secrets_are_taken_out_before_anything_is_kept(library: Library, cache_db: Database) -> None:
    shelf(library).text = "The password is hunter2."
    assert library.read("shelf:1").text == "The password is [secret]."
    kept = cache_db.all("SELECT value FROM library_copies")
    assert kept
    assert all(b"hunter2" not in row[0] for row in kept)


def test_a_fresh_answer_is_given_again_and_an_old_one_is_asked_for_anew(library: Library, clock: Clock) -> None:
    library.read("shelf:1")
    again = library.read("shelf:1")
    assert (again.cached, again.problem, shelf(library).asked) == (True, "", 1)
    assert not library.read("shelf:1", refresh=True).cached
    clock.now += Shelf.fresh + 1
    assert not library.read("shelf:1").cached
    assert shelf(library).asked == 3


def test_a_passing_fault_gives_the_old_copy_and_another_one_does_not(library: Library, clock: Clock) -> None:
    library.read("shelf:1")
    clock.now += 10 * Shelf.fresh
    shelf(library).trouble = SourceError("It is down.", passing=True)
    old = library.read("shelf:1")
    assert (old.cached, old.problem, old.fetched) == (True, "It is down.", NOW)
    shelf(library).trouble = SourceError("The token is refused.", status=401)
    with pytest.raises(SourceError, match="token is refused"):
        library.read("shelf:1")
    shelf(library).trouble = NotFoundError("It is gone.")
    with pytest.raises(NotFoundError):
        library.read("shelf:1")


def test_with_other_settings_it_is_another_source(
    cache_db: Database, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "source_class", lambda type_: Shelf)
    library_of(cache_db, clock, tmp_path, {"shelf": {"room": "a"}}).read("shelf:1")
    assert not library_of(cache_db, clock, tmp_path, {"shelf": {"room": "b"}}).read("shelf:1").cached
    assert library_of(cache_db, clock, tmp_path, {"shelf": {"room": "a"}}).read("shelf:1").cached


def test_what_a_source_raises_or_answers_wrongly_is_its_error(library: Library) -> None:
    shelf(library).trouble = ZeroDivisionError("oops")
    with pytest.raises(SourceError, match="The source shelf: ZeroDivisionError: oops"):
        library.search("shelf", "x")
    shelf(library).trouble = None
    with pytest.raises(SourceError, match="none of its own"):
        library.changes("shelf")


def test_a_long_document_is_read_in_pieces_that_join_to_the_whole(library: Library) -> None:
    text = "\n\n".join(f"Paragraph {n}. " + "Wörter und 漢字 " * 20 for n in range(40))
    shelf(library).text = text
    pieces, part = list[str](), ""
    while True:
        found = library.read("shelf:1", part=part, budget=300)
        assert len(found.text.encode()) <= 1200
        pieces.append(found.text)
        if not found.next:
            break
        part = found.next
    assert "".join(pieces) == text
    assert len(pieces) > 5
    assert shelf(library).asked == 1


def test_after_the_end_of_a_part_comes_the_next_one() -> None:
    page = Document("shelf:1", "t", "x" * 10, part="page 1", parts=("page 1", "page 2"))
    assert cut(page, 0, 100).next == "page 2"
    assert cut(Document("shelf:1", "t", "x" * 900, part="page 1", parts=("page 1",)), 0, 50).next == "page 1@200"
    with pytest.raises(NotFoundError, match="ends before"):
        cut(page, 11, 100)


@pytest.mark.parametrize("ref", ["", "shelf", "shelf:", ":1", "  "])
def test_what_is_no_ref_is_a_wrong_call(ref: str) -> None:
    with pytest.raises(UsageError, match="is no ref"):
        split(ref)


def test_unknown_names_settings_and_secrets_in_the_configuration_are_errors(
    cache_db: Database, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotFoundError, match="no source 'arxive'") as caught:
        library_of(cache_db, clock, tmp_path).search("arxive", "x")
    assert "arxiv" in caught.value.hint
    with pytest.raises(ConfigError, match="no source of the type 'nonsense'"):
        library_of(cache_db, clock, tmp_path, {"nonsense": {}}).search("nonsense", "x")
    monkeypatch.setattr(registry, "source_class", lambda type_: Shelf)
    with pytest.raises(ConfigError, match="no setting 'rom'"):
        library_of(cache_db, clock, tmp_path, {"shelf": {"rom": 1}}).search("shelf", "x")
    with pytest.raises(ConfigError, match="no secret belongs") as caught:
        library_of(cache_db, clock, tmp_path, {"shelf": {"token": "abc"}}).search("shelf", "x")
    assert "SHELF_TOKEN=" in caught.value.hint
    (known,) = [one for one in library_of(cache_db, clock, tmp_path, {"shelf": {"rom": 1}}).sources() if one.configured]
    assert not known.available.ok


def test_the_copies_together_are_bounded_and_the_longest_unused_go_first(cache_db: Database) -> None:
    for n in range(5):
        rows.put(cache_db, "s", str(n), Copy(b"x" * 100, "", NOW + n), most=10_000)
    assert rows.get(cache_db, "s", "0", NOW + 200_000) is not None  # used: now the newest
    rows.put(cache_db, "s", "9", Copy(b"x" * 100, "", NOW + 9), most=300)
    assert rows.size(cache_db) <= 300
    assert rows.get(cache_db, "s", "0", NOW) is not None
    assert rows.get(cache_db, "s", "1", NOW) is None


def test_a_cache_that_cannot_be_used_fails_no_look_up(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "cache.db").write_bytes(b"this is no database, but long enough to be read as one" * 40)
    broken = Database(tmp_path / "cache.db")
    cache = Cache(lambda: broken, "s", clock)
    cache.put("web", "k", b"v")
    cache.wait("host", NOW)
    assert cache.get("web", "k") is None
    assert cache.waits("host") == 0
    broken.close()


def test_a_copy_that_is_too_large_is_not_kept(cache_db: Database, clock: Clock) -> None:
    cache = Cache(lambda: cache_db, "s", clock)
    cache.put("web", "k", b"x" * (LARGEST + 1))
    assert cache.get("web", "k") is None


def test_each_call_of_a_paced_source_takes_a_turn_of_its_own(cache_db: Database) -> None:
    turns = [rows.turn(cache_db, "s", "host", (NOW, 3000, 10_000)) for _ in range(6)]
    assert turns == [NOW, NOW + 3000, NOW + 6000, NOW + 9000, NOW + 12_000, NOW + 12_000]  # too far: none is taken
    rows.wait_until(cache_db, "s", "host", NOW + 60_000)
    assert rows.turn(cache_db, "s", "host", (NOW, 3000, 10_000)) == NOW + 60_000


# --- sources of other packages

_PACKAGE = """
from vademecum.library.contract import ChangesFound, Document, Found, Item, LibrarySource

class Almanac(LibrarySource):
    type = "almanac"
    about = "Days and their saints."

    def search(self, query, *, limit=10, cursor="", filters):
        return Found((Item(self.ref("1"), f"On {query}"),))

    def read(self, id, *, part=""):
        return Document(self.ref(id), "A day", "It is a good day.", revision="1")

    def changes(self, since=""):
        return ChangesFound((), "now")
"""


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of processes for which packages with sources are installed, as pip leaves them."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "almanac_source.py").write_text(_PACKAGE)
    (site / "broken_source.py").write_text("import a_module_that_does_not_exist\n")
    points = "[vademecum.library]\nalmanac = almanac_source:Almanac\nbroken = broken_source:Broken\n"
    points += "nosource = almanac_source:Item\n"
    info = site / "almanac_source-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: almanac-source\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").write_text(
        "library:\n  almanac: {}\n  days: {type: almanac}\n  broken: {}\n  nosource: {}\n"
    )
    yield {**os.environ, "PYTHONPATH": str(site), "VADEMECUM_HOME": str(home)}


def run(env: dict[str, str], *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from vademecum.surfaces.cli import main; main()", *args]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)


def test_a_source_of_an_installed_package_is_asked_like_the_others(installed: dict[str, str]) -> None:
    listed = run(installed, "library", "list")
    assert "almanac  Days and their saints." in listed.stdout
    assert "days (almanac)" in listed.stdout
    assert "could not be loaded" in listed.stdout
    found = run(installed, "library", "search", "days", "saints")
    assert "days:1  On saints" in found.stdout, found.stderr
    assert "It is a good day." in run(installed, "library", "read", "almanac:7").stdout
    broken = run(installed, "library", "read", "broken:7")
    assert (broken.returncode, "a_module_that_does_not_exist" in broken.stderr) == (1, True)
    wrong = run(installed, "library", "read", "nosource:7")
    assert "is no subclass of" in wrong.stderr
