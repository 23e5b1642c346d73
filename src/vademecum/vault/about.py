"""Which decisions a question is about.

Idea: decisions are few, so each is read for the question as search reads its candidates. Invariant: one that shares no
telling word with the question is no answer, so a question about something else gets none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vademecum.search.query import read
from vademecum.search.rank import Reader, Wanted, weight
from vademecum.vault.decision_text import Decision

_LEAST = 0.25
"""Share of the question, by what its words tell among the decisions, that has to be there."""


def about(question: str, among: Sequence[Decision], words: Callable[[str], list[str]]) -> list[Decision]:
    """Those of `among` that `question` is about, best first, newer before older."""
    query = read(question)
    terms = query.content or query.terms
    texts = [f"{one.text}\n{one.project}" for one in among]
    plain = [Wanted.of(term, 1.0, words) for term in terms]
    counts = [Reader(plain, "", words).counts(text) for text in texts]
    having = [sum(1 for row in counts if row[n]) for n in range(len(terms))]
    wanted = [
        Wanted.of(term, weight(count, len(among)), words) for term, count in zip(terms, having, strict=True) if count
    ]
    if not wanted:
        return []
    reader = Reader(wanted, "", words)
    scores = (reader.score(reader.read(f"{one.text}\n{one.project}"), reader.read(one.what)) for one in among)
    scored = list(zip(scores, among, strict=True))
    best = max(score for score, _ in scored)
    fit = [(score, one) for score, one in scored if score >= max(_LEAST, best / 3)]
    return [one for _, one in sorted(fit, key=lambda pair: (-pair[0], -(pair[1].time or 0)))]
