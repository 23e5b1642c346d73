"""Many signals, one order: scores of passages of conversations, fused.

Idea: each signal is scaled by its best value, so that one which says little about any passage does not outvote one that
says much about a few, and the scaled ones are summed; ranks are never mixed, for a weak list would pull a strong one
down. All weights are round, most are 1. Invariant: pure arithmetic on lists of equal length; the same input gives the
same order, and a signal that is missing only makes the others count for more.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Final

WEIGHTS: Final = {"words": 1.0, "window": 1.5, "pair": 0.5, "meaning": 1.0, "meaning_pair": 1.0, "meaning_full": 0.5}
"""What fits the question; scaled to SHARE in all. `window` and `pair` are the passage with its neighbours."""
SHARE = 3.0
BESIDES: Final = {"speaker": 1.0, "tells": 0.75, "kind": 1.0}
"""What makes an answer likely besides: who says it, that it tells something of its own, that it holds a time."""
GROUP, GROUP_BEST = 1.0, 3
"""The mean of the best GROUP_BEST passages of a conversation, given to each of its passages."""
LEAST: Final = {"words": 0.1, "window": 0.1, "pair": 0.1}
"""What the best value of a signal is taken for at least; less says nothing."""
LEAST_COSINE = 0.2


def scaled(values: Sequence[float], least: float) -> list[float]:
    """`values` as shares of the best of them (at least `least`); what is negative becomes 0."""
    best = max((*values, least))
    return [max(0.0, value) / best for value in values]


def fused(
    fits: Mapping[str, Sequence[float]], besides: Mapping[str, Sequence[float]], groups: Sequence[Hashable]
) -> list[float]:
    """One score a passage. `fits` has signals of WEIGHTS, `besides` of BESIDES (0 to 1), `groups` the conversation."""
    total = sum(WEIGHTS[name] for name in fits) or 1.0
    scores = [0.0] * len(groups)
    for name, values in fits.items():
        share = SHARE * WEIGHTS[name] / total
        for place, value in enumerate(scaled(values, LEAST.get(name, LEAST_COSINE))):
            scores[place] += share * value
    best: dict[Hashable, list[float]] = {}
    for group, score in zip(groups, scores, strict=True):
        best.setdefault(group, []).append(score)
    means = {group: sum(sorted(each, reverse=True)[:GROUP_BEST]) / GROUP_BEST for group, each in best.items()}
    together = scaled([means[group] for group in groups], LEAST_COSINE)
    for place in range(len(scores)):
        scores[place] += GROUP * together[place]
        scores[place] += sum(BESIDES[name] * values[place] for name, values in besides.items())
    return scores
