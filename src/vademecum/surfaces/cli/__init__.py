"""The command `vademecum`: parse, call, print.

Idea: a thin user of `vademecum.open()`; every command is loaded only when it is the one that was asked for. Invariant:
a hook, which a client runs at every prompt, is dispatched before the command line's library is imported; a process
that is over leaves at once, once everything is closed and written.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Sequence

__all__ = ["main"]

_GLOBAL = {"--home": "VADEMECUM_HOME", "--agent": "VADEMECUM_AGENT", "--user": "VADEMECUM_USER"}


_AT_EXIT = ("asyncio", "concurrent.futures", "coverage", "logging", "multiprocessing")
"""Modules that have something to do when an interpreter ends."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 done, 1 refused or failed, 2 wrong usage, 130 interrupted.

    Without `args` it is the whole of the process, which may then end in here.
    """
    if args is None:
        gc.set_threshold(50_000, 20, 20)  # what is imported stays: looking through it for garbage is in vain
    given = list(sys.argv[1:] if args is None else args)
    hook = _hook(given)
    if hook is not None:
        from vademecum.surfaces.hooks import run

        code = run(hook)
    else:
        from vademecum.surfaces.cli.app import run_command

        code = run_command(given)
    if args is None:
        _leave(code)
    return code


def _leave(code: int) -> None:
    """End the process without taking its modules apart, which takes 10 ms; returns if something is left to be done."""
    if any(name in sys.modules for name in _AT_EXIT):
        return
    if any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        return
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # pyright: ignore[reportUnnecessaryComparison]  # a process without a console
                stream.flush()
    except (OSError, ValueError):  # the reader is gone: Python says so as it always does
        return
    os._exit(code)


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
    if len(rest) < 2 or rest[0] != "hook" or rest[1].startswith("-"):
        return None
    for word, after in zip(rest[2:], [*rest[3:], ""], strict=False):  # what is not known is left alone: hooks exit 0
        option, equals, value = word.partition("=")
        if option == "--client":
            found["VADEMECUM_CLIENT"] = value if equals else after
    os.environ.update(found)
    return rest[1]
