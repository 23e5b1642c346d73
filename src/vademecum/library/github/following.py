"""What has changed on GitHub since a cursor: issues and pull requests, releases, files of the default branch.

Idea: a cursor holds for each repository how far each kind was told; issues are walked in the order of their last
change, always from the last one on, since pages shift while somebody writes. Invariant: a change is told at least once,
however many share one second; what one repository refuses never loses what the others have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from vademecum.clock import iso, parse_iso
from vademecum.errors import NotFoundError, SourceError, UsageError
from vademecum.library.contract import ChangesFound, Item
from vademecum.library.github.api import Api, path_of
from vademecum.library.github.searching import issue, release
from vademecum.library.shapes import Json, count, numbers, obj, objs, packed, text, unpacked

_PAGE = 100
_MOST = 300  # items of one kind and repository in one call, and of all before the next is asked
_REQUESTS = 50  # for the issues of one repository in one call
_NEWEST = 20  # items that are told when there is no cursor
_COMPARED = 300  # files that GitHub lists of a comparison
Told = tuple[list[Item], Any, str]
"""Items, how far they go, and what has to be said of it."""


def changes(api: Api, since: str) -> ChangesFound:
    """See the contract. Raises UsageError, SourceError."""
    repos = [one for one in api.repos if not one.endswith("/*")]
    if not repos:
        return ChangesFound((), since, f"No repository is followed: name some in library.{api.name}.repos.")
    known = obj(unpacked(since), "repos")
    kinds: dict[str, Callable[[Api, str, Any], Told]] = {"issues": _issues, "releases": _releases, "files": _files}
    if unknown := [one for one in api.follow if one not in kinds]:
        raise UsageError(f"library.{api.name}.follow: there is no {unknown[0]!r}.", f"There are: {', '.join(kinds)}.")
    items: list[Item] = []
    hints: list[str] = []
    state: Json = {}
    failed: list[SourceError | NotFoundError] = []
    for repo in repos:
        state[repo] = dict(obj(known, repo))
        for kind in api.follow:
            if len(items) >= _MOST:
                hints = ["There is more: ask again with the cursor."]
                break
            try:
                found, state[repo][kind], hint = kinds[kind](api, api.checked(repo), obj(known, repo).get(kind))
            except (SourceError, NotFoundError) as error:
                failed.append(error)
                hints.append(f"{repo}: {error.message}")
                break
            items += found
            hints += [hint] if hint else []
    if len(failed) == len(repos) and not items:
        raise failed[0]
    items.sort(key=lambda one: one.time or 0)
    return ChangesFound(tuple(items), packed({"repos": state}), " ".join(hints))


def _issues(api: Api, repo: str, known: Any) -> Told:
    route, asked = path_of(repo, "issues"), {"state": "all", "sort": "updated", "per_page": _PAGE}
    if not text(known, "since"):
        found = _listed(api.get(route, {**asked, "direction": "desc", "per_page": _NEWEST}))
        newest = text(found[0], "updated_at") if found else "1970-01-01T00:00:00Z"
        return [issue(api, one) for one in reversed(found)], _mark(newest, found), ""
    since, seen, page = text(known, "since"), _seen(known), 1
    made: list[Item] = []
    for _ in range(_REQUESTS):
        found = _listed(api.get(route, {**asked, "direction": "asc", "since": _before(since), "page": page}))
        fresh = [
            one
            for one in found
            if text(one, "updated_at") > since
            or (text(one, "updated_at") == since and count(one, "number") not in seen)
        ]
        made += [issue(api, one) for one in fresh]
        last = text(found[-1], "updated_at") if found else since
        if last > since:
            since, seen, page = last, {count(one, "number") for one in found if text(one, "updated_at") == last}, 1
        else:
            seen |= {count(one, "number") for one in found if text(one, "updated_at") == since}
            page += 1  # more than a page of one second
        if len(found) < _PAGE or len(made) >= _MOST:
            break
    hint = f"{repo}: there are more changes; ask again with the cursor." if len(made) >= _MOST else ""
    return made, {"since": since, "seen": sorted(seen)}, hint


def _releases(api: Api, repo: str, known: Any) -> Told:
    since, seen = text(known, "since"), _seen(known)
    fresh: list[Json] = []
    for page in range(1, _MOST // _PAGE + 1):
        size = _PAGE if since else _NEWEST
        found = _listed(api.get(path_of(repo, "releases"), {"per_page": size, "page": page}))
        out = [one for one in found if text(one, "published_at")]
        new = [
            one
            for one in out
            if text(one, "published_at") > since
            or (text(one, "published_at") == since and count(one, "id") not in seen)
        ]
        fresh += new
        if not since or len(found) < size or len(new) < len(out):
            break
    fresh.sort(key=lambda one: text(one, "published_at"))
    newest = text(fresh[-1], "published_at") if fresh else since or "1970-01-01T00:00:00Z"
    told = {count(one, "id") for one in fresh if text(one, "published_at") == newest}
    state = {"since": newest, "seen": sorted(told | (seen if newest == since else set()))}
    return [release(api, repo, one) for one in fresh], state, ""


def _files(api: Api, repo: str, known: Any) -> Told:
    branch = text(api.get(path_of(repo)), "default_branch")
    head = text(api.get(path_of(repo, "commits", branch)), "sha")
    before = known if isinstance(known, str) else ""
    if before in ("", head):
        return [], head, ""
    try:
        found: Json = api.get(path_of(repo, "compare", f"{before}...{head}"))
    except NotFoundError:
        return [], head, f"{repo}: its history was rewritten, so which files have changed cannot be told."
    files = objs(found, "files")
    items = [one for file in files for one in _changed(api, repo, file)]
    hint = f"{repo}: only the first {_COMPARED} changed files are told." if len(files) >= _COMPARED else ""
    return items, head, hint


def _changed(api: Api, repo: str, file: Json) -> list[Item]:
    path, state = text(file, "filename"), text(file, "status")
    made = Item(
        api.ref(f"{repo}:{path}"),
        f"{repo}: {path}",
        f"{state}, +{count(file, 'additions')} -{count(file, 'deletions')}",
        text(file, "blob_url"),
        text(file, "sha"),
        kind="removed" if state == "removed" else "file",
        detail={"repo": repo, "path": path, "status": state},
    )
    before = text(file, "previous_filename")
    if state != "renamed" or not before:
        return [made]
    gone = {"repo": repo, "path": before, "status": "renamed"}
    old = replace(
        made, ref=api.ref(f"{repo}:{before}"), title=f"{repo}: {before}", snippet=f"renamed to {path}", kind="removed",
        detail=gone,
    )  # fmt: skip
    return [old, made]


def _before(since: str) -> str:
    """A second earlier, so that the second itself is given, whether or not GitHub counts it as after `since`."""
    return iso(parse_iso(since) - 1000)[:19] + "Z"


def _listed(answer: object) -> list[Json]:
    return objs({"all": answer}, "all")


def _seen(known: object) -> set[int]:
    return set(numbers(known, "seen"))


def _mark(newest: str, found: list[Json]) -> Json:
    return {
        "since": newest,
        "seen": sorted(count(one, "number") for one in found if text(one, "updated_at") == newest),
    }
