"""How a project stands on its page: front matter for what programs ask, free text for the rest.

Idea: what a write wants is a small page itself, so that the gate and a person see it as it is written. Invariant: keys
and text that a write does not mean stay byte for byte; a page whose front matter is no YAML is never changed.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from vademecum.disk import visible
from vademecum.errors import UnreadableError
from vademecum.frontmatter import FrontMatter, one_line, scalar
from vademecum.model import Origin
from vademecum.vault.copies import sides

FOLDER = "Projects"
NAMES = ("status", "owner", "next")
MARKED = "a git merge stopped in it; what is read is one side"
MERGE = "`vademecum vault merge` takes the two sides apart."


@dataclass(frozen=True, slots=True)
class Project:
    """A project's page as it is now. `version` names this state; `problem` says why its front matter is unreadable;
    `origin` is what the page says that it was made of."""

    slug: str
    name: str
    version: str
    status: str = ""
    owner: str = ""
    next: str = ""
    blockers: tuple[str, ...] = ()
    updated: str = ""
    updated_by: str = ""
    text: str = ""
    problem: str = ""
    origin: Origin = Origin("assistant")  # noqa: RUF009  frozen

    @property
    def target(self) -> str:
        """What a link to it points to, without the vault's folder."""
        return f"{FOLDER}/{self.slug}"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a write is to change; None: it stays. `text` takes the place of all the free text."""

    status: str | None = None
    owner: str | None = None
    next: str | None = None
    blockers: tuple[str, ...] | None = None
    text: str | None = None


def readable(raw: str | None, name: str) -> FrontMatter:
    """The parts of a page, with front matter to be filled when there is none. Raises UnreadableError."""
    raw = raw or ""
    if sides(raw) is not None:
        raise UnreadableError(f"{FOLDER}/{name}.md cannot be changed: {MARKED}. It was left as it is.", MERGE)
    parts = FrontMatter.parse(raw)
    if parts.opening and not parts.problem:
        return parts
    if parts.problem and (parts.opening or "closing" in parts.problem):
        raise UnreadableError(
            f"{FOLDER}/{name}.md cannot be changed: {parts.problem}. It was left as it is.",
            "Correct it in an editor; then write again.",
        )
    mark = "\ufeff" if raw.startswith("\ufeff") else ""
    end = parts.eol
    return FrontMatter(f"{mark}---{end}", (), f"---{end}", end + raw.removeprefix(mark) if raw else "", {})


def with_wanted(parts: FrontMatter, wanted: Wanted) -> FrontMatter:
    for key, value in values_of(wanted):
        parts = parts.with_value(key, value)
    if wanted.blockers is not None and wanted.blockers != blockers_of(parts):
        parts = with_blockers(parts, wanted.blockers)
    return parts if wanted.text is None else parts.with_body(wanted.text)


def values_of(wanted: Wanted) -> list[tuple[str, str]]:
    pairs = zip(NAMES, (wanted.status, wanted.owner, wanted.next), strict=True)
    return [(key, value) for key, value in pairs if value is not None]


def with_blockers(parts: FrontMatter, blockers: Sequence[str]) -> FrontMatter:
    return parts.with_literal("blockers", "\n".join(blockers), "[" + ", ".join(map(list_item, blockers)) + "]")


def list_item(text: str) -> str:
    """A value of a list between brackets, where more has to be quoted than on a line of its own."""
    written = scalar(text)
    if written[0] == '"' or not any(c in written for c in ",[]{}"):
        return written
    import json

    return json.dumps(text, ensure_ascii=False)


def origin_of(text: str) -> Origin:
    try:
        return Origin.parse(text) if text else Origin.assistant()
    except ValueError:
        return Origin.file()


def differing(one: Project, other: Project) -> Wanted:
    """What `other` says that `one` does not."""

    def named(name: str) -> str | None:
        value: str = getattr(other, name)
        return value if value != getattr(one, name) else None

    blockers = other.blockers if other.blockers != one.blockers else None
    return Wanted(named("status"), named("owner"), named("next"), blockers, named("text"))


def blockers_of(parts: FrontMatter) -> tuple[str, ...]:
    found: object = parts.values.get("blockers")
    if isinstance(found, list):
        return tuple(visible(one_line(str(one))) for one in cast("Sequence[object]", found) if one)
    return tuple(visible(line) for line in found.split("\n") if line) if isinstance(found, str) else ()


def as_snippet(name: str, wanted: Wanted) -> str:
    """What is to be written and nothing else, empty values included, as the gate and a person see it."""
    parts = FrontMatter("---\n", (), "---\n", "", {}).with_value("project", name)
    for key, value in values_of(wanted):
        parts = parts.with_literal(key, value, scalar(value))
    if wanted.blockers is not None:
        parts = with_blockers(parts, wanted.blockers)
    return replace(parts, body="" if wanted.text is None else f"\n{wanted.text}\n").text


def wanted_in(snippet: str) -> Wanted:
    parts = FrontMatter.parse(snippet)
    status, owner, next_ = (parts.get(key) if key in parts.values else None for key in NAMES)
    blockers = blockers_of(parts) if "blockers" in parts.values else None
    return Wanted(status, owner, next_, blockers, parts.body.strip("\n") if parts.body else None)


def name_in(snippet: str, slug: str) -> str:
    return FrontMatter.parse(snippet).get("project") or slug


def difference(before: str, after: str, titles: tuple[str, str]) -> str:
    lines: Iterable[str] = difflib.unified_diff(
        visible(before).splitlines(), visible(after).splitlines(), *titles, lineterm="", n=2
    )
    return "\n".join(lines)
