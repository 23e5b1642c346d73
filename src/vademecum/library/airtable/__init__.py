"""Airtable: bases, tables with their views, and records, of all that the token may see.

Idea: a ref is the path of ids that Airtable's own addresses have (`appX/tblY/recZ`, `appX/tblY/viwZ`), so an address is
a ref. Invariant: what is searched for becomes a quoted text within a formula and never a part of it; signed addresses
of attachments are not shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from vademecum.library.airtable.api import BASE, Api
from vademecum.library.contract import Availability, ChangesFound, Document, Filter, Found, LibrarySource, Setting


class Airtable(LibrarySource):
    """The source. It needs a personal access token that may read records and schemas."""

    type = "airtable"
    about = "Records, tables and bases in Airtable."
    fresh = 300_000

    @classmethod
    def settings(cls) -> tuple[Setting, ...]:
        """The settings that it takes."""
        scopes = "data.records:read and schema.bases:read"
        return (
            Setting("token", f"A personal access token with {scopes}.", env="AIRTABLE_TOKEN", required=True),
            Setting("base_url", "The API's address.", default=BASE),
            Setting("bases", "The ids of the bases that are looked at; others are then refused."),
            Setting("follow", "What `changes` tells of: bases or tables (appX or appX/tblY). All, unless said."),
        )

    @classmethod
    def filters(cls) -> tuple[Filter, ...]:
        """What `search` takes besides the query."""
        return (
            Filter("base", "The id of a base."),
            Filter("table", "The id or the name of a table; needs a base, unless only one is looked at."),
            Filter("view", "The id or the name of a view of that table: only what it shows."),
            Filter("formula", "A formula in Airtable's language that a record has to fulfil, such as {Price} > 10."),
        )

    def available(self) -> Availability:
        """Whether there is a token."""
        if self.env("token"):
            return Availability(True)
        hint = "Make one at https://airtable.com/create/tokens with data.records:read and schema.bases:read, and put"
        return Availability(False, "there is no token.", f"{hint} it into .env as AIRTABLE_TOKEN.")

    def search(self, query: str, *, limit: int = 10, cursor: str = "", filters: Mapping[str, str]) -> Found:
        """Records that have every word of `query` in their fields, table by table."""
        from vademecum.library.airtable.searching import search

        return search(self._api, query, limit=limit, cursor=cursor, filters=filters)

    def read(self, id: str, *, part: str = "") -> Document:  # noqa: A002  the design's word
        """A record with all its fields, a table or a view as a table of records, or what a base holds."""
        from vademecum.library.airtable.reading import read

        return read(self._api, id, part)

    def changes(self, since: str = "") -> ChangesFound:
        """New and changed records. Airtable tells of deleted ones by webhooks only, which are not used."""
        from vademecum.library.airtable.following import changes

        return changes(self._api, since, self.context.clock())

    def close(self) -> None:
        """Let go of connections."""
        if "_api" in self.__dict__:
            self._api.close()

    @cached_property
    def _api(self) -> Api:
        return Api(self)
