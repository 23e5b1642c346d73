"""Folders of pages for the tests of the wiki, and the index of one."""

from __future__ import annotations

from pathlib import Path

from vademecum.store.schema_cache import open_cache
from vademecum.wiki.graph import Graph
from vademecum.wiki.index import Index
from vademecum.wiki.types import Source


def written(root: Path, files: dict[str, str | bytes]) -> Path:
    """`root` with those files in it."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def index_of(root: Path, **settings: object) -> Index:
    """An index of the folder `root`, in a database beside it; not refreshed."""
    source = Source("vault", root.resolve(), **settings)  # type: ignore[arg-type]
    return Index(open_cache(root.parent / "cache.db"), [source])


def graph_of(root: Path, files: dict[str, str | bytes]) -> tuple[Index, Graph]:
    """The graph of those pages."""
    index = index_of(written(root, files))
    index.refresh()
    return index, Graph(index)


def matches(index: Index, expression: str) -> list[str]:
    """The pages of which a section matches, as the full-text index has it."""
    sql = (
        "SELECT DISTINCT p.path FROM wiki_text JOIN wiki_sections s ON s.n = wiki_text.rowid"
        " JOIN wiki_pages p ON p.n = s.page WHERE wiki_text MATCH ? ORDER BY p.path"
    )
    return [row[0] for row in index.db.all(sql, (expression,))]


def content_of(root: Path) -> dict[str, bytes]:
    """Every file below `root` with its bytes."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
