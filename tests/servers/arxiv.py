"""arXiv's query API as its manual describes it: Atom with OpenSearch counts, errors as entries, PDFs beside it.

Idea: papers are plain rows; the feed is written in the published form, with namespaces, versions and line breaks as
arXiv prints them. Invariant: it answers nothing that arXiv does not document: an unknown id gives a feed without an
entry, a malformed one an error entry with HTTP 400.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape

from servers.rest import Fault, Request, Rest

TOO_FAST = Fault(503, b"Rate exceeded.", {"Retry-After": "2", "Content-Type": "text/plain"})


@dataclass
class Paper:
    id: str
    title: str
    summary: str
    authors: tuple[str, ...] = ("Ada Lovelace", "Alan Turing")
    version: int = 1
    published: str = "2024-01-01T18:00:00Z"
    updated: str = "2024-01-02T18:00:00Z"
    category: str = "cs.CL"
    doi: str = ""
    comment: str = "12 pages, 3 figures"


@dataclass
class _State:
    papers: list[Paper] = field(default_factory=list[Paper])
    pdf: bytes = b""


class Arxiv(Rest):
    """`papers` are what it has; `pdf` is given for each paper's PDF."""

    def __init__(self) -> None:
        super().__init__()
        self.state = _State()

    @property
    def papers(self) -> list[Paper]:
        return self.state.papers

    def answer(self, request: Request) -> tuple[int, Any]:
        if request.path.startswith("/pdf/"):
            return (200, self.state.pdf) if self.state.pdf else (404, b"no such paper")
        if request.path != "/api/query":
            return 404, b"<html>Not found</html>"
        start, most = request.query.get("start", "0"), request.query.get("max_results", "10")
        if not start.isdigit() or not most.isdigit():
            return 400, self._error("start must be an integer", "start_must_be_an_integer")
        ids = [one for one in request.query.get("id_list", "").split(",") if one]
        if wrong := [one for one in ids if not re.fullmatch(r"(\d{4}\.\d{4,5}|[a-z.-]+/\d{7})(v\d+)?", one)]:
            return 400, self._error(f"incorrect id format for {wrong[0]}", f"incorrect_id_format_for_{wrong[0]}")
        query = request.query.get("search_query", "")
        if query.count("(") != query.count(")"):
            return 400, self._error("malformed query", "malformed_query")
        found = [one for one in self.papers if (not ids or one.id in ids or f"{one.id}v{one.version}" in ids)]
        found = [one for one in found if _fits(one, query)]
        if request.query.get("sortBy") == "lastUpdatedDate":
            found.sort(key=lambda one: one.updated, reverse=True)
        page = found[int(start) : int(start) + int(most)]
        return 200, self._feed(page, len(found), int(start), query)

    def _feed(self, page: list[Paper], total: int, start: int, query: str) -> bytes:
        entries = "".join(self._entry(one) for one in page)
        return f"""<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <link href="http://arxiv.org/api/query?search_query={quote(query)}" rel="self" type="application/atom+xml"/>
  <title type="html">ArXiv Query: search_query={escape(query)}</title>
  <id>http://arxiv.org/api/cHxbiOdZaP56ODnBPIenZhzg5f8</id>
  <updated>2026-11-30T00:00:00-05:00</updated>
  <opensearch:totalResults xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">{total}</opensearch:totalResults>
  <opensearch:startIndex xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">{start}</opensearch:startIndex>
  <opensearch:itemsPerPage xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">{len(page)}</opensearch:itemsPerPage>
{entries}</feed>
""".encode()

    def _entry(self, one: Paper) -> str:
        full = f"{one.id}v{one.version}"
        arxiv = 'xmlns:arxiv="http://arxiv.org/schemas/atom"'
        authors = "".join(f"<author><name>{escape(name)}</name></author>" for name in one.authors)
        doi = f"<arxiv:doi {arxiv}>{one.doi}</arxiv:doi>" if one.doi else ""
        folded = escape(one.summary).replace(". ", ".\n")
        return f"""  <entry>
    <id>http://arxiv.org/abs/{full}</id>
    <updated>{one.updated}</updated>
    <published>{one.published}</published>
    <title>{escape(one.title)}</title>
    <summary>  {folded}
</summary>
    {authors}{doi}
    <arxiv:comment {arxiv}>{escape(one.comment)}</arxiv:comment>
    <link href="http://arxiv.org/abs/{full}" rel="alternate" type="text/html"/>
    <link title="pdf" href="{self.url}/pdf/{full}" rel="related" type="application/pdf"/>
    <arxiv:primary_category {arxiv} term="{one.category}" scheme="http://arxiv.org/schemas/atom"/>
    <category term="{one.category}" scheme="http://arxiv.org/schemas/atom"/>
  </entry>
"""

    def _error(self, said: str, anchor: str) -> bytes:
        return f"""<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <title type="html">ArXiv Query: </title>
  <opensearch:totalResults xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">1</opensearch:totalResults>
  <entry>
    <id>http://arxiv.org/api/errors#{anchor}</id>
    <title>Error</title>
    <summary>{escape(said)}</summary>
    <updated>2026-11-30T00:00:00-05:00</updated>
    <link href="http://arxiv.org/api/errors#{anchor}" rel="alternate" type="text/html"/>
    <author><name>arXiv api core</name></author>
  </entry>
</feed>
""".encode()


def _fits(one: Paper, query: str) -> bool:
    """All terms of a query of the form `all:word AND au:"name"`; enough of the grammar for what is asked here."""
    text = {
        "all": f"{one.title} {one.summary} {' '.join(one.authors)}",
        "ti": one.title,
        "au": " ".join(one.authors),
        "abs": one.summary,
        "cat": one.category,
    }
    for name, phrase, word in re.findall(r'(\w+):(?:"([^"]+)"|([^\s()]+))', query):
        if name in text and (phrase or word).lower() not in text[name].lower():
            return False
        if name == "submittedDate":
            day = re.search(r"\[(\d{8})", word)
            if day and one.published[:10].replace("-", "") < day[1]:
                return False
    return True
