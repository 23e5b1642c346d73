"""Notion: pages as Markdown, databases and their rows, of all that was shared with the token's connection.

Idea: a ref says what it names (`page/ID`, `data_source/ID`, `database/ID`, `block/ID`); an address of Notion or a bare
id is taken as well, and what it is found out. Invariant: nothing is written; a signed address of a file, which would
open it to anybody, is never shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from vademecum.library.contract import Availability, ChangesFound, Document, Filter, Found, LibrarySource, Setting
from vademecum.library.notion.api import BASE, Api


class Notion(LibrarySource):
    """The source. It needs the token of a connection, and sees what people have shared with that."""

    type = "notion"
    about = "Pages and databases of a Notion workspace."
    fresh = 300_000

    @classmethod
    def settings(cls) -> tuple[Setting, ...]:
        """The settings that it takes."""
        return (
            Setting("token", "The token of an internal connection (ntn_...).", env="NOTION_TOKEN", required=True),
            Setting("base_url", "The API's address.", default=BASE),
        )

    @classmethod
    def filters(cls) -> tuple[Filter, ...]:
        """What `search` takes besides the query."""
        return (
            Filter("kind", "What is searched by title.", ("page", "database")),
            Filter("database", "Search the rows of this database or data source (its ref or id) in all their texts."),
        )

    def available(self) -> Availability:
        """Whether there is a token."""
        if self.env("token"):
            return Availability(True)
        hint = "Make a connection at https://www.notion.so/profile/integrations and put its token into .env as"
        return Availability(False, "there is no token.", f"{hint} NOTION_TOKEN; then share pages with it.")

    def search(self, query: str, *, limit: int = 10, cursor: str = "", filters: Mapping[str, str]) -> Found:
        """Pages and databases by their titles, which is all that Notion searches; or the rows of one database."""
        from vademecum.library.notion.searching import search

        return search(self._api, query, limit=limit, cursor=cursor, filters=filters)

    def read(self, id: str, *, part: str = "") -> Document:  # noqa: A002  the design's word
        """A page as Markdown, a database as a table."""
        from vademecum.library.notion.reading import read

        return read(self._api, id, part)

    def changes(self, since: str = "") -> ChangesFound:
        """What was edited or moved to the trash. Notion's index lags behind by up to some minutes."""
        from vademecum.library.notion.following import changes

        return changes(self._api, since, self.context.clock())

    def close(self) -> None:
        """Let go of connections."""
        if "_api" in self.__dict__:
            self._api.close()

    @cached_property
    def _api(self) -> Api:
        return Api(self)
