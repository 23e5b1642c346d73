"""The files of an export: each text past the gate, then onto its place, byte for byte.

Idea: core stores go through the core's own door, every other file is admitted as a whole. Invariant: a file that the
gate refuses is named and stays in the export; a secret in one is replaced; no name leads out of the home.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from vademecum.clients.imports.report import Tally
from vademecum.core.birth import SOUL
from vademecum.core.entries import Document
from vademecum.core.note_history import state_of
from vademecum.disk import read_bytes, to_bytes, to_text, visible
from vademecum.errors import BlockedError, VademecumError
from vademecum.files import write_atomic
from vademecum.gate.candidate import Accepted, Candidate, Effect
from vademecum.home import AgentFolder, Home, folder_name
from vademecum.model import OWNER, Actor, Origin, StoreName
from vademecum.page import NO_FILE
from vademecum.vault.paths import VaultPaths

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

_STORES: dict[str, StoreName] = {"memories/MEMORY.md": "memory", "memories/USER.md": "user"}
_USER = re.compile(r"memories/users/([^/]+)/USER\.md")
OTHER = "files"
"""As what the gate is shown a text that is no entry, note, skill or daily note: an identity, a script of a skill."""


def is_untouched(folder: AgentFolder) -> bool:
    """True when an agent has only what it was made with."""
    if not folder.root.is_dir():
        return True
    for path in folder.root.rglob("*"):
        if path.is_file() and path.suffix != ".lock":
            data = path.read_bytes()
            if data and not (path == folder.soul and data == SOUL.encode()):
                return False
    return True


class Placing:
    """Brings the files of the export in `source` into `home`."""

    def __init__(self, home: Home, source: Path, tally: Tally) -> None:
        self._home = home
        self._source = source
        self._tally = tally

    def config(self) -> None:
        """The configuration, first, since its limits count for all that follows; one that is there stays."""
        from vademecum.config import load

        source = self._source / "config.yaml"
        data, now = read_bytes(source), read_bytes(self._home.config)
        if now is not None and now != data:
            self._tally.notes.append("config.yaml: the home's own was kept.")
        if data is None or now is not None:
            return
        try:
            if load(source).agents:
                raise BlockedError("It names folders of agents elsewhere, which no export does; it was left out.")
        except VademecumError as error:
            self._tally.problem(source, 0, error.message)
            return
        self._home.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomic(self._home.config, data)

    def folders(self, agents: list[str]) -> None:
        """A bare folder for each new agent: it gets the files that it had, and none of those of a new one."""
        for name in agents:
            self._home.agents.joinpath(folder_name(name)).mkdir(mode=0o700, parents=True, exist_ok=True)

    def files(self, vm: Vademecum, by: Origin, names: list[str]) -> None:
        """Every file that has a place in a home, as the person `by`."""
        for name in names:
            way = name.split("/")
            try:
                if way[0] == "agents" and len(way) > 2:
                    self._of_agent(vm, unquote(way[1]), "/".join(way[2:]), self._source / name, by)
                elif way[0] == "vault":
                    self._of_vault(vm, name, self._source / name, by)
                elif name == "keys/pinned.json":
                    self._home.keys.mkdir(mode=0o700, exist_ok=True)
                    self._write(self._home.keys / "pinned.json", (self._source / name).read_bytes())
            except VademecumError as error:
                self._tally.problem(self._source / name, 0, error.message)

    def _of_vault(self, vm: Vademecum, name: str, path: Path, by: Origin) -> None:
        root, inner = VaultPaths.of(vm.home, vm.config.vault).root, name.removeprefix("vault/")
        if not root.resolve().is_relative_to(vm.home.root.resolve()):
            raise BlockedError(f"config.yaml has the vault outside of the home, in {root}; it was left as it is.")
        data = path.read_bytes()
        self._write(root / inner, data if inner.startswith(".vademecum/") else self._admitted(vm, name, data, by))

    def _of_agent(self, vm: Vademecum, agent: str, name: str, path: Path, by: Origin) -> None:
        mine = vm if vm.actor.agent == agent else vm.as_(agent=agent, user=OWNER)
        data, target = path.read_bytes(), mine.folder.root / name
        if read_bytes(target) == data:
            return
        other = _USER.fullmatch(name)
        if name in _STORES or other is not None:
            user = OWNER if other is None else unquote(other[1])
            if other is not None and folder_name(user, any_case=True) != other[1]:
                raise BlockedError(f"{other[1]!r} is no folder of a user.")
            self._store(mine.as_(user=user), _STORES.get(name, "user"), data, by)
            return
        written = self._admitted(mine, name, data, by)
        self._write(target, written, runs=bool(path.stat().st_mode & 0o100))
        self._tally.notes_written += name.startswith("notes/") and name != "notes/INDEX.md"

    def _store(self, vm: Vademecum, store: StoreName, data: bytes, by: Origin) -> None:
        from vademecum.core.memory import sha256_of

        document = Document.decode(data)
        vm.memory.save_text(store, document.text, sha256_of(vm.memory.edit_text(store)), origin=by)
        if vm.memory.load(store).texts == document.texts:  # white space and encoding as they were
            write_atomic(vm.memory.path(store), data)
        self._tally.entries += len(document.texts)

    def _admitted(self, vm: Vademecum, name: str, data: bytes, by: Origin) -> bytes:
        """The bytes as the gate lets them in. Raises BlockedError."""
        raw = to_text(data)
        text = visible(raw.removeprefix("\ufeff"))
        tier, target = _tier(name)
        if tier == OTHER and "\0" in raw:
            return data
        effect = Effect("", text, "", NO_FILE, state_of(raw))
        actor = Actor(vm.actor.agent, OWNER)
        decision = vm.gate.admit(Candidate(tier, "add", target, text, by, actor, effect=lambda _text: effect))
        if not isinstance(decision, Accepted):
            raise BlockedError("It waits for your yes: vademecum review list.")
        return data if decision.text == text else to_bytes(decision.text)

    def _write(self, path: Path, data: bytes, *, runs: bool = False) -> None:
        if read_bytes(path) != data:
            write_atomic(path, data, mode=0o700 if runs else 0o600)


def _tier(name: str) -> tuple[str, str]:
    """The tier and the target of a file of an agent, or that it is a text of another kind."""
    way = name.split("/")
    match way:
        case ["notes", file] if file != "INDEX.md" and file.endswith(".md"):
            return "notes", file.removesuffix(".md")
        case ["skills", slug, "SKILL.md"]:
            return "skills", slug
        case ["memory", file] if file.endswith(".md"):
            return "daily", file.removesuffix(".md")
        case _:
            return OTHER, name
