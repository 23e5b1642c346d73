"""What leaves the library, in one place: every field of every answer well-formed, bounded, without secrets.

Idea: a source gives anything; items, documents, cursors and errors all pass one object before anybody sees or keeps
them. Invariant: what has the wrong type is the source's error, never a crash behind it; a ref is the source's own; an
address that is shown leads to a web page and runs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar, cast

from vademecum.errors import SourceError, VademecumError
from vademecum.late import pattern
from vademecum.library.contract import ChangesFound, Document, Found, Item

FROM_OUTSIDE = "said by a source"
"""The note on an error whose words a source chose, or passed on."""

_SNIPPET, _TITLE, _WORD = 400, 300, 100  # characters
_REF, _URL, _CURSOR, _HINT, _ERROR = 1_000, 1_000, 200_000, 500, 500  # characters
_AUTHORS, _DETAILS, _PARTS, _PART, _CHANGES = 20, 12, 5_000, 200, 5_000
_LONGEST = 4_000_000  # characters of a document that are kept of what a source gives
_BREAKS = pattern(r"[\x00-\x1f\x7f\x85\u2028\u2029]+")
_PAGES = ("https://", "http://")
T = TypeVar("T")
_LAST = 253_402_300_799_999
"""The end of the year 9999 in UTC ms: no later time can be written."""


class Outward:
    """The way out for the answers of one source. `clean` takes secrets out of a text."""

    def __init__(self, source: str, clean: Callable[[str], str]) -> None:
        self._name, self._clean = source, clean

    # --- answers

    def found(self, given: object, limit: int) -> Found:
        """A search's answer, at most `limit` items of it. Raises SourceError."""
        found = self._of(given, Found)
        items = tuple(self.item(one) for one in self._listed(found.items, limit))
        return Found(items, self.cursor(found.cursor), self.line(found.hint, _HINT))

    def changes(self, given: object) -> ChangesFound:
        """What is new; all of it, since the cursor counts it as told. Raises SourceError."""
        found = self._of(given, ChangesFound)
        items = self._listed(found.items, _CHANGES + 1)
        if len(items) > _CHANGES:
            raise self._fault(f"more than {_CHANGES:,} changes at once")
        return ChangesFound(tuple(map(self.item, items)), self.cursor(found.cursor), self.line(found.hint, _HINT))

    def item(self, given: object) -> Item:
        """One item. Raises SourceError."""
        item = self._of(given, Item)
        return Item(
            self.ref(item.ref),
            self.line(item.title, _TITLE),
            self.line(item.snippet, _SNIPPET),
            self.url(item.url),
            self.line(item.revision, _WORD),
            self._time(item.time),
            self._authors(item.authors),
            self.line(item.kind, _WORD) or "document",
            self._detail(item.detail),
        )

    def document(self, given: object, asked: str) -> Document:
        """The text of the ref `asked`. Raises SourceError."""
        found = self._of(given, Document)
        text = self.well_formed(self._text(found.text)[:_LONGEST]).replace("\r\n", "\n").replace("\0", "")
        return replace(
            found,
            ref=self.ref(found.ref or asked),
            title=self.line(found.title, _TITLE),
            text=self._clean(text),
            url=self.url(found.url),
            revision=self.line(found.revision, _WORD),
            time=self._time(found.time),
            authors=self._authors(found.authors),
            kind=self.line(found.kind, _WORD) or "document",
            part=self.part(found.part),
            parts=self._parts(found.parts),
            detail=self._detail(found.detail),
        )

    def error(self, error: VademecumError) -> VademecumError:
        """`error` with its words made fit to be shown; it is told that a source chose them."""
        error.message, error.hint = self.line(error.message, _ERROR), self.line(error.hint, _ERROR)
        error.args = (error.message,)
        if FROM_OUTSIDE not in getattr(error, "__notes__", ()):
            error.add_note(FROM_OUTSIDE)
        return error

    # --- fields

    def ref(self, given: object) -> str:
        """A ref of this source. Raises SourceError for any other."""
        text = self._text(given)
        source, _, id_ = text.partition(":")
        if source != self._name or not id_.strip():
            raise self._fault(f"the ref {self.line(text, 60)!r}, which is none of its own")
        if len(text) > _REF:
            raise self._fault("a ref that is too long")
        return self.name(text, _REF)

    def part(self, given: object) -> str:
        """The name of a part."""
        return self.name(given, _PART)

    def name(self, given: object, most: int) -> str:
        """What is given back to the source as it is: its spaces stay; what breaks a line does not."""
        text = _BREAKS.sub(" ", self.well_formed(self._text(given)))
        return self._clean(text[: 20 * most])[:most]

    def url(self, given: object) -> str:
        """An address of a web page; empty for one that runs something, or that is too long."""
        text = "".join(self.line(given, _URL + 1).split())
        return text if text.lower().startswith(_PAGES) and len(text) <= _URL else ""

    def cursor(self, given: object) -> str:
        """A cursor as it is, since its source has to know it again; empty for one with a secret in it."""
        text = self._text(given)
        if len(text) > _CURSOR:
            raise self._fault("a cursor that is too long")
        return text if self.line(text, _CURSOR) == text else ""

    def line(self, given: object, most: int) -> str:
        """`given` on one line, well-formed, without secrets, at most so long. Raises SourceError for no text."""
        flat = self._clean(" ".join(self.well_formed(self._text(given)[: 20 * most]).split()))
        return flat if len(flat) <= most else flat[: most - 1].rstrip() + "…"

    @staticmethod
    def well_formed(text: str) -> str:
        """`text` with every half of a pair of UTF-16 replaced: nothing could write it."""
        return text.encode("utf-8", "replace").decode("utf-8") if not _encodes(text) else text

    def _text(self, given: object) -> str:
        if not isinstance(given, str):
            raise self._fault(f"{type(given).__name__} in the place of a text")
        return given

    def _time(self, given: object) -> int | None:
        if given is None:
            return None
        if not isinstance(given, int) or isinstance(given, bool):
            raise self._fault(f"{type(given).__name__} in the place of a time")
        return given if 0 <= given <= _LAST else None

    def _authors(self, given: object) -> tuple[str, ...]:
        return tuple(self.line(one, _WORD) for one in self._listed(given, _AUTHORS))

    def _parts(self, given: object) -> tuple[str, ...]:
        names = [self._text(one) for one in self._listed(given, _PARTS)]
        together = "\n".join(names)  # looked through at once: a book has hundreds
        plain = len(together) < _LONGEST and self._clean(together) == together and _encodes(together)
        if plain and not any(len(one) > _PART or _BREAKS.search(one) for one in names):
            return tuple(dict.fromkeys(names))
        return tuple(dict.fromkeys(map(self.part, names)))

    def _detail(self, given: object) -> dict[str, str]:
        if not isinstance(given, Mapping):
            raise self._fault(f"{type(given).__name__} in the place of details")
        pairs = list(cast("Mapping[object, object]", given).items())[:_DETAILS]
        return {self.line(key, 40): self.line(value, _SNIPPET) for key, value in pairs}

    def _listed(self, given: object, most: int) -> list[object]:
        if not isinstance(given, Iterable) or isinstance(given, str | bytes | Mapping):
            raise self._fault(f"{type(given).__name__} in the place of a list")  # pyright: ignore[reportUnknownArgumentType]
        found: list[object] = []
        for one in cast("Iterable[object]", given):
            if len(found) == most:
                break
            found.append(one)
        return found

    def _of(self, given: object, type_: type[T]) -> T:
        if not isinstance(given, type_):
            raise SourceError(
                f"{self._name} answered with {type(given).__name__} in place of {type_.__name__}.",
                "This is a fault of its package; docs/library.md says what a source is.",
            )
        return given

    def _fault(self, what: str) -> SourceError:
        return SourceError(
            f"{self._name} gave {what}; nothing of it was used.",
            "This is a fault of its package; docs/library.md says what a source is.",
        )


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
