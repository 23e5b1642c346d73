"""How far an origin is trusted: one of eight classes, computed from the origin and from nothing in the text.

Idea: a tool is local when its name is on a list and it fetched nothing; whatever is unknown is outside. Invariant: a
text that was made from several origins counts as the least trusted of them, and no count of origins raises it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Literal

from vademecum.model import OWNER, Actor, Origin

Trust = Literal["person", "owner", "assistant", "local", "file", "import", "user", "outside"]

CLASSES: tuple[Trust, ...] = ("person", "owner", "assistant", "local", "file", "import", "user", "outside")
"""From most to least trusted. `user` is another user of the agent, and whatever is written in a session of theirs."""

OWN_TOOLS = frozenset({"memory", "note", "session_search", "skill", "compaction"})
"""Our own tools put out what is stored already; what they find from outside is named in the origin of the answer."""

MOST_SOURCES = 32
"""Outside sources that an origin names one by one; of more, only tool and kind are kept."""

_SHELLS = frozenset(
    {"bash", "shell", "powershell", "terminal", "exec", "exec_command", "execute_command", "run_command",
     "run_shell_command", "run_in_terminal", "local_shell", "unified_exec", "bashoutput", "zsh", "sh"}
)  # fmt: skip
_PLACES = ("url", "uri", "href", "link", "endpoint", "address", "repository", "repo_url")
_URL = re.compile(
    r"(?i)\b(?:https?|ftps?|s3|gs|ssh|git|wss?)://[^\s\"'<>|;)`\]]{1,500}|\bgit@[\w.-]{1,200}:[\w./-]{1,200}"
)
_LOOPBACK = re.compile(r"(?i)\w+://(?:[^/@\s]{0,80}@)?(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0)(?=[:/?#]|\Z)")
_FETCHES = re.compile(
    r"(?i)(?<![\w./-])(?:\S{0,200}/)?(?:curl|wget|https?|xh|aria2c|lynx|w3m|links|elinks|ftp|sftp|scp|ssh|telnet|nc|ncat|socat"
    r"|yt-dlp|gsutil|rclone|invoke-webrequest|iwr|invoke-restmethod|irm"
    r"|git\s+(?:-\S+\s+\S*\s*)?(?:clone|fetch|pull|submodule|ls-remote|remote\s+update)"
    r"|gh\s+(?:api|issue|pr|repo|search|gist|release|run|browse)|glab\s+\w+|aws\s+s3|az\s+storage|docker\s+(?:pull|run)"
    r"|(?:pip|pipx|uvx?|npx|npm|pnpm|yarn|cargo|go|gem|brew|apt|apt-get)\s+(?:show|view|info|search|download|install|get|add|exec))"
    r"(?![\w.-])"
    r"|urllib\.request|urlopen|requests\.(?:get|post|request)|httpx2?\.(?:get|post|stream)|\bfetch\s*\(|/dev/tcp/"
)
_LOCAL_CLIENTS = re.compile(r"(?i)^(?:curl|wget|https?|xh)$")


class Rules:
    """What a configuration and an actor make of origins."""

    def __init__(self, local_tools: Collection[str], actor: Actor) -> None:
        self._local = OWN_TOOLS | {name.casefold() for name in local_tools}
        self._actor = actor

    def class_of(self, origin: Origin) -> Trust:
        """The class of the least trusted part of `origin`."""
        return CLASSES[max(CLASSES.index(self._class(part)) for part in origin.parts)]

    def outside(self, origin: Origin) -> tuple[Origin, ...]:
        """The parts of `origin` that came from outside."""
        return tuple(part for part in origin.parts if self._raw(part) == "outside")

    def _class(self, part: Origin) -> Trust:
        found = self._raw(part)
        # in a conversation with somebody else, whatever is written there is theirs
        return found if self._actor.is_owner or found in ("person", "outside") else "user"

    def _raw(self, part: Origin) -> Trust:
        match part.kind:
            case "person" | "assistant" | "file" | "import":
                return part.kind
            case "user":
                return "owner" if part.name == OWNER else "user"
            case "tool":
                return "local" if part.name.casefold() in self._local and not part.item else "outside"
            case "agent":  # the host's own prompts carry its agent's name
                return "assistant" if part.name == self._actor.agent else "outside"
            case "connector":
                return "outside"


def joined_outside(known: Origin | None, parts: Iterable[Origin]) -> Origin | None:
    """The outside origins of a session, with `parts` added; bounded as MOST_SOURCES says."""
    given = tuple(parts)
    if not given:
        return known
    joined = given[0].joined(*given[1:]) if known is None else known.joined(*given)
    if len(joined.parts) <= MOST_SOURCES:
        return joined
    first, *rest = dict.fromkeys(_without_item(part) for part in joined.parts)
    return first.joined(*rest)


def _without_item(part: Origin) -> Origin:
    """Several pages of one tool as one source; it still counts as outside, for a `*` stands where the page stood."""
    return replace(part, item="*", digest="") if part.item else replace(part, digest="")


def digest_of(text: str) -> str:
    """The first 16 digits of the SHA-256 of what a tool put out."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def tool_origin(name: str, args: Mapping[str, object], output: str = "") -> Origin:
    """The origin of what the tool `name` put out for `args`.

    It carries the address when something was fetched from the network, so that a shell that runs `curl` is no local
    tool. `output` gives the digest.
    """
    return Origin.tool(name, fetched(name, args), digest_of(output) if output else "")


def fetched(name: str, args: Mapping[str, object]) -> str | None:
    """The address that a call fetched from, the program when none is named, None when nothing was fetched."""
    for key in _PLACES:
        value = args.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()[:500]
    if name.casefold() not in _SHELLS:  # a URL in a file that is written is text, not an address
        return None
    command = " ".join(_texts(args))
    addresses = [found.group() for found in _URL.finditer(command)]
    away = [address for address in addresses if not _LOOPBACK.match(address)]
    if away:
        return away[0]
    programs = [found.group() for found in _FETCHES.finditer(command)]
    if addresses and all(_LOCAL_CLIENTS.match(program.rsplit("/", 1)[-1]) for program in programs):
        return None
    return " ".join(programs[0].split()) if programs else None


def _texts(value: object, depth: int = 4) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, Mapping):
        for item in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from _texts(item, depth - 1)  # pyright: ignore[reportUnknownArgumentType]
    elif depth and isinstance(value, list | tuple):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _texts(item, depth - 1)  # pyright: ignore[reportUnknownArgumentType]
