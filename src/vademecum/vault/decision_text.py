"""How a decision stands in `Decisions.md`: a heading, a list of what is known of it, its id.

Idea: a section a person can read and link to; the id below the list is an Obsidian block id. A section that somebody
typed, with nothing but a heading, is a decision too. Invariant: `parse` never fails and changes nothing; what is code
or a comment on the page is no decision; a block that `render` made is read back as it was. No more than three lines of
a block that could stand in another one follow each other: git's line-wise merge leaves runs of four as common to both
sides, and would take the blocks apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from vademecum.clock import iso, stored_iso
from vademecum.model import Origin
from vademecum.obsidian import (
    BLOCK_ID,
    Line,
    field,
    from_one_line,
    in_one_line,
    label_of,
    lines,
    link,
    links,
    plain,
    quiet,
    unfield,
)
from vademecum.store.erasure import MARK

FILE = "Decisions.md"
TITLE = "Decisions"
FORGED = "ALARM: a forged block has the id of"
TYPED = Origin.file()
_LINKED = ("Project", "Supersedes", "May contradict")
_MARK = re.compile(r" %% [0-9A-Z]{26} %%[ \t]*$")
_ULID = re.compile(r"\^([0-7][0-9A-HJKMNP-TV-Z]{25})[ \t]*$")
_HEADING = re.compile(r"## +(.*?)(?: +#+)?[ \t]*$")
_A_HEADING = re.compile(r"##? +")
_FIELD = re.compile(r"- ([A-Z][a-z]+(?: [a-z]+)?):(?: (.*))?$")
_DATED = re.compile(r"(\d{4}-\d\d-\d\d)\b[ :·–-]*")


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision as it stands in the file; `time` in UTC ms, None when a typed one has no date.

    `id` is the ULID of its block; a section that somebody typed has none and is called `#` and its heading. `number`
    is the line of its heading, `start` and `end` its place in the text. `by` is the agent, or the user, who decided.
    """

    id: str
    what: str
    time: int | None = None
    by: str = ""
    channel: str = ""
    why: str = ""
    alternatives: str = ""
    project: str = ""
    supersedes: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    origin: Origin = TYPED
    session: str | None = None
    number: int = 0
    start: int = 0
    end: int = 0
    superseded_by: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        """What a link to it points to, without the vault's folder: `Decisions#^01J...`."""
        return f"{TITLE}#^{self.id}" if self.id[0] != "#" else f"{TITLE}{self.id}"

    @property
    def is_forgotten(self) -> bool:
        """True for what is left of one that was erased."""
        return self.what == MARK

    @property
    def text(self) -> str:
        """All that it says, as one text."""
        return "\n".join(part for part in (self.what, self.why, self.alternatives) if part)


def render(decision: Decision, prefix: str, what_of: Mapping[str, str], project: str = "") -> str:
    """The block, with line feeds. `prefix` is the vault's place in Obsidian, `what_of` names those it links to,
    `project` is the page of its project, when there is one.
    """
    origin = "" if decision.origin == Origin.assistant() else f"origin {decision.origin}"
    session = f"session {field(decision.session).replace(' ', '%20')}" if decision.session else ""  # one word
    hidden = " ".join(part for part in (session, origin) if part)
    told = [iso(decision.time or 0), *(field(part) for part in (decision.by, decision.channel) if part)]
    rows = [("Decided", f"{' · '.join(told)}{f' %% {hidden} %%' if hidden else ''}")]
    rows += [("Why", in_one_line(decision.why)), ("Alternatives", in_one_line(decision.alternatives))]
    linked = project and not re.search(r"[\[\]|]", decision.project)
    rows += [("Project", link(prefix + project, decision.project) if linked else quiet(decision.project))]
    for name, ids in (("Supersedes", decision.supersedes), ("May contradict", decision.contradicts)):
        linked = (link(prefix + Decision(id_, "").target, what_of.get(id_, "")) for id_ in ids)
        rows.append((name, ", ".join(linked)))
    mark = f" %% {decision.id} %%"
    fields = ""
    for name, value in rows:
        if value:
            own = name in _LINKED and mark
            fields += f"- {name}: {value}{own or ''}\n"
            mark = "" if own else mark
    return f"## {quiet(' '.join(decision.what.split()))}\n\n{fields}\n^{decision.id}\n"


def parse(text: str, signed: Callable[[Decision], bool] | None = None) -> tuple[list[Decision], list[str]]:
    """The decisions in the order of the file, and what is wrong with it, in sentences.

    Of two blocks with one id and the same words the first counts; with other words the one that its author `signed`,
    else the first, and it is said.
    """
    found: dict[str, Decision] = {}
    problems: list[str] = []
    for decision in _sections(text):
        there = found.setdefault(decision.id, decision)
        if there is decision or _said(there) == _said(decision):
            continue
        wins = next((one for one in (there, decision) if signed is not None and signed(one)), None)
        if wins is None:
            problems.append(
                f"{FILE}:{decision.number}: another decision has the id of line {there.number} and other words; the "
                "first counts."
            )
            continue
        other = decision if wins is there else there
        found[decision.id] = wins
        problems.append(
            f"{FILE}:{other.number}: {FORGED} {wins.id} and other words; those of line {wins.number} count, which "
            f"{wins.by} signed."
        )
    return list(found.values()), problems


