"""Taking over an export of Claude.ai: conversations, what it remembers of its user, projects with their documents.

Idea: messages are a list, in newer exports with their parents, of which the branch that was written last counts.
Invariant: reasoning and what the service counts for itself stay out; a document comes in as a document, not as words
of the user.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vademecum.clients.imports.conversation import Conversation, Conversations, Turn
from vademecum.clients.imports.documents import Document, Documents
from vademecum.clients.imports.reading import (
    Found,
    Part,
    elements,
    mapping,
    mappings,
    moment,
    nothing_in,
    parts,
    text_of,
)
from vademecum.clients.imports.report import ImportReport, Progress, Tally

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vademecum.agent.vademecum import Vademecum

SOURCE = "claude-ai"
_CONVERSATIONS = re.compile(r"(?i)conversations([-_]\d+)?\.json")
_LEFT_OUT = re.compile(r"(?i)(users|design_chats?|login_history|message_feedback)([-_]\d+)?\.json")


def import_claude_ai(
    vm: Vademecum, path: Path, *, dry_run: bool = False, progress: Progress | None = None
) -> ImportReport:
    """Take over the export at `path`: the archive, the folder of its files, or one of them.

    Memory is bounded by the longest conversation or project. Raises NotFoundError when nothing of it is at `path`.
    """
    tally, files = Tally(dry_run), 0
    conversations, documents = Conversations(vm, SOURCE, tally), Documents(vm, SOURCE, tally)
    for part in parts(path, _is_wanted, tally):
        files += 1
        if _CONVERSATIONS.fullmatch(part.base):
            for found in elements(part, tally, "conversations", progress=progress):
                one = _conversation(found)
                if one is None:
                    tally.problem(part.place, found.line, "not a conversation of Claude.ai: it has no `chat_messages`")
                else:
                    conversations.take(one, part.file)
        else:
            _take_others(part, documents, conversations, tally)
    if not files:
        nothing_in(path, "conversations.json", tally)
    return tally.report()


def _is_wanted(name: str) -> bool:
    return name.lower().endswith(".json") and _LEFT_OUT.fullmatch(name) is None


def _take_others(part: Part, documents: Documents, conversations: Conversations, tally: Tally) -> None:
    """Memories, projects, and conversations under a name of somebody's own."""
    for found in elements(part, tally):
        given: dict[str, Any] = found.value
        if isinstance(given.get("chat_messages"), list):
            if (one := _conversation(found)) is not None:
                conversations.take(one, part.file)
        elif "conversations_memory" in given or "project_memories" in given:
            for document in _memories(given):
                documents.take(document, part.file, part.place, found.line)
        elif "docs" in given or "prompt_template" in given:
            for document in _project(given):
                documents.take(document, part.file, part.place, found.line)
        else:
            tally.problem(part.place, found.line, "neither a conversation nor a memory nor a project of Claude.ai")


def _conversation(found: Found) -> Conversation | None:
    given: dict[str, Any] = found.value
    if not isinstance(given.get("chat_messages"), list):
        return None
    digest = hashlib.sha256(found.raw).hexdigest()
    turns = [turn for message in _branch(given) for turn in _turns(message)]
    id_ = text_of(given.get("uuid")) or f"sha256-{digest[:32]}"
    title = text_of(given.get("name")) or text_of(given.get("title"))
    return Conversation(id_, title, moment(given.get("created_at")), turns, digest)


def _branch(given: dict[str, Any]) -> list[dict[str, Any]]:
    messages = mappings(given.get("chat_messages"))
    by_id = {text_of(one.get("uuid")): one for one in messages}
    if (
        not messages
        or not all(text_of(one.get("parent_message_uuid")) for one in messages)
        or len(by_id) < len(messages)
    ):
        return messages
    newest = max(messages, key=lambda one: text_of(one.get("created_at")))
    at = text_of(given.get("current_leaf_message_uuid")) or text_of(newest.get("uuid"))
    found, seen = list[dict[str, Any]](), set[str]()
    while at in by_id and at not in seen:
        seen.add(at)
        found.append(by_id[at])
        at = text_of(found[-1].get("parent_message_uuid"))
    return found[::-1]


def _turns(message: dict[str, Any]) -> Iterator[Turn]:
    id_, time = text_of(message.get("uuid")), moment(message.get("created_at"))
    for number, file in enumerate(mappings(message.get("attachments"))):
        name = text_of(file.get("file_name")) or "attachment"
        yield Turn(
            "tool", text_of(file.get("extracted_content")), f"{id_}:a{number}", time, "attachment", {"file": name}
        )
    calls, blocks = dict[str, dict[str, Any]](), mappings(message.get("content"))
    words = "\n\n".join(text for one in blocks if one.get("type") == "text" and (text := text_of(one.get("text"))))
    for number, block in enumerate(blocks):
        if block.get("type") == "tool_use":
            calls[text_of(block.get("id"))] = mapping(block.get("input"))
        elif block.get("type") == "tool_result":
            name, args = text_of(block.get("name")) or "tool", calls.get(text_of(block.get("tool_use_id")), {})
            yield Turn("tool", _result(block.get("content")), f"{id_}:{number}", time, name, args)
    role = "user" if message.get("sender") == "human" else "assistant"
    names = [text_of(one.get("file_name")) for one in mappings(message.get("files"))]
    said = [words or text_of(message.get("text")), *(f"[{name}]" for name in names if name)]
    yield Turn(role, "\n".join(filter(None, said)), id_, time)


def _result(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(text_of(one.get("text")) or text_of(one.get("url")) for one in mappings(content)).strip()


def _memories(given: dict[str, Any]) -> Iterator[Document]:
    account = text_of(given.get("account_uuid"))
    if text := text_of(given.get("conversations_memory")).strip():
        name = "What Claude.ai remembers"
        yield Document(f"memory:{account}", name, "What Claude.ai had kept about its user", "user", text)
    for project, text in mapping(given.get("project_memories")).items():
        name = f"What Claude.ai remembers of project {project[:8]}"
        yield Document(f"memory:{project}", name, "What Claude.ai had kept about a project", "project", text_of(text))

    for file in mappings(given.get("memory_files")):
        name = next((text_of(file[key]) for key in ("path", "name", "file_name") if text_of(file.get(key))), "memory")
        text = text_of(file.get("content")) or text_of(file.get("text"))
        yield Document(
            f"memory:{account}/{name}", f"{name} (Claude.ai)", "A memory file of Claude.ai", "reference", text
        )


def _project(given: dict[str, Any]) -> Iterator[Document]:
    name, id_ = text_of(given.get("name")) or "project", text_of(given.get("uuid"))
    rules = "\n\n".join(filter(None, (text_of(given.get(key)) for key in ("description", "prompt_template"))))
    about = f"Description and instructions of the Claude.ai project {name}"
    yield Document(f"project:{id_}", f"{name} (Claude.ai project)", about, "project", rules)
    for doc in mappings(given.get("docs")):
        file = text_of(doc.get("filename")) or "document"
        key = f"doc:{text_of(doc.get('uuid')) or f'{id_}/{file}'}"
        yield Document(key, f"{file} ({name})", "", "reference", text_of(doc.get("content")), note=False)
