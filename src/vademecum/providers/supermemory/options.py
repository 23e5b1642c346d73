"""What is configured for Supermemory: settings over `supermemory.json` over the environment.

Idea: the keys are those that a `supermemory.json` has already. Invariant: every user but the owner has a container of
their own, whatever name is configured.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from vademecum.errors import ConfigError
from vademecum.model import Actor
from vademecum.providers import settings as read

Mode = Literal["hybrid", "memories", "chunks"]
Api = Literal["", "4", "5"]

FILE = "supermemory.json"
HOSTED = "https://api.supermemory.ai"
_MODES: dict[str, Mode] = {"hybrid": "hybrid", "memories": "memories", "chunks": "chunks", "documents": "chunks"}
_APIS: dict[str, Api] = {"": "", "auto": "", "3": "4", "4": "4", "v3": "4", "v4": "4", "5": "5", "v5": "5"}
_LONGEST_TAG, _LONGEST_CONTEXT = 100, 1_500


@dataclass(frozen=True, slots=True)
class Options:
    """What holds. `api` empty: the hosted one speaks 5, a server of one's own is asked."""

    base: str
    key: str
    api: Api
    tag: str
    containers: tuple[str, ...]
    mode: Mode
    recall: bool
    capture: bool
    limit: int
    context: str

    def container(self, actor: Actor, name: str = "") -> str:
        """The container of an agent and user: the usual one, or one that is configured by `name`.

        Raises ConfigError for a name that is not configured.
        """
        if name and name not in self.containers:
            known = ", ".join(self.containers) or "none"
            raise ConfigError(
                f"There is no container {name!r}; nothing was done.", f"Configured are: {known}. Leave it out."
            )
        return _tag(name or self.tag, actor)


def options(settings: Mapping[str, Any], env: Mapping[str, str]) -> Options:
    """What holds, from all places. Raises ConfigError for a file or a value that cannot be used."""
    both = {**read.vendor_file(settings, env, FILE), **settings}

    def of(key: str, variable: str = "", default: str = "") -> str:
        return read.text(both, key) or (read.text(env, variable) if variable else "") or default

    mode = of("search_mode", default="hybrid").lower()
    api = of("api").lower()
    if mode not in _MODES:
        raise ConfigError(f"supermemory has no search_mode {mode!r}.", f"There are {', '.join(_MODES)}.")
    if api not in _APIS:
        raise ConfigError(f"supermemory has no api {api!r}.", "Write 5, 4, or nothing.")
    return Options(
        base=of("base_url", "SUPERMEMORY_BASE_URL", HOSTED),
        key=read.text(env, "SUPERMEMORY_API_KEY") or of("api_key"),
        api=_APIS[api],
        tag=of("container_tag", "SUPERMEMORY_CONTAINER_TAG", "vademecum-{agent}"),
        containers=_names(both.get("containers") or both.get("custom_containers")),
        mode=_MODES[mode],
        recall=read.flag(both, "auto_recall", default=True),
        capture=read.flag(both, "auto_capture", default=True),
        limit=int(read.number(both, "max_recall_results", 10, least=1, most=50)),
        context=of("entity_context")[:_LONGEST_CONTEXT],
    )


def _names(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.split(",")
    found = cast("list[object]", value) if isinstance(value, list) else []
    return tuple(name for one in found if (name := str(one).strip()))


def _tag(template: str, actor: Actor) -> str:
    """A tag of letters, digits, `-` and `_`; names that had to be changed are told apart by a hash."""
    agent, user = actor.agent, actor.user
    filled = template.replace("{agent}", agent).replace("{identity}", agent).replace("{user}", user)
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", filled)[: _LONGEST_TAG - 10]
    if actor.is_owner and plain == filled:
        return plain
    whole = "\0".join((template, agent, user))
    return f"{plain}-{hashlib.sha256(whole.encode()).hexdigest()[:9]}"
