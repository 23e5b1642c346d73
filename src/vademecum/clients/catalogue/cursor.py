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
            Event("beforeSubmitPrompt", "user-prompt", 5),
            Event("preCompact", "pre-compact", 5),
            Event("stop", "stop", 10),
            Event("sessionEnd", "session-end", 10),
        ),
        format="jsonc",
        groups=False,
        root={"version": 1},
        output="additional_context",
    ),
    rules=Rules(
        files={"project": ("./.cursor/rules/vademecum.mdc",)},
        header="---\ndescription: Working with the other agents\nalwaysApply: true\n---\n\n",
    ),
    notes=(
        "Restart Cursor, and see Settings > MCP and Settings > Hooks.",
        "Not every version gives the model what a prompt's hook says: `--project` writes a rule that is always loaded.",
    ),
)
