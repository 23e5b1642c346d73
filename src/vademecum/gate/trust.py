"""How far an origin is trusted: one of eight classes, computed from the origin and from nothing in the text.

Idea: a tool is local when its name is on a list and it fetched nothing; whatever is unknown is outside. Invariant: a
text that was made from several origins counts as the least trusted of them, and no count of origins raises it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from ipaddress import ip_address
from itertools import pairwise
from typing import Literal
from urllib.parse import urlsplit

from vademecum.late import pattern, replace
from vademecum.model import OWNER, Actor, Origin

Trust = Literal["person", "owner", "assistant", "local", "file", "import", "user", "outside"]

CLASSES: tuple[Trust, ...] = ("person", "owner", "assistant", "local", "file", "import", "user", "outside")
"""From most to least trusted. `user` is another user of the agent, and whatever is written in a session of theirs."""

OWN_TOOLS = frozenset(
    {
        "memory",
        "memory_files",
        "note",
        "session_search",
        "recall",
        "retain",
        "skill",
        "compaction",
        "vault_log",
        "vault_state",
        "wiki_search",
        "wiki_read",
    }
)
"""Our own tools put out what is stored already; what they find from outside is named in the origin of the answer."""

MOST_SOURCES = 32
"""Outside sources that an origin names one by one; of more, only tool and kind are kept."""

_SHELLS = frozenset(
    {"bash", "shell", "powershell", "terminal", "exec", "exec_command", "execute_command", "run_command",
     "run_shell_command", "run_in_terminal", "run_terminal_cmd", "local_shell", "unified_exec", "bashoutput", "zsh",
     "sh", "monitor", "write_stdin", "killshell", "killbash", "taskoutput"}
)  # fmt: skip
_COMMANDS = ("command", "cmd", "commands", "chars", "script", "shell_command")
_PLACES = ("url", "uri", "href", "link", "endpoint", "address", "repository", "repo_url")
_URL = pattern(
    r"(?i)\b[a-z][a-z0-9+.-]{0,20}:/{2,3}(?:\[[0-9a-f:.%]{1,60}\])?[^\s\"'<>|;)`\]]{0,500}"
    r"|\bgit@[\w.-]{1,200}:[\w./-]{1,200}"
)
_HOSTLESS = frozenset({"file", "sqlite", "memory"})
_FETCHES = pattern(
    r"(?i)(?<![\w./-])(?:\S{0,200}/)?(?:curl|wget|aria2c|lynx|w3m|elinks|sftp|scp|ssh|telnet|ncat|socat|lftp|rsync"
    r"|yt-dlp|youtube-dl|gsutil|rclone|himalaya|neomutt|mutt|kubectl|gcloud|ssh-keyscan|nslookup|whois"
    r"|invoke-webrequest|iwr|invoke-restmethod|irm|openssl\s+s_client"
    r"|git\s+(?:-\S+\s+\S*\s*)?(?:clone|fetch|pull|submodule|ls-remote|remote\s+update)"
    r"|(?:npm|pnpm|yarn|gem|brew)\s+(?:show|view|info|search)|(?:pip|cargo)\s+(?:search|download)|npx|uvx)"
    r"(?![\w.-])"
    r"|--dump-dom|urllib\.request|urlopen|requests\.(?:get|post|request)|httpx2?\.(?:get|post|stream)"
    r"|http\.client|socket\.(?:socket|create_connection)|\bfetch\s*\(|/dev/tcp/"
)
"""Programs and calls that are named nowhere but where they are meant: found anywhere in a command."""
_STARTS = pattern(
    r"(?i)(?:\A|[;&|\n(){}`!]|(?<![\w.-])(?:sudo|doas|env|time|xargs|exec|command|nohup|do|then|else|if|while|until|watch"
    r"|eval|nice|stdbuf|setsid|parallel|-exec|timeout|\w*sh\s+(?:-\S+\s+){0,4}-\w*c)(?=[\s\"']))"
    r"(?:\s+-\S+|\s+[\d.]+[smhd]?(?=\s)|\s*\b\w+=\S*(?=\s)){0,6}\s*[\"']?(?:[^\s\"']{0,200}/)?"
    r"(?P<program>(?:mail|mailx|s-nail|alpine|aerc|notmuch|mu|jira|gh(?:\s+\w+)?|glab|tea|oc|helm|https?|xh|httpie|aws|az|nc|netcat|ftp"
    r"|links|dig|host|heroku|vercel|doctl|flyctl|mongosh"
    r"|(?:docker|podman)\s+(?:pull|run|search|login|push)"
    r"|(?:psql|pg_dump|mysql|mysqldump|mariadb|redis-cli)(?=\s)(?=[^;|&\n]{0,500}(?:\s(?:-\w*h|--host)[\s=]*|\bhost=)"
    r"(?!localhost\b|127\.|::1|/|[\s=]|elp\b)))"
    r"(?![\w.-]))"
)
"""Programs whose names are words, too: found where a command begins."""
_LOCAL_CLIENTS = pattern(r"(?i)^(?:curl|wget|https?|xh)$")
_VALUED = frozenset(
    {"-o", "-d", "-H", "-X", "-m", "-w", "-A", "-b", "-c", "-F", "-O", "-q", "--output", "--data", "--data-raw",
     "--data-binary", "--json", "--header", "--request", "--max-time", "--retry", "--write-out", "--user-agent",
     "--cookie", "--form", "--connect-timeout", "POST", "GET", "PUT", "DELETE", "PATCH"}
)  # fmt: skip
_ELSEWHERE = ("-x", "-K", "--proxy", "--preproxy", "--socks", "--connect-to", "--resolve", "--config", "--url")
"""Options by which a client that is given a loopback address reads from somewhere else."""


class Rules:
    """What a configuration and an actor make of origins."""

    def __init__(self, local_tools: Collection[str], actor: Actor, trusted: Collection[str] = ()) -> None:
        """`trusted` are connectors whose text a person takes for their own: it counts as a local tool's."""
        self._local = OWN_TOOLS | {name.casefold() for name in local_tools}
        self._trusted = frozenset(trusted)
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
            case "agent":  # the host's own prompts carry its agent's name; what was observed has a digest
                own = part.name == self._actor.agent and not part.digest and not part.item
                return "assistant" if own else "outside"
            case _:  # a connector, and whatever kind a caller may have made up
                return "local" if part.kind == "connector" and part.name in self._trusted else "outside"


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
    seen = part.item or (part.kind == "agent" and part.digest)
    return replace(part, item="*" if seen else "", digest="")


