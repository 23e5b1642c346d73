"""Reading from GitHub: a conversation with its comments, the diff of a pull request, a file or folder, a release.

Idea: what is long has parts by GitHub's own pages (comments 1 to 100, 101 to 200, files 1 to 100), so that one part
costs one or two requests. Invariant: a text is whole within its part, or says what was left out; every comment stands
under who wrote it and when.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from vademecum.errors import NotFoundError, SourceError, UnreadableError
from vademecum.library.contract import Document, Item
from vademecum.library.github.api import OBJECT, RAW, Api, Ref, path_of
from vademecum.library.github.searching import issue, release, repository
from vademecum.library.shapes import Json, count, ms, objs, text

_PAGE = 100
_PATCH = 20_000  # characters of one file's diff
_DIFF = 400_000  # characters of all diffs of a part
_FILES = 3_000  # files of a pull request that GitHub lists
_TREE = 5_000  # entries of a repository that are listed


def read(api: Api, id_: str, part: str) -> Document:
    """See the contract. Raises UsageError, NotFoundError, SourceError."""
    ref = api.parsed(id_)
    match ref.kind:
        case "thread":
            return _thread(api, ref, part)
        case "file":
            return _file(api, ref)
        case "release":
            return _release(api, ref)
        case _:
            return _repository(api, ref, part)


# --- conversations


def _thread(api: Api, ref: Ref, part: str) -> Document:
    """An issue or a pull request, which GitHub keeps in one row of numbers."""
    found: Json = api.get(path_of(ref.repo, "issues", str(ref.number)))
    item = issue(api, found)
    api.checked(item.detail["repo"])  # it may have been moved to another repository
    pull: Json = api.get(path_of(ref.repo, "pulls", str(ref.number))) if item.kind == "pull-request" else {}
    names = _parts(count(found, "comments"), pull)
    chosen = _chosen(names, part, item.ref)
    kind, page = chosen.split()[0], _page_of(chosen)
    if kind == "files":
        written = _diff(api, ref, page)
    elif kind == "review":
        written = _review_comments(api, ref, page)
    else:
        written = [] if page > 1 else _opening(item, found, pull)
        written += _comments(api, ref, page) if count(found, "comments") else []
        written += _reviews(api, ref) if pull and page == 1 else []
    return Document(
        item.ref,
        item.title,
        "\n\n".join(written),
        item.url,
        item.revision,
        item.time,
        item.authors,
        item.kind,
        part=chosen if len(names) > 1 else "",
        parts=names if len(names) > 1 else (),
        detail=item.detail,
    )


def _parts(comments: int, pull: Json) -> tuple[str, ...]:
    """The names of the parts: the conversation, more comments, comments in the code, and the files of the diff."""
    return (
        "conversation",
        *(f"comments {one}" for one in _ranges(comments)[1:]),
        *(f"review comments {one}" for one in _ranges(count(pull, "review_comments"))),
        *(f"files {one}" for one in _ranges(min(count(pull, "changed_files"), _FILES))),
    )


def _ranges(most: int) -> list[str]:
    return [f"{first}-{min(first + _PAGE - 1, most)}" for first in range(1, most + 1, _PAGE)]


def _page_of(part: str) -> int:
    first = part.rpartition(" ")[2].partition("-")[0]
    return int(first) // _PAGE + 1 if first.isdigit() else 1


def _chosen(names: tuple[str, ...], part: str, ref: str) -> str:
    """The part of that name, or the first that begins with it (`files`): counts change between two reads."""
    wanted = part.strip().lower()
    for fits in (str.__eq__, str.startswith):
        for name in names:
            if not wanted or fits(name, wanted) or fits(name, wanted.partition("-")[0] + "-"):
                return name
    raise NotFoundError(f"{ref} has no part {part[:80]!r}.", f"Its parts: {', '.join(names)}.")


def _opening(item: Item, found: Json, pull: Json) -> list[str]:
    facts = [f"State: {item.detail['state']}"] if item.detail.get("state") else []
    if reason := text(found, "state_reason"):
        facts.append(f"reason: {reason}")
    if item.detail.get("labels"):
        facts.append(f"labels: {item.detail['labels']}")
    if milestone := text(found, "milestone", "title"):
        facts.append(f"milestone: {milestone}")
    if pull:
        facts.append(f"from {text(pull, 'head', 'label')} into {text(pull, 'base', 'label')}")
        facts.append(f"+{count(pull, 'additions')} -{count(pull, 'deletions')} in {count(pull, 'changed_files')} files")
    opened = _said(found, "opened", text(found, "created_at"))
    return [f"# {item.title}", "; ".join(facts) + ".", opened]


def _said(one: Json, how: str, at: str) -> str:
    """One contribution under its author and time."""
    who = text(one, "user", "login") or "somebody"
    return f"## {who} {how}, {at.replace('T', ' ').removesuffix('Z')} UTC\n\n{text(one, 'body').strip() or '(no text)'}"


def _paged(api: Api, ref: Ref, page: int, *route: str) -> list[Json]:
    asked = {"per_page": _PAGE, "page": page}
    return objs({"all": api.get(path_of(ref.repo, *route), asked)}, "all")


def _comments(api: Api, ref: Ref, page: int) -> list[str]:
    found = _paged(api, ref, page, "issues", str(ref.number), "comments")
    return [_said(one, "commented", text(one, "created_at")) for one in found]


def _reviews(api: Api, ref: Ref) -> list[str]:
    found = _paged(api, ref, 1, "pulls", str(ref.number), "reviews")
    return [
        _said(one, f"reviewed ({text(one, 'state').lower().replace('_', ' ')})", text(one, "submitted_at"))
        for one in found
        if text(one, "body") or text(one, "state") in ("APPROVED", "CHANGES_REQUESTED")
    ]


def _review_comments(api: Api, ref: Ref, page: int) -> list[str]:
    found = _paged(api, ref, page, "pulls", str(ref.number), "comments")
    return [
        _said(one, f"on {text(one, 'path')}{_line(one)}", text(one, "created_at"))
        + (f"\n\n{_fenced(text(one, 'diff_hunk')[-1500:], 'diff')}" if text(one, "diff_hunk") else "")
        for one in found
    ]


def _line(one: Json) -> str:
    line = count(one, "line") or count(one, "original_line")
    return f":{line}" if line else ""


def _diff(api: Api, ref: Ref, page: int) -> list[str]:
    """The changed files of one page, each with its diff, within bounds."""
    made: list[str] = []
    left = _DIFF
    for one in _paged(api, ref, page, "pulls", str(ref.number), "files"):
        name, patch = text(one, "filename"), text(one, "patch")
        before = f" (was {text(one, 'previous_filename')})" if text(one, "previous_filename") else ""
        head = f"## {name}{before}: {text(one, 'status')}, +{count(one, 'additions')} -{count(one, 'deletions')}"
        shown = patch[: min(_PATCH, left)]
        left -= len(shown)
        if not patch:
            note = "(GitHub gives no diff: it is binary, too large, or only renamed.)"
        elif len(shown) < len(patch):
            note = f"(The diff goes on for {len(patch) - len(shown):,} characters, which are left out.)"
        else:
            note = ""
        made.append("\n\n".join(part for part in (head, _fenced(shown, "diff") if shown else "", note) if part))
    return made


def _fenced(content: str, kind: str) -> str:
    """`content` as a block of code whose fence does not stand in it."""
    fence = "```"
    while fence in content:
        fence += "`"
    return f"{fence}{kind}\n{content.rstrip()}\n{fence}"


# --- files


def _file(api: Api, ref: Ref) -> Document:
    """A file's text, or what a folder holds."""
    asked = {"ref": ref.at} if ref.at else None
    route = path_of(ref.repo, "contents", ref.path)
    found: Any = api.get(route, asked, accept=OBJECT)
    if text(found, "type") == "dir":
        return _folder(api, ref, found)
    if text(found, "type") == "submodule":
        return _document(api, ref, found, f"A submodule: another repository, {text(found, 'submodule_git_url')}.")
    content = _decoded(found)
    if content is None:
        content = api.reply(route, asked, accept=RAW).body
    return _document(api, ref, found, _text(api, ref, content, found))


