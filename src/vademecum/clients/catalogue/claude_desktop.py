"""Claude Desktop.

Idea: servers only; what the model is told comes from the server's own instructions. Invariant: data only.
"""

from vademecum.clients.catalogue.types import Client, Servers

CLIENT = Client(
    name="claude-desktop",
    title="Claude Desktop",
    servers=Servers(
        files={
            "user": (
                "windows:${LOCALAPPDATA}/Claude-Data/claude_*/claude_desktop_config.json",
                "windows:${LOCALAPPDATA}/Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json",
                "windows:${APPDATA:-~/AppData/Roaming}/Claude/claude_desktop_config.json",
                "macos:~/Library/Application Support/Claude/claude_desktop_config.json",
                "linux:${XDG_CONFIG_HOME:-~/.config}/Claude/claude_desktop_config.json",
            )
        },
        way=("mcpServers",),
        entry={"command": "$command", "args": "$args", "env": "$env"},
    ),
    notes=("Quit Claude Desktop and start it again: it reads its servers when it starts.",),
)
