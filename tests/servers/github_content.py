"""What tests put into the GitHub of tests, in the shapes of its published description.

Idea: a repository is plain data; each thing that is put in gets all fields that a client reads. Invariant: numbers and
times are those that the test says, so that an answer can be compared whole.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from servers.rest import Fault

Json = dict[str, Any]


@dataclass
class Repo:
    """What a repository holds. `files`: content by path, for each branch, tag or commit."""

    name: str
    description: str = ""
    private: bool = False
    default_branch: str = "main"
    files: dict[str, dict[str, bytes]] = field(default_factory=dict[str, dict[str, bytes]])
    issues: dict[int, Json] = field(default_factory=dict[int, Json])
    comments: dict[int, list[Json]] = field(default_factory=dict[int, list[Json]])
    reviews: dict[int, list[Json]] = field(default_factory=dict[int, list[Json]])
    review_comments: dict[int, list[Json]] = field(default_factory=dict[int, list[Json]])
    pulls: dict[int, Json] = field(default_factory=dict[int, Json])
    changed: dict[int, list[Json]] = field(default_factory=dict[int, list[Json]])
    releases: list[Json] = field(default_factory=list[Json])
    gone: set[int] = field(default_factory=set[int])


class GitHubContent:
    """The half of the server that tests write to. `base` is the address of its API."""

    def __init__(self) -> None:
        super().__init__()
        self.repos: dict[str, Repo] = {}
        self._ids = 1000

    @property
    def base(self) -> str:
        raise NotImplementedError

    def repo(self, name: str, **fields: Any) -> Repo:
        return self.repos.setdefault(name, Repo(name, **fields))

    def issue(self, repo: Repo, number: int, title: str, body: str | None = "", **fields: Any) -> Json:
        at, pull = fields.pop("at", "2026-05-01T10:00:00Z"), fields.pop("pull", False)
        here, page = f"{self.base}/repos/{repo.name}", f"https://github.com/{repo.name}"
        labels = [
            {
                "id": self._id(), "node_id": "LA", "url": f"{here}/labels/{name}", "name": name, "description": None,
                "color": "d73a4a", "default": False,
            } for name in fields.pop("labels", ())
        ]  # fmt: skip
        made = {
            "id": self._id(), "node_id": "I_kw", "url": f"{here}/issues/{number}", "repository_url": here,
            "labels_url": f"{here}/issues/{number}/labels{{/name}}", "comments_url": f"{here}/issues/{number}/comments",
            "events_url": f"{here}/issues/{number}/events", "number": number, "state": "open", "state_reason": None,
            "html_url": f"{page}/{'pull' if pull else 'issues'}/{number}", "title": title, "body": body,
            "user": self._user(fields.pop("by", "octocat")), "labels": labels, "assignee": None, "assignees": [],
            "milestone": None, "locked": False, "active_lock_reason": None, "comments": 0, "closed_at": None,
            "created_at": at, "updated_at": at, "author_association": "CONTRIBUTOR", **fields,
        }  # fmt: skip
        if pull:
            made["pull_request"] = {
                "url": f"{here}/pulls/{number}", "html_url": f"{page}/pull/{number}", "merged_at": None,
                "diff_url": f"{page}/pull/{number}.diff", "patch_url": f"{page}/pull/{number}.patch",
            }  # fmt: skip
            repo.pulls[number] = made | {
                "url": f"{here}/pulls/{number}",
                "draft": False, "merged": False, "merged_at": None, "mergeable": True, "commits": 1,
                "head": self._end(repo, "feature", "a" * 40), "base": self._end(repo, "main", "b" * 40),
                "additions": 0, "deletions": 0, "changed_files": 0, "review_comments": 0,
            }  # fmt: skip
        repo.issues[number] = made
        return made

    def comment(self, repo: Repo, number: int, text: str, by: str = "hubot", at: str = "2026-05-02T10:00:00Z") -> Json:
        made = self._said(repo, number, text, by, at) | {
            "issue_url": f"{self.base}/repos/{repo.name}/issues/{number}",
        }
        repo.comments.setdefault(number, []).append(made)
        repo.issues[number]["comments"] += 1
        repo.issues[number]["updated_at"] = max(repo.issues[number]["updated_at"], at)
        return made

    def review(self, repo: Repo, number: int, text: str, state: str = "APPROVED", by: str = "hubot") -> Json:
        made = self._said(repo, number, text, by, "") | {"state": state, "commit_id": "a" * 40}
        del made["created_at"], made["updated_at"]
        made["submitted_at"] = "2026-05-02T11:00:00Z"
        made["pull_request_url"] = f"{self.base}/repos/{repo.name}/pulls/{number}"
        repo.reviews.setdefault(number, []).append(made)
        return made

    def review_comment(self, repo: Repo, number: int, path: str, line: int, text: str, *, by: str = "hubot") -> Json:
        made = self._said(repo, number, text, by, "2026-05-02T11:30:00Z") | {
            "path": path, "line": line, "original_line": line, "side": "RIGHT", "diff_hunk": "@@ -1 +1 @@\n-a\n+b",
            "commit_id": "a" * 40, "original_commit_id": "a" * 40, "pull_request_review_id": 1, "position": 1,
            "pull_request_url": f"{self.base}/repos/{repo.name}/pulls/{number}",
        }  # fmt: skip
        repo.review_comments.setdefault(number, []).append(made)
        repo.pulls[number]["review_comments"] += 1
        return made

    def change(self, repo: Repo, number: int, path: str, patch: str | None, **fields: Any) -> None:
        lines = (patch or "").splitlines()
        added, removed = (sum(1 for line in lines if line.startswith(sign)) for sign in "+-")
        repo.changed.setdefault(number, []).append({
            "sha": hashlib.sha1(path.encode()).hexdigest(), "filename": path, "status": "modified",
            "additions": added, "deletions": removed, "changes": added + removed,
            "blob_url": f"https://github.com/{repo.name}/blob/x/{path}", "raw_url": f"https://github.com/raw/{path}",
            "contents_url": f"{self.base}/repos/{repo.name}/contents/{path}?ref=x",
            **({"patch": patch} if patch is not None else {}), **fields,
        })  # fmt: skip
        pull = repo.pulls[number]
        pull["additions"] += added
        pull["deletions"] += removed
        pull["changed_files"] += 1

    def publish(self, repo: Repo, tag: str, body: str, *, name: str = "", at: str = "2026-05-03T10:00:00Z") -> Json:
        id_ = self._id()
        here, page = f"{self.base}/repos/{repo.name}/releases/{id_}", f"https://github.com/{repo.name}/releases"
        made = {
            "id": id_, "node_id": "RE", "url": here, "assets_url": f"{here}/assets", "html_url": f"{page}/tag/{tag}",
            "upload_url": f"{here}/assets{{?name,label}}", "tarball_url": None, "zipball_url": None, "tag_name": tag,
            "target_commitish": "main", "name": name or tag, "body": body, "draft": False, "prerelease": False,
            "created_at": at, "published_at": at, "author": self._user("octocat"), "assets": [],
        }  # fmt: skip
        repo.releases.insert(0, made)
        return made

    def secondary(self, after: int | None = 60) -> Fault:
        """The answer to a client that asks too fast."""
        headers = {"x-ratelimit-remaining": "20", "x-ratelimit-limit": "30"}
        if after is not None:
            headers["retry-after"] = str(after)
        words = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
        body = {"message": words, "documentation_url": "https://docs.github.com/rest"}
        return Fault(403, json.dumps(body).encode(), headers)

    def _id(self) -> int:
        self._ids += 1
        return self._ids

    def _user(self, login: str) -> Json:
        return {
            "login": login, "id": 1, "node_id": "MD", "avatar_url": "", "gravatar_id": "", "type": "User",
            "url": f"{self.base}/users/{login}", "html_url": f"https://github.com/{login}", "site_admin": False,
        }  # fmt: skip

    def _said(self, repo: Repo, number: int, text: str, by: str, at: str) -> Json:
        id_ = self._id()
        return {
            "id": id_, "node_id": "IC", "url": f"{self.base}/repos/{repo.name}/issues/comments/{id_}", "body": text,
            "html_url": f"https://github.com/{repo.name}/issues/{number}#issuecomment-{id_}", "user": self._user(by),
            "created_at": at, "updated_at": at, "author_association": "NONE",
        }  # fmt: skip

    def _end(self, repo: Repo, branch: str, sha: str) -> Json:
        owner = repo.name.partition("/")[0]
        return {"label": f"{owner}:{branch}", "ref": branch, "sha": sha, "user": self._user(owner)}
