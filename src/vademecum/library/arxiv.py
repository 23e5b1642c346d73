"""Papers of arxiv.org: search, metadata and abstract by its Atom API, and the text of the PDF.

Idea: one feed answers both a search and a look-up by id; what was read is named by the paper's version. Invariant: at
most one request in three seconds, as arXiv asks; a feed that declares a document type is refused: no entity expands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from vademecum.clock import iso, parse_iso
from vademecum.errors import NotFoundError, SourceError, UsageError
from vademecum.late import pattern
from vademecum.library.contract import Availability, ChangesFound, Document, Filter, Found, Item, LibrarySource, Setting
from vademecum.library.shapes import count, ms, packed, text, unpacked
from vademecum.library.web import Web

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

PACE = 3.0
"""Seconds between two requests, which arXiv's terms ask for."""
LARGEST_PDF = 50_000_000
"""Bytes of a PDF that is read."""

_ATOM, _ARXIV = "{http://www.w3.org/2005/Atom}", "{http://arxiv.org/schemas/atom}"
_TOTAL = "{http://a9.com/-/spec/opensearch/1.1/}totalResults"
_ID = pattern(r"(?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Za-z-]{2,})?/\d{7})(?:v\d+)?")
_PREFIX = pattern(r"(?i)^(?:https?://(?:www\.|export\.)?arxiv\.org/(?:abs|pdf|html)/|arxiv:)")
_FIELD = pattern(r"\b(?:ti|au|abs|co|jr|cat|rn|id|all|submittedDate|lastUpdatedDate):\S")
_WORDS = pattern(r'"([^"]+)"|([^\s"()]+)')
_START = pattern(r"[0-9]{1,6}")
_NEW = 25  # papers that `changes` names when it is asked for the first time
_PAGE, _MOST_NEW, _FURTHEST = 100, 500, 30_000


