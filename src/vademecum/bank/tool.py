"""The tools `recall` and `retain`: how a model asks the bank, and tells it something.

Idea: small schemas, answers that lead back to what was said and that end the exchange. Invariant: an answer of `recall`
is at most BUDGET tokens of results, and what came from outside is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from vademecum.bank.types import KINDS, Kind
from vademecum.clock import day_of, iso, last_day
from vademecum.errors import UsageError
from vademecum.model import ToolSpec

if TYPE_CHECKING:
    from vademecum.bank.recall.periods import Period
    from vademecum.bank.types import Recall, RecallHit, Retained

BUDGET = 1_200
"""Tokens of what one recall hands to a model."""
USUAL, MOST = 8, 30

RECALL_TOOL = ToolSpec(
    name="recall",
    description=(
        "What was learnt in all conversations with this user: decisions, facts, failures and their fixes, preferences, "
        'conventions; and the turns that say it. Ask in your own words, times included ("last March"). Each hit '
        "names the session and message it is from; `session_search` opens it. Nothing found is no proof."
    ),
    parameters={
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "kinds": {"type": "array", "items": {"type": "string", "enum": [*KINDS, "turn"]}},
            "as_of": {"type": "string", "description": "Date, or words: what held then."},
            "since": {"type": "string", "description": "Date, or words: learnt from then on."},
            "limit": {"type": "integer", "minimum": 1, "maximum": MOST},
        },
        "required": ["query"],
    },
)

RETAIN_TOOL = ToolSpec(
    name="retain",
    description=(
        "Keep one statement that will matter later and is too special for `memory`: one sentence, complete in itself "
        '(names, numbers, paths; no "it", no "today"). What the conversation says plainly is found by itself; use '
        "this for what you concluded, a failure with its fix, a decision with its reason. `replaces`: the id of a "
        "fact that is no longer true."
    ),
    parameters={
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "kind": {"type": "string", "enum": list(KINDS)},
            "fix": {"type": "string", "description": "Of a failure: what helped."},
            "valid_from": {"type": "string", "description": "Date, when it did not begin now."},
            "replaces": {"type": "string"},
        },
        "required": ["text"],
    },
)

Answer = dict[str, object]


def recall_arguments(args: Mapping[str, object], now: int) -> dict[str, Any]:
    """What a model asked for, as the arguments of `Bank.recall`. Raises UsageError for what cannot be meant."""
    query = args.get("query")
    if not isinstance(query, str):
        raise UsageError("`query` must be a text; nothing was looked for.", 'Write it as "query": "...".')
    wanted: dict[str, Any] = {"query": query, "limit": _limit(args.get("limit")), "budget": BUDGET}
    kinds = _kinds(args.get("kinds"))
    if kinds:
        wanted["what"] = "turns" if kinds == ["turn"] else "all" if "turn" in kinds else "facts"
        wanted["kinds"] = [kind for kind in kinds if kind != "turn"] or None
    if (then := time_of(args, "as_of", now)) is not None:
        wanted["as_of"] = then
    if (since := time_of(args, "since", now)) is not None:
        wanted["since"] = since[0]
    return wanted


def _kinds(given: object) -> list[str]:
    if given is None:
        return []
    items: list[object] = cast("list[object]", given) if isinstance(given, list) else [given]
    if wrong := [one for one in items if one not in KINDS and one != "turn"]:
        raise UsageError(f"{wrong[0]!r} is not a kind; nothing was looked for.", f"Use {', '.join(KINDS)} or turn.")
    return [str(one) for one in items]


def _limit(given: object) -> int:
    return max(1, min(MOST, given)) if isinstance(given, int) and not isinstance(given, bool) else USUAL


def time_of(args: Mapping[str, object], name: str, now: int) -> Period | None:
    """The whole of the time under `name`, a date or words; None when there is none. Raises UsageError."""
    from vademecum.bank.recall.periods import time_given

    given = args.get(name)
    return None if given is None else time_given(str(given), f"`{name}`", now)


def recall_answer(found: Recall, outside: list[str]) -> Answer:
    """The answer to a recall; `outside` are the ids of those hits that came from elsewhere."""
    answer: Answer = {"success": True, "done": True, "results": [_hit(hit) for hit in found.results]}
    note = "" if found.results else "Nothing that fits is known. "
    answer["note"] = f"{note}{found.hint}".strip() or "This is all that fits; the same question gives the same answer."
    if outside:
        answer["outside"] = outside
    return answer


def _hit(hit: RecallHit) -> Answer:
    shown: Answer = {"id": hit.id, "kind": hit.kind, "text": hit.text, "time": iso(hit.time)[:10]}
    if hit.valid_from is not None:
        shown["valid_from"] = day_of(hit.valid_from)
    if hit.valid_to is not None:
        shown["valid_to"] = last_day(hit.valid_to)
    source = next((one for one in hit.evidence if one.message is not None), None)
    if source is not None:
        shown |= {"session_id": source.session, "message_id": source.message}
        if source.speaker:
            shown["said_by"] = source.speaker
    return shown


def retain_arguments(args: Mapping[str, object]) -> tuple[str, Kind, dict[str, str], str]:
    """Text, kind, detail and the id that it replaces. Raises UsageError for what cannot be kept."""
    text = args.get("text")
    if not isinstance(text, str) or not text.strip():
        raise UsageError("`text` is missing or not a text; nothing was kept.", 'Write it as "text": "...".')
    kind = args.get("kind") or "fact"
    if kind not in KINDS:
        raise UsageError(f"{kind!r} is not a kind; nothing was kept.", f"Use one of {', '.join(KINDS)}.")
    fix, replaces = args.get("fix"), args.get("replaces")
    detail = {"fix": fix.strip()} if isinstance(fix, str) and fix.strip() else {}
    return text, kind, detail, replaces.strip() if isinstance(replaces, str) else ""


def retain_answer(kept: Retained) -> Answer:
    """The answer to a retain."""
    answer: Answer = {"success": True, "done": True, "outcome": kept.outcome, "message": kept.message}
    if kept.outcome == "staged":
        answer |= {"staged": True, "proposal": kept.proposal}
    elif kept.fact is not None:
        answer["id"] = kept.fact.id
    if kept.contradicts:
        answer["contradicts"] = list(kept.contradicts)
    return answer | {"note": "Do not repeat this call."}
