"""From a question to passages of pages: by words, by meaning, by what pages are called and how they are linked.

Idea: the index finds candidates fast and roughly; each is read again, as it stands in its file now, and scored. The two
ways of finding are scaled by their best and summed, since ranks let a weak list pull a strong one down; passages of one
page speak for one another. Invariant: what fits less than FLOOR is no answer, however few others there are.
"""

from __future__ import annotations

import math
from collections import Counter as Counts
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from vademecum.errors import ModelError
from vademecum.late import dataclass, field
from vademecum.search.fuse import LEAST_COSINE, scaled
from vademecum.search.prepare import fold
from vademecum.search.query import Term, has_letters, literal
from vademecum.search.rank import Wanted
from vademecum.search.snippet import same_length
from vademecum.store import wiki as rows
from vademecum.store.message_index import tokenizer
from vademecum.store.wiki_search import WikiText, Within
from vademecum.wiki.asking import Plan, plan, telling_terms
from vademecum.wiki.counting import Counter
from vademecum.wiki.names import name_key

if TYPE_CHECKING:
    from vademecum.models.embedder import Embedder
    from vademecum.search.vectors import Floats
    from vademecum.wiki.index import Index
    from vademecum.wiki.types import PageHead, Section

FLOOR, FLOOR_OF_WORDS = 0.42, 0.5
"""The least that fits: with the meaning known, and by words alone. Of a question to the wrong folder half of the words
stand somewhere by chance."""
_REST = 0.6
"""What of the floor the further hits need, once there is one that fits."""
_PLAIN, _STEEP, _AGAINST = 0.25, 1.5, -0.07
"""The cosine of a question and a passage that says nothing for or against, what one above counts, and the most that one
below does. A question and its answer have 0.3 to 0.7, unrelated ones 0.0 to 0.25."""
_ALONE, _ALONE_MORE = 0.30, 0.025
"""The cosine that is enough without any word, and what more with each tenfold of passages: of many one is near by
chance."""
_BY_WORDS, _TOGETHER, _BY_MEANING, _TITLED = 30, 10, 30, 8
"""Passages that each way of finding brings."""
_FREQUENT, _FEW = 0.03, 500
"""A word in more than this share of the passages (and in more than _FEW) finds too many, unless there is no better."""
_TITLE, _HEADING, _ANCHOR = 4.0, 3.0, 2.0
"""What a word counts in the title, in a heading, in the text of a link to the page, against one in the text."""
_USUAL, _HALF = 150, 1.2
"""Words of a passage of usual length, and how often a word stands in one until it counts half."""
_PAGE, _PAGE_BEST = 0.5, 3
"""What the mean of the best passages of a page lends to each of them."""
_EXACT = 0.3
"""What the whole question as typed counts besides."""
_LEAST_WORDS = 0.1
_LEAST_LEVEL = 0.3  # what the best of an answer has at least, of 1
_COMPILED, _MATTER = 0.95, 0.7
"""What counts less: a compiled passage, since what it was made from says it first; front matter, which is no text."""
_LINKED, _LINKS = 0.15, 7
"""What links to the page lend at most, and the power of two of how many that takes."""
_LOOKED_AT = 20  # pages whose links are looked at
_WEAK = 0.35  # hits below this share of the best are left out
_A_PAGE, _AGAIN = 3, 0.8  # passages of one page that are shown, and what each further one counts


@dataclass(slots=True)
class Candidate:
    """A passage that may answer: what it says, and what speaks for it."""

    section: Section
    page: PageHead
    text: str
    said: str
    """The text as the index has it: without secrets."""
    counts: list[float] = field(default_factory=list[float])
    words: float = 0.0
    cover: float = 0.0
    exact: bool = False
    called: bool = False
    titled: bool = False
    """Some of the question stands in what the page is called."""
    cosine: float | None = None
    near: float = 1.0
    """The cosine that is enough alone."""
    links: int = 0
    order: float = 0.0
    score: float = 0.0
    found: tuple[str, ...] = ()
    """The terms that stand there or above it."""

    @property
    def fit(self) -> float:
        """How much of what was asked for stands there, corrected by how near the meaning is."""
        if self.called:
            return 1.0
        if self.cosine is None:
            return self.cover
        least = 0.0 if self.titled else _AGAINST
        return self.cover + _STEEP * max(self.cosine - _PLAIN, least)

    @property
    def fits(self) -> bool:
        """Whether it is an answer."""
        if self.cosine is not None and self.cosine >= self.near:
            return True
        return self.fit >= (FLOOR_OF_WORDS if self.cosine is None else FLOOR)