def _text(api: Api, ref: Ref, content: bytes, found: object) -> str:
    """The text of a file: a document of an office program or a PDF is converted, all else is shown as it is."""
    from vademecum.library.documents import convert
    from vademecum.library.documents.kinds import OFFICE, suffix_of
    from vademecum.library.documents.text import decoded

    try:
        return convert(content, ref.path).text if suffix_of(ref.path) in OFFICE else decoded(content)
    except UnreadableError as error:
        where = f"{api.ref(_id(ref))} ({len(content):,} bytes)"
        raise SourceError(
            f"{where} cannot be shown as text: {error.message}", error.hint or f"See {text(found, 'html_url')}."
        ) from error


def _decoded(found: Json) -> bytes | None:
    """The content that came with the answer; None for a file that is too large for that."""
    if text(found, "encoding") != "base64":
        return None
    try:
        return base64.b64decode(text(found, "content"))
    except (binascii.Error, ValueError):
        return None


def _folder(api: Api, ref: Ref, found: object) -> Document:
    entries = objs(found, "entries")
    lines = [
        f"- {text(one, 'name')}" + ("/" if text(one, "type") == "dir" else f" ({count(one, 'size'):,} bytes)")
        for one in sorted(entries, key=lambda one: (text(one, "type") != "dir", text(one, "name")))
    ]
    more = "\n\n(GitHub lists at most 1,000 entries of a folder.)" if len(entries) >= 1000 else ""
    return _document(api, ref, found, "\n".join(lines) + more, kind="folder")


