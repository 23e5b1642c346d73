"""Where everything of a vault lies.

Idea: paths are computed from the configuration, never searched for. Invariant: every path lies inside of the vault's
own folder (`vault.path`, or `vault.subfolder` in it), whatever a name says; nothing here writes.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from vademecum.clock import utc
from vademecum.config import VaultConfig
from vademecum.disk import strange
from vademecum.errors import ConfigError
from vademecum.home import Home, folder_name
from vademecum.late import dataclass, pattern

MONTH = pattern(r"\d{4}-(?:0[1-9]|1[0-2])")
"""The name of a month's file, without its suffix."""


@dataclass(frozen=True)
class VaultPaths:
    """The files of one vault; `root` is the folder that is ours (need not exist)."""

    root: Path

    @staticmethod
    def of(home: Home, config: VaultConfig) -> VaultPaths:
        """The vault of a home. Raises ConfigError for a sub-folder that leads out of the vault."""
        top = home.root / Path(config.path).expanduser()
        root = top / config.subfolder
        if not root.resolve().is_relative_to(top.resolve()):
            raise ConfigError(
                f"vault.subfolder leads out of {top}: {config.subfolder!r}.",
                "Give the name of a folder inside of vault.path.",
            )
        return VaultPaths(root.absolute())

    @cached_property
    def live(self) -> Path:
        """The folder of the live log, a file a month."""
        return self.root / "Live"

    def month(self, at_ms: int) -> Path:
        """The live log's file for that time (UTC)."""
        return self.live / f"{month_of(at_ms)}.md"

    def months(self) -> list[Path]:
        """The live log's files that are there, the oldest first; conflict copies are none of them."""
        return [path for path in self.files(self.live, ".md") if MONTH.fullmatch(path.stem)]

    def files(self, folder: Path, suffix: str) -> list[Path]:
        """The regular files of one of our folders whose names end so, by name; links that stay in our folder count."""
        return [path for path, why in self._there(folder, suffix) if not why]

    def strange(self) -> list[tuple[Path, str]]:
        """What stands in the place of a file of ours and is not read, and why."""
        places = [(self.live, ".md"), (self.ledgers, ".jsonl"), (self.projects, ".md"), (self.agents, ".md")]
        found = [(folder, strange(folder, self.root)) for folder, _ in places]
        made = [(folder, why) for folder, why in found if why.startswith("leads")]
        made += [(path, why) for place in places for path, why in self._there(*place) if why]
        why = strange(self.decisions, self.root)
        return [*made, (self.decisions, why)] if why else made

    def _there(self, folder: Path, suffix: str) -> list[tuple[Path, str]]:
        """What is named like a file of ours, with the reason for which it is not read."""
        try:
            with os.scandir(folder) as there:
                found = [(Path(one.path), one.is_file(follow_symlinks=False)) for one in there]
        except (FileNotFoundError, NotADirectoryError):
            return []
        if not found or strange(folder, self.root).startswith("leads"):
            return []
        made = [(path, plain) for path, plain in found if path.suffix == suffix and not path.name.startswith(".")]
        return sorted((path, "" if plain else strange(path, self.root)) for path, plain in made)

    @cached_property
    def decisions(self) -> Path:
        """The decisions."""
        return self.root / "Decisions.md"

    @cached_property
    def projects(self) -> Path:
        """The folder of project states."""
        return self.root / "Projects"

    @cached_property
    def agents(self) -> Path:
        """The folder of agents' checkpoints."""
        return self.root / "Agents"

    @cached_property
    def wiki(self) -> Path:
        """The folder of compiled pages."""
        return self.root / "Wiki"

    @cached_property
    def internal(self) -> Path:
        """What only programs read; Obsidian does not show it."""
        return self.root / ".vademecum"

    @cached_property
    def ledgers(self) -> Path:
        """The folder of signatures."""
        return self.internal / "ledger"

    def ledger(self, agent: str, key_id: str) -> Path:
        """The signatures of one agent's one key."""
        return self.ledgers / f"{folder_name(agent, any_case=True)}-{key_id}.jsonl"

    @cached_property
    def lock(self) -> Path:
        """What writers of the live log lock."""
        return self.internal / "live"

    @cached_property
    def writing(self) -> Path:
        """Names the ledger whose newest record is being written; empty at rest."""
        return self.internal / "writing"

    def relative(self, path: Path) -> str:
        """`path` as it is shown: below the vault's folder, with forward slashes."""
        return path.relative_to(self.root).as_posix()


def month_of(at_ms: int) -> str:
    """`2026-11` for a time (UTC)."""
    return utc(at_ms).strftime("%Y-%m")


def month_start(month: str) -> int:
    """UTC milliseconds of the first moment of `2026-11`."""
    return int(datetime(int(month[:4]), int(month[5:7]), 1, tzinfo=UTC).timestamp()) * 1000
