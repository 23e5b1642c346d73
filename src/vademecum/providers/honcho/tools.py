"""The five tools that Honcho gives a model.

Idea: the vendor's names and arguments. Invariant: a peer is the user or the assistant, never a name, so that no
conversation reaches somebody else's.
"""

from __future__ import annotations

from vademecum.model import ToolSpec
from vademecum.providers.honcho.options import LEVELS

_PEER = {"type": "string", "enum": ["user", "ai"], "description": "Whom it is about; default: the user."}

TOOLS = (
    ToolSpec(
        "honcho_profile",
        "Read the short card of lasting facts about the user, or replace it with `card`.",
        {
            "type": "object",
            "properties": {"peer": _PEER, "card": {"type": "array", "items": {"type": "string"}}},
        },
    ),
    ToolSpec(
        "honcho_search",
        "Search conclusions and what was said by meaning. Quick; no answer is made up.",
        {
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "max_tokens": {"type": "integer", "minimum": 50, "maximum": 2000},
                "peer": _PEER,
            },
            "required": ["query"],
        },
    ),
    ToolSpec(
        "honcho_context",
        "All that matters of what is known: the representation and the card.",
        {"type": "object", "properties": {"peer": _PEER}},
    ),
    ToolSpec(
        "honcho_reasoning",
        "Have Honcho think about a question and answer it. Slow and costly; search first.",
        {
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "reasoning_level": {"type": "string", "enum": list(LEVELS)},
                "peer": _PEER,
            },
            "required": ["query"],
        },
    ),
    ToolSpec(
        "honcho_conclude",
        "Keep a lasting conclusion, delete one by its id, or list them. Give one of conclusion, delete_id, list.",
        {
            "type": "object",
            "properties": {
                "conclusion": {"type": "string"},
                "delete_id": {"type": "string"},
                "list": {"type": "boolean"},
                "query": {"type": "string", "description": "With list: only what fits."},
                "peer": _PEER,
            },
        },
    ),
)
