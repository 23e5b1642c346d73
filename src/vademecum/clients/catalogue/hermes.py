"""Hermes Agent.

Idea: servers stand in its YAML settings, its character in SOUL.md. Its shell hooks are described and not put in: each
needs the person's consent in a terminal, and the memory plug-in does the same without. Invariant: data only.
"""

from vademecum.clients.catalogue.types import Budget, Client, Event, Hooks, Rules, Servers

HOME = ("=:${HERMES_HOME}", "windows:${LOCALAPPDATA}/hermes", "~/.hermes")
CONFIG, SOUL = (tuple(f"{folder}/{name}" for folder in HOME) for name in ("config.yaml", "SOUL.md"))

CLIENT = Client(
    name="hermes",
    title="Hermes",
    servers=Servers(
        files={"user": CONFIG},
        way=("mcp_servers",),
        entry={"command": "$command", "args": "$args", "env": "$env", "connect_timeout": 60, "enabled": True},
        format="yaml",
    ),
    hooks=Hooks(
        files={"user": CONFIG},
        events=(
            Event("on_session_start", "session-start", 10, silent=True),  # the first prompt is given the memory
            Event("pre_llm_call", "user-prompt", 5),
            Event("post_llm_call", "stop", 10),
            Event("on_session_finalize", "session-end", 10),  # on_session_end is called after every turn
        ),
        format="yaml",
        groups=False,
        output="context",
        limit=10_000,
        fields={
            "prompt": ("extra.user_message",),
            "prompt_id": ("extra.turn_id",),
            "answer": ("extra.assistant_response",),
            "reason": ("extra.reason",),
        },
        installed=False,
    ),
    rules=Rules(files={"user": SOUL}),
    budgets=(
        Budget(
            "identity",
            SOUL,
            20_000,
            "characters",
            "the middle is cut out (the limit grows with the model's window)",
        ),
    ),
    notes=("Restart Hermes, or say /reload-mcp.",),
    handshake=60.0,
    plugin=tuple(f"{folder}/plugins/vademecum/vademecum.json" for folder in HOME),
)
