"""The tools `wiki_search` and `wiki_read` as models see them.

Idea: one finds places, the other reads them; both give what to ask for next. Invariant: neither writes, and an answer
is bounded whatever is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from vademecum.clock import iso
from vademecum.errors import UsageError
from vademecum.model import ToolSpec

if TYPE_CHECKING:
    from vademecum.wiki.answer import WikiAnswer, WikiHit, WikiPage

BUDGET, MOST_TOKENS = 1_500, 6_000
"""Tokens of one answer, and the most that may be asked for."""
USUAL, MOST = 8, 30

Answer = dict[str, Any]

_LIST = {"type": "array", "items": {"type": "string"}}

WIKI_SEARCH_TOOL = ToolSpec(
    name="wiki_search",
    description=(
        "What is written in the vault and other folders of Markdown: notes, projects, decisions, the shared log. Ask "
        'in your own words, or by a page\'s title; "" with a filter lists the newest. Each hit has its place '
        "(`lines`), who wrote it and when; cite the place, read it with `wiki_read`. Says so when nothing fits."
    ),
    parameters={
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "sources": _LIST,
            "tags": _LIST,
            "types": _LIST,
            "since": {"type": "string", "description": "Date, or words."},
            "limit": {"type": "integer", "minimum": 1, "maximum": MOST},
            "budget": {"type": "integer", "minimum": 100, "maximum": MOST_TOKENS, "description": "Tokens."},
        },
        "required": ["query"],
    },
)

WIKI_READ_TOOL = ToolSpec(
    name="wiki_read",
    description=(
        "Read a page by path, title or alias, or a part of it: `lines` (`L10-L24`, as a hit gives them; `L10-`: from "
        "there on), or what stands under a `heading`. Long pages come in parts; `next` says how to go on."
    ),
    parameters={
        "type": "object",
        "properties": {
            "page": {"type": "string"},
            "lines": {"type": "string"},
            "heading": {"type": "string"},
            "budget": {"type": "integer", "minimum": 100, "maximum": MOST_TOKENS, "description": "Tokens."},
        },
        "required": ["page"],
    },
)


def search_arguments(args: Mapping[str, object]) -> dict[str, Any]:
    """What a model asked for, as the arguments of `Wiki.search`, but `since`. Raises UsageError."""
    wanted: dict[str, Any] = {name: _texts(args, name) for name in ("sources", "tags", "types") if args.get(name)}
    wanted["query"] = _text(args, "query", needed=not (wanted or args.get("since")))
    return wanted | {"limit": _number(args, "limit", USUAL, 1, MOST), "budget": _budget(args)}


def read_arguments(args: Mapping[str, object]) -> dict[str, Any]:
    """The same for `Wiki.read`."""
    wanted: dict[str, Any] = {"page": _text(args, "page", needed=True), "budget": _budget(args)}
    return wanted | {name: _text(args, name) for name in ("lines", "heading") if args.get(name)}


def search_answer(found: WikiAnswer) -> Answer:
    """The answer to a search."""
    answer: Answer = {"success": True, "results": [_hit(hit) for hit in found.results]}
    if found.results:
        return answer | {"note": found.hint or "Read a place before you rely on it, and cite it."}
    return answer | {"note": f"Nothing found. Read as: {found.understood}. {found.hint}".strip()}


def _hit(hit: WikiHit) -> Answer:
    shown: Answer = {"page": hit.page, "lines": hit.lines}
    if hit.heading:
        shown["heading"] = " > ".join(hit.heading)
    shown |= {"snippet": hit.snippet, "time": iso(hit.time)[:10]}
    if hit.author:
        shown["author"] = hit.author
    return shown | {"origin": hit.whence, "score": hit.score, "why": hit.why}


def read_answer(part: WikiPage) -> Answer:
    """The answer to a read."""
    answer: Answer = {"success": True, "page": part.page, "title": part.title, "lines": part.lines, "text": part.text}
    answer |= {"of": part.of, "time": iso(part.time)[:10]}
    if part.author:
        answer["author"] = part.author
    if part.tags:
        answer["tags"] = list(part.tags[:20])
    if part.next:
        answer["next"] = f'lines: "{part.next}"'
        answer["headings"] = [f"L{line} {text}" for line, text in part.headings]
    if part.problem:
        answer["problem"] = part.problem
    return answer


def _text(args: Mapping[str, object], name: str, *, needed: bool = False) -> str:
    value = args.get(name)
    if isinstance(value, str) and (value.strip() or not needed):
        return value
    raise UsageError(f"`{name}` must be a text; nothing was looked for.", f'Write it as "{name}": "...".')


def _texts(args: Mapping[str, object], name: str) -> list[str]:
    given = args.get(name)
    items = cast("list[object]", given) if isinstance(given, list) else [given]
    if not all(isinstance(one, str) for one in items):
        raise UsageError(
            f"`{name}` must be a list of texts; nothing was looked for.", f'Write it as "{name}": ["..."].'
        )
    return [str(one) for one in items]


def _number(args: Mapping[str, object], name: str, usual: int, least: int, most: int) -> int:
    value = args.get(name)
    if value is None:
        return usual
    if not isinstance(value, int) or isinstance(value, bool):
        raise UsageError(f"`{name}` must be a number; nothing was looked for.")
    return max(least, min(most, value))


def _budget(args: Mapping[str, object]) -> int:
    return _number(args, "budget", BUDGET, 100, MOST_TOKENS)
