"""Compiling the wiki: what is known is collected from bank, vault and notes, and handed over as claims.

Idea: the nouns do not know one another, so what a page is made of is put together here, and a model is asked here.
Invariant: what is in quarantine, closed, derived or of a scope that others of the vault may not read is no claim; what
the wiki itself wrote is no input to it; only the compiler writes, under its lock, from what is known then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from vademecum.agent.compile_pages import Passages
from vademecum.agent.spending import asker
from vademecum.bank.scopes import SHARED
from vademecum.bank.types import SCOPES, Fact, Scope
from vademecum.clock import iso, parse_iso
from vademecum.errors import RefusedError, VademecumError
from vademecum.gate.candidate import Act
from vademecum.gate.trust import Rules
from vademecum.model import Origin
from vademecum.obsidian import link_prefix, own_slug
from vademecum.vault.paths import VaultPaths
from vademecum.wiki.claims import Claim, Conflict, Inputs, ProjectState, one_line, same_name
from vademecum.wiki.compile import Compiled, Compiler, Progress
from vademecum.wiki.page_text import Sentence
from vademecum.wiki.shelf import Shelf
from vademecum.wiki.subjects import names_of

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.vault.decision_text import Decision
    from vademecum.vault.projects import Project

PURPOSE = "compile"
"""Under what requests to a model are booked."""
_COMPARED = 50  # newest facts about a name that a decision is held against
_READ = 4_000  # characters of a note in which names are looked for


def shelf(vm: Vademecum) -> Shelf:
    """Where the pages of the wiki lie."""
    return Shelf(VaultPaths.of(vm.home, vm.config.vault).root, vm.actor, vm.gate, vm.clock)


def compile_wiki(
    vm: Vademecum,
    *,
    by: Origin | None = None,
    dry_run: bool = False,
    prose: bool = True,
    progress: Progress = lambda _done, _of: None,
) -> Compiled:
    """Compile the pages whose inputs changed, as `by` (None: the assistant). `prose` False: no model is asked.

    `progress` is told pages done and of how many. Raises RefusedError for another user than the owner, and when another
    agent compiles this wiki; LockedError, StorageError.
    """
    if not vm.actor.is_owner:
        raise RefusedError(
            "The wiki is compiled for the owner alone: its pages lie in the vault, which the owner's agents read.",
            "Run it without --user.",
        )
    person = by is not None and all(part.kind == "person" for part in by.parts)
    act = Act("approved", str(by), rule="compiled") if person else None
    compiler = Compiler(shelf(vm), Rules(vm.config.gate.local_tools, vm.actor), act=act)
    said, why = dict[str, Sequence[Sentence]](), ""
    ask = asker(vm, PURPOSE) if prose and not dry_run else None
    if ask is not None:  # outside of the lock: it may take long
        from vademecum.agent.compile_prose import write_prose

        said, why = write_prose(vm, ask, compiler.unsaid(compiler.drafts(collect(vm).inputs)), progress)
    with nullcontext() if dry_run else compiler.held():  # a look takes no lock: it may be at a folder of another's
        found = collect(vm)  # under the lock: what was forgotten meanwhile is not put back
        pages = compiler.write(found.inputs, said, dry_run=dry_run, progress=progress)
    return Compiled(pages, dry_run, bool(said), (*found.notes, *([why] if why else [])))


@dataclass(frozen=True, slots=True)
class Collected:
    """The inputs, and what has to be told about what is not among them."""

    inputs: Inputs
    notes: tuple[str, ...]


def collect(vm: Vademecum) -> Collected:
    """All that the pages are made of, as it is now."""
    return _Collector(vm).collect()


class _Collector:
    def __init__(self, vm: Vademecum) -> None:
        self._vm = vm
        self._rules = Rules(vm.config.gate.local_tools, vm.actor, vm.config.gate.trusted_connectors)
        self._hidden = 0
        self._excluding: list[Conflict] = []

    def collect(self) -> Collected:
        vm = self._vm
        root = VaultPaths.of(vm.home, vm.config.vault).root
        scopes, alone, why = shared_scopes(vm)
        facts, kept_out = self._facts(scopes)
        claims = [*facts, *self._decisions(), *self._questions(), *(self._notes() if alone else ())]
        conflicts = [*self._conflicts(), *self._excluding, *_against_decisions(claims)]
        notes = [why] if kept_out or not alone else []
        inputs = Inputs(tuple(claims), tuple(self._projects()), tuple(conflicts), link_prefix(root))
        passages = Passages(vm, self._plain, self._outside)
        inputs = replace(inputs, claims=(*claims, *passages.claims(names_of(inputs))))
        if passages.waiting:
            notes.append("Another process is indexing pages: some of them may not have been looked at.")
        if self._hidden:
            notes.append(f"{self._hidden} statements hold hidden characters and are on no page.")
        return Collected(inputs, tuple(notes))

    # --- facts

    def _facts(self, scopes: Sequence[Scope]) -> tuple[list[Claim], int]:
        everything = self._vm.bank.list(include_closed=True, limit=-1)
        before = {one.superseded_by: one.id for one in everything if one.superseded_by}
        now = self._vm.clock()
        held = [one for one in everything if not one.derived and (one.valid_to is None or one.valid_to > now)]
        mine = [one for one in held if one.scope in scopes]
        claims = [claim for one in mine if (claim := self._fact(one, before.get(one.id, "")))]
        return claims, len(held) - len(mine)

    def _fact(self, one: Fact, before: str) -> Claim | None:
        fix = f" Fix: {one.detail['fix']}" if one.detail.get("fix") else ""
        until = f" (until {iso(one.valid_to)[:10]})" if one.valid_to is not None else ""
        text = self._plain(f"{one.text}{fix}{until}", clean=True)  # without secrets since it was retained
        if not text:
            return None
        return Claim(
            source=f"fact:{one.id}",
            kind=one.kind,
            text=text,
            at=one.learnt_at,
            origin=one.origin,
            cited=_said(one),
            names=one.entities,
            since=one.valid_from,
            replaces=before,
            outside=self._outside(one.origin) if one.trust == "outside" else "",
        )

    def _conflicts(self) -> Iterator[Conflict]:
        for one, other, differ in self._vm.bank.contradictions():
            yield Conflict(f"fact:{one.id}", f"fact:{other.id}", self._plain(differ))

    # --- what lies in the vault

    def _decisions(self) -> list[Claim]:
        from vademecum.agent.vaulting import proved, shown

        all_ = self._vm.vault.decisions(all_=True)
        known = {one.id: one for one in all_}
        claims: list[Claim] = []
        for one in shown(self._vm, all_):
            claim = None if one.is_forgotten else self._decision(proved(self._vm, one), known)
            if claim is None:
                continue
            claims.append(claim)
            for other in one.contradicts if claim.holds else ():
                if other in known and not known[other].superseded_by:
                    self._excluding.append(Conflict(f"decision:{other}", claim.source))
        return claims

    def _decision(self, one: Decision, known: dict[str, Decision]) -> Claim | None:
        from vademecum.bank.facts.entities import entities_of
        from vademecum.vault.attest import UNPROVED
        from vademecum.vault.decisions import seen_from

        text, why = self._plain(one.what), self._plain(one.why)
        if not text:
            return None
        later = one.superseded_by[-1] if one.superseded_by else ""
        until = (known[later].time or one.time or 0) if later in known else None
        day = iso(one.time)[:10] if one.time else "no date"
        unproved = one.origin == UNPROVED
        outside = [part for part in one.origin.parts if part.kind != "agent" and self._rules.outside(part)]
        return Claim(
            source=f"decision:{one.id}",
            kind="decision",
            text=text,
            at=one.time or 0,
            origin=seen_from(self._vm.actor.agent, one),
            cited=f"{day}, {one.by or 'typed'}",
            link=one.target,
            label=f"{day}, {one.by or 'typed'}",
            names=entities_of(one.text),
            project=one.project,
            why=why,
            until=until,
            instead=f"decision:{later}" if later else "",
            outside="not signed" if unproved else self._named(outside),
        )

    def _questions(self) -> Iterator[Claim]:
        """What agents that are in the middle of something have asked in their newest checkpoints."""
        from vademecum.agent.vaulting import desk
        from vademecum.bank.facts.entities import entities_of
        from vademecum.vault.checkpoints import FOLDER, read

        own = desk(self._vm)
        check = self._vm.gate.quarantine.check(self._vm.actor.agent)
        for path in sorted((own.root / FOLDER).glob("*.md")):
            newest = next(iter(read(own.page(FOLDER, path.name).text())), None)
            if newest is None or newest.state != "working":
                continue
            mine = path.stem == own_slug(self._vm.actor.agent, "agent")
            origin = newest.origin if mine else Origin.agent(path.stem).joined(*newest.origin.parts)
            if check is not None and check(origin, newest.session, "") is not None:
                continue
            outside = [part for part in newest.origin.parts if self._rules.outside(part)]
            for n, question in enumerate(newest.questions, 1):
                text = self._plain(question)
                if text:
                    yield Claim(
                        source=f"question:{newest.id}.{n}",
                        kind="question",
                        text=text,
                        at=newest.time,
                        origin=origin,
                        cited="",
                        link=f"{FOLDER}/{path.stem}#^{newest.id}",
                        label=f"{iso(newest.time)[:10]}, {path.stem}",
                        names=entities_of(f"{question}\n{newest.task}"),
                        outside=self._named(outside),
                    )

    def _projects(self) -> Iterator[ProjectState]:
        for one in self._vm.vault.projects():
            origin = self._origin_of(one)
            check = self._vm.gate.quarantine.check(self._vm.actor.agent)
            if check is not None and check(origin, None, "") is not None:
                continue
            status, owner, next_ = (self._plain(value) for value in (one.status, one.owner, one.next))
            blockers = tuple(text for value in one.blockers if (text := self._plain(value)))
            yield ProjectState(
                self._plain(one.name) or one.slug, one.slug, one.target, status, owner, next_, blockers,
                one.updated[:10], origin,
            )  # fmt: skip

    def _origin_of(self, one: Project) -> Origin:
        from vademecum.vault.proving import origin_of_page

        return origin_of_page(self._vm.live, one, self._vm.actor.agent, self._vm.actor.user)

    # --- notes

    def _notes(self) -> Iterator[Claim]:
        from vademecum.bank.facts.entities import entities_of
        from vademecum.core.held import held_notes, sources

        notes = self._vm.notes
        held, written = held_notes(notes), sources(notes)
        for place in notes.places():
            if place.skill or place.link in held:
                continue
            try:
                note = notes.read(place.slug)
            except VademecumError:  # it cannot be read, or has gone meanwhile
                continue
            said = f"{note.name}: {note.description}" if note.description else note.name
            text = self._plain(said)
            rows = written.get((place.tier, place.slug), [])
            origins = [Origin.parse(row.origin) for row in rows] or [Origin.file()]
            origin = origins[0].joined(*origins[1:])
            if text:
                yield Claim(
                    source=f"note:{place.slug}",
                    kind="note",
                    text=text,
                    at=_note_time(note.text) or (rows[-1].at if rows else 0),
                    origin=origin,
                    cited=f"of {self._vm.actor.agent}",
                    names=entities_of(f"{said}\n{note.body[:_READ]}"),
                    outside=self._outside(origin),
                )

    # --- all

    def _plain(self, text: str, *, clean: bool = False) -> str:
        """`text` as a claim; empty when it hides something. `clean`: no secret is in it."""
        text = text if clean else self._vm.redactor.clean(text)
        if self._vm.gate.inspect(text):
            self._hidden += 1
            return ""
        return one_line(text)

    def _outside(self, origin: Origin) -> str:
        return self._named(self._rules.outside(origin))

    def _named(self, parts: Sequence[Origin]) -> str:
        return one_line(", ".join(dict.fromkeys(_name(part) for part in parts)))


def _against_decisions(claims: Sequence[Claim]) -> Iterator[Conflict]:
    """Facts that a standing decision about the same names may exclude."""
    from vademecum.bank.compare.relation import may_contradict

    decisions = [one for one in claims if one.link and one.kind == "decision" and one.holds]
    facts = [one for one in claims if one.source.startswith("fact:")]
    of: dict[str, list[Claim]] = {}
    for one in facts:
        for name in {same_name(name) for name in one.names}:
            of.setdefault(name, []).append(one)
    for decision in decisions:
        names = {same_name(name) for name in (*decision.names, decision.project) if name}
        near = {one.source: one for name in sorted(names) for one in of.get(name, ())[-_COMPARED:]}
        for one in near.values():
            if may_contradict(decision.text, one.text):
                yield Conflict(decision.source, one.source)


def _name(part: Origin) -> str:
    host = urlsplit(part.item).hostname if "://" in part.item else part.item
    return " ".join(one for one in (part.name or part.kind, host) if one and one != "*")


def _said(fact: Fact) -> str:
    """Who said it, when and where, of the first piece of evidence; and how often it was said again."""
    first = fact.evidence[0] if fact.evidence else None
    if first is None:
        return f"learnt {iso(fact.learnt_at)[:10]}"
    who = first.speaker or {"user": first.origin.name, "person": "a person", "file": "a file"}.get(
        first.origin.kind, _name(first.origin)
    )
    parts = [f"said by {who} on {iso(first.at)[:10]}"]
    if first.session:
        parts.append(f"session `{first.session}`" + (f", message {first.message}" if first.message else ""))
    if len(fact.evidence) > 1:
        parts.append(f"and {len(fact.evidence) - 1} more")
    return one_line(", ".join(parts))


def _note_time(text: str) -> int | None:
    from vademecum.frontmatter import FrontMatter

    parts = FrontMatter.parse(text)
    try:
        return parse_iso(parts.get("updated") or parts.get("created"))
    except ValueError:
        return None


def shared_scopes(vm: Vademecum) -> tuple[tuple[Scope, ...], bool, str]:
    """The scopes whose facts may stand in the vault, whether the vault is this agent's alone, and why, in a sentence.

    Notes are of the agent alone, like facts of scope `agent`.
    """
    from vademecum.agent.vademecum import agent_names

    home = {vm.actor.agent, *agent_names(vm.home, vm.config)}
    writers = home | _signers(vm)
    if vm.config.wiki.scopes:
        chosen: list[Scope] = [one for one in SCOPES if one in vm.config.wiki.scopes]
        return tuple(chosen), "agent" in chosen, f"`wiki.scopes` lets in facts of {', '.join(chosen)} only."
    others = sorted(writers - {vm.actor.agent})
    if not others:
        return SCOPES, True, ""
    if writers <= home:
        told = f"The vault is shared with {', '.join(others)}: facts and notes of {vm.actor.agent} alone stay out."
        several: list[Scope] = [one for one in SCOPES if one != "agent"]
        return tuple(several), False, told
    strangers = ", ".join(sorted(writers - home))
    told = f"The vault is shared with {strangers} of another home: only facts of team and organisation go in, no notes."
    return SHARED, False, told


def _signers(vm: Vademecum) -> set[str]:
    """The agents that have signed entries in the vault, of whatever home."""
    from vademecum.vault.indexing import ledger_files
    from vademecum.vault.ledger import read_head

    found = set[str]()
    for path in ledger_files(VaultPaths.of(vm.home, vm.config.vault)):
        with path.open("rb") as stream:
            head = read_head(stream.readline(4096))
        found |= {head.agent} if head else set()
    return found