class Arxiv(LibrarySource):
    """The Atom API of arXiv, and its PDFs."""

    type: ClassVar[str] = "arxiv"
    about: ClassVar[str] = "Scientific papers on arXiv: abstracts, and the full text of the PDF."
    fresh: ClassVar[int] = 24 * 3_600_000  # its index is made anew once a day

    @classmethod
    def settings(cls) -> tuple[Setting, ...]:
        """Nothing has to be set."""
        return (
            Setting("base_url", "The API's address.", "https://export.arxiv.org/api"),
            Setting("follow", "The query whose new papers `changes` names, such as cat:cs.CL."),
        )

    @classmethod
    def filters(cls) -> tuple[Filter, ...]:
        """Of the API's fields those that people use."""
        return (
            Filter("author", "A name, such as Vaswani."),
            Filter("category", "Such as cs.CL."),
            Filter("title", "Words of the title."),
            Filter("since", "Submitted on this day or later: YYYY-MM-DD."),
            Filter("sort", "Order of the results.", ("relevance", "submittedDate", "lastUpdatedDate")),
        )

    def available(self) -> Availability:
        """Always; the text of a PDF needs the extra `documents`."""
        return Availability(True)

    @cached_property
    def _web(self) -> Web:
        return self.web("https://export.arxiv.org/api", pace=PACE)

    def close(self) -> None:
        """Let go of the connection."""
        if "_web" in self.__dict__:
            self._web.close()

    # --- search

    def search(self, query: str, *, limit: int = 10, cursor: str = "", filters: Mapping[str, str]) -> Found:
        """Papers that have all words; a query with fields of arXiv's own (`au:`, `AND`, ...) is passed on as it is."""
        wanted = search_query(query, filters)
        if not wanted:
            raise UsageError("arxiv needs words to search for, or a filter.")
        if cursor and not _START.fullmatch(cursor):
            raise UsageError("That is no cursor of arXiv.", "Use the cursor that the last answer gave, or none.")
        start = int(cursor or 0)
        asked = {"search_query": wanted, "start": start, "max_results": limit}
        feed = self._feed(asked | _order(filters.get("sort", "relevance")))
        items = tuple(self._item(entry) for entry in feed.findall(f"{_ATOM}entry"))
        total = int(said) if _START.fullmatch(said := _text(feed, _TOTAL)) else 0
        more = str(start + len(items)) if items and start + len(items) < total else ""
        hint = "" if items else f"arXiv understood {wanted!r} and has nothing. Fewer or other words may help."
        return Found(items, more, hint)

    def read(self, id: str, *, part: str = "") -> Document:  # noqa: A002  the contract's word
        """Metadata and abstract, or with the part `text` what stands in the PDF."""
        if part not in ("", "abstract", "text"):
            raise NotFoundError(f"A paper has the parts `abstract` and `text`, not {part!r}.")
        entry = self._entry(id)
        item = self._item(entry)
        head = Document(
            ref=self.ref(_asked(id)),
            title=item.title,
            text=_described(entry, item),
            url=item.url,
            revision=item.revision,
            time=item.time,
            authors=item.authors,
            kind="paper",
            part="abstract",
            parts=("abstract", "text"),
        )
        if part != "text":
            return head
        return replace(head, text=self._full_text(entry), part="text")

    def changes(self, since: str = "") -> ChangesFound:
        """New papers and new versions that the setting `follow` asks for; the cursor is the newest one's time."""
        follow = str(self.context.settings.get("follow") or "").strip()
        if not follow:
            raise UsageError(
                f"{self.name} does not know what you follow.", f"Set library.{self.name}.follow, such as cat:cs.CL."
            )
        asked = {"search_query": search_query(follow, {})} | _order("lastUpdatedDate")
        told, newest, first = _place(since)
        found: list[Item] = []
        top = newest
        for start in range(first, first + (_MOST_NEW if told else _NEW), _PAGE):
            page = {"start": start, "max_results": _PAGE if told else _NEW}
            entries = self._feed(asked | page).findall(f"{_ATOM}entry")
            new = [one for one in entries if _text(one, f"{_ATOM}updated") > told]
            found += [self._item(one) for one in new]
            top = max([top, *(_text(one, f"{_ATOM}updated") for one in new)])
            if not told or len(new) < len(entries) or len(entries) < _PAGE:
                return ChangesFound(tuple(reversed(found)), top)
        rest = packed({"told": told, "newest": top, "start": first + _MOST_NEW})
        return ChangesFound(tuple(reversed(found)), rest, "There is more: ask again with the cursor.")

    # --- the feed

    def _feed(self, query: Mapping[str, str | int]) -> Element:
        from xml.etree import ElementTree

        reply = self._web.get("/query", query=query, expected=(400,))
        try:
            body = reply.body.decode("utf-8")  # in another encoding the next line would see nothing
            if "<!DOCTYPE" in body or "<!ENTITY" in body:
                raise SourceError(
                    "arxiv answered with a document type, which no feed of arXiv has.", "Try again later.", passing=True
                )
            feed = ElementTree.fromstring(body)
        except (ElementTree.ParseError, UnicodeDecodeError) as error:
            raise SourceError(
                f"arxiv answered with something that is no feed: {error}.", "Try again later.", passing=True
            ) from error
        if feed.tag != f"{_ATOM}feed":
            raise SourceError("arxiv answered with XML that is no Atom feed.", "Try again later.", passing=True)
        for entry in feed.findall(f"{_ATOM}entry"):
            if "/api/errors" in _text(entry, f"{_ATOM}id"):
                said = _text(entry, f"{_ATOM}summary") or "it does not say why"
                raise UsageError(f"arXiv refused the query: {said}.", "See https://info.arxiv.org/help/api.")
        if reply.status >= 400:
            raise SourceError(f"arxiv refused the request (HTTP {reply.status}).", status=reply.status)
        return feed

    def _entry(self, id_: str) -> Element:
        asked = _asked(id_)
        entries = self._feed({"id_list": asked, "max_results": 1}).findall(f"{_ATOM}entry")
        if not entries or not _text(entries[0], f"{_ATOM}title"):
            raise NotFoundError(f"arXiv has no paper {asked}.", "Check the id; `vademecum library search` gives ids.")
        return entries[0]

    def _item(self, entry: Element) -> Item:
        full = _PREFIX.sub("", _text(entry, f"{_ATOM}id"))
        id_, _, version = full.rpartition("v") if re.search(r"v\d+\Z", full) else (full, "", "")
        updated = _text(entry, f"{_ATOM}updated")
        category = entry.find(f"{_ARXIV}primary_category")
        detail = {
            "category": "" if category is None else category.get("term", ""),
            "published": _text(entry, f"{_ATOM}published")[:10],
            "doi": _text(entry, f"{_ARXIV}doi"),
            "journal": _text(entry, f"{_ARXIV}journal_ref"),
            "comment": _text(entry, f"{_ARXIV}comment"),
        }
        return Item(
            ref=self.ref(id_),
            title=_text(entry, f"{_ATOM}title"),
            snippet=_text(entry, f"{_ATOM}summary"),
            url=f"https://arxiv.org/abs/{full}",
            revision=f"v{version}" if version else "",
            time=ms({"at": updated}, "at"),
            authors=tuple(_text(one, f"{_ATOM}name") for one in entry.findall(f"{_ATOM}author")),
            kind="paper",
            detail={key: value for key, value in detail.items() if value},
        )

    def _full_text(self, entry: Element) -> str:
        links = {link.get("title", ""): link.get("href", "") for link in entry.findall(f"{_ATOM}link")}
        url = links.get("pdf") or _text(entry, f"{_ATOM}id").replace("/abs/", "/pdf/")
        reply = self._web.get(url, largest=LARGEST_PDF, headers={"Accept": "application/pdf"})
        from vademecum.library.documents import convert

        return convert(reply.body, "paper.pdf").text


