"""The tools that RetainDB gives a model.

Idea: the vendor's names and arguments, in few words, since ten schemas are in every prompt. Invariant: those that write
are named here, and no other does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vademecum.model import ToolSpec

KINDS = ("factual", "preference", "goal", "instruction", "event", "opinion")
WRITING = frozenset(f"retaindb_{name}" for name in ("remember", "forget", "upload_file", "ingest_file", "delete_file"))

_TEXT = {"type": "string"}
_FILE = {"file_id": {"type": "string", "description": "As retaindb_list_files gave it."}}


def _tool(name: str, description: str, properties: Mapping[str, Any], required: Sequence[str] = ()) -> ToolSpec:
    parameters: dict[str, Any] = {"type": "object", "properties": dict(properties)}
    return ToolSpec(f"retaindb_{name}", description, parameters | ({"required": list(required)} if required else {}))


TOOLS = (
    _tool("profile", "All that is kept of the user.", {}),
    _tool(
        "search",
        "Search long-term memories by meaning.",
        {"query": _TEXT, "top_k": {"type": "integer", "minimum": 1, "maximum": 20}},
        ["query"],
    ),
    _tool(
        "context",
        "What matters for a task, put together from memories and project knowledge.",
        {"query": _TEXT},
        ["query"],
    ),
    _tool(
        "remember",
        "Keep a durable fact, word for word.",
        {
            "content": _TEXT,
            "memory_type": {"type": "string", "enum": list(KINDS)},
            "importance": {"type": "number", "minimum": 0, "maximum": 1},
        },
        ["content"],
    ),
    _tool("forget", "Erase a memory by its id.", {"memory_id": _TEXT}, ["memory_id"]),
    _tool(
        "upload_file",
        "Upload a file from the folder that the user allowed.",
        {
            "local_path": _TEXT,
            "remote_path": _TEXT,
            "scope": {"type": "string", "enum": ["USER", "PROJECT", "ORG"], "description": "Default: USER."},
            "ingest": {"type": "boolean", "description": "Also make memories from it."},
        },
        ["local_path"],
    ),
    _tool("list_files", "List uploaded files.", {"prefix": _TEXT, "limit": {"type": "integer"}}),
    _tool("read_file", "Read the text of an uploaded file.", _FILE, ["file_id"]),
    _tool("ingest_file", "Make memories from an uploaded file.", _FILE, ["file_id"]),
    _tool("delete_file", "Delete an uploaded file.", _FILE, ["file_id"]),
)
