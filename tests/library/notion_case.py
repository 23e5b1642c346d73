"""Notion against its stand-in: a library that asks it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from opened import Held, library

from servers.notion import TOKEN, NotionServer
from vademecum.library.library import Library


def opened(server: NotionServer, folder: Path, clock: Held, token: str = TOKEN) -> Library:
    env = {"NOTION_TOKEN": token} if token else {}
    return library(folder, "notion", {"base_url": server.url}, env=env, clock=clock)


def row_of(database: str, source: str) -> dict[str, Any]:
    """The parent of a row."""
    return {"type": "data_source_id", "data_source_id": source, "database_id": database}
