"""The requests to GitHub's REST API, and what a ref means.

Idea: one place knows headers, version and limits, and turns what people write of a thing into repository, kind and
name. Invariant: what stands in a ref is checked by letters before it becomes a path; a limit that GitHub only tells in
words is kept as well as one that it tells in headers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from vademecum.errors import NotFoundError, SourceError, UsageError
from vademecum.library.contract import LibrarySource
from vademecum.library.shapes import listed
from vademecum.library.web import Query, Reply, Web, as_json
from vademecum.values import text

BASE = "https://api.github.com"
VERSION = "2022-11-28"
"""Not the newest: github.com and every Enterprise server that is still maintained know this one."""
JSON = "application/vnd.github+json"
MATCHES, OBJECT, RAW = (f"application/vnd.github.{kind}+json" for kind in ("text-match", "object", "raw"))

_SECONDARY = 60  # seconds to stay away when GitHub asks for it in words only
_REPO = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]{0,38})/([A-Za-z0-9_.-]{1,100})")
_FILE = re.compile(r"(?:@([^:\s]{1,250}))?:(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Ref:
    """What a ref names: `kind` is repository, thread, file or release."""

    repo: str
    kind: str
    number: int = 0
    at: str = ""
    path: str = ""


class Api:
    """The connection of one source. Thread-safe."""

    def __init__(self, source: LibrarySource) -> None:
        settings, context = source.context.settings, source.context
        self.ref, self.name = source.ref, source.name
        self.token = source.env("token")
        base = text(settings, "base_url", BASE).rstrip("/")
        headers = {"X-GitHub-Api-Version": VERSION} | ({"Authorization": f"Bearer {self.token}"} if self.token else {})
        self._web: Web = source.web(BASE, headers=headers)
        self._context = context
        self.site = "https://github.com" if base == BASE else _site(base)
        self.repos = tuple(one.strip("/") for one in listed(settings.get("repos")))
        self.follow = listed(settings.get("follow")) or ("issues", "releases")

    def close(self) -> None:
        """Let go of connections."""
        self._web.close()

    def get(self, path: str, query: Query | None = None, *, accept: str = JSON) -> Any:
        """The answer's JSON. Raises NotFoundError, SourceError."""
        return as_json(self.reply(path, query, accept=accept), self.name)

    def reply(self, path: str, query: Query | None = None, *, accept: str = JSON) -> Reply:
        """The answer whole. Raises NotFoundError, SourceError."""
        try:
            return self._web.get(path, query=query, headers={"Accept": accept})
        except SourceError as error:
            raise self._told(error) from error

    def _told(self, error: SourceError) -> SourceError | NotFoundError:
        if error.status in (404, 410, 451) and not error.passing:
            more = "" if self.token else " A private repository needs GITHUB_TOKEN in .env."
            return NotFoundError(error.message, f"Check the ref; `vademecum library search` gives refs.{more}")
        if error.status == 403 and "secondary rate limit" in error.message and not error.passing:
            host = urlsplit(self._web.base).netloc.lower()
            self._context.cache.wait(host, self._context.clock() + _SECONDARY * 1000)
            return SourceError(
                error.message, f"Try again in {_SECONDARY} s.", passing=True, status=403, retry_after=_SECONDARY
            )
        if error.retry_after and not self.token:
            hint = f"{error.hint} With GITHUB_TOKEN in .env GitHub answers 5,000 requests an hour instead of 60."
            return SourceError(error.message, hint, passing=True, status=error.status, retry_after=error.retry_after)
        return error

    # --- what is looked at

    def allows(self, repo: str) -> bool:
        """Whether that repository may be shown."""
        owner = repo.partition("/")[0].lower()
        return not self.repos or any(
            one.lower() == repo.lower() or (one.endswith("/*") and one[:-2].lower() == owner) for one in self.repos
        )

    def checked(self, repo: str) -> str:
        """`repo`. Raises UsageError when it is no name, or none of the configured ones."""
        found = _REPO.fullmatch(repo)
        if found is None or found[2] in (".", ".."):
            raise UsageError(f"{repo[:120]!r} is no repository.", "Write it as owner/name.")
        if not self.allows(repo):
            raise UsageError(
                f"{repo} is none of the repositories that library.{self.name}.repos names.",
                "A person may add it there.",
            )
        return repo

    def parsed(self, id_: str) -> Ref:
        """What `id_` names: a ref without the source, or a web address. Raises UsageError."""
        rest = id_.strip()
        if rest.startswith(("https://", "http://")):
            rest = self._of_address(rest)
        found = _REPO.match(rest)
        if found is None:
            raise self._unclear(id_)
        repo, rest = self.checked(found[0].removesuffix(".git")), rest[found.end() :]
        if thread := re.fullmatch(r"(?:#|/issues/|/pull/|/pulls/)(\d{1,10})/?(?:#.*)?", rest):
            return Ref(repo, "thread", number=int(thread[1]))
        if release := re.fullmatch(r"/releases/(?:tag/)?([^\s]{1,250}?)/?", rest):
            return Ref(repo, "release", at=_plain(release[1], id_))
        if file := _FILE.fullmatch(rest):
            return Ref(repo, "file", at=file[1] or "", path=_plain(file[2].strip("/"), id_))
        if rest.strip("/") == "":
            return Ref(repo, "repository")
        raise self._unclear(id_)

    def _of_address(self, url: str) -> str:
        """The ref behind an address of the site. A branch with a slash in its name cannot be told from a folder."""
        parts = urlsplit(url)
        if parts.netloc.lower().removeprefix("www.") != urlsplit(self.site).netloc.lower():
            raise UsageError(f"{url[:200]} is no address of {self.site}.", "Another source may read it.")
        path = unquote(parts.path).strip("/")
        if found := re.fullmatch(r"([^/]+/[^/]+)/(?:blob|tree|raw)/([^/]+)(?:/(.*))?", path):
            return f"{found[1]}@{found[2]}:{found[3] or ''}"
        return path

    def _unclear(self, id_: str) -> UsageError:
        return UsageError(
            f"{id_[:120]!r} is no ref of {self.name}.",
            "Write owner/name, owner/name#12, owner/name:path, owner/name@branch:path or owner/name/releases/TAG.",
        )


def path_of(repo: str, *parts: str) -> str:
    """The API's path of a thing in a repository."""
    return "/".join(["/repos", repo, *(quote(part, safe="/") for part in parts if part)])


def filtered(filters: Mapping[str, str], key: str) -> str:
    """A filter's value without white space around it."""
    return filters.get(key, "").strip()


def _plain(path: str, id_: str) -> str:
    if any(part in (".", "..") for part in path.split("/")) or "\0" in path:
        raise UsageError(f"{id_[:120]!r} leaves the place that it names.", "Write the path without `.` and `..`.")
    return path


def _site(base: str) -> str:
    parts = urlsplit(base)
    return f"{parts.scheme}://{parts.netloc.removeprefix('api.')}"
