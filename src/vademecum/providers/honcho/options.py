"""What is configured for Honcho: settings, then `honcho.json` (its host block, then its root), then the environment.

Idea: the keys are the vendor's, so that a `honcho.json` that is there already serves. Invariant: no two users have the
same peer, unless a person made them one with an alias.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from vademecum.errors import ConfigError
from vademecum.model import Actor
from vademecum.providers import settings as read

Level = Literal["minimal", "low", "medium", "high", "max"]

FILE = "honcho.json"
HOSTED = "https://api.honcho.dev"
LEVELS: tuple[Level, ...] = ("minimal", "low", "medium", "high", "max")
_ENVIRONMENTS = {"production": HOSTED, "local": "http://localhost:8000"}
_VERSION = re.compile(r"/v\d+$")
_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class Peers:
    """Who speaks: the user, the assistant to this user, and whose view of the user is asked for."""

    user: str
    assistant: str
    observer: str


@dataclass(frozen=True, slots=True)
class Options:
    """What holds. `write_every`: turns that are sent together; 1 is each at once, 0 all at the session's end."""

    base: str
    key: str
    workspace: str
    peer: str
    assistant: str
    aliases: Mapping[str, str]
    prefix: str
    unified: bool
    save: bool
    write_every: int
    longest_message: int
    level: Level
    highest_level: Level
    cadence: int
    longest_answer: int
    longest_question: int
    conclusions: int
    seconds: float

    def peers(self, actor: Actor) -> Peers:
        """The peers of an agent and user. Each user has an assistant of their own: what it said is theirs."""
        owner = name_of(self.peer or "owner")
        assistant = name_of(self.assistant or ("vademecum" if actor.agent == "default" else f"vademecum-{actor.agent}"))
        if owner == assistant:
            owner = f"{owner}-user"
        if actor.is_owner:
            user = owner
        elif actor.user in self.aliases:
            user = name_of(self.aliases[actor.user])
        else:
            taken = (owner, assistant, *map(name_of, self.aliases.values()))
            user = name_of(f"{self.prefix}{actor.user}", taken=taken)
        if not actor.is_owner and user != owner:
            assistant = name_of(f"{assistant}--{user}")
        return Peers(user, assistant, user if self.unified else assistant)

    def capped(self, level: str) -> Level:
        """The level of reasoning, no higher than allowed. Raises ConfigError."""
        asked = LEVELS.index(_level(level, "reasoning_level"))
        return LEVELS[min(asked, LEVELS.index(self.highest_level))]


def options(settings: Mapping[str, Any], env: Mapping[str, str], agent: str = "default") -> Options:
    """What holds, from all places. Raises ConfigError for a file or a value that cannot be used."""
    places = [Path(env["HOME"]) / ".honcho" / "config.json"] if env.get("HOME") else []
    file = read.vendor_file(settings, env, FILE, places=places)
    both = {**_filled(file), **_host_block(file, read.text(settings, "host"), agent), **_filled(settings)}

    def of(key: str, variable: str = "", default: str = "") -> str:
        return read.text(both, key) or (read.text(env, variable) if variable else "") or default

    environment = of("environment", "HONCHO_ENVIRONMENT", "production").lower()
    if environment not in _ENVIRONMENTS:
        raise ConfigError(f"honcho has no environment {environment!r}.", f"There are {', '.join(_ENVIRONMENTS)}.")
    base = of("baseUrl", "HONCHO_BASE_URL") or read.text(env, "HONCHO_URL") or _ENVIRONMENTS[environment]
    mode = of("observationMode", default="directional")
    if mode not in ("directional", "unified"):
        raise ConfigError(f"honcho has no observationMode {mode!r}.", "There are directional and unified.")
    aliases: Any = both.get("userPeerAliases") or {}
    if not isinstance(aliases, Mapping):
        raise ConfigError("userPeerAliases of honcho is no mapping.", "It is of the form {user: peer}.")

    def number(key: str, default: float, least: float, most: float) -> float:
        return read.number(both, key, default, least=least, most=most)

    return Options(
        base=_VERSION.sub("", base.strip().rstrip("/")),
        key=of("apiKey", "HONCHO_API_KEY"),
        workspace=name_of(of("workspace", "HONCHO_WORKSPACE_ID", "vademecum")),
        peer=of("peerName"),
        assistant=of("aiPeer"),
        aliases={str(user): str(peer) for user, peer in cast("Mapping[object, object]", aliases).items()},
        prefix=of("runtimePeerPrefix"),
        unified=mode == "unified",
        save=read.flag(both, "saveMessages", default=True),
        write_every=_frequency(of("writeFrequency", default="turn")),
        longest_message=int(number("messageMaxChars", 25_000, 100, 25_000)),
        level=_level(of("dialecticReasoningLevel", default="low"), "dialecticReasoningLevel"),
        highest_level=_level(of("reasoningLevelCap", default="high"), "reasoningLevelCap"),
        cadence=int(number("dialecticCadence", 1, 0, 1000)),
        longest_answer=int(number("dialecticMaxChars", 600, 50, 10_000)),
        longest_question=int(number("dialecticMaxInputChars", 10_000, 50, 10_000)),
        conclusions=int(number("maxConclusions", 10, 1, 100)),
        seconds=number("timeout", 30, 0.1, 600),
    )


def name_of(text: str, *, taken: tuple[str, ...] = ()) -> str:
    """`text` as Honcho takes names (letters, digits, `-`, `_`); with a hash when it had to change, or is `taken`."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", text)[:_LONGEST_NAME]
    if plain == text and plain not in taken:
        return plain
    return f"{plain}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _host_block(file: Mapping[str, Any], host: str, agent: str) -> dict[str, Any]:
    """The settings of this host in the vendor's file; an agent with a block of its own has that one."""
    hosts: Any = file.get("hosts") or {}
    if not isinstance(hosts, Mapping):
        raise ConfigError("hosts in honcho.json is no object.", 'It is of the form {"vademecum": {...}}.')
    blocks = cast("Mapping[str, Any]", hosts)
    names = [host] if host else [f"vademecum_{agent}", "vademecum"]
    block: Any = next((blocks[name] for name in names if name in blocks), None)
    if host and block is None:
        raise ConfigError(f"honcho.json has no host {host!r}.", f"It has {', '.join(blocks) or 'none'}.")
    return _filled(cast("Mapping[str, Any]", block)) if isinstance(block, Mapping) else {}


def _filled(values: Mapping[str, Any]) -> dict[str, Any]:
    """What is set; `snake_case` is taken for the vendor's `camelCase`."""

    def camel(key: str) -> str:
        return re.sub(r"_([a-z])", lambda found: found[1].upper(), key)

    return {camel(key): value for key, value in values.items() if value is not None and value != ""}


def _level(value: str, key: str) -> Level:
    for level in LEVELS:
        if level == value:
            return level
    raise ConfigError(f"{key} of honcho is {value!r}.", f"There are {', '.join(LEVELS)}.")


def _frequency(value: str) -> int:
    if value in ("async", "turn"):
        return 1
    if value == "session":
        return 0
    if value.isdigit() and 1 <= int(value) <= 1000:
        return int(value)
    raise ConfigError(f"writeFrequency of honcho is {value!r}.", "Write turn, session, or a number of turns.")
