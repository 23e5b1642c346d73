"""What of a message goes into the full-text index.

Idea: apart from the search itself, since a hook records at every prompt and must not load what it does not use.
Invariant: recording, rebuilding the index and showing a hit all go through `searchable`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from vademecum.model import Actor
from vademecum.search.prepare import prepare
from vademecum.store.message_index import owner_token


def index_text(actor: Actor, text: str) -> str:
    """The index entry for a message or a title of `actor`."""
    return f"{prepare(text)}\n{owner_token(actor)}"


def searchable(content: str, calls: Sequence[Mapping[str, Any]] | None) -> str:
    """What of a message is searched: its text and its calls, without the answer that a call keeps beside them.

    A search is not found by its own words, so calls of the search tool are left out.
    """
    shown = [call for call in calls or () if call.get("name") != "session_search"]
    said = [{key: part for key, part in call.items() if key != "answer"} for call in shown]
    return f"{content}\n{json.dumps(said, ensure_ascii=False)}" if said else content