def _said(decision: Decision) -> Decision:
    return replace(decision, number=0, start=0, end=0)


def _sections(text: str) -> Iterable[Decision]:
    begin: Line | None = None
    body: list[Line] = []
    for line in lines(text):
        if line.text[:1] == "#" and not line.hidden and _A_HEADING.match(line.text):
            if begin is not None:
                yield _decision(begin, body, line.start)
            begin, body = (line if _HEADING.match(line.text) else None), []
        elif begin is not None:
            body.append(line)
    if begin is not None:
        yield _decision(begin, body, len(text))


def _decision(begin: Line, body: Sequence[Line], end: int) -> Decision:
    heading = _HEADING.match(begin.text)
    what = heading[1] if heading else ""
    id_, fields, rest = "", dict[str, str](), list[str]()
    current = ""
    for line in body:
        block = _ULID.fullmatch(line.text) if line.text[:1] == "^" and not line.hidden else None
        named = _FIELD.fullmatch(line.text) if line.text[:2] == "- " and not line.hidden else None
        if block is not None:
            id_, end = block[1], line.start + len(line.text)
            break
        if named is not None and named[1] not in fields:
            current = named[1]
            fields[current] = named[2] or ""
        elif current and (not line.text.strip() or line.text.startswith("  ")):
            fields[current] += "\n" + line.text[2:]
        else:
            current = ""
            rest += [] if line.hidden else [line.text]
    told = {
        name: _MARK.sub("", from_one_line(value.strip("\n"))) for name, value in fields.items() if name != "Decided"
    }
    decided = fields.get("Decided", "").strip()
    if not id_ or not decided:
        return _typed(what, rest, told, decided, begin, end)
    return _known(id_, plain(what), decided, told, (begin.number, begin.start, end))


def _known(id_: str, what: str, decided: str, told: dict[str, str], place: tuple[int, int, int]) -> Decision:
    seen, _, hidden = decided.removesuffix("%%").rpartition("%% ") if decided.endswith(" %%") else (decided, "", "")
    words = hidden.split()
    values = dict(zip(words[::2], words[1::2], strict=False))
    when, *names = (unfield(part.strip()) for part in seen.split(" · "))
    return Decision(
        id_,
        what,
        _time(when),
        names[0] if names else "",
        names[1] if len(names) > 1 else "",
        told.get("Why", ""),
        told.get("Alternatives", ""),
        label_of(told.get("Project", "")),
        _ids(told.get("Supersedes", "")),
        _ids(told.get("May contradict", "")),
        _origin(values.get("origin", "assistant")),
        unfield(values["session"]) if "session" in values else None,
        *place,
    )


def _typed(what: str, rest: Sequence[str], told: dict[str, str], decided: str, begin: Line, end: int) -> Decision:
    """A section that a person typed: the heading, perhaps with a date before it, and whatever is below."""
    dated = _DATED.match(what)
    title = what[dated.end() :] if dated else what
    when = _time(dated[1]) if dated else _time(decided.split(" · ")[0])
    text = "\n".join(line for line in rest if not BLOCK_ID.fullmatch(line.strip())).strip()
    return Decision(
        f"#{what}",
        title or what,
        when,
        why=told.get("Why", text),
        alternatives=told.get("Alternatives", ""),
        project=label_of(told.get("Project", "")),
        supersedes=_ids(told.get("Supersedes", "")),
        number=begin.number,
        start=begin.start,
        end=end,
    )


def _ids(value: str) -> tuple[str, ...]:
    found: list[str] = []
    for target in links(value):
        _, _, place = target.partition("#")
        found.append(place[1:] if place.startswith("^") else f"#{place}")
    return tuple(dict.fromkeys(one for one in found if len(one) > 1))


def _origin(text: str) -> Origin:
    try:
        return Origin.parse(text)
    except ValueError:
        return Origin.file()


def _time(text: str) -> int | None:
    try:
        return stored_iso(text)
    except ValueError:
        return None


def merged(text: str, other: str) -> tuple[str, int, list[str]]:
    """`text` with the decisions of `other` (a sync tool's copy of the file) that it has not, their number, and what
    stays undecided.

    Bytes of `text` stay. A block of `other` whose id is there with other words is named, and so is text of a person's
    that only `other` has; both are for somebody to look at, so the copy has to be kept then.
    """
    there = {one.id: one for one in _sections(text)}
    problems: list[str] = []
    end = "\r\n" if "\r\n" in text else "\n"
    rest = other.removeprefix("\ufeff")
    new: list[str] = []
    for one in reversed(list(_sections(rest))):  # from the end, so that places before it stay
        known = there.setdefault(one.id, one)
        if known is one:
            new.append(rest[one.start : one.end])
        elif _said(known) != _said(one):
            problems.append(f"{FILE}: the copy says something else of {one.id}: {one.what}")
        rest = rest[: one.start] + rest[one.end :]
    for block in reversed(new):
        lead = "" if not text or text.endswith("\n") else end
        text = f"{text}{lead}{end}{block.replace(chr(13), '').rstrip(chr(10)).replace(chr(10), end)}{end}"
    own = {line.strip() for line in text.splitlines()}
    left = [line for line in rest.splitlines() if line.strip() and line.strip() not in own]
    if left:
        problems.append(f"{FILE}: the copy has text that is no decision: {left[0].strip()[:80]}")
    return text, len(new), problems
