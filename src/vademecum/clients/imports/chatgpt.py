"""Taking over an export of ChatGPT: the archive or folder that it comes as, or one of its `conversations*.json`.

Idea: a conversation is a tree of messages; the branch that was last on the screen is what was said. Invariant: what the
service put into the context by itself (system texts, reasoning, hidden messages) is never the user's words.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from vademecum.clients.imports.conversation import Conversation, Conversations, Turn
from vademecum.clients.imports.reading import Found, elements, mapping, moment, nothing_in, parts, text_of
from vademecum.clients.imports.report import ImportReport, Progress, Tally

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vademecum.agent.vademecum import Vademecum

SOURCE = "chatgpt"
_SILENT = frozenset(
    {"thoughts", "reasoning_recap", "user_editable_context", "model_editable_context", "app_pairing_content"}
)
"""Kinds of content that nobody said: reasoning, and instructions that the service repeats."""
_FILE = re.compile(r"(?i)conversations([-_]\d+)?\.json")


def import_chatgpt(
    vm: Vademecum, path: Path, *, dry_run: bool = False, progress: Progress | None = None
) -> ImportReport:
    """Take over the conversations of the export at `path`, of each its current branch.

    Memory is bounded by the longest conversation. Raises NotFoundError when there is nothing of it at `path`.
    """
    tally = Tally(dry_run)
    conversations, files = Conversations(vm, SOURCE, tally), 0
    for part in parts(path, lambda name: _FILE.fullmatch(name) is not None, tally):
        files += 1
        for found in elements(part, tally, "conversations", "items", progress=progress):
            one = _conversation(found)
            if one is None:
                tally.problem(part.place, found.line, "not a conversation of ChatGPT: it has no `mapping`")
            else:
                conversations.take(one, part.file)
    if not files:
        nothing_in(path, "conversations.json", tally)
    return tally.report()


def _conversation(found: Found) -> Conversation | None:
    given = found.value
    tree = given.get("mapping")
    if not isinstance(tree, dict):
        return None
    digest = hashlib.sha256(found.raw).hexdigest()
    opened = moment(given.get("create_time"))
    turns = [turn for node in _branch(mapping(tree), given.get("current_node")) for turn in _turns(node)]
    id_ = text_of(given.get("conversation_id")) or text_of(given.get("id")) or f"sha256-{digest[:32]}"
    return Conversation(id_, text_of(given.get("title")), opened, turns, digest)


def _branch(tree: dict[str, Any], current: object) -> list[dict[str, Any]]:
    """The nodes from the root to `current`; where that is missing, to the newest that nothing follows."""
    node = current if isinstance(current, str) and current in tree else _newest_leaf(tree)
    found, seen = list[dict[str, Any]](), set[str]()
    while node in tree and node not in seen:
        seen.add(node)
        found.append(mapping(tree[node]))
        node = text_of(found[-1].get("parent"))
    return found[::-1]


def _newest_leaf(tree: dict[str, Any]) -> str:
    def age(name: str) -> float:
        return moment(mapping(mapping(tree[name]).get("message")).get("create_time")) or 0

    leaves = [name for name, node in tree.items() if not mapping(node).get("children")]
    return max(leaves or list(tree), key=age, default="")


def _turns(node: dict[str, Any]) -> Iterator[Turn]:
    message = mapping(node.get("message"))
    author, content, about = (mapping(message.get(key)) for key in ("author", "content", "metadata"))
    role, kind = text_of(author.get("role")), text_of(content.get("content_type"))
    if kind in _SILENT or message.get("weight") == 0 or about.get("is_visually_hidden_from_conversation"):
        return
    id_, time = text_of(message.get("id")) or text_of(node.get("id")), moment(message.get("create_time"))
    words = _words(content)
    recipient = text_of(message.get("recipient")) or "all"
    if role == "user":
        yield Turn("user", words, id_, time)
    elif role == "assistant" and recipient == "all":
        yield Turn("assistant", words, id_, time)
    elif role == "assistant":
        yield Turn("assistant", f"[{recipient}] {words}" if words else "", id_, time)
    elif role == "tool":
        name = text_of(author.get("name")) or "tool"
        yield Turn("tool", words, id_, time, name, url=text_of(content.get("url")) or text_of(content.get("domain")))


def _words(content: dict[str, Any]) -> str:
    pieces = [text_of(content.get(key)) for key in ("title", "text", "result")]
    given = content.get("parts")
    for part in cast("list[object]", given) if isinstance(given, list) else []:
        pieces.append(part if isinstance(part, str) else _attached(mapping(part)))
    return "\n".join(piece for piece in pieces if piece.strip())


def _attached(part: dict[str, Any]) -> str:
    kind = text_of(part.get("content_type")) or "attachment"
    return text_of(part.get("text")) or f"[{kind.removesuffix('_asset_pointer').replace('_', ' ')}]"
