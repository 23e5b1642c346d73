"""VS Code with GitHub Copilot.

Idea: servers in `mcp.json` of the profile or the folder; hooks and instructions are files of our own in folders that
Copilot looks through. Invariant: data only.
"""

from vademecum.clients.catalogue.types import Client, Event, Hooks, Rules, Servers

COPILOT = "${COPILOT_HOME:-~/.copilot}"

CLIENT = Client(
    name="vscode",
    title="VS Code",
    servers=Servers(
        files={
            "user": (
                "windows:${APPDATA:-~/AppData/Roaming}/Code/User/mcp.json",
                "macos:~/Library/Application Support/Code/User/mcp.json",
                "linux:${XDG_CONFIG_HOME:-~/.config}/Code/User/mcp.json",
            ),
            "project": ("./.vscode/mcp.json",),
        },
        way=("servers",),
        entry={"type": "stdio", "command": "$command", "args": "$args", "env": "$env"},
        format="jsonc",
        also=(
            ("./.mcp.json", "jsonc", ("mcpServers",)),
            (f"{COPILOT}/mcp-config.json", "jsonc", ("mcpServers",)),
        ),
    ),
    hooks=Hooks(
        files={"user": (f"{COPILOT}/hooks/vademecum.json",), "project": ("./.github/hooks/vademecum.json",)},
        events=(
            Event("SessionStart", "session-start", 10),
            Event("UserPromptSubmit", "user-prompt", 5, silent=True),
            Event("PreCompact", "pre-compact", 5),
            Event("Stop", "stop", 10),
        ),
        groups=False,
        entry={"type": "command"},
        fields={"session_id": ("session_id", "sessionId")},
    ),
    rules=Rules(
        files={
            "user": (f"{COPILOT}/instructions/vademecum.instructions.md",),
            "project": ("./.github/instructions/vademecum.instructions.md",),
        },
        header='---\ndescription: Working with the other agents\napplyTo: "**"\n---\n\n',
    ),
    notes=(
        "Run `MCP: List Servers` in VS Code and start the server; hooks are a preview that an admin can switch off.",
    ),
)
