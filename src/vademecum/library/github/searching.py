"""Searching GitHub: issues and pull requests, code, releases, repositories.

Idea: the query goes to GitHub as it is, with the repositories and the kind as qualifiers; pages are counted by what was
shown, so that two searches can be shown as one. Invariant: at most `limit` items, and none of a repository that is not
allowed, whatever the query says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vademecum.errors import SourceError, UsageError
from vademecum.late import pattern
from vademecum.library.contract import Found, Item
from vademecum.library.github.api import MATCHES, Api, filtered, path_of
from vademecum.library.shapes import Json, count, ms, obj, objs, packed, short, text, unpacked

_REACH = 1000  # results that GitHub gives of one search
_THREADS = {"issue": "is:issue", "pr": "is:pull-request"}
_RELEASES = 100
_SCOPE = pattern(
    r"(?i)(?P<not>-)?(?<![\w.])(?P<kind>repo|user|org|owner|enterprise)\s*:\s*[\"']?(?P<value>[^\s\"'()]*)"
)
_OR = pattern(r"(?:^|[\s)])OR(?=$|[\s(])|\|")


def search(api: Api, query: str, *, limit: int, cursor: str, filters: Mapping[str, str]) -> Found:
    """See the contract. Raises UsageError, SourceError."""
    kind = filtered(filters, "kind")
    if kind == "release":
        return _releases(api, query, limit, filters)
    if kind == "code" and not api.token:
        raise SourceError(
            "GitHub searches in code only for those who have signed in.",
            "Put a token into .env as GITHUB_TOKEN; reading public repositories is all it needs.",
        )
    kinds = (kind,) if kind else ("issue", "pr")
    state = unpacked(cursor)
    size = count(state, "size") or limit
    shown = {one: count(state, one) for one in kinds}
    pages = {one: _page(api, one, query, filters, (shown[one], size)) for one in kinds if shown[one] >= 0}
    items: list[Item] = []
    while len(items) < limit and any(items_ for items_, _ in pages.values()):
        for one, (left, _) in pages.items():
            if left and len(items) < limit:
                found = left.pop(0)
                shown[one] += 1
                if found is not None:
                    items.append(found)
    for one, (left, last) in pages.items():
        if last and not left:
            shown[one] = -1
    more = any(at >= 0 for at in shown.values())
    hint = "" if items else _hint(api, kind)
    return Found(tuple(items), packed({"size": size, **shown}) if more else "", hint)


def _page(
    api: Api, kind: str, query: str, filters: Mapping[str, str], place: tuple[int, int]
) -> tuple[list[Item | None], bool]:
    """What one page has after what was shown (None: an item that is not allowed), and whether it is the last."""
    at, size = place
    number = at // size + 1
    asked: dict[str, str | int] = {"q": _query(api, kind, query, filters), "per_page": size, "page": number}
    if not query.strip() and kind in _THREADS:
        asked |= {"sort": "updated", "order": "desc"}
    route = {"code": "code", "repository": "repositories"}.get(kind, "issues")
    try:
        answer = api.get(f"/search/{route}", asked, accept=MATCHES)
    except SourceError as error:
        if error.status != 422:
            raise
        raise UsageError(
            f"GitHub cannot search for that: {error.message}",
            "Check that the repository exists and may be seen, and the qualifiers of the query.",
        ) from error
    make = {"code": _code, "repository": repository}.get(kind, issue)
    items = [make(api, one) if api.allows(_repo_of(one)) else None for one in objs(answer, "items")]
    last = number * size >= count(answer, "total_count") or (number + 1) * size > _REACH
    return items[at % size :], last or len(items) < size


def _query(api: Api, kind: str, query: str, filters: Mapping[str, str]) -> str:
    parts = [query.strip(), _THREADS.get(kind, "")]
    scoped = _scoped(api, query)
    if repo := filtered(filters, "repo"):
        parts.append(f"repo:{api.checked(repo)}")
    elif not scoped:
        parts += [f"user:{one[:-2]}" if one.endswith("/*") else f"repo:{one}" for one in api.repos]
    if (state := filtered(filters, "state")) and kind in _THREADS:
        parts.append(f"state:{state}")
    made = " ".join(part for part in parts if part)
    if not made or (kind == "code" and not query.strip()):
        raise UsageError("There is nothing to search for.", "Say a word, or a repository.")
    return made


def _scoped(api: Api, query: str) -> bool:
    """Whether the query says itself where it searches. Raises UsageError when that is not among the configured ones:
    even how much is found there would tell something of it.
    """
    scoped = False
    for found in _SCOPE.finditer(query):
        kind, value = found["kind"].lower(), found["value"]
        own = api.allows(value if kind == "repo" else f"{value}/*")
        if not own or (api.repos and kind == "enterprise"):
            raise UsageError(
                f"{found[0]!r} is outside of the repositories that library.{api.name}.repos names.",
                "A person may add it there.",
            )
        scoped = scoped or not found["not"]
    if api.repos and _OR.search(query):
        raise UsageError("A query with OR reaches beyond the configured repositories.", "Ask twice.")
    return scoped


def _repo_of(one: Json) -> str:
    if named := text(one, "full_name") or text(one, "repository", "full_name"):
        return named
    return "/".join(text(one, "repository_url").split("/")[-2:])


def issue(api: Api, one: Json) -> Item:
    """An issue or a pull request of an answer."""
    repo, number = _repo_of(one), count(one, "number")
    pull = bool(obj(one, "pull_request"))
    labels = ", ".join(text(label, "name") for label in objs(one, "labels"))
    detail = {"repo": repo, "state": text(one, "state"), "comments": str(count(one, "comments")), "labels": labels}
    if pull and text(one, "pull_request", "merged_at"):
        detail["state"] = "merged"
    return Item(
        api.ref(f"{repo}#{number}"),
        text(one, "title"),
        _fragment(one) or short(text(one, "body")),
        text(one, "html_url"),
        text(one, "updated_at"),
        ms(one, "updated_at"),
        _authors(one, "user"),
        "pull-request" if pull else "issue",
        {key: value for key, value in detail.items() if value},
    )


def _code(api: Api, one: Json) -> Item:
    repo, path = _repo_of(one), text(one, "path")
    return Item(
        api.ref(f"{repo}:{path}"),
        f"{repo}: {path}",
        _fragment(one),
        text(one, "html_url"),
        text(one, "sha"),
        kind="code",
        detail={"repo": repo, "path": path},
    )


def repository(api: Api, one: Json) -> Item:
    """A repository of an answer."""
    name = text(one, "full_name")
    return Item(
        api.ref(name),
        name,
        short(text(one, "description")),
        text(one, "html_url"),
        text(one, "pushed_at") or text(one, "updated_at"),
        ms(one, "pushed_at") or ms(one, "updated_at"),
        _authors(one, "owner"),
        "repository",
        {key: value for key, value in {"language": text(one, "language")}.items() if value},
    )


def release(api: Api, repo: str, one: Json) -> Item:
    """A release of an answer."""
    tag = text(one, "tag_name")
    name = text(one, "name") or tag
    return Item(
        api.ref(f"{repo}/releases/{tag}"),
        f"{repo} {name}" if tag in name else f"{repo} {tag}: {name}",
        short(text(one, "body")),
        text(one, "html_url"),
        text(one, "updated_at") or text(one, "published_at"),
        ms(one, "published_at"),
        _authors(one, "author"),
        "release",
        {"repo": repo, "tag": tag},
    )


def _releases(api: Api, query: str, limit: int, filters: Mapping[str, str]) -> Found:
    """The newest releases of one repository that have every word: GitHub has no search for them."""
    named = filtered(filters, "repo") or (api.repos[0] if len(api.repos) == 1 else "")
    if not named:
        raise UsageError("Releases are searched within one repository.", "Say repo=owner/name.")
    repo = api.checked(named)
    words = query.lower().split()
    answer: Any = api.get(path_of(repo, "releases"), {"per_page": _RELEASES})
    fitting = [
        one
        for one in objs({"all": answer}, "all")
        if all(word in f"{text(one, 'tag_name')} {text(one, 'name')} {text(one, 'body')}".lower() for word in words)
    ]
    hint = "" if fitting else f"Only the newest {_RELEASES} releases of {repo} were looked at."
    return Found(tuple(release(api, repo, one) for one in fitting[:limit]), "", hint)


def _fragment(one: Json) -> str:
    return short(" … ".join(text(match, "fragment") for match in objs(one, "text_matches")[:2]))


def _authors(one: Json, key: str) -> tuple[str, ...]:
    name = text(one, key, "login")
    return (name,) if name else ()


def _hint(api: Api, kind: str) -> str:
    where = f" in {', '.join(api.repos)}" if api.repos else ""
    if kind == "code":
        return f"No code has all of these words{where}; GitHub searches default branches only. Try fewer words."
    return f"Nothing has all of these words{where}; try fewer, or kind=code, release or repository."