def search_query(query: str, filters: Mapping[str, str]) -> str:
    """What arXiv is asked: all words of `query` (a quoted phrase as one), and the filters."""
    parts = [f"({query.strip()})"] if _FIELD.search(query) else []
    if not parts:
        parts = [f'all:"{phrase}"' if phrase else f"all:{word}" for phrase, word in _WORDS.findall(query)]
        parts = [one for one in parts if re.search(r":.*\w", one) and one[4:] not in ("AND", "OR", "ANDNOT")]
    for key, field in (("author", "au"), ("title", "ti")):
        if value := filters.get(key, "").replace('"', " ").strip():
            parts.append(f'{field}:"{value}"')
    if category := filters.get("category", "").strip():
        parts.append(f"cat:{category}")
    if since := filters.get("since", "").strip():
        try:
            day = iso(parse_iso(since))[:10].replace("-", "")
        except ValueError as error:
            raise UsageError(f"`since` {since!r} is no date.", "Write it as 2026-01-31.") from error
        parts.append(f"submittedDate:[{day}0000 TO 299912312359]")
    return " AND ".join(parts)


def _place(cursor: str) -> tuple[str, str, int]:
    """What was told before, the newest of a walk that is not at its end, and where it goes on. Raises UsageError."""
    if not cursor:
        return "", "", 0
    state = {"told": cursor, "newest": cursor} if cursor[:1].isdigit() else unpacked(cursor)
    if ms(state, "told") is None or ms(state, "newest") is None or not 0 <= count(state, "start") <= _FURTHEST:
        raise UsageError("That is no cursor of arXiv.", "Use the cursor that the last answer gave, or none.")
    return text(state, "told"), text(state, "newest"), count(state, "start")


def _order(sort: str) -> dict[str, str]:
    return {"sortBy": sort, "sortOrder": "descending"}


def _asked(id_: str) -> str:
    """The id as arXiv writes it. Raises UsageError."""
    found = _PREFIX.sub("", id_).removesuffix(".pdf")
    if not _ID.fullmatch(found):
        raise UsageError(
            f"{id_[:60]!r} is no arXiv id.", "It is of the form 2401.01234, 2401.01234v2 or hep-th/9901001."
        )
    return found


def _described(entry: Element, item: Item) -> str:
    lines = [f"# {item.title}", "", ", ".join(item.authors)]
    told = [f"{key}: {value}" for key, value in item.detail.items()]
    if categories := [one.get("term", "") for one in entry.findall(f"{_ATOM}category")]:
        told.append(f"categories: {', '.join(categories)}")
    return "\n".join([*lines, "; ".join(told), "", _text(entry, f"{_ATOM}summary")])


def _text(element: Element, tag: str) -> str:
    return " ".join((element.findtext(tag) or "").split())
