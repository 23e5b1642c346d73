"""What a page says of itself in its front matter: title, aliases, tags, type, author, dates.

Idea: the usual keys of Obsidian, in the spellings that people use; lists are read here, since a YAML parser takes a
millisecond for each page. Invariant: never fails; what is not valid YAML is a problem to be reported, and the text of
the page is read all the same.
"""

from __future__ import annotations

import re
from typing import Any, cast

from vademecum.clock import parse_iso
from vademecum.frontmatter import FrontMatter
from vademecum.late import dataclass, pattern

_ITEM = r"(?:\"[^\"\\\n]*\"|'[^'\n]*'|#?[^\W_][^\n\"'\[\]{},:#&*!|>%@`]*)"
_FLOW = pattern(rf"([A-Za-z_][\w-]*):[ \t]*\[[ \t]*((?:{_ITEM}(?:,[ \t]*|(?=[ \t]*\])))*)[ \t]*\][ \t]*\r?\n", re.M)
_BLOCK = pattern(rf"([A-Za-z_][\w-]*):[ \t]*\r?\n((?:[ ]*-[ ]+{_ITEM}[ \t]*\r?\n)+)", re.M)
_ONE = pattern(_ITEM)
_KEY = pattern(r"---[ \t]*\r?\n[A-Za-z_][\w -]*:[ \t\r\n]")  # else the page begins with a rule
_TAG = pattern(r"[^\s,#]+")
LONGEST = 500_000
"""Characters of a front matter that are looked at; what has no end before is none."""


@dataclass(frozen=True, slots=True)
class Matter:
    """The front matter of a page; `lines` are those it takes, with its marks. Times in UTC ms."""

    lines: int = 0
    title: str = ""
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    type: str = ""
    author: str = ""
    created_ms: int | None = None
    updated_ms: int | None = None
    problem: str = ""


def read_matter(text: str) -> Matter:
    """The front matter at the beginning of `text`."""
    if not text.startswith("---"):
        return Matter()
    found = FrontMatter.parse(text[:LONGEST])
    if not found.opening:
        return Matter(problem=found.problem if _KEY.match(text) else "")
    inner = "".join(found.lines)
    values, problem = found.values, found.problem
    return _matter(len(found.lines) + 2, values, problem) if not inner else _of(inner, len(found.lines) + 2)


def _of(inner: str, lines: int) -> Matter:
    lists: dict[str, list[str]] = {}

    def take(found: re.Match[str]) -> str:
        if found[1] in lists:
            return found[0]  # twice the same key: YAML shall say so
        lists[found[1]] = [_unquoted(item) for item in _ONE.findall(found[2])]
        return ""

    rest = _BLOCK.sub(take, _FLOW.sub(take, inner))
    found = FrontMatter.parse(f"---\n{rest}---\n")
    if lists and (found.problem or lists.keys() & found.values.keys()):
        found = FrontMatter.parse(f"---\n{inner}---\n")
        lists = {}
    return _matter(lines, {**found.values, **lists}, found.problem)


def _matter(lines: int, values: dict[str, Any], problem: str) -> Matter:
    low = {str(key).casefold(): value for key, value in values.items()}

    def one(*names: str) -> str:
        return next((said for name in names if (said := _words(low.get(name)))), "")

    return Matter(
        lines,
        one("title"),
        tuple(_listed(low.get("aliases")) + _listed(low.get("alias"))),
        tuple(dict.fromkeys(tag.strip("/") for key in ("tags", "tag") for tag in _tags(low.get(key)))),
        one("type", "kind", "category"),
        one("author", "authors", "by", "creator"),
        _time(one("created", "date", "date created", "created_at", "creation date")),
        _time(one("updated", "modified", "date modified", "updated_at", "last updated", "lastmod")),
        problem,
    )


def _unquoted(item: str) -> str:
    return item[1:-1] if item[:1] in ("'", '"') else item.strip()


def _words(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(said for one in cast("list[object]", value) if (said := _words(one)))
    return " ".join(value.split()) if isinstance(value, str) else ""


def _listed(value: object) -> list[str]:
    if isinstance(value, list):
        return [said for one in cast("list[object]", value) if (said := _words(one))]
    return [said] if (said := _words(value)) else []


def _tags(value: object) -> list[str]:
    if isinstance(value, list):
        return [tag for one in cast("list[object]", value) for tag in _tags(one)]
    return _TAG.findall(value) if isinstance(value, str) else []


def _time(text: str) -> int | None:
    if not text:
        return None
    try:
        return parse_iso(text.replace("/", "-"))
    except (ValueError, OverflowError):
        return None
