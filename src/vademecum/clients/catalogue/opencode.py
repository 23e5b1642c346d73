"""opencode.

Idea: servers stand in its settings with command and arguments as one list; hooks would be a plug-in in JavaScript, so
the rules are what the model is told. Invariant: data only; opencode drops a server with a member that it does not know.
"""

from vademecum.clients.catalogue.types import Client, Rules, Servers

FOLDER = "${XDG_CONFIG_HOME:-~/.config}/opencode"

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
        also=(("./.opencode/opencode.json", "jsonc", ("mcp",)),),
    ),
    rules=Rules(files={"user": (f"{FOLDER}/AGENTS.md",), "project": ("./AGENTS.md",)}),
    notes=("Restart opencode.",),
)
