"""The `session_search` tool: one call in four shapes, told apart by its arguments.

Idea: `query` searches, `message_id` shows what stands round a message, `session_id` alone reads a session's head and
tail, nothing at all lists recent sessions; every answer has ids to go on from. Invariant: an answer is at most
BUDGET characters of JSON, whatever was stored and whatever was asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from vademecum.clock import iso, parse_iso
from vademecum.errors import UsageError, VademecumError
from vademecum.model import ToolSpec
from vademecum.search.snippet import snippet
from vademecum.sessions.history import ROLES, History
from vademecum.sessions.types import Message, Order, SessionHit, SessionInfo

BUDGET = 6_000
"""Characters of a whole answer as JSON, unless the call asks for fewer."""
LEAST = 1_000

Answer = dict[str, Any]
Summarise = Callable[[str, Sequence[SessionHit]], str]
_Item = TypeVar("_Item")
_CUTS = (1_200, 700, 400, 240, 120, 60)  # characters of one message, tried until the answer fits
_TOOL_SHARE = 4  # output of tools is cut this much shorter

SESSION_SEARCH_TOOL = ToolSpec(
    name="session_search",
    description=(
        "Search everything that was ever said with this user (nobody else's can be reached), word for word. With "
        "`query`: any words, a question, a quoted phrase, a file, a number; hits have a message_id. With `message_id`: "
        "the messages round it. With `session_id` alone: how that session began and ended. With nothing: recent "
        "sessions. No hit is no proof that something was never said: try other words first."
    ),
    parameters={
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "message_id": {"type": "integer"},
            "session_id": {"type": "string", "description": "Read it, or search only in it."},
            "role": {"type": "string", "enum": list(ROLES)},
            "channel": {"type": "string"},
            "since": {"type": "string", "description": "ISO 8601 date or time."},
            "until": {"type": "string", "description": "ISO 8601; before this."},
            "order": {"type": "string", "enum": ["relevance", "newest"]},
            "limit": {"type": "integer", "minimum": 1, "maximum": 50},
            "summary": {"type": "boolean", "description": "Also answer the query from the hits, citing ids."},
        },
    },
)


def session_search_tool(
    history: History, args: Mapping[str, object], *, summarise: Summarise | None = None, budget: int = BUDGET
) -> Answer:
    """Carry out one call. Raises UsageError for arguments of the wrong type, NotFoundError for an unknown id.

    `summarise(query, hits)` writes the summary that `summary: true` asks for; None means that there is no model.
    """
    query = _text(args, "query")
    message_id = _number(args, "message_id")
    session_id = _text(args, "session_id") or None
    if query.strip():
        return _search(history, query, args, summarise, budget)
    if message_id is not None:
        return _scroll(history, message_id, _limit(args, 10), budget)
    if session_id is not None:
        return _read(history, session_id, _limit(args, 12), budget)
    return _browse(history, args, budget)


def _search(
    history: History, query: str, args: Mapping[str, object], summarise: Summarise | None, budget: int
) -> Answer:
    order = _text(args, "order") or "relevance"
    found = history.search(
        query,
        limit=_limit(args, 10),
        role=_role(args),
        channel=_text(args, "channel") or None,
        since=_time(args, "since"),
        until=_time(args, "until"),
        session_id=_text(args, "session_id") or None,
        order=_order(order),
    )
    head: Answer = {"query": found.query[:500], "hint": found.hint[:800]}
    if args.get("summary") is True and found.results:
        head |= _summary(query, found.results, summarise)
    return _fit(head, found.results, _hit, "search again with fewer words or a smaller limit", budget)


def _summary(query: str, hits: Sequence[SessionHit], summarise: Summarise | None) -> Answer:
    if summarise is None:
        return {"summary": None, "note": "No model is configured, so there is no summary; these are the excerpts."}
    try:
        return {"summary": summarise(query, hits)[:2_500]}
    except VademecumError as error:  # the hits are worth having without it
        return {"summary": None, "note": f"No summary: {error.message} These are the excerpts."[:500]}


def _scroll(history: History, message_id: int, limit: int, budget: int) -> Answer:
    side = max(1, limit // 2)
    messages = history.around(message_id, side, side)
    info = history.find(messages[0].session_id)
    head = {
        "query": f"round message {message_id}",
        "hint": f"Go on with message_id {messages[0].id} for what came before, {messages[-1].id} for what came after.",
        "session": _session(info, 200),
    }
    middle = next(place for place, message in enumerate(messages) if message.id == message_id)
    nearest = sorted(range(len(messages)), key=lambda place: (abs(place - middle), place))
    return _fit(head, messages, _message, "the message_id of a shown message", budget, nearest)


def _read(history: History, session_id: str, limit: int, budget: int) -> Answer:
    info = history.find(session_id)
    first, last = history.read(session_id, max(1, limit // 3), max(1, limit - limit // 3))
    messages = [*first, *last]
    left_out = info.messages - len(messages)
    hint = f"{left_out} messages between the head and the tail are not shown" if left_out > 0 else ""
    if hint and first:
        hint += f"; go on with message_id {first[-1].id}, or search in this session"
    head = {"query": f"session {info.id}", "hint": f"{hint}." if hint else "", "session": _session(info, 200)}
    ends = sorted(range(len(messages)), key=lambda place: min(place, len(messages) - 1 - place))
    return _fit(head, messages, _message, "a message_id", budget, ends)


def _browse(history: History, args: Mapping[str, object], budget: int) -> Answer:
    until = _time(args, "until")
    infos = history.recent(_limit(args, 15), before=until, channel=_text(args, "channel") or None)
    since = _time(args, "since")
    infos = [info for info in infos if since is None or info.last_at >= since]
    head: Answer = {"query": "recent sessions", "hint": "Give a session_id to read one, a query to search in all."}
    if not infos:
        head["hint"] = "There are no sessions yet, or none in that time and channel."
    return _fit(head, infos, _session, "`until` with the last_at of the last one", budget)


# --- the budget


def _fit(
    head: Answer,
    items: Sequence[_Item],
    show: Callable[[_Item, int], Answer],
    go_on: str,
    budget: int,
    first: Sequence[int] | None = None,
) -> Answer:
    """`head` with as many items, as long, as the budget allows; `first` gives their places by importance."""
    order = list(range(len(items))) if first is None else list(first)
    shown: Answer = {"results": [], **head}
    for cut in _CUTS:
        shown = {"results": [show(item, cut) for item in items], **head}
        if _size(shown) <= budget:
            return shown
    note = f"Not all fitted into the answer; for the others: {go_on}."
    head = {**head, "hint": f"{head['hint']} {note}".strip()}
    for count in range(len(items) - 1, -1, -1):
        kept = sorted(order[:count])
        shown = {"results": [show(items[place], _CUTS[-1]) for place in kept], **head}
        if _size(shown) <= budget:
            break
    return shown


def _size(answer: Answer) -> int:
    return len(json.dumps(answer, ensure_ascii=False))


# --- one item


def _hit(hit: SessionHit, cut: int) -> Answer:
    return {
        "session_id": hit.session_id,
        "message_id": hit.message_id,
        "role": hit.role,
        "time": iso(hit.time),
        "snippet": snippet(hit.snippet, (), cut) if len(hit.snippet) > cut else hit.snippet,
        "score": hit.score,
        **({"title": _short(hit.title, 80)} if hit.title else {}),
        "why": _short(hit.why, 120),
    }


def _message(message: Message, cut: int) -> Answer:
    shown: Answer = {"message_id": message.id, "role": message.role, "time": iso(message.time)}
    if message.role == "tool":
        shown["tool"] = _short(message.tool or "", 60)
        shown["content"] = _short(message.content, max(60, cut // _TOOL_SHARE))
    else:
        shown["content"] = _short(message.content, cut)
    if message.calls:
        names = [str(call.get("name", "?")) for call in message.calls]
        shown["calls"] = _short(", ".join(names), 120)
    return shown


def _session(info: SessionInfo, cut: int) -> Answer:
    return {
        "session_id": info.id,
        "title": _short(info.title, min(cut, 120)),
        "channel": _short(info.channel, 40),
        "opened_at": iso(info.opened_at),
        "last_at": iso(info.last_at),
        "messages": info.messages,
        **({"ended": _short(info.end_reason or "closed", 40)} if info.ended_at is not None else {}),
    }


def _short(text: str, length: int) -> str:
    """The head of a text, and how much more there is."""
    if len(text) <= length:
        return text
    return f"{text[:length].rstrip()}… [{len(text):,} characters]"


# --- arguments


def _text(args: Mapping[str, object], name: str) -> str:
    value = args.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UsageError(f"`{name}` must be a text; nothing was searched.", f'Write it as "{name}": "...".')
    return value


def _number(args: Mapping[str, object], name: str) -> int | None:
    value = args.get(name)
    if isinstance(value, str) and value.strip().lstrip("#").isdecimal():
        value = int(value.strip().lstrip("#"))
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise UsageError(f"`{name}` must be a whole number; nothing was searched.", f'Write it as "{name}": 12.')
    return value


def _limit(args: Mapping[str, object], usual: int) -> int:
    limit = args.get("limit")
    if isinstance(limit, int) and limit < 0:
        raise UsageError(f"`limit` is {limit}; nothing was searched.", "Use 1 to 50, or leave it out.")
    return max(1, min(50, _number(args, "limit") or usual))


def _time(args: Mapping[str, object], name: str) -> int | None:
    text = _text(args, name)
    if not text.strip():
        return None
    try:
        return parse_iso(text)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"`{name}` is not a date or time: {text[:60]!r}; nothing was searched.", 'Write it as "2026-11-29".'
        ) from error


def _role(args: Mapping[str, object]) -> str | None:
    role = _text(args, "role")
    if role and role not in ROLES:
        raise UsageError(f"{role[:60]!r} is not a role; nothing was searched.", f"Use one of {', '.join(ROLES)}.")
    return role or None


def _order(text: str) -> Order:
    known: dict[str, Literal["relevance", "newest"]] = {"relevance": "relevance", "newest": "newest"}
    if text not in known:
        raise UsageError(f"{text[:60]!r} is not an order; nothing was searched.", "Use relevance or newest.")
    return known[text]
