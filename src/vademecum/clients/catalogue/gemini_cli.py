"""Gemini CLI.

Idea: one settings file for servers and hooks, with timeouts in milliseconds. Invariant: data only.
"""

from vademecum.clients.catalogue.types import Client, Event, Hooks, Rules, Servers

SETTINGS = ("${GEMINI_CLI_HOME:-~}/.gemini/settings.json",)

CLIENT = Client(
    name="gemini-cli",
    title="Gemini CLI",
    servers=Servers(
        files={"user": SETTINGS, "project": ("./.gemini/settings.json",)},
        way=("mcpServers",),
        entry={"command": "$command", "args": "$args", "env": "$env"},
        format="jsonc",
    ),
    hooks=Hooks(
        files={"user": SETTINGS, "project": ("./.gemini/settings.json",)},
        events=(
            Event("SessionStart", "session-start", 10),
            Event("BeforeAgent", "user-prompt", 5),
            Event("AfterAgent", "stop", 10),
            Event("PreCompress", "pre-compact", 5),
            Event("SessionEnd", "session-end", 10),
        ),
        format="jsonc",
        unit=1000,
        entry={"type": "command", "name": "vademecum"},
        fields={"answer": ("prompt_response",)},
    ),
    rules=Rules(files={"user": ("${GEMINI_CLI_HOME:-~}/.gemini/GEMINI.md",), "project": ("./GEMINI.md",)}),
    notes=("Restart Gemini CLI, then `/mcp` and `/hooks panel` show what it found.",),
    project_notes=("Gemini CLI reads the settings of a folder only when the folder is trusted.",),
)
