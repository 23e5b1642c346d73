"""Cursor.

Idea: servers and hooks in JSON files of their own; rules are files of a project (those of a person are a setting in
the program). Invariant: data only.
"""

from vademecum.clients.catalogue.types import Client, Event, Hooks, Rules, Servers

CLIENT = Client(
    name="cursor",
    title="Cursor",
    servers=Servers(
        files={"user": ("~/.cursor/mcp.json",), "project": ("./.cursor/mcp.json",)},
        way=("mcpServers",),
        entry={"type": "stdio", "command": "$command", "args": "$args", "env": "$env"},
        format="jsonc",
    ),
    hooks=Hooks(
        files={"user": ("~/.cursor/hooks.json",), "project": ("./.cursor/hooks.json",)},
        events=(
            Event("sessionStart", "session-start", 10),
            Event("beforeSubmitPrompt", "user-prompt", 5, silent=True),
            Event("afterAgentResponse", "answer", 5),
            Event("preCompact", "pre-compact", 5),
            Event("stop", "stop", 10),
            Event("sessionEnd", "session-end", 10),
        ),
        format="jsonc",
        groups=False,
        root={"version": 1},
        output="additional_context",
        fields={
            "session_id": ("conversation_id", "session_id"),
            "prompt_id": ("generation_id",),
            "answer": ("text",),
            "cwd": ("workspace_roots.0",),
        },
    ),
    rules=Rules(
        files={"project": ("./.cursor/rules/vademecum.mdc",)},
        header="---\ndescription: Working with the other agents\nalwaysApply: true\n---\n\n",
    ),
    notes=(
        "Restart Cursor, and see Settings > MCP and Settings > Hooks.",
        "What is new in the log comes with the tools' results: Cursor gives the model nothing of a prompt's hook.",
    ),
)
