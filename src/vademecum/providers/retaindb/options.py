"""What is configured for RetainDB: settings over the environment.

Idea: three places decide where a memory goes: address, project, user. Invariant: two users never have one id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from vademecum.errors import ConfigError
from vademecum.model import Actor
from vademecum.providers import settings as read

WriteMode = Literal["sync", "async"]

HOSTED = "https://api.retaindb.com"


@dataclass(frozen=True, slots=True)
class Options:
    """What holds. `files_from` None: no file may be uploaded."""

    base: str
    key: str
    project: str
    user: str
    write_mode: WriteMode
    files_from: Path | None
    top_k: int

    def project_of(self, agent: str) -> str:
        """The project that is configured, else one for each agent."""
        return self.project or ("vademecum" if agent == "default" else f"vademecum-{agent}")

    def user_of(self, actor: Actor) -> str:
        """The user's id in RetainDB."""
        owner = self.user or "owner"
        if actor.is_owner:
            return owner
        if actor.user != owner:
            return actor.user
        return f"{actor.user}-{hashlib.sha256(actor.user.encode()).hexdigest()[:8]}"


def options(settings: Mapping[str, Any], env: Mapping[str, str]) -> Options:
    """What holds, from all places. Raises ConfigError for a value that cannot be used."""

    def of(key: str, variable: str = "", default: str = "") -> str:
        return read.text(settings, key) or (read.text(env, variable) if variable else "") or default

    mode = of("write_mode", default="sync")
    if mode not in ("sync", "async"):
        raise ConfigError(f"retaindb has no write_mode {mode!r}.", "There are sync and async.")
    folder = of("files_from")
    if folder and not Path(folder).expanduser().is_dir():
        raise ConfigError(f"files_from of retaindb is no folder: {folder}.", "Make it, or leave the setting out.")
    return Options(
        base=of("base_url", "RETAINDB_BASE_URL", HOSTED),
        key=read.text(env, "RETAINDB_API_KEY") or of("api_key"),
        project=of("project", "RETAINDB_PROJECT"),
        user=of("user_id"),
        write_mode=mode,
        files_from=Path(folder).expanduser().resolve() if folder else None,
        top_k=int(read.number(settings, "top_k", 8, least=1, most=20)),
    )
