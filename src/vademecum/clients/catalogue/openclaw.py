"""OpenClaw.

Idea: servers stand in its JSON5 settings; the text that it always loads is in its workspace, which the settings may
have moved. Invariant: data only; no variable that it filters out of a server's environment.
"""

from vademecum.clients.catalogue.types import Budget, Client, Rules, Servers

WORKSPACE = "${OPENCLAW_STATE_DIR:-~/.openclaw}/workspace"
BOOTSTRAP = ("AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md", "MEMORY.md")
CUT = "the middle is cut out (bootstrapMaxChars)"

CLIENT = Client(
    name="openclaw",
    title="OpenClaw",
    servers=Servers(
        files={"user": ("=:${OPENCLAW_CONFIG_PATH}", "${OPENCLAW_STATE_DIR:-~/.openclaw}/openclaw.json")},
        way=("mcp", "servers"),
        entry={"command": "$command", "args": "$args", "env": "$env"},
        format="json5",
    ),
    rules=Rules(
        files={"user": ("=:${OPENCLAW_WORKSPACE_DIR}/AGENTS.md", f"{WORKSPACE}/AGENTS.md")},
        folder=("agents", "defaults", "workspace"),
    ),
    budgets=(
        *(
            Budget(name, (f"{WORKSPACE}/{name}",), 4_000 if name == "USER.md" else 20_000, "characters", CUT)
            for name in BOOTSTRAP
        ),
        Budget(
            "bootstrap files",
            tuple(f"{WORKSPACE}/{name}" for name in BOOTSTRAP),
            60_000,
            "characters",
            "later files are cut (bootstrapTotalMaxChars)",
            total=True,
        ),
    ),
    sessions=("${OPENCLAW_STATE_DIR:-~/.openclaw}/agents",),
    notes=("Restart the gateway (`openclaw gateway restart`), then `openclaw mcp doctor --probe` shows the server.",),
)
