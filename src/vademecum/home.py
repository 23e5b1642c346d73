"""Where everything of one person lives: the paths of a home and of an agent's folder in it.

Idea: paths are computed, never searched for. Invariant: a name of an agent or user becomes one safe folder name, so
that no name can point outside the home; nothing here creates or writes anything.
"""

from __future__ import annotations

import os
from pathlib import Path

from vademecum.config import Config
from vademecum.errors import UsageError
from vademecum.late import dataclass, pattern
from vademecum.model import OWNER, StoreName

_LOWER = "abcdefghijklmnopqrstuvwxyz0123456789_-"
_PLAIN = pattern(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}")
_WINDOWS_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10))}
)


def folder_name(name: str, *, any_case: bool = False) -> str:
    """`name` as one safe path component: plain names as they are, everything else percent-encoded.

    Reversible and injective. With `any_case` also injective on a disk that ignores case (capitals are encoded too), so
    that no user of a gateway gets another's folder. Raises UsageError for an empty or overlong name.
    """
    if not name or len(name) > 200:
        raise UsageError("A name must have 1 to 200 characters.", "Choose a shorter name.")
    if (
        _PLAIN.fullmatch(name)
        and not (any_case and name != name.lower())
        and name.split(".")[0].lower() not in _WINDOWS_DEVICES
        and not name.endswith(".")
    ):
        return name
    kept = _LOWER if any_case else _LOWER + _LOWER[:26].upper()
    encoded = "".join(c if c in kept else _percent(c) for c in name)
    if len(encoded) > 240:
        raise UsageError(f"The name {name[:40]!r}... is too long for a folder.", "Choose a shorter name.")
    # a reserved or dotted plain name survives the encoding unchanged; its first character tells it apart
    return encoded if encoded != name else _percent(name[0]) + encoded[1:]


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class AgentFolder:
    """The files of one agent; the layout is that of a Hermes home, so that one can be adopted as it is."""

    name: str
    root: Path

    @property
    def soul(self) -> Path:
        """The identity file, written by a person."""
        return self.root / "SOUL.md"

    def store(self, store: StoreName, user: str = OWNER) -> Path:
        """The file of a core store; every user but the owner has a user store of their own."""
        memories = self.root / "memories"
        if store == "memory":
            return memories / "MEMORY.md"
        return (
            memories / "USER.md" if user == OWNER else memories / "users" / folder_name(user, any_case=True) / "USER.md"
        )

    @property
    def notes(self) -> Path:
        """The folder of one-fact notes."""
        return self.root / "notes"

    @property
    def index(self) -> Path:
        """The index of the notes, one line each."""
        return self.notes / "INDEX.md"

    @property
    def daily(self) -> Path:
        """The folder of daily notes, `YYYY-MM-DD.md`."""
        return self.root / "memory"

    @property
    def skills(self) -> Path:
        """The folder of approved skills, `<slug>/SKILL.md`."""
        return self.root / "skills"


@dataclass(frozen=True, slots=True)
class Home:
    """One home folder. `Home.find()` honours `$VADEMECUM_HOME`, then `~/.vademecum`."""

    root: Path

    @staticmethod
    def find(path: str | os.PathLike[str] | None = None) -> Home:
        """The home at `path`, else at `$VADEMECUM_HOME`, else at `~/.vademecum` (absolute; need not exist)."""
        chosen = path or os.environ.get("VADEMECUM_HOME") or "~/.vademecum"
        return Home(Path(chosen).expanduser().absolute())

    @property
    def config(self) -> Path:
        """`config.yaml`."""
        return self.root / "config.yaml"

    @property
    def env(self) -> Path:
        """`.env`, mode 0600: keys and tokens."""
        return self.root / ".env"

    @property
    def database(self) -> Path:
        """`state.db`, the one SQLite database."""
        return self.root / "state.db"

    @property
    def cache(self) -> Path:
        """`cache.db`: the index of pages and what was fetched; derived, in no backup."""
        return self.root / "cache.db"

    @property
    def secret_key(self) -> Path:
        """`secret.key`, mode 0600: what the marks of replaced secrets are made with."""
        return self.root / "secret.key"

    @property
    def keys(self) -> Path:
        """The folder of the keys that agents sign with, and of the pinned ones of others; mode 0700."""
        return self.root / "keys"

    @property
    def backups(self) -> Path:
        """The folder of backups."""
        return self.root / "backups"

    @property
    def agents(self) -> Path:
        """The folder that holds the agents' folders."""
        return self.root / "agents"

    def agent(self, name: str, config: Config) -> AgentFolder:
        """The folder of agent `name`: where the configuration says (adopted), else `agents/<name>`."""
        adopted = config.agents.get(name)
        if adopted is not None:
            return AgentFolder(name, Path(adopted.path).expanduser().absolute())
        return AgentFolder(name, self.agents / folder_name(name))
