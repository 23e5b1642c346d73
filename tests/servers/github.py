"""A small real HTTP server that speaks GitHub's REST API: search, issues, pull requests, files, releases.

Idea: repositories are kept as they come; every answer has the fields of the published description, its pages a Link
header, its requests a budget. Invariant: what it answers can be read by PyGithub, which judges it; a question that the
real service refuses (no kind of item, no token for code, an unknown version) is refused here with the same words.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote, urlencode

from servers.github_content import GitHubContent, Json, Repo
from servers.rest import Fault, Request, Rest

TOKEN = "ghp_" + "0123456789abcdefghijklmnopqrstuvwxyz"
VERSIONS = ("2022-11-28", "2026-03-10")
_ACCEPTED = re.compile(
    r"\*/\*|application/json|application/vnd\.github(\.v3)?(\.(raw|object|text-match|diff|patch|sha))?\+json"
)


class GitHubServer(GitHubContent, Rest):
    """`left` is what remains of the primary limit; None: no end. `prefix` as GitHub Enterprise has it (`/api/v3`).

    `inclusive`: what was updated in the second of `since` is after it.
    """

    def __init__(self, *, token: str = TOKEN, prefix: str = "") -> None:
        super().__init__()
        self.token, self.prefix = token, prefix
        self.left: int | None = None
        self.reset = 0
        self.unchanged = 0
        self.inclusive = True
        self.largest = 1_000_000

    @property
    def base(self) -> str:
        """The address of its API."""
        return self.url + self.prefix

    # --- answers

    def answer(self, request: Request) -> tuple[int, Any] | Fault:
        shown = request.headers.get("authorization", "")
        if shown and shown not in (f"Bearer {self.token}", f"token {self.token}"):
            return _no(401, "Bad credentials")
        if not request.headers.get("user-agent"):
            return Fault(403, b"Request forbidden by administrative rules. User-Agent header required.")
        version = request.headers.get("x-github-api-version", VERSIONS[0])
        if version not in VERSIONS:
            return _no(400, f"{version} is not a valid value for the X-GitHub-Api-Version header.")
        if not _ACCEPTED.fullmatch(request.headers.get("accept", "*/*")):
            return _no(415, "Unsupported 'Accept' header. Must accept 'application/json'.")
        if not request.path.startswith(self.prefix):
            return _no(404, "Not Found")
        budget = {"x-github-api-version-selected": version, "x-ratelimit-resource": "core"}
        if self.left is not None:
            budget |= {"x-ratelimit-limit": "60", "x-ratelimit-reset": str(self.reset)}
            if self.left == 0:
                words = "API rate limit exceeded for 127.0.0.1. (But here's the good news: Authenticated requests get"
                return Fault(403, _json({"message": f"{words} a higher rate limit.)"}), {
                    **budget, "x-ratelimit-remaining": "0",
                })  # fmt: skip
            self.left -= 1
            budget["x-ratelimit-remaining"] = str(self.left)
        request = Request(
            request.method, request.path[len(self.prefix) :], request.query, request.headers, request.body, request.raw
        )
        made = self._routed(request, authorised=bool(shown))
        made.headers = {**made.headers, **budget}
        if made.status == 200:
            tag = f'W/"{hashlib.sha256(made.body).hexdigest()}"'
            made.headers["etag"] = tag
            if request.headers.get("if-none-match") == tag:
                self.unchanged += 1
                if self.left is not None and shown:
                    self.left += 1
                return Fault(304, b"", made.headers)
        return made

    def _routed(self, request: Request, *, authorised: bool) -> Fault:
        if request.path == "/search/issues":
            return self._search_issues(request, authorised)
        if request.path == "/search/code":
            return self._search_code(request) if authorised else _no(401, "Requires authentication")
        if request.path == "/search/repositories":
            return self._search_repositories(request, authorised)
        found = re.fullmatch(r"/repos/([^/]+/[^/]+)(?:/(.*))?", unquote(request.path))
        repo = self.repos.get(found[1]) if found else None
        if found is None or repo is None or (repo.private and not authorised):
            return _no(404, "Not Found")
        return self._in_repo(request, repo, found[2] or "")

    def _in_repo(self, request: Request, repo: Repo, rest: str) -> Fault:
        parts = rest.split("/")
        match parts:
            case [""]:
                return _ok(self._shown(repo))
            case ["issues"]:
                return self._issues(request, repo)
            case ["issues" | "pulls", number, *what] if number.isdigit():
                return self._conversation(request, repo, parts[0], int(number), what)
            case ["readme"]:
                return self._content(request, repo, "README.md")
            case ["contents", *path]:
                return self._content(request, repo, "/".join(path))
            case ["git", "trees", *ref]:
                return self._tree(request, repo, "/".join(ref))
            case ["releases"]:
                return self._paged(request, repo.releases, rest)
            case ["releases", "latest"] if repo.releases:
                return _ok(repo.releases[0])
            case ["releases", "tags", *tag]:
                held = [one for one in repo.releases if one["tag_name"] == "/".join(tag)]
                return _ok(held[0]) if held else _no(404, "Not Found")
            case ["commits", ref]:
                return _ok({"sha": _sha(repo, ref), "commit": {}}) if ref in repo.files else _no(422, "No commit found")
            case ["compare", both]:
                return self._compare(repo, both)
            case _:
                return _no(404, "Not Found")

    def _issues(self, request: Request, repo: Repo) -> Fault:
        query = request.query
        held = [one for one in repo.issues.values() if one["number"] not in repo.gone]
        if query.get("state", "open") != "all":
            held = [one for one in held if one["state"] == query.get("state", "open")]
        if since := query.get("since"):
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", since), "an ISO 8601 time"
            held = [one for one in held if one["updated_at"] > since or (self.inclusive and one["updated_at"] == since)]
        key = f"{query.get('sort', 'created')}_at"
        held.sort(key=lambda one: (one[key], one["number"]), reverse=query.get("direction", "desc") == "desc")
        return self._paged(request, held, "issues")

    def _conversation(self, request: Request, repo: Repo, kind: str, number: int, what: list[str]) -> Fault:
        if number in repo.gone:
            return _no(410, "This issue was deleted")
        held = (repo.issues if kind == "issues" else repo.pulls).get(number)
        if held is None:
            return _no(404, "Not Found")
        of_pull = {"reviews": repo.reviews, "files": repo.changed, "comments": repo.review_comments}
        match kind, what:
            case _, []:
                return _ok(held if kind == "issues" else held | _moving(repo.issues[number]))
            case "issues", ["comments"]:
                return self._paged(request, repo.comments.get(number, []), f"{kind}/{number}/comments")
            case "pulls", [name] if name in of_pull:
                return self._paged(request, of_pull[name].get(number, []), f"{kind}/{number}/{name}")
            case _:
                return _no(404, "Not Found")

    def _paged(self, request: Request, items: list[Json], place: str) -> Fault:
        page, size = int(request.query.get("page", 1)), int(request.query.get("per_page", 30))
        assert page >= 1 and 1 <= size <= 100, "GitHub gives at most 100 a page"
        made = _ok(items[(page - 1) * size : page * size])
        return self._linked(request, made, len(items))

    def _linked(self, request: Request, made: Fault, total: int) -> Fault:
        page, size = int(request.query.get("page", 1)), int(request.query.get("per_page", 30))
        last = -(-total // size)
        others = {"prev": page - 1, "next": page + 1, "last": last, "first": 1}
        wanted = [name for name in others if (name in ("prev", "first") and page > 1) or page < last]
        links = [
            f'<{self.base}{request.path}?{urlencode({**request.query, "page": others[name]})}>; rel="{name}"'
            for name in wanted
            if not (name == "prev" and page == 1) and not (name == "first" and page == 1)
        ]
        if links:
            made.headers = {**made.headers, "link": ", ".join(links)}
        return made

    # --- search

    def _search_issues(self, request: Request, authorised: bool) -> Fault:
        words, told = _asked(request.query.get("q", ""))
        if not request.query.get("q", "").strip():
            return _invalid("Search", "q", "missing")
        kinds = {"issue": False, "pull-request": True, "pr": True}
        wanted = {kinds[one] for one in (*told.get("is", ()), *told.get("type", ())) if one in kinds}
        if not wanted:
            return _no(422, "Query must include 'is:issue' or 'is:pull-request'")
        if (bad := self._unknown_repo(told, authorised)) is not None:
            return bad
        found = [
            (sum(one["title"].lower().count(word) * 3 + (one["body"] or "").lower().count(word) for word in words), one)
            for repo in self._allowed(told, authorised)
            for one in repo.issues.values()
            if ("pull_request" in one) in wanted and _fits(one, repo, words, told)
        ]
        if request.query.get("sort") == "updated":
            found.sort(key=lambda pair: pair[1]["updated_at"], reverse=request.query.get("order", "desc") == "desc")
        else:
            found.sort(key=lambda pair: -pair[0])
        marked = "text-match" in request.headers.get("accept", "")
        items = [one | {"score": 1.0} | (_matches(one, words) if marked else {}) for _, one in found]
        return self._found(request, items)

    def _search_code(self, request: Request) -> Fault:
        words, told = _asked(request.query.get("q", ""))
        if not words:
            return _invalid("Search", "q", "missing")
        if (bad := self._unknown_repo(told, True)) is not None:
            return bad
        items: list[Json] = []
        for repo in self._allowed(told, True):
            for path, content in repo.files.get(repo.default_branch, {}).items():
                text = content.decode("utf-8", "replace")
                if all(word in text.lower() or word in path.lower() for word in words) and (
                    not told.get("path") or any(path.startswith(one.rstrip("/")) for one in told["path"])
                ):
                    items.append(self._code(request, repo, path, text, words))
        return self._found(request, items)

    def _code(self, request: Request, repo: Repo, path: str, text: str, words: list[str]) -> Json:
        here, sha = f"{self.base}/repos/{repo.name}", hashlib.sha1(text.encode()).hexdigest()
        commit = _sha(repo, repo.default_branch)
        made = {
            "name": path.rpartition("/")[2], "path": path, "sha": sha, "url": f"{here}/contents/{path}?ref={commit}",
            "git_url": f"{here}/git/blobs/{sha}", "html_url": f"https://github.com/{repo.name}/blob/{commit}/{path}",
            "repository": self._shown(repo), "score": 1.0,
        }  # fmt: skip
        if "text-match" in request.headers.get("accept", ""):
            at = max(0, text.lower().find(words[0]) - 40)
            made["text_matches"] = [{
                "object_url": made["url"], "object_type": "FileContent", "property": "content",
                "fragment": text[at : at + 200], "matches": [],
            }]  # fmt: skip
        return made

    def _search_repositories(self, request: Request, authorised: bool) -> Fault:
        words, told = _asked(request.query.get("q", ""))
        items = [
            self._shown(repo) | {"score": 1.0}
            for repo in self._allowed(told, authorised)
            if all(word in f"{repo.name} {repo.description}".lower() for word in words)
        ]
        return self._found(request, items)

    def _found(self, request: Request, items: list[Json]) -> Fault:
        page, size = int(request.query.get("page", 1)), int(request.query.get("per_page", 30))
        if page * size > 1000:
            return _no(422, "Only the first 1000 search results are available")
        part = items[(page - 1) * size : page * size]
        made = _ok({"total_count": len(items), "incomplete_results": False, "items": part})
        return self._linked(request, made, len(items))

    def _allowed(self, told: dict[str, list[str]], authorised: bool) -> list[Repo]:
        names, owners = told.get("repo", []), [*told.get("user", []), *told.get("org", [])]
        return [
            repo
            for name, repo in self.repos.items()
            if (authorised or not repo.private)
            and (not (names or owners) or name in names or name.partition("/")[0] in owners)
        ]

    def _unknown_repo(self, told: dict[str, list[str]], authorised: bool) -> Fault | None:
        asked = told.get("repo", [])
        if asked and not any(name in self.repos and (authorised or not self.repos[name].private) for name in asked):
            words = "The listed users and repositories cannot be searched either because the resources do not exist or"
            body = {
                "message": "Validation Failed", "documentation_url": "https://docs.github.com/v3/search/",
                "errors": [{
                    "message": f"{words} you do not have permission to view them.", "resource": "Search", "field": "q",
                    "code": "invalid",
                }],
            }  # fmt: skip
            return Fault(422, _json(body))
        return None

    # --- files

    def _shown(self, repo: Repo) -> Json:
        owner, _, name = repo.name.partition("/")
        return {
            "id": 1, "node_id": "R", "name": name, "full_name": repo.name, "private": repo.private,
            "owner": self._user(owner), "html_url": f"https://github.com/{repo.name}", "fork": False,
            "description": repo.description or None, "url": f"{self.base}/repos/{repo.name}",
            "default_branch": repo.default_branch, "stargazers_count": 3, "language": "Python", "topics": [],
            "updated_at": "2026-05-04T10:00:00Z", "pushed_at": "2026-05-04T10:00:00Z", "archived": False,
            "license": None, "open_issues_count": len(repo.issues),
        }  # fmt: skip

    def _content(self, request: Request, repo: Repo, path: str) -> Fault:
        ref = request.query.get("ref", repo.default_branch)
        if ref not in repo.files:
            return _no(404, f"No commit found for the ref {ref}")
        files, accept = repo.files[ref], request.headers.get("accept", "")
        path = path.strip("/")
        if path in files:
            content = files[path]
            if "raw" in accept:
                return Fault(200, content, {"Content-Type": "application/vnd.github.raw+json; charset=utf-8"})
            return _ok(self._file(repo, path, ref, content))
        inside = sorted({one[len(path) + 1 if path else 0 :].partition("/")[0] for one in _below(files, path)})
        if not inside:
            return _no(404, "Not Found")
        entries = [self._entry(repo, f"{path}/{name}".lstrip("/"), ref) for name in inside]
        if "object" in accept:
            return _ok(self._entry(repo, path, ref) | {"type": "dir", "entries": entries})
        return _ok(entries)

    def _entry(self, repo: Repo, path: str, ref: str) -> Json:
        content = repo.files[ref].get(path)
        here, page = f"{self.base}/repos/{repo.name}", f"https://github.com/{repo.name}"
        return {
            "type": "dir" if content is None else "file", "size": len(content or b""), "name": path.rpartition("/")[2],
            "path": path, "sha": _blob(content or path.encode()), "url": f"{here}/contents/{path}?ref={ref}",
            "git_url": f"{here}/git/blobs/x", "html_url": f"{page}/blob/{ref}/{path}",
            "download_url": None if content is None else f"https://raw.example/{path}", "_links": {},
        }  # fmt: skip

    def _file(self, repo: Repo, path: str, ref: str, content: bytes) -> Json:
        if len(content) > self.largest:
            return self._entry(repo, path, ref) | {"encoding": "none", "content": ""}
        text = base64.encodebytes(content).decode()
        return self._entry(repo, path, ref) | {"encoding": "base64", "content": text}

    def _tree(self, request: Request, repo: Repo, ref: str) -> Fault:
        if ref not in repo.files:
            return _no(404, "Not Found")
        files = repo.files[ref]
        folders = sorted(
            {"/".join(path.split("/")[:depth]) for path in files for depth in range(1, path.count("/") + 1)}
        )
        if request.query.get("recursive") is None:
            files = {path: content for path, content in files.items() if "/" not in path}
        tree = [
            {"path": one, "mode": "040000", "type": "tree", "sha": _blob(one.encode()), "url": ""} for one in folders
        ]
        tree += [
            {
                "path": path, "mode": "100644", "type": "blob", "sha": _blob(content), "size": len(content),
                "url": f"{self.base}/repos/{repo.name}/git/blobs/{_blob(content)}",
            } for path, content in files.items()
        ]  # fmt: skip
        return _ok(
            {"sha": _sha(repo, ref), "url": "", "tree": sorted(tree, key=lambda one: one["path"]), "truncated": False}
        )

    def _compare(self, repo: Repo, both: str) -> Fault:
        shas = {_sha(repo, ref): ref for ref in repo.files}
        ends = [one if one in repo.files else shas.get(one) for one in both.split("...")]
        if None in ends or len(ends) != 2:
            return _no(404, "Not Found")
        old, new = (repo.files[str(ref)] for ref in ends)
        changed = [
            (path, "removed" if path not in new else "added" if path not in old else "modified")
            for path in sorted(old.keys() | new.keys())
            if old.get(path) != new.get(path)
        ]
        files = [
            {
                "sha": _blob(new.get(path, b"")), "filename": path, "status": state, "additions": 1, "deletions": 0,
                "changes": 1, "blob_url": f"https://github.com/{repo.name}/blob/x/{path}", "raw_url": "",
                "contents_url": "",
            } for path, state in changed
        ]  # fmt: skip
        return _ok(
            {"status": "ahead", "ahead_by": 1, "behind_by": 0, "total_commits": 1, "commits": [], "files": files}
        )


# --- small things


def _ok(value: Any) -> Fault:
    return Fault(200, _json(value), {"Content-Type": "application/json; charset=utf-8"})


def _no(status: int, words: str) -> Fault:
    body = {"message": words, "documentation_url": "https://docs.github.com/rest", "status": str(status)}
    return Fault(status, _json(body))


def _invalid(resource: str, name: str, code: str) -> Fault:
    body = {
        "message": "Validation Failed", "errors": [{"resource": resource, "field": name, "code": code}],
        "documentation_url": "https://docs.github.com/v3/search", "status": "422",
    }  # fmt: skip
    return Fault(422, _json(body))


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _moving(issue: Json) -> Json:
    return {key: issue[key] for key in ("title", "body", "state", "comments", "updated_at", "labels")}


def _asked(query: str) -> tuple[list[str], dict[str, list[str]]]:
    """Words in lower case, and qualifiers, of a search query."""
    words: list[str] = []
    told: dict[str, list[str]] = {}
    for found in re.finditer(r'(?:(-?\w+):)?("[^"]*"|\S+)', query):
        value = found[2].strip('"')
        if found[1]:
            told.setdefault(found[1], []).append(value)
        elif value:
            words.append(value.lower())
    return words, told


def _fits(one: Json, repo: Repo, words: list[str], told: dict[str, list[str]]) -> bool:
    said = [comment["body"] for comment in repo.comments.get(one["number"], [])]
    text = " ".join([one["title"], one["body"] or "", *said]).lower()
    states = [value for value in (*told.get("is", ()), *told.get("state", ())) if value in ("open", "closed")]
    labels = {label["name"] for label in one["labels"]}
    return (
        one["number"] not in repo.gone
        and all(word in text for word in words)
        and all(one["state"] == state for state in states)
        and all(label in labels for label in told.get("label", ()))
        and all(one["user"]["login"] == who for who in told.get("author", ()))
    )


def _matches(one: Json, words: list[str]) -> Json:
    body = one["body"] or ""
    at = max(0, min((body.lower().find(word) for word in words if word in body.lower()), default=0) - 30)
    return {"text_matches": [{
        "object_url": one["url"], "object_type": "Issue", "property": "body", "fragment": body[at : at + 150],
        "matches": [],
    }]}  # fmt: skip


def _below(files: dict[str, bytes], path: str) -> list[str]:
    return [one for one in files if not path or one.startswith(f"{path}/")]


def _blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _sha(repo: Repo, ref: str) -> str:
    return hashlib.sha1(repr(sorted(repo.files.get(ref, {}).items())).encode()).hexdigest()


def now() -> str:
    return datetime.now(tz=UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
