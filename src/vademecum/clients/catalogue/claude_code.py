"""Claude Code.

Idea: its settings hold the hooks, another file the servers. Invariant: data only.
"""

from vademecum.clients.catalogue.types import Budget, Client, Event, Hooks, Rules, Servers

CLIENT = Client(
    name="claude-code",
    title="Claude Code",
    servers=Servers(
        files={"user": ("${CLAUDE_CONFIG_DIR:-~}/.claude.json",), "project": ("./.mcp.json",)},
        way=("mcpServers",),
        entry={"type": "stdio", "command": "$command", "args": "$args", "env": "$env"},
        folders="projects",
    ),
    hooks=Hooks(
        files={"user": ("${CLAUDE_CONFIG_DIR:-~/.claude}/settings.json",), "project": ("./.claude/settings.json",)},
        events=(
            Event("SessionStart", "session-start", 10),
            Event("UserPromptSubmit", "user-prompt", 5),
            Event(  # the tools that may bring in text from outside
                "PostToolUse",
                "tool",
                5,
                background=True,
                matcher="Bash|BashOutput|WebFetch|WebSearch|Task|Agent|mcp__(?!vademecum__).*",
            ),
            Event("Stop", "stop", 10, background=True),
            Event("PreCompact", "pre-compact", 5),
            Event("SessionEnd", "session-end", 10),
        ),
        entry={"type": "command"},
        background="async",
        limit=10_000,
        in_environment=True,
        also=("./.claude/settings.local.json",),
        off="disableAllHooks",
    ),
    rules=Rules(
        files={"user": ("${CLAUDE_CONFIG_DIR:-~/.claude}/CLAUDE.md",), "project": ("./CLAUDE.md",)},
        asked=True,  # session-start gives all that the block says
    ),
    budgets=(
        Budget(
            "auto memory",
            ("${CLAUDE_CONFIG_DIR:-~/.claude}/projects/*/memory/MEMORY.md",),
            200,
            "lines",
            "lines after that are not loaded",
        ),
        Budget(
            "auto memory",
            ("${CLAUDE_CONFIG_DIR:-~/.claude}/projects/*/memory/MEMORY.md",),
            25_000,
            "bytes",
            "the rest is not loaded",
        ),
    ),
    instructions=2_048,
    notes=("Restart Claude Code: it reads hooks when a session starts.",),
    project_notes=("Claude Code asks once whether to trust the server of a project; answer yes.",),
    sessions=("${CLAUDE_CONFIG_DIR:-~/.claude}/projects",),
)
