"""What stands in the managed block of a page: claims with their citations, a timeline, what contradicts, what is open.

Idea: each line names its sources, facts by footnotes, what lies in the vault by links; `cited` reads them back, so that
what is forgotten can be taken out of a page line by line. Invariant: pure text from inputs, without a clock; no line
says something without saying from where.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from vademecum.clock import iso
from vademecum.obsidian import link
from vademecum.wiki.claims import Claim, Conflict
from vademecum.wiki.subjects import Subject

WIKI = "Wiki"
_KINDS = {
    "fact": "Facts",
    "preference": "Preferences",
    "convention": "Conventions",
    "environment": "Environment",
    "workflow": "Workflows",
    "failure": "Failures and fixes",
    "quirk": "Quirks",
}
_NO_EVENTS = ("note", "page", "question")
_RELATED = 8
_CLIP = 100
_FOOTNOTE = re.compile(r"\[\^([\w-]+)\](?!:)")
_DEFINITION = re.compile(r"\[\^([\w-]+)\]: (fact|note|page) `([^`]+)`")
_LINK = re.compile(r"\[\[([^\[\]|\n]+)")
_HEADING = re.compile(r"#{2,4} ")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence that a model wrote, with the sources of the claims that say so."""

    text: str
    sources: tuple[str, ...]


def block_text(
    subject: Subject,
    *,
    conflicts: Sequence[Conflict] = (),
    related: Sequence[Subject] = (),
    prose: Sequence[Sentence] | str = (),
    prefix: str = "",
) -> str:
    """What stands between the comments of the block: a blank line, the page, a blank line; line feeds.

    `prose`: sentences, or what `prose_of` read from the block that was made from the same claims.
    """
    return _Writer(subject, conflicts, prefix).text(related, prose)


def prose_of(text: str) -> str:
    """What stands under "In short" in a block; empty when nothing does."""
    found = re.search(r"^## In short\n\n(.+)$", text, re.MULTILINE)
    return found[1] if found else ""


