"""The command `vademecum`: parse, call, print.

Idea: a thin user of `vademecum.open()`; every command is loaded only when it is the one that was asked for. Invariant:
a hook, which a client runs at every prompt, is dispatched before the command line's library is imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

__all__ = ["main"]

_GLOBAL = {"--home": "VADEMECUM_HOME", "--agent": "VADEMECUM_AGENT", "--user": "VADEMECUM_USER"}


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 done, 1 refused or failed, 2 wrong usage, 130 interrupted."""
    given = list(sys.argv[1:] if args is None else args)
    hook = _hook(given)
    if hook is not None:
        from vademecum.surfaces.hooks import run

        return run(hook)
    from vademecum.surfaces.cli.app import run_command

    return run_command(given)


def _hook(args: list[str]) -> str | None:
    """The name after `hook`, when that is the command; options before it are handed on through the environment."""
    rest, found = list(args), dict[str, str]()
    while rest and rest[0].partition("=")[0] in _GLOBAL:
        option, equals, value = rest.pop(0).partition("=")
        if not equals:
            if not rest:
                return None
            value = rest.pop(0)
        found[_GLOBAL[option]] = value
    if len(rest) != 2 or rest[0] != "hook" or rest[1].startswith("-"):
        return None
    os.environ.update(found)
    return rest[1]
