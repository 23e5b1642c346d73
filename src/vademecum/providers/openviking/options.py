"""What is configured for OpenViking: settings over the environment over the vendor's `ovcli.conf`.

Idea: the keys are the vendor's, so that a file that is there already serves. Invariant: every user of an agent is a
user of their own in OpenViking, whatever their name is.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from vademecum.errors import ConfigError
from vademecum.model import Actor
from vademecum.providers import settings as read

ENDPOINT = "http://127.0.0.1:1933"
DEFAULT = "default"
_NAME = re.compile(r"[A-Za-z0-9_.@-]{1,200}")
_UNFIT = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Options:
    """What holds. `user` is empty when nobody said it, so that the key's own may be taken."""

    url: str
    key: str
    account: str
    user: str
    agent: str
    limit: int
    threshold: float
    resources: bool

    def user_of(self, actor: Actor) -> str:
        """The user in OpenViking: the owner is the one that is named, another user is told apart."""
        if actor.is_owner:
            return self.user or DEFAULT
        return f"{self.user or DEFAULT}.{_UNFIT.sub('-', actor.user)[:60].strip('.-') or 'user'}-{_digits(actor.user)}"

    def agent_of(self, actor: Actor) -> str:
        """The peer in OpenViking that the agent is."""
        name = self.agent or actor.agent
        return name if _fits(name) else f"{_UNFIT.sub('-', name)[:60].strip('.-') or 'agent'}-{_digits(name)}"


def options(settings: Mapping[str, Any], env: Mapping[str, str]) -> Options:
    """What holds, from all places. Raises ConfigError for a file or a value that cannot be used."""
    file = _file(settings, env)

    def of(key: str, variable: str, filed: str = "", default: str = "") -> str:
        return read.text(settings, key) or read.text(env, variable) or read.text(file, filed or key) or default

    threshold = of("score_threshold", "OPENVIKING_RECALL_SCORE_THRESHOLD") or read.text(
        env, "OPENVIKING_SCORE_THRESHOLD"
    )
    resources = of("recall_resources", "OPENVIKING_RECALL_RESOURCES") or read.text(env, "OPENVIKING_RESOURCES")
    said = Options(
        url=of("endpoint", "OPENVIKING_ENDPOINT", "url", ENDPOINT),
        key=of("api_key", "OPENVIKING_API_KEY"),
        account=of("account", "OPENVIKING_ACCOUNT", default=DEFAULT),
        user=of("user", "OPENVIKING_USER"),
        agent=of("agent", "OPENVIKING_AGENT", "actor_peer_id"),
        limit=round(
            read.number(
                {"recall_limit": of("recall_limit", "OPENVIKING_RECALL_LIMIT")}, "recall_limit", 6, least=1, most=50
            )
        ),
        threshold=read.number({"score_threshold": threshold}, "score_threshold", 0.15, least=0, most=1),
        resources=read.flag({"recall_resources": resources or None}, "recall_resources", default=False),
    )
    for key, value in (("account", said.account), ("user", said.user or DEFAULT)):
        if not _fits(value):
            raise ConfigError(
                f"{key} of openviking is {value!r}.", "OpenViking takes letters, digits and . _ - with at most one @."
            )
    return said


def _fits(name: str) -> bool:
    return bool(_NAME.fullmatch(name)) and name not in (".", "..") and name.count("@") < 2


def _digits(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _file(settings: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    named = read.text(settings, "file") or read.text(env, "OPENVIKING_CLI_CONFIG_FILE")
    if named:
        path = Path(named).expanduser()
    elif env.get("HOME"):
        path = Path(env["HOME"]) / ".openviking" / "ovcli.conf"
    else:
        return {}
    if not path.is_file():
        if named:
            raise ConfigError(f"{path} does not exist.", "Correct the setting file, or OPENVIKING_CLI_CONFIG_FILE.")
        return {}
    try:
        found: object = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.", "Correct it; nothing was changed.") from error
    if not isinstance(found, dict):
        raise ConfigError(f"{path} holds no object.", "It is of the form {...}.")
    return cast("dict[str, Any]", found)