class _Writer:
    def __init__(self, subject: Subject, conflicts: Sequence[Conflict], prefix: str) -> None:
        self.subject = subject
        self.prefix = prefix
        self.claims = {one.source: one for one in subject.claims}
        self.conflicts = [one for one in conflicts if one.one in self.claims and one.other in self.claims]
        self.marks = _marks(subject.claims)
        self.used: dict[str, None] = {}

    def text(self, related: Sequence[Subject], prose: Sequence[Sentence] | str) -> str:
        if not isinstance(prose, str):
            prose = " ".join(f"{one.text}{self._cite(one.sources)}" for one in prose)
        for mark in _FOOTNOTE.findall(prose):
            self.used.update({source: None for source, name in self.marks.items() if name == mark})
        parts = [
            [self._head()],
            self._state(),
            _under("In short", [prose] if prose else []),
            self._facts(),
            _under("Decisions", [self._decision(one) for one in self._of("decision") if one.holds]),
            _under("Notes", [self._bullet(one) for one in self._of("note")]),
            _under("Elsewhere in the vault", [self._passage(one) for one in self._of("page")]),
            _under("Timeline", self._timeline()),
            _under("What contradicts", [self._conflict(one) for one in self.conflicts]),
            _under("Open", self._open()),
            _under("See also", [" · ".join(self._page(one) for one in related[:_RELATED])] if related else []),
        ]
        parts.append([self._definition(source) for source in self.used])
        return "\n" + "\n\n".join("\n".join(part) for part in parts if part) + "\n\n"

    # --- the parts

    def _head(self) -> str:
        holding = [one for one in self.claims.values() if one.holds]
        of = Counter(one.kind for one in holding)
        kinds = [(sum(of[kind] for kind in _KINDS), "fact"), (of["decision"], "decision"), (of["note"], "note")]
        kinds += [(of["page"], "passage"), (of["question"], "question")]
        told = ", ".join(f"{count} {noun}{'s' * (count != 1)}" for count, noun in kinds if count)
        if not self.claims:
            return "*Nothing more is known yet.*"
        newest = max(one.at for one in self.claims.values())
        when = f"; the newest is of {_day(newest)}" if newest else ""
        return f"*{told or 'Nothing that still holds'}{when}.*"

    def _state(self) -> list[str]:
        project = self.subject.project
        if project is None:
            return []
        rows = [("owner", project.owner), ("next", project.next), ("blocked by", "; ".join(project.blockers))]
        told = [f"**{project.status}**"] if project.status else []
        told += [f"{name}: {value}" for name, value in rows if value]
        label = f"state of {project.updated[:10]}" if project.updated else "state"
        return [f"- {' · '.join(told)} ({self._link(project.link, label)})".replace("-  (", "- (")]

    def _facts(self) -> list[str]:
        groups = [(title, [one for one in self._of(kind) if one.holds]) for kind, title in _KINDS.items()]
        groups = [(title, found) for title, found in groups if found]
        lines: list[str] = []
        for title, found in groups:
            lines += ["", f"### {title}", ""] if len(groups) > 1 else []
            lines += [self._bullet(one) for one in found]
        return _under("What is known", lines[1:] if lines[:1] == [""] else lines)

    def _bullet(self, one: Claim) -> str:
        until = f" *(from {_day(one.since)} on)*" if one.since is not None and one.since > one.at else ""
        return f"- {self._said(one)}{until}{self._cite([one.source])}"

    def _decision(self, one: Claim) -> str:
        why = f". Why: {one.why}" if one.why else ""
        return f"- **{self._said(one)}**{self._ref(one)}{why}"

    def _passage(self, one: Claim) -> str:
        return f"- {self._said(one)}{self._ref(one)}"

    def _timeline(self) -> list[str]:
        events: list[tuple[int, str, str]] = []
        quiet = True
        for one in self.claims.values():
            if one.kind in _NO_EVENTS:
                continue
            what = "decided" if one.kind == "decision" else "corrected" if one.replaces else "learnt"
            said = f"{self._short(one)}{self._ref(one, one.label.rpartition(', ')[2])}"
            said += f" (before: `{one.replaces}`)" if one.replaces else ""
            before = next((old for old in self.claims.values() if old.instead == one.source), None)
            said += f", in place of: {self._short(before)}{self._ref(before)}" if before else ""
            later = one.since is not None and _day(one.since) != _day(one.at)
            plain = what in ("learnt", "decided") and one.holds and before is None and not later
            if plain and self.subject.kind == "topic":
                continue  # the lines above say so
            quiet = quiet and what == "learnt" and not later
            if one.since is not None and later:
                events.append((one.since, one.source, f"since then: {said} ({what} {_day(one.at)})"))
            else:
                events.append((one.at, one.source, f"{what}: {said}"))
            if one.until is not None and one.instead not in self.claims:
                events.append((one.until, one.source, f"no longer: {said}"))
        if quiet and len({_day(at) for at, *_ in events}) < 2:
            return []  # all of it was learnt on one day
        return [f"- {_day(at)} {text}" for at, _, text in sorted(events)]

    def _conflict(self, one: Conflict) -> str:
        first, second = self.claims[one.one], self.claims[one.other]
        differ = f" *({one.differ})*" if one.differ else ""
        return f"- {self._said(first)}{self._ref(first)} **But:** {self._said(second)}{self._ref(second)}{differ}"

    def _open(self) -> list[str]:
        lines: list[str] = []
        project = self.subject.project
        if project is not None:
            state = self._link(project.link, "state")
            lines += [f"- What removes the blocker \u201c{one}\u201d? ({state})" for one in project.blockers]
        if self.conflicts:
            lines.append("- Which holds of what contradicts each other, above?")
        lines += [self._bullet(one) for one in self._of("question")]
        for one in self.claims.values():
            if one.outside and one.holds and one.kind not in ("page", "question"):
                lines.append(f"- Is it so? {self._short(one)}{self._ref(one)}")
        return lines

    # --- citations

    def _said(self, one: Claim) -> str:
        return f"*from outside ({one.outside}):* {one.text}" if one.outside else one.text

    def _of(self, kind: str) -> list[Claim]:
        return [one for one in self.claims.values() if one.kind == kind]

    def _link(self, target: str, label: str) -> str:
        return link(self.prefix + target, label)

    def _page(self, other: Subject) -> str:
        return self._link(f"{WIKI}/{other.path}", other.title)

    def _short(self, one: Claim) -> str:
        label = f"*from outside ({one.outside}):* " if one.outside else ""
        return label + _clip(one.text)

    def _ref(self, one: Claim, label: str = "") -> str:
        return f" ({self._link(one.link, label or one.label)})" if one.link else self._cite([one.source])

    def _cite(self, sources: Iterable[str]) -> str:
        marks = ""
        for source in dict.fromkeys(sources):
            one = self.claims[source]
            if one.link:
                marks += f" ({self._link(one.link, one.label)})"
            else:
                self.used[source] = None
                marks += f"[^{self.marks[source]}]"
        return marks

    def _definition(self, source: str) -> str:
        kind, _, id_ = source.partition(":")
        return f"[^{self.marks[source]}]: {kind} `{id_}`, {self.claims[source].cited}"


