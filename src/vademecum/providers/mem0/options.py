"""What is configured for Mem0: settings over `mem0.json` over the environment.

Idea: the keys are the vendor's, so that a `mem0.json` that is there already serves. Invariant: the mode is what is
said; unsaid, an `oss` section means the library, a host a server of one's own, and nothing the platform.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from vademecum.errors import ConfigError
from vademecum.model import Actor
from vademecum.providers import settings as read

Mode = Literal["platform", "server", "library"]

FILE = "mem0.json"
PLATFORM = "https://api.mem0.ai"
_MODES: dict[str, Mode] = {
    "platform": "platform", "server": "server", "selfhosted": "server", "self-hosted": "server",
    "library": "library", "oss": "library", "in-process": "library",
}  # fmt: skip
_UNSET_USERS = ("", "hermes-user")


@dataclass(frozen=True, slots=True)
class Options:
    """What holds. `oss` is the library's own configuration; `infer` None: by whether somebody can extract facts."""

    mode: Mode
    host: str
    key: str
    user: str
    agent: str
    rerank: bool
    infer: bool | None
    oss: Mapping[str, Any]

    def of(self, actor: Actor) -> tuple[str, str]:
        """The user id and the agent id in Mem0.

        Each user has both of their own, since Mem0 files what an agent states under the agent alone, and what it stated
        to one user is not for another.
        """
        if not actor.is_owner:
            return actor.user, f"{self.agent or actor.agent}:{actor.user}"
        return self.user or actor.user, self.agent or (f"{actor.agent}:{self.user}" if self.user else actor.agent)


def options(settings: Mapping[str, Any], env: Mapping[str, str], folder: Path | None = None) -> Options:
    """What holds, from all places. Raises ConfigError for a file or a value that cannot be used."""
    file = read.vendor_file(settings, env, FILE, places=[folder / FILE] if folder else [])

    def of(key: str, variable: str = "") -> str:
        return read.text(settings, key) or read.text(file, key) or (read.text(env, variable) if variable else "")

    oss: Any = settings.get("oss") or file.get("oss") or {}
    if not isinstance(oss, Mapping):
        raise ConfigError("The setting oss of mem0 is no mapping.", "It holds llm, embedder and vector_store.")
    host = of("host", "MEM0_HOST")
    said = of("mode", "MEM0_MODE").lower()
    if said and said not in _MODES:
        raise ConfigError(f"mem0 has no mode {said!r}.", "The modes are platform, server and library.")
    mode = _MODES[said] if said else "library" if oss else "server" if host else "platform"
    both = {**file, **settings}
    user = of("user_id", "MEM0_USER_ID")
    return Options(
        mode=mode,
        host=host or (PLATFORM if mode == "platform" else ""),
        key=read.text(env, "MEM0_API_KEY") if "api_key" not in file else read.text(file, "api_key"),
        user="" if user in _UNSET_USERS else user,
        agent=of("agent_id", "MEM0_AGENT_ID"),
        rerank=read.flag(both, "rerank", default=False),
        infer=read.flag(both, "infer", default=True) if both.get("infer") is not None else None,
        oss=cast("Mapping[str, Any]", oss),
    )