class Finder:
    """One question to an index that was refreshed, through the filter `within`."""

    def __init__(self, index: Index, within: Within, embedder: Embedder | None = None) -> None:
        self._index = index
        self._within = within
        self._embedder = embedder
        self._db = index.db
        self._text = WikiText(index.db, within)
        self._words: Callable[[str], list[str]] = tokenizer(index.db)
        self.plan = Plan.of_nothing()
        self.notes: list[str] = []
        self.overtaken = False
        """Some passages could not be read: their files changed after they were indexed."""

    def find(self, question: str, limit: int) -> list[Candidate]:
        """At most `limit` passages that fit, best first; those of a page that is called so come before all others."""
        if not question.strip():
            return self._latest(limit)
        self.plan = plan(question, self._text, self._words)
        if not has_letters(fold(question)):
            return []
        called = self._called(question)
        cosines = self._by_meaning(question)
        numbers = list(dict.fromkeys([*called.values(), *self._by_words(limit), *cosines]))
        found = self._read(numbers, cosines, called)
        self._score(found)
        self._link(found)
        self._order(found)
        return self._chosen(found, limit)

    def _latest(self, limit: int) -> list[Candidate]:
        passages = self._index.passages(self._text.latest(limit))
        heads = self._index.heads({section.page for section, _ in passages})
        return [Candidate(section, heads[section.page], text, text, score=1.0) for section, text in passages]

    @property
    def read_as(self) -> str:
        """How the question was read."""
        return self.plan.read_as

    @property
    def wanted(self) -> list[str]:
        """What a snippet shows: the question as typed, its terms, and their stems."""
        shown = [self.plan.query.literal]
        for term, _ in self.plan.terms:
            shown += [term.text.rstrip("…"), *self._words(term.phrases[0])[:1]]
        return shown

    # --- candidates

    def _called(self, question: str) -> dict[int, int]:
        """The pages that are called what was asked, with their first section."""
        said = question.strip().removeprefix("[[").removesuffix("]]").strip().strip('"“”')
        pages = [page for _, page, kind in rows.named(self._db, [name_key(said)]) if kind != "path" or "/" in said]
        return self._text.opening(list(dict.fromkeys(pages))) if pages else {}

    def _by_words(self, limit: int) -> list[int]:
        asked = self.plan
        if not asked.terms:
            return []
        telling = telling_terms(asked, max(_FEW, round(_FREQUENT * self._text.size)))
        some = " OR ".join(term.match for term in telling)
        found = self._text.best(some, max(_BY_WORDS, limit))
        found += self._of_others(found, max(_BY_WORDS, limit), some, limit)
        together = " AND ".join(term.match for term, _ in asked.rare_first[:6])
        if len(asked.terms) > 1:
            rarest = asked.rare_first[0][1]
            fetch = self._text.best if rarest <= 20_000 else self._text.newest
            found += fetch(together, _TOGETHER)
            called = together
        else:
            called = telling[0].match
        titled = self._text.titled(called, _TITLED)
        return [*found, *titled, *self._of_others(titled, _TITLED, called, _TITLED, titled=True)]

    def _of_others(
        self, found: Sequence[int], most: int, match: str, wanted: int, *, titled: bool = False
    ) -> list[int]:
        """Passages of further pages, where those of a few big pages took the room: fewer than `wanted` can be shown."""
        if len(found) < most:
            return []
        shown = sum(min(_A_PAGE, count) for count in Counts(self._text.of_page(found)).values())
        return self._text.spread(match, most, titled=titled) if shown < wanted else []

    def _by_meaning(self, question: str) -> dict[int, float]:
        """The passages that are nearest in meaning, by their cosines."""
        if self._embedder is None:
            return {}
        from vademecum.search.vectors import vector_index  # numpy

        try:
            self._asked: Floats = self._embedder.embed([question])[0]
        except ModelError as error:
            self.notes.append(f"Searched by words only: {error.message}")
            return {}
        self._near = vector_index(self._db, "page", self._embedder.name)
        near = self._near.nearest(self._asked, _BY_MEANING, allowed=self._text.pages())
        kept = set(self._text.allowed([number for number, _ in near]))
        return {number: cosine for number, cosine in near if number in kept}

    def _read(self, numbers: Sequence[int], cosines: dict[int, float], called: dict[int, int]) -> list[Candidate]:
        passages = self._index.passages(numbers)
        self.overtaken = len(passages) < len(numbers)
        heads = self._index.heads({section.page for section, _ in passages})
        if self._embedder is not None and cosines:
            others = [section.id for section, _ in passages if section.id not in cosines]
            cosines |= {n: float(vector @ self._asked) for n, vector in self._near.vectors_of(others).items()}
        found: list[Candidate] = []
        asked = _bare(self.plan.query.text)
        near = _ALONE + _ALONE_MORE * math.log10(self._text.size)
        for section, text in passages:
            page = heads.get(section.page)
            if page is None:
                continue
            said = self._index.indexed(section, page, text)
            one = Candidate(section, page, text, said, cosine=cosines.get(section.id), near=near)
            one.called = section.page in called or asked in map(_bare, (page.title, page.name, *page.aliases))
            found.append(one)
        return found

    # --- how well they fit

    def _score(self, found: Sequence[Candidate]) -> None:
        """What of the question stands in each: in its text, its headings, the title of its page."""
        counter = self._counter()
        typed = literal(self.plan.query.text)
        for one in found:
            path = self._index.source_of(one.page).hide(one.page.path)
            head = counter.kept(" ".join((one.page.title, *one.page.aliases, path.replace("/", " "))))
            above = counter.kept(" ".join(one.section.headings))
            long = 0.4 + 0.6 * min(4.0, len(one.said) / (6 * _USUAL))
            three = zip(counter.counts(one.said), above, head, strict=True)
            one.counts = [here / long + _HEADING * high + _TITLE * top for here, high, top in three]
            one.titled = any(head)
            self._weigh(one)
            one.exact = one.cover == 1.0 and " " in typed and typed in literal(one.said)

    def _counter(self) -> Counter:
        pairs = zip(self.plan.terms, self.plan.weights, strict=True)
        return Counter([Wanted.of(term, worth, self._words) for (term, _), worth in pairs], self._words)

    def _weigh(self, one: Candidate) -> None:
        asked = self.plan
        strengths = [count / (count + _HALF) for count in one.counts]
        one.words = sum(w * s for w, s in zip(asked.weights, strengths, strict=True)) / asked.total
        there = [place for place, count in enumerate(one.counts) if count]
        one.cover = min(1.0, sum(asked.weights[place] * asked.trusts[place] for place in there) / asked.telling)
        one.found = tuple(asked.terms[place][0].text for place in there)

    def _link(self, found: Sequence[Candidate]) -> None:
        """Let links to the best pages speak for them: how many there are, and what they call the page."""
        pages: dict[int, list[Candidate]] = {}
        for one in sorted(found, key=lambda one: -(one.words + (one.cosine or 0.0))):
            if len(pages) < _LOOKED_AT or one.page.id in pages:
                pages.setdefault(one.page.id, []).append(one)
        numbers = {source.name: number for number, source in self._index.numbers.items()}
        keys = {n: (name_key(some[0].page.name), numbers[some[0].page.source]) for n, some in pages.items()}
        told = self._text.linked(set(keys.values()), 20)
        counter = self._counter()
        for n, some in pages.items():
            count, texts = told[keys[n]]
            extra = [_ANCHOR * min(1, one) for one in counter.counts(" ".join(texts))] if texts else []
            for one in some:
                one.links = count
                if extra:
                    one.counts = [a + b for a, b in zip(one.counts, extra, strict=True)]
                    self._weigh(one)

    def _order(self, found: Sequence[Candidate]) -> None:
        """One order of all: both ways scaled by their best, the page's best passages, exact words, links."""
        if not found:
            return
        meant = [one.cosine or 0.0 for one in found]
        orders = [
            a + b for a, b in zip(scaled([one.words for one in found], 0.1), scaled(meant, LEAST_COSINE), strict=True)
        ]
        pages: dict[int, list[float]] = {}
        for one, order in zip(found, orders, strict=True):
            pages.setdefault(one.page.id, []).append(order)
        lent = {n: sum(sorted(some, reverse=True)[:_PAGE_BEST]) / _PAGE_BEST for n, some in pages.items()}
        for one, order in zip(found, orders, strict=True):
            one.order = order + _PAGE * lent[one.page.id] + (_EXACT if one.exact else 0.0)
            one.order += _LINKED * min(1.0, math.log2(1 + one.links) / _LINKS)
            if one.section.compiled:
                one.order *= _COMPILED
            if one.text.startswith("---\n"):
                one.order *= _MATTER
        best = max(one.order for one in found) or 1.0
        level = min(1.0, max((max(one.fit, _LEAST_LEVEL) for one in found if not one.called), default=1.0))
        for one in found:
            one.score = one.order / best * level

    def _chosen(self, found: Sequence[Candidate], limit: int) -> list[Candidate]:
        first = [one for one in found if one.called]
        if not first and not any(one.fits for one in found):
            return []
        kept = [one for one in found if one.called or one.fits or one.fit >= _REST * FLOOR]
        kept.sort(key=lambda one: (not one.called, -one.score, one.page.id, one.section.first))
        least = _WEAK * max((one.score for one in kept), default=0.0)
        chosen: list[Candidate] = []
        times: dict[int, int] = {}
        for one in kept:
            again = times.get(one.page.id, 0)
            if not _is_entry(one.section):
                if again >= (1 if one.called else _A_PAGE):
                    one.called = False
                    if again >= _A_PAGE:
                        continue
                one.score *= _AGAIN**again
                times[one.page.id] = again + 1
            if one.called:
                one.score = 1.0
            if one.called or one.score >= least:
                chosen.append(one)
        chosen.sort(key=lambda one: (not one.called, -one.score, one.page.id, one.section.first))
        return mixed(chosen, limit)