def _under(title: str, lines: Sequence[str]) -> list[str]:
    return [f"## {title}", "", *lines] if lines else []


def _marks(claims: Iterable[Claim]) -> dict[str, str]:
    """The footnotes' names: the end of the id, all of it where two would share one."""
    found: dict[str, str] = {}
    taken = set[str]()
    for one in claims:
        kind, _, id_ = one.source.partition(":")
        bare = re.sub(r"[^\w-]", "-", id_)
        short = f"{kind[0]}-{bare[-6:]}" if kind == "fact" else f"{kind[0]}-{bare}"
        found[one.source] = short if short not in taken else f"{kind[0]}-{bare}"
        taken.add(found[one.source])
    return found


def _day(at: int) -> str:
    return iso(at)[:10] if at > 0 else "without a date"


def _clip(text: str) -> str:
    if len(text) <= _CLIP:
        return text
    cut = text[: _CLIP - 1].rsplit(" ", 1)[0]
    return (cut if cut.count("`") % 2 == 0 else cut.replace("`", "")) + "…"


# --- reading citations back


def cited(text: str) -> dict[str, set[str]]:
    """What each line of a block cites: sources as `fact:ID`, and the targets of its links."""
    known = _known(text)
    found: dict[str, set[str]] = {}
    for line in text.split("\n"):
        own = _DEFINITION.match(line)
        sources = {f"{own[2]}:{own[3]}"} if own else {known[mark] for mark in _FOOTNOTE.findall(line) if mark in known}
        found.setdefault(line, set()).update(sources, _LINK.findall(line))
    return found


def citing(text: str, gone: Collection[str]) -> list[str]:
    """The lines of a block that cite one of `gone`: sources, or targets of links without the vault's place."""
    found: list[str] = []
    for line, names in cited(text).items():
        forms = {form for name in names for form in (name, name.partition("#")[0])}
        if any(form in gone or any(form.endswith(f"/{one}") for one in gone) for form in forms):
            found.append(line)
    return found


def without(text: str, gone: Collection[str]) -> str:
    """A block without these lines, and without headings that nothing stands under any more."""
    return _tidied([line for line in text.split("\n") if line not in gone])


def _known(text: str) -> dict[str, str]:
    """The sources of the footnotes of a block."""
    return {mark: f"{kind}:{id_}" for mark, kind, id_ in _DEFINITION.findall(text)}


def _tidied(lines: Sequence[str]) -> str:
    """The lines without headings that nothing stands under, and without doubled blank lines."""
    found: list[str] = []
    for n, line in enumerate(lines):
        if _HEADING.match(line):
            below = next((one for one in lines[n + 1 :] if one.strip()), "")
            if not below or below.startswith("[^") or (_HEADING.match(below) and _level(below) <= _level(line)):
                continue
        if line.strip() or (found and found[-1].strip()) or not found:
            found.append(line)
    return "\n".join(found).rstrip("\n") + "\n\n"


def _level(line: str) -> int:
    return len(line) - len(line.lstrip("#"))
