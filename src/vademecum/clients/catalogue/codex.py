"""Codex CLI, and the Codex app and editor extension, which share its settings.

Idea: servers in TOML, hooks in a JSON file of their own, in the shape of Claude Code. Invariant: data only; a server
has no field that Codex does not know, since it refuses those.
"""

from vademecum.clients.catalogue.types import Budget, Client, Event, Hooks, Rules, Servers

CLIENT = Client(
    name="codex",
    title="Codex",
    servers=Servers(
        files={"user": ("${CODEX_HOME:-~/.codex}/config.toml",), "project": ("./.codex/config.toml",)},
        way=("mcp_servers",),
        entry={"command": "$command", "args": "$args", "env": "$env"},
        format="toml",
    ),
    hooks=Hooks(
        files={"user": ("${CODEX_HOME:-~/.codex}/hooks.json",), "project": ("./.codex/hooks.json",)},
        events=(
            Event("SessionStart", "session-start", 10),
            Event("UserPromptSubmit", "user-prompt", 5),
            Event("PreCompact", "pre-compact", 5),
            Event("Stop", "stop", 10),
        ),
        entry={"type": "command"},
        limit=10_000,  # 2,500 tokens, reckoned as four bytes each: of more the model sees head and tail
        limit_in="bytes",
        fields={"prompt_id": ("turn_id",), "answer": ("last_assistant_message",)},
        switch=("features", "hooks"),
    ),
    rules=Rules(
        files={"user": ("${CODEX_HOME:-~/.codex}/AGENTS.md",), "project": ("./AGENTS.md",)},
        instead="AGENTS.override.md",
    ),
    budgets=(
        Budget(
            "instructions",
            ("${CODEX_HOME:-~/.codex}/AGENTS.md", "./AGENTS.md"),
            32_768,
            "bytes",
            "the rest is cut off (project_doc_max_bytes)",
            total=True,
        ),
    ),
    notes=(
        "Start Codex and look at /hooks: it runs a new or changed hook only after you have trusted it there.",
        "An AGENTS.override.md beside AGENTS.md takes its place: the rules are not read then.",
    ),
    project_notes=("Codex reads the settings of a project only when the project is trusted.",),
    handshake=10.0,
    sessions=("${CODEX_HOME:-~/.codex}/sessions",),
)
