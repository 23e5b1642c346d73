"""opencode.

Idea: servers stand in its settings with command and arguments as one list; hooks would be a plug-in in JavaScript, so
the rules are what the model is told. Invariant: data only; opencode drops a server with a member that it does not know.
"""

from vademecum.clients.catalogue.types import Client, Rules, Servers

FOLDER = "${XDG_CONFIG_HOME:-~/.config}/opencode"
READ = (
    *((FOLDER, name) for name in ("config.json", "opencode.json", "opencode.jsonc")),
    *((folder, name) for folder in (".", "./.opencode") for name in ("opencode.json", "opencode.jsonc")),
)
"""All that it puts together, not only the first that is there."""

CLIENT = Client(
    name="opencode",
    title="opencode",
    servers=Servers(
        files={
            "user": (f"{FOLDER}/opencode.json", f"{FOLDER}/opencode.jsonc"),
            "project": ("./opencode.json", "./opencode.jsonc"),
        },
        way=("mcp",),
        entry={"type": "local", "command": "$argv", "environment": "$env", "enabled": True},
        format="jsonc",
        also=tuple((f"{folder}/{name}", "jsonc", ("mcp",)) for folder, name in READ),
    ),
    rules=Rules(files={"user": (f"{FOLDER}/AGENTS.md",), "project": ("./AGENTS.md",)}),
    notes=("Restart opencode.",),
)
