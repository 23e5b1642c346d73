"""`vademecum wiki`: what is known, page by page.

Idea: one group; each command lives with what it does. Invariant: nothing here reads a page.
"""

from __future__ import annotations

import click

from vademecum.surfaces.cli.app import Group
from vademecum.surfaces.cli.wiki_compile import compile_, file_, ingest
from vademecum.surfaces.cli.wiki_lint import lint
from vademecum.surfaces.cli.wiki_search import links, orphans, read, search


@click.group(cls=Group)
def wiki() -> None:
    """What is known, page by page: find it, read it, and compile it from facts, decisions and notes."""


wiki.add_command(search)
wiki.add_command(read)
wiki.add_command(links)
wiki.add_command(orphans)
wiki.add_command(lint)
wiki.add_command(compile_)
wiki.add_command(ingest)
wiki.add_command(file_)
