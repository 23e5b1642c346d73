"""What pages there are: which names, kinds and projects have enough said about them.

Idea: a name earns a page when two sources speak of it, a kind of fact when there is one, a project always; a fact that
no name or project takes goes to a page of its own kind, so that each claim stands somewhere. Invariant: the same inputs
give the same pages, in one order, under names that no two of them share.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from vademecum.errors import UsageError
from vademecum.obsidian import hashed_slug, slug_of
from vademecum.wiki.claims import Claim, Inputs, ProjectState, same_name

SubjectKind = Literal["project", "entity", "topic"]
FOLDERS: dict[SubjectKind, str] = {"project": "Projects", "entity": "Entities", "topic": "Topics"}
ENOUGH = 2
"""Claims from different sources that a name needs for a page of its own."""
MOST_NAMES = 500
"""Pages for names: those that most is said about."""

TOPICS = {
    "preference": "Preferences",
    "convention": "Conventions",
    "environment": "Environment",
    "workflow": "Workflows",
    "failure": "Failures and fixes",
    "quirk": "Quirks",
    "decision": "What was decided",
    "question": "Open questions",
    "note": "Notes",
    "fact": "Other facts",
}
"""Kinds of claims that have a page, and what it is called."""
LONGEST_NAME = 60
_LEFT_OVER = ("fact", "note")
_NO_NAME = re.compile(r"https?://|www\.|^[@#~./-]|[/\\]|^\S+@\S+$|^\W*\d[\d.,:%-]*\W*$")
_WORD = re.compile(r"\w+")
_LEAD = re.compile(r"^\w+ (?:of|of the|for|from|at|in|von|der|des|bei|de|du|van) (?=\S)")
_DAYS = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar märz
    mai juni juli oktober dezember""".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a page is about: its claims by time, and for a project its state. `path` is below `Wiki/`, without `.md`."""

    kind: SubjectKind
    title: str
    path: str
    claims: tuple[Claim, ...]
    project: ProjectState | None = None


def subjects(inputs: Inputs) -> list[Subject]:
    """The pages that these inputs give, projects first."""
    ordered = sorted(inputs.claims, key=lambda one: (one.at, one.source))
    found = _Pages()
    taken = set[str]()
    for project in sorted(inputs.projects, key=lambda one: one.slug):
        mine = _of_project(ordered, project)
        taken |= {one.source for one in mine}
        found.add("project", project.name, mine, project)
    for name in _projects_without_page(ordered, inputs.projects):
        mine = [one for one in ordered if same_name(one.project) == same_name(name)]
        found.add("project", name, mine)
    projects = {same_name(one.title) for one in found.pages}
    people = {same_name(one.owner) for one in inputs.projects if one.owner}
    for name, mine in _names(ordered, projects, people):
        taken |= {one.source for one in mine}
        found.add("entity", name, mine)
    for kind, title in TOPICS.items():
        mine = [one for one in ordered if one.kind == kind and (kind not in _LEFT_OVER or one.source not in taken)]
        if mine:
            found.add("topic", title, mine)
    for tag in sorted({topic for one in ordered for topic in one.topics}):
        found.add("topic", tag, [one for one in ordered if tag in one.topics])
    return found.pages


def names_of(inputs: Inputs) -> list[str]:
    """The names that pages may be about, as they are written: what is looked for on people's pages."""
    ordered = sorted(inputs.claims, key=lambda one: (one.at, one.source))
    projects = {one.name for one in inputs.projects} | {one.project for one in ordered if one.project}
    people = {same_name(one.owner) for one in inputs.projects if one.owner}
    found = _names(ordered, {same_name(name) for name in projects}, people, enough=1)
    return sorted({*projects, *(name for name, _ in found)})


class _Pages:
    def __init__(self) -> None:
        self.pages: list[Subject] = []
        self._paths = set[str]()

    def add(self, kind: SubjectKind, title: str, claims: Sequence[Claim], project: ProjectState | None = None) -> None:
        try:
            path = f"{FOLDERS[kind]}/{slug_of(title, kind)}"
            if path.casefold() in self._paths:
                path = f"{FOLDERS[kind]}/{hashed_slug(title, kind)}"
        except UsageError:  # a name of nothing
            return
        self._paths.add(path.casefold())
        self.pages.append(Subject(kind, title, path, tuple(claims), project))


