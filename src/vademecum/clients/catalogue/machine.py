"""Where a client's files are on this machine, or on any other.

Idea: a path is a template, filled in from platform, home folder and environment. Invariant: filling in is a pure
function; only `find` looks at the disk, and it changes nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from vademecum.late import dataclass, pattern

Platform = Literal["linux", "macos", "windows"]

_VARIABLE = pattern(r"\$\{(\w+)(?::-([^}]*))?\}")
_ON = pattern(r"(linux|macos|windows)?(=)?:")


@dataclass(frozen=True, slots=True)
class Machine:
    """A platform with a person's home folder and environment."""

    platform: Platform
    home: str
    env: Mapping[str, str]

    @staticmethod
    def here(env: Mapping[str, str] | None = None) -> Machine:
        """This machine, with the environment `env` (default: the process's)."""
        names: dict[str, Platform] = {"win32": "windows", "darwin": "macos"}
        return Machine(names.get(sys.platform, "linux"), str(Path.home()), os.environ if env is None else env)

    def paths(self, templates: Sequence[str], project: str = "") -> list[str]:
        """The paths that `templates` mean here, in order.

        A template may begin with a platform (`macos:`), then with `~` for the home folder or `./` for `project`;
        `${NAME:-default}` is a variable. One for another platform, or with a variable that is unset and has no default,
        means none; with `=:` it is the only one when it means any. `*` stays: see `find`.
        """
        found = list[str]()
        for template in templates:
            on = _ON.match(template)
            path = self._path(template, project)
            if path and on is not None and on[2]:
                return [path]
            if path and path not in found:
                found.append(path)
        return found

    def find(self, templates: Sequence[str], project: Path) -> Path | None:
        """The first of the paths that is there, else the first without `*`; None when there is none for this platform.

        A path with `*` is there when the folder is, since another program made that.
        """
        first: Path | None = None
        for path in self.paths(templates, str(project)):
            if "*" in path:
                anchor = Path(path).anchor
                for folder in sorted(Path(anchor).glob(str(Path(path).parent.relative_to(anchor)))):
                    return folder / Path(path).name
            elif Path(path).exists():
                return Path(path).absolute()
            elif first is None:
                first = Path(path).absolute()
        return first

    def _path(self, template: str, project: str) -> str:
        on = _ON.match(template)
        if on is not None:
            if on[1] not in (None, self.platform):
                return ""
            template = template[on.end() :]
        for name, default in _VARIABLE.findall(template):
            value = self.env.get(name) or default
            if not value:
                return ""
            template = template.replace(f"${{{name}:-{default}}}", value).replace(f"${{{name}}}", value)
        if template == "~" or template.startswith(("~/", "~\\")):
            template = self.home + template[1:]
        elif template.startswith("./"):
            template = project + template[1:]
        return template.replace("/", "\\") if self.platform == "windows" else template
