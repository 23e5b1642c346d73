"""Questions to the full-text index of pages.

Idea: small queries for the room above to combine; how often a word occurs is read from the index's own vocabulary, so
that frequent words can be left out before bm25 walks through their passages. Invariant: every number of a section that
is returned passed the filter `Within`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from vademecum.late import dataclass
from vademecum.store.connection import Database, Value

COUNTED = 1_000
"""Passages up to which those that match are counted; beyond it is an estimate."""
_EXACTLY = 5_000
"""Passages up to which all are counted; beyond it their numbers say about how many there are."""
_WEIGHTS = "bm25(wiki_text, 4.0, 3.0, 1.0)"
"""What a word in the title, in the headings and in the text is worth."""
_JOIN = "wiki_text CROSS JOIN wiki_sections s ON s.n = wiki_text.rowid CROSS JOIN wiki_pages p ON p.n = s.page"
_IN = 500


@dataclass(frozen=True, slots=True)
class Within:
    """What is looked at. `sources` by number, `tags` and `types` in lower case (any of them; a tag also covers the tags
    below it), `since` in UTC ms: the entry's own time, else what the page says, else the file's."""

    sources: tuple[int, ...] | None = None
    tags: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    since: int | None = None

    @property
    def empty(self) -> bool:
        """True when nothing is left out."""
        return self == Within()

    def where(self) -> tuple[str, dict[str, Value]]:
        """The condition over `s` (sections) and `p` (pages), and its values."""
        parts: list[str] = ["1"]
        values: dict[str, Value] = {}
        if self.sources is not None:
            parts.append(f"p.source IN ({', '.join(str(int(n)) for n in self.sources)})")
        if self.types:
            marks = _named(values, "type", self.types)
            parts.append(f"lower(p.type) IN ({marks})")
        if self.tags:
            tests: list[str] = []
            for name in _named(values, "tag", self.tags).split(", "):
                test = f"lower(value) = {name} OR substr(lower(value), 1, length({name}) + 1) = {name} || '/'"
                tests.append(f"EXISTS (SELECT 1 FROM json_each(s.tags) WHERE {test})")
                tests.append(f"EXISTS (SELECT 1 FROM json_each(p.tags) WHERE {test})")
            parts.append(f"({' OR '.join(tests)})")
        if self.since is not None:
            values["since"] = self.since
            parts.append("coalesce(s.time, p.updated, p.created, p.modified) >= :since")
        return " AND ".join(parts), values


def _named(values: dict[str, Value], name: str, given: Iterable[str]) -> str:
    names: list[str] = []
    for number, value in enumerate(given):
        values[f"{name}{number}"] = value
        names.append(f":{name}{number}")
    return ", ".join(names)


def _titled(expression: str) -> str:
    return f"{{title headings}} : ({expression})"


class WikiText:
    """The index through the filter `within`."""

    def __init__(self, db: Database, within: Within) -> None:
        self._db = db
        self._within = within
        row = db.one("SELECT (SELECT min(n) FROM wiki_sections), (SELECT max(n) FROM wiki_sections)")
        self._first, self._last = (1, 0) if row is None or row[1] is None else (int(row[0]), int(row[1]))
        counted = db.one("SELECT count(*) FROM (SELECT 1 FROM wiki_sections LIMIT ?)", (_EXACTLY,))
        exact = 0 if counted is None else int(counted[0])
        self.size = max(1, exact if exact < _EXACTLY else self._last - self._first + 1)
        """About how many passages there are."""

    def known(self, words: Collection[str]) -> dict[str, int]:
        """Those of `words` (as the tokenizer gives them) that stand in the index, with the number of passages."""
        marks = ", ".join("?" * len(words))
        return dict(self._db.all(f"SELECT term, doc FROM wiki_words WHERE term IN ({marks})", tuple(words)))

    def vocabulary(self, start: str, limit: int) -> list[tuple[str, int]]:
        """Words of the index that begin with `start`, with the number of their passages."""
        rows = self._db.all(
            "SELECT term, doc FROM wiki_words WHERE term >= ? AND term < ? LIMIT ?", (start, start + "\uf8fe", limit)
        )
        return [(row[0], row[1]) for row in rows]

    def frequency(self, expression: str) -> int:
        """How many passages match, whatever the filter; above COUNTED an estimate from how dense the newest are."""
        row = self._db.one(
            "SELECT count(*), min(rowid) FROM (SELECT rowid FROM wiki_text WHERE wiki_text MATCH ?"
            " ORDER BY rowid DESC LIMIT ?)",
            (expression, COUNTED),
        )
        if row is None or row[0] < COUNTED:
            return 0 if row is None else int(row[0])
        return max(COUNTED, round(self.size * COUNTED / (self._last - int(row[1]) + 1)))

    def best(self, expression: str, limit: int) -> list[int]:
        """Numbers of matching sections by bm25. Walks through all matches: for what is not too frequent."""
        return self._matching(expression, limit, _WEIGHTS)

    def spread(self, expression: str, limit: int, *, titled: bool = False) -> list[int]:
        """The best section of each page, the best pages first; `titled`: as `titled` matches. Walks through all."""
        where, values = self._within.where()
        sql = (
            f"WITH hits AS MATERIALIZED (SELECT s.n AS n, s.page AS page, {_WEIGHTS} AS worth FROM {_JOIN}"
            f" WHERE wiki_text MATCH :match AND {where})"
            " SELECT n, min(worth) FROM hits GROUP BY page ORDER BY min(worth), n LIMIT :limit"
        )
        match = _titled(expression) if titled else expression
        return [row[0] for row in self._db.all(sql, {**values, "match": match, "limit": limit})]

    def of_page(self, numbers: Sequence[int]) -> list[int]:
        """The pages of sections, one for each section that is there."""
        some = ", ".join(str(int(n)) for n in numbers)
        return [row[0] for row in self._db.all(f"SELECT page FROM wiki_sections WHERE n IN ({some})")]

    def newest(self, expression: str, limit: int) -> list[int]:
        """Numbers of matching sections, indexed last first; stops early."""
        return self._matching(expression, limit, "wiki_text.rowid DESC")

    def titled(self, expression: str, limit: int) -> list[int]:
        """Numbers of sections whose page's title, aliases or headings match, best first."""
        return self._matching(_titled(expression), limit, _WEIGHTS)

    def _matching(self, expression: str, limit: int, order: str) -> list[int]:
        among, where, values = "wiki_text", "1", dict[str, Value]()
        if not self._within.empty:
            among = _JOIN
            where, values = self._within.where()
        sql = f"SELECT wiki_text.rowid FROM {among} WHERE wiki_text MATCH :match AND {where}"
        values |= {"match": expression, "limit": limit}
        rows = self._db.all(f"{sql} ORDER BY {order} LIMIT :limit", values)
        return [row[0] for row in rows]

    def allowed(self, numbers: Sequence[int]) -> list[int]:
        """Those of `numbers` that are there and that the filter lets through, in their order."""
        where, values = self._within.where()
        found: set[int] = set()
        for start in range(0, len(numbers), _IN):
            some = ", ".join(str(int(n)) for n in numbers[start : start + _IN])
            rows = self._db.all(
                f"SELECT s.n FROM wiki_sections s CROSS JOIN wiki_pages p ON p.n = s.page"
                f" WHERE s.n IN ({some}) AND {where}",
                values,
            )
            found.update(row[0] for row in rows)
        return [n for n in numbers if n in found]

    def pages(self) -> frozenset[int] | None:
        """The pages of which a section may pass the filter; None: all."""
        if self._within.empty:
            return None
        where, values = self._within.where()
        rows = self._db.all(
            f"SELECT DISTINCT p.n FROM wiki_pages p CROSS JOIN wiki_sections s ON s.page = p.n WHERE {where}", values
        )
        return frozenset(row[0] for row in rows)

    def latest(self, limit: int) -> list[int]:
        """Numbers of the newest sections by their own time, else their page's: one a page, entries of logs each."""
        where, values = self._within.where()
        rows = self._db.all(
            "SELECT s.n FROM wiki_pages p CROSS JOIN wiki_sections s ON s.page = p.n"
            f" WHERE {where} AND (s.time IS NOT NULL"
            " OR s.first = (SELECT min(first) FROM wiki_sections WHERE page = p.n))"
            " ORDER BY coalesce(s.time, p.updated, p.created, p.modified) DESC LIMIT :limit",
            {**values, "limit": limit},
        )
        return [row[0] for row in rows]

    def opening(self, pages: Sequence[int]) -> dict[int, int]:
        """The first section that the filter lets through, of each of those pages."""
        where, values = self._within.where()
        numbers = ", ".join(str(int(n)) for n in pages)
        rows = self._db.all(
            f"SELECT s.page, s.n FROM wiki_sections s CROSS JOIN wiki_pages p ON p.n = s.page"
            f" WHERE s.page IN ({numbers}) AND {where} ORDER BY s.page, s.first DESC",
            values,
        )
        return {row[0]: row[1] for row in rows}

    def linked(self, keys: Collection[tuple[str, int]], each: int) -> dict[tuple[str, int], tuple[int, list[str]]]:
        """How many links of a source, by its number, say each of `keys`, and at most `each` texts that they show."""
        found: dict[tuple[str, int], tuple[int, list[str]]] = {}
        links = "FROM wiki_links l CROSS JOIN wiki_pages p ON p.n = l.page WHERE l.key = ? AND p.source = ?"
        for key, source in keys:
            row = self._db.one(f"SELECT count(*) FROM (SELECT 1 {links} LIMIT 1000)", (key, source))
            count = 0 if row is None else int(row[0])
            sql = f"SELECT DISTINCT l.text {links} AND l.text <> '' LIMIT ?"
            texts = [one[0] for one in self._db.all(sql, (key, source, each))] if count else []
            found[key, source] = (count, texts)
        return found