def _of_project(claims: Iterable[Claim], project: ProjectState) -> list[Claim]:
    names = {same_name(project.name), same_name(project.slug)}
    said = re.compile(rf"(?<!\w){re.escape(project.name)}(?!\w)", re.IGNORECASE)
    return [
        one
        for one in claims
        if same_name(one.project) in names
        or any(same_name(name) in names for name in one.names)
        or (not one.topics and said.search(one.text))
    ]


def _projects_without_page(claims: Iterable[Claim], projects: Iterable[ProjectState]) -> list[str]:
    known = {same_name(name) for one in projects for name in (one.name, one.slug)}
    found: dict[str, str] = {}
    for claim in claims:
        if claim.project and same_name(claim.project) not in known:
            found.setdefault(same_name(claim.project), claim.project)
    return [found[key] for key in sorted(found)]


def _names(
    claims: Sequence[Claim], projects: set[str], people: set[str], *, enough: int = ENOUGH
) -> list[tuple[str, list[Claim]]]:
    """Names that have enough said about them, each as it is mostly written, in the order of the alphabet."""
    spelt: dict[str, Counter[str]] = {}
    mine: dict[str, dict[str, Claim]] = {}
    for claim in claims:
        for name in dict.fromkeys(_without_lead(name, claim) for name in claim.names):
            key = same_name(name)
            spelt.setdefault(key, Counter())[name] += 1
            mine.setdefault(key, {})[claim.source] = claim
    words = {word for claim in claims for word in _WORD.findall(claim.text)}
    names: dict[str, str] = {}
    for key in mine:
        name = _spelling(spelt[key])
        if name and key not in projects and (key in people or _is_name(name, list(mine[key].values()), words)):
            names[key] = name
    begins: dict[str, list[tuple[str, str]]] = {}
    for key, name in names.items():
        first = _WORD.search(name)
        if first is not None:
            begins.setdefault(first[0], []).append((name, key))
    for claim in claims:  # also where a name stands in the middle of another
        for key in () if claim.topics else _said_in(claim.text, begins):
            mine[key][claim.source] = claim
    kept = {
        key: sorted(found.values(), key=lambda one: (one.at, one.source))
        for key, found in mine.items()
        if key in names and len(found) >= enough and any(one.holds for one in found.values())
    }
    most = sorted(kept, key=lambda key: (-len(kept[key]), key))[:MOST_NAMES]
    return [(names[key], kept[key]) for key in sorted(most)]


def _said_in(text: str, begins: Mapping[str, Sequence[tuple[str, str]]]) -> list[str]:
    """The keys of names that stand in a text as whole words; `begins` has the names by their first words."""
    found: list[str] = []
    for word in _WORD.finditer(text):
        for name, key in begins.get(word[0], ()):
            at = word.start() - name.index(word[0])
            if text.startswith(name, max(at, 0)) and not text[at + len(name) : at + len(name) + 1].isalnum():
                found.append(key)
    return found


def _without_lead(name: str, claim: Claim) -> str:
    """`Vega` for the `Logs of Vega` that a sentence begins with: its first word has a capital anyway."""
    first, _, rest = name.partition(" ")
    if rest and _is_day(first):
        return rest
    return _LEAD.sub("", name) if claim.text.startswith(name) else name


def _is_day(word: str) -> bool:
    return word.casefold().removesuffix("s") in _DAYS


def _spelling(found: Mapping[str, int]) -> str:
    return min(found, key=lambda name: (-found[name], name))


def _is_name(name: str, claims: Sequence[Claim], words: set[str]) -> bool:
    """Whether a name is one, and no word that happens to begin a sentence; `words` are those of all claims."""
    if _NO_NAME.search(name) or _is_day(name) or len(name) > LONGEST_NAME:
        return False
    if " " in name or not name.isalpha() or name[1:] != name[1:].lower():
        return True
    if name.lower() != name and name.lower() in words:
        return False
    said = re.compile(rf"(?<=[\w,;)'’\"”«»]\s){re.escape(name)}(?!\w)")
    return any(said.search(claim.text) for claim in claims)