def _document(api: Api, ref: Ref, found: object, content: str, *, kind: str = "file") -> Document:
    url = text(found, "html_url") or f"{api.site}/{ref.repo}"
    title = f"{ref.repo}: {ref.path or '/'}" + (f" at {ref.at}" if ref.at else "")
    detail = {"repo": ref.repo, "path": ref.path} | ({"ref": ref.at} if ref.at else {})
    return Document(api.ref(_id(ref)), title, content, url, text(found, "sha"), kind=kind, detail=detail)


def _id(ref: Ref) -> str:
    return f"{ref.repo}@{ref.at}:{ref.path}" if ref.at else f"{ref.repo}:{ref.path}"


# --- releases and repositories


def _release(api: Api, ref: Ref) -> Document:
    route = ("releases", "latest") if ref.at == "latest" else ("releases", "tags", ref.at)
    found: Json = api.get(path_of(ref.repo, *route))
    item = release(api, ref.repo, found)
    assets = [f"- {text(one, 'name')} ({count(one, 'size'):,} bytes)" for one in objs(found, "assets")]
    written = [f"# {item.title}", text(found, "body").strip() or "(no notes)"]
    written += ["## Files\n\n" + "\n".join(assets)] if assets else []
    return Document(
        item.ref, item.title, "\n\n".join(written), item.url, item.revision, item.time, item.authors, item.kind,
        detail=item.detail,
    )  # fmt: skip


def _repository(api: Api, ref: Ref, part: str) -> Document:
    """What a repository says of itself, and all its files."""
    found: Json = api.get(path_of(ref.repo))
    item = repository(api, found)
    chosen = _chosen(("readme", "files"), part, item.ref)
    branch = text(found, "default_branch")
    if chosen == "files":
        written = _tree(api, ref, branch)
    else:
        facts = [f"Default branch: {branch}"]
        facts += [f"language: {text(found, 'language')}"] if text(found, "language") else []
        facts += [f"licence: {name}"] if (name := text(found, "license", "spdx_id")) else []
        facts += ["archived"] if found.get("archived") is True else []
        written = "\n\n".join(
            [
                f"# {item.title}",
                text(found, "description") or "(no description)",
                "; ".join(facts) + ".",
                _readme(api, ref),
            ]
        )
    return Document(
        item.ref, item.title, written, item.url, item.revision, ms(found, "pushed_at"), item.authors, item.kind,
        part=chosen, parts=("readme", "files"), detail={**item.detail, "default_branch": branch},
    )  # fmt: skip


def _readme(api: Api, ref: Ref) -> str:
    try:
        found: Json = api.get(path_of(ref.repo, "readme"), accept=OBJECT)
    except NotFoundError:
        return "(no README)"
    return (_decoded(found) or b"").decode("utf-8-sig", "replace").strip() or "(an empty README)"


def _tree(api: Api, ref: Ref, branch: str) -> str:
    found: Json = api.get(path_of(ref.repo, "git", "trees", branch), {"recursive": 1})
    entries = [one for one in objs(found, "tree") if text(one, "type") == "blob"]
    lines = [f"- {text(one, 'path')} ({count(one, 'size'):,} bytes)" for one in entries[:_TREE]]
    if len(entries) > _TREE or found.get("truncated") is True:
        lines.append(f"\n(More files are left out; read a folder as {ref.repo}:FOLDER.)")
    return "\n".join(lines) or "(no files)"
