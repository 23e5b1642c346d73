"""`vademecum wiki`: what is known, page by page.

Idea: one group; each command lives with what it does, and is imported when it is the one that was asked for, since a
search is a process of its own. Invariant: nothing here reads a page.
"""

from __future__ import annotations

from importlib import import_module

import click

from vademecum.surfaces.cli.app import Group

_COMMANDS = {
    "search": "wiki_search:search",
    "read": "wiki_search:read",
    "links": "wiki_search:links",
    "orphans": "wiki_search:orphans",
    "lint": "wiki_lint:lint",
    "compile": "wiki_compile:compile_",
    "ingest": "wiki_compile:ingest",
    "file": "wiki_compile:file_",
}


class _Wiki(Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[cmd_name].partition(":")
        return getattr(import_module(f"vademecum.surfaces.cli.{module}"), attribute)


@click.group(cls=_Wiki)
def wiki() -> None:
    """What is known, page by page: find it, read it, and compile it from facts, decisions and notes."""