def digest_of(text: str) -> str:
    """The first 16 digits of the SHA-256 of what a tool put out."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def observed(origin: Origin, text: str) -> Origin:
    """The origin of `text` that entered a context from `origin`: all but a local tool's counts as outside.

    An agent's words are another's whatever name it has, and a file or an import that is put into a conversation is
    named as the tool that read it.
    """
    own, *rest = (_observed(part) for part in origin.parts)
    return replace(own, digest=own.digest or digest_of(text), derived=tuple(rest))


def _observed(part: Origin) -> Origin:
    match part.kind:
        case "tool" | "connector" | "person" | "user" | "assistant":
            return part
        case "agent":
            return replace(part, item=part.item or "*")
        case _:
            return Origin.tool(part.kind, part.name or "*", part.digest)


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
    given: object = args
    if name.casefold() not in _SHELLS:  # a URL in a file that is written is text, not an address
        given = [args[key] for key in _COMMANDS if key in args]
    command = " ".join(_texts(given))
    return (_reached(command, command) or _reached(re.sub(r"[\"'\\]", "", command), command)) if command else None


def _reached(command: str, given: str) -> str | None:
    """Where a command (`given`, or that without its quotes) reads from the network: the address, else the program."""
    addresses = [found.group() for found in _URL.finditer(command)]
    away = [address for address in addresses if not _is_here(address)]
    if away:
        return away[0]
    programs = [found.group() for found in _FETCHES.finditer(command)]
    programs += [found["program"] for found in _STARTS.finditer(command)]
    clients = all(_LOCAL_CLIENTS.match(program.rsplit("/", 1)[-1]) for program in programs)
    if programs and addresses and clients and _stays_here(given):
        return None
    return " ".join(programs[0].split()) if programs else None


def _is_here(address: str) -> bool:
    """True for a plain loopback address, and for what names no host at all."""
    try:
        url = urlsplit(address)
        if not url.netloc:  # a client takes `http:///name` for a host's name
            return url.scheme in _HOSTLESS or (url.path.strip("/") == "" and not url.query and address[-1:] == "/")
        host, _ = url.hostname or "", url.port
        return "@" not in url.netloc and (host in {"localhost", "0.0.0.0"} or ip_address(host).is_loopback)
    except ValueError:
        return False


def _stays_here(command: str) -> bool:
    """True when the clients in `command`, which names loopback addresses only, are given nothing else to read."""
    import shlex  # commands that write need it seldom

    for part in re.split(r"[;|&\n]", re.sub(r"\d*>+\s*&?\S+", " ", _URL.sub(" : ", command))):
        try:
            words = shlex.split(part)
        except ValueError:
            return False
        begin = next((n for n, word in enumerate(words) if _LOCAL_CLIENTS.match(word.rsplit("/", 1)[-1])), len(words))
        for before, word in pairwise(words[begin:]):
            if word.startswith(_ELSEWHERE):
                return False
            if word != ":" and not word.startswith("-") and before not in _VALUED and word not in _VALUED:
                return False
    return True


def _texts(value: object, depth: int = 4) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, Mapping):
        for item in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from _texts(item, depth - 1)  # pyright: ignore[reportUnknownArgumentType]
    elif depth and isinstance(value, list | tuple):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _texts(item, depth - 1)  # pyright: ignore[reportUnknownArgumentType]
