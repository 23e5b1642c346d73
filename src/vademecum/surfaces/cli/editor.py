"""A store in a person's editor, saved by compare-and-set.

Idea: the editor works on a private temporary copy; what comes back is saved through the gate. Invariant: text that
could not be saved is never lost: it stays in the named file.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from vademecum.errors import UsageError, VademecumError
from vademecum.model import StoreName
from vademecum.surfaces.cli.terminal import confirmed

if TYPE_CHECKING:
    from vademecum.core.memory import Change
    from vademecum.surfaces.cli.app import App


def editor_command() -> list[str]:
    """The person's editor as a command: $VISUAL, $EDITOR, else the platform's plain one."""
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if os.name == "nt" else "vi")
    return shlex.split(chosen, posix=os.name != "nt")


def in_editor(name: str, before: str) -> tuple[str, Path] | None:
    """What a person made of `before`, and the file that holds it until it is saved; None when nothing was changed.

    Raises UsageError when the editor could not be run or failed; an edited text is then kept in a file that it names.
    """
    handle, file = tempfile.mkstemp(prefix=f"vademecum-{name}-", suffix=".md")
    path = Path(file)
    with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape", newline="") as stream:
        stream.write(before)
    try:
        done = subprocess.run([*editor_command(), file], check=False)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise UsageError(
            f"The editor {editor_command()[0]!r} could not be run: {error.strerror}. Nothing was changed.",
            "Set $EDITOR to an editor that waits until its window is closed, e.g. `nano` or `code --wait`.",
        ) from error
    if done.returncode != 0:
        raise UsageError(f"The editor ended with {done.returncode}. Nothing was changed.", f"Your text is in {path}.")
    after = path.read_bytes().decode("utf-8", "surrogateescape")
    if after == before:
        path.unlink(missing_ok=True)
        return None
    return after, path


def edit_text(app: App, store: StoreName, *, yes: bool = False) -> Change | None:
    """Open `store` in the editor and save the result; None when nothing was changed. `yes`: also when nothing is left.

    Raises ConflictError when the file changed meanwhile, FullError or BlockedError when it cannot be saved, UsageError
    when the editor could not be run; the edited text is then kept in a file that the error names.
    """
    before = app.vm.memory.edit_text(store)
    edited = in_editor(store, before)
    if edited is None:
        return None
    after, path = edited
    if before.strip() and not after.strip():
        path.unlink(missing_ok=True)  # it holds nothing
        if not confirmed(f"The editor left nothing. Erase all of {store}?", yes=yes, json=app.json):
            return None
    from vademecum.core.memory import sha256_of

    try:
        change = app.vm.memory.save_text(store, after, sha256_of(before), origin=app.origin)
    except VademecumError as error:
        error.hint = f"{error.hint} Your text is kept in {path}.".strip()
        raise
    path.unlink(missing_ok=True)
    return change
