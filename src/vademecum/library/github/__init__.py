"""GitHub: issues, pull requests, code, files and releases, of github.com or of an Enterprise server.

Idea: a thing is named as people write it (`owner/name#12`, `owner/name@ref:path`, `owner/name/releases/v1`), or by its
web address; each is asked for through the versioned REST API. Invariant: when `repos` is set, nothing outside of those
repositories is shown; a part of a ref never becomes another route of the API.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from vademecum.library.contract import Availability, ChangesFound, Document, Filter, Found, LibrarySource, Setting
from vademecum.library.github.api import BASE, Api

_KINDS = ("issue", "pr", "code", "release", "repository")


class GitHub(LibrarySource):
    """The source. A token is optional; without one GitHub answers 60 requests an hour, and no search in code."""

    type = "github"
    about = "Issues, pull requests, code, files and releases on GitHub."
    fresh = 600_000

    @classmethod
    def settings(cls) -> tuple[Setting, ...]:
        """The settings that it takes."""
        return (
            Setting("token", "A personal access token; reading is all it needs.", env="GITHUB_TOKEN"),
            Setting("base_url", "The API's address; of an Enterprise server https://HOST/api/v3.", default=BASE),
            Setting("repos", "Repositories (owner/name, or owner/*) that are looked at; others are then refused."),
            Setting("follow", "What `changes` tells of: issues, releases, files.", default="issues releases"),
        )

    @classmethod
    def filters(cls) -> tuple[Filter, ...]:
        """What `search` takes besides the query."""
        return (
            Filter("kind", "What is searched; issues and pull requests unless said. Code needs a token.", _KINDS),
            Filter("repo", "One repository: owner/name."),
            Filter("state", "Of issues and pull requests.", ("open", "closed")),
        )

    def available(self) -> Availability:
        """Always: a token only adds to it."""
        return Availability(True)

    def search(self, query: str, *, limit: int = 10, cursor: str = "", filters: Mapping[str, str]) -> Found:
        """What fits `query`, which may have GitHub's own qualifiers (`label:bug author:x`)."""
        from vademecum.library.github.searching import search

        return search(self._api, query, limit=limit, cursor=cursor, filters=filters)

    def read(self, id: str, *, part: str = "") -> Document:  # noqa: A002  the design's word
        """An issue or pull request with what was said, a file or folder, a release, or a repository."""
        from vademecum.library.github.reading import read

        return read(self._api, id, part)

    def changes(self, since: str = "") -> ChangesFound:
        """What has changed in the repositories of `repos`. Deleted issues are not told by GitHub; deleted files are."""
        from vademecum.library.github.following import changes

        return changes(self._api, since)

    def close(self) -> None:
        """Let go of connections."""
        if "_api" in self.__dict__:
            self._api.close()

    @cached_property
    def _api(self) -> Api:
        return Api(self)