def mixed(chosen: Sequence[Candidate], limit: int) -> list[Candidate]:
    """The first `limit`, of which entries of one log take no more than half while other pages have something."""
    times = Counts[int]()
    first, rest = list[Candidate](), list[Candidate]()
    for one in chosen:
        times[one.page.id] += 1
        (first if times[one.page.id] <= max(_A_PAGE, limit // 2) else rest).append(one)
    kept = {id(one) for one in (first + rest)[:limit]}
    return [one for one in chosen if id(one) in kept]


def _is_entry(section: Section) -> bool:
    return section.time_ms is not None or bool(section.block and section.author)


def _bare(text: str) -> str:
    """A name as people may type it: without case, diacritics and quotes."""
    return same_length(literal(text)).strip("\"'“”[]")


def why(one: Candidate, terms: Iterable[Term]) -> str:
    """What speaks for a passage, in a few words."""
    names = [term.text for term in terms]
    parts: list[str] = []
    if one.called:
        parts.append("called so")
    if one.exact:
        parts.append("as typed")
    elif one.found:
        parts.append(
            "all words" if len(one.found) == len(names) and len(names) > 1 else f"words: {', '.join(one.found[:6])}"
        )
    if one.cosine is not None and one.cosine > _PLAIN:
        parts.append(f"meaning {one.cosine:.2f}")
    if one.links:
        parts.append("1 link to it" if one.links == 1 else f"{one.links} links to it")
    return "; ".join(parts) or "newest"
