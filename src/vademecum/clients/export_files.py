"""Which files of a home an export takes, and how they are named in it.

Idea: files are the truth and go out byte for byte, but for secrets in them. Invariant: no link leads out of the agent's
folder; keys, locks, temporary files and what another program
keeps in an adopted folder stay where they are; the configuration goes without secrets and without this machine's paths
of agents.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from vademecum.agent.vademecum import agent_names
from vademecum.clients.edit.yaml import Document
from vademecum.disk import read_bytes, strange, to_bytes, to_text
from vademecum.errors import UnreadableError
from vademecum.home import AgentFolder, folder_name
from vademecum.late import dataclass
from vademecum.vault.paths import VaultPaths

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

SKIPPED = (".lock", ".tmp", ".before-repair")
FOLDERS = ("memories", "notes", "skills", "memory")
"""The folders of an agent that are ours; a Hermes home has more."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A file as it goes out: its name in the export; `runs` when it may be executed."""

    name: str
    data: bytes
    runs: bool = False


def agent_files(vm: Vademecum, user: str | None, notes: list[str]) -> Iterator[Taken]:
    """The files of every agent, as `agents/<name>/...`; with `user` only that person's own.

    Secrets in texts are replaced. `notes` are told of that, and of what was left out.
    """
    for name in agent_names(vm.home, vm.config):
        folder = vm.home.agent(name, vm.config)
        for path in _of_agent(folder, user, notes):
            data = read_bytes(path)
            if data is not None:
                place = f"agents/{folder_name(name)}/{path.relative_to(folder.root).as_posix()}"
                yield Taken(place, _clean(vm, place, data, notes), bool(path.stat().st_mode & 0o100))


def _clean(vm: Vademecum, name: str, data: bytes, notes: list[str]) -> bytes:
    if b"\0" in data:  # no text that anybody could paste a secret into
        return data
    clean = vm.redactor.redact(to_text(data))
    if not clean.kinds:
        return data
    notes.append(f"{name}: {len(clean.kinds)} secrets in it were replaced by marks ({', '.join(set(clean.kinds))}).")
    return to_bytes(clean.text)


def _of_agent(folder: AgentFolder, user: str | None, notes: list[str]) -> Iterator[Path]:
    if user is not None:
        yield from _plain(folder.store("user", user), folder.root, notes)
        return
    yield from _plain(folder.soul, folder.root, notes)
    for name in FOLDERS:
        yield from files_below(folder.root / name, folder.root, notes)


def _plain(path: Path, root: Path, notes: list[str]) -> Iterator[Path]:
    """The file `path` unless it leads out of `root` or is none; then it is named."""
    if why := strange(path, root):
        notes.append(f"{path} was left out: it {why}.")
    elif path.is_file():
        yield path


def files_below(folder: Path, root: Path, notes: list[str]) -> Iterator[Path]:
    """The files below `folder` in a fixed order; hidden ones, locks and what a killed writer left are none.

    What leads out of `root` is left out, and so is a folder that is a link; `notes` name them.
    """
    if not folder.is_dir():
        return
    for path in sorted([folder] if folder.is_symlink() else folder.iterdir()):
        if path.name.startswith(".") or path.name.endswith(SKIPPED):
            continue
        if path.is_dir():
            if path.is_symlink():
                notes.append(f"{path} was left out: it is a link to a folder.")
            else:
                yield from files_below(path, root, notes)
        else:
            yield from _plain(path, root, notes)


def config_text(vm: Vademecum) -> tuple[bytes, str]:
    """`config.yaml` without secrets and without the folders of adopted agents; and what to say when it is left out."""
    raw = read_bytes(vm.home.config)
    if raw is None:
        return b"", ""
    try:
        document = Document(raw, vm.home.config)
        if document.get("agents") is not None:
            document.remove(("agents",))
        text = document.bytes().decode()
    except UnreadableError as error:
        return b"", f"config.yaml was left out: {error.message}"
    return vm.redactor.clean(text).encode(), ""


def vault_of(vm: Vademecum, notes: list[str]) -> tuple[dict[str, object], Iterator[Taken]]:
    """Where the vault is, and its files when it lies in the home (`vault/...`)."""
    root = VaultPaths.of(vm.home, vm.config.vault).root
    if not root.resolve().is_relative_to(vm.home.root.resolve()):
        return {"path": str(root), "copied": False}, iter(())
    return {"path": root.relative_to(vm.home.root).as_posix(), "copied": True}, _of_vault(vm, root, notes)


def _of_vault(vm: Vademecum, root: Path, notes: list[str]) -> Iterator[Taken]:
    for path in [*files_below(root, root, notes), *files_below(root / ".vademecum" / "ledger", root, notes)]:
        data = read_bytes(path)
        if data is not None:
            yield Taken(f"vault/{path.relative_to(root).as_posix()}", data)
    pinned = read_bytes(vm.home.keys / "pinned.json")
    if pinned is not None:
        yield Taken("keys/pinned.json", pinned)
