"""Erasing for good what came from somewhere, or one text, with a receipt.

Idea: every copy is looked up and written down first, then each place erases its own, then the database file is written
anew. Invariant: only a person forgets; an erasure that was cut short is carried to its end by the next one, and the
receipt names what was removed and what could not be.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vademecum.agent.forgetting import Elsewhere, forget_elsewhere, synced_files
from vademecum.agent.library_tools import drop_copies
from vademecum.agent.quarantine import copies_of, keepers, proposals_of, require_person, retake, rows_of
from vademecum.errors import AmbiguousError, LockedError, UsageError
from vademecum.files import locked
from vademecum.gate.audit import Event
from vademecum.gate.proposals import sha256_of
from vademecum.gate.selector import Copy, Selector
from vademecum.model import Actor, Origin
from vademecum.store import erasure, quarantine

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

SHORTEST = 4
"""A text of fewer characters is not looked for: it stands in too much else."""
SHORTEST_QUOTED = 12
"""What is forgotten by where it came from is cut out of other texts when it has as many characters."""

_OWN_WORDS = ("user", "person", "file")
"""The origins of what somebody wrote with their own hands."""


@dataclass(frozen=True, slots=True)
class Left:
    """A copy that was not removed, and cannot be from here: what it is, where, and what to do."""

    kind: str
    place: str
    hint: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was removed (`dry_run`: what would be) and what is left.

    `texts` counts those that stood beside the history; `snapshots` are the sessions whose snapshot held one; `resumed`:
    an erasure that had been cut short was carried to its end as well. `memories`: what became of it in the memory next
    to the core.
    """

    selector: str
    dry_run: bool
    removed: tuple[Copy, ...]
    texts: int = 0
    snapshots: tuple[str, ...] = ()
    left: tuple[Left, ...] = ()
    resumed: bool = False
    memories: tuple[Elsewhere, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be erased, as it is written down; `contents` are SHA-256 of texts beside the history."""

    selector: str
    copies: tuple[Copy, ...]
    texts: tuple[str, ...]
    contents: tuple[str, ...]
    sources: tuple[str, ...]
    user: str = ""
    """The person of whom nothing is to be left, not even a row that names them."""


def forget(vm: Vademecum, selector: Selector, *, by: Origin, dry_run: bool = False) -> Receipt:
    """Erase all that `selector` means, of this agent and all its users; see `Vademecum.forget`."""
    if not dry_run:
        require_person(by, "forget")
    _ = vm.memory, vm.notes, vm.daily, vm.bank
    if dry_run:
        plan = make_plan(vm, selector)
        left = (*_staying(vm, [plan], dry_run=True), *_left(vm, [plan]))
        return Receipt(plan.selector, True, plan.copies, len(plan.contents), (), left)
    with locked(vm.home.database.with_name("forget")):
        before = erasure.unfinished(vm.db, vm.actor.agent)
        old = [_read(text) for _, text, _ in before if text]
        done = [_carry_out(vm, plan, by) for plan in old]
        new = make_plan(vm, selector)
        numbers = [n for n, _, _ in before]
        if new.copies or new.contents:
            numbers.append(erasure.begin(vm.db, vm.actor.agent, _written(new), vm.clock()))
            done.append(_carry_out(vm, new, by))
        plans = [*old, new]
        left = (*_staying(vm, plans, dry_run=False), *_left(vm, plans), *_unseen(vm, before), *_ended(vm, numbers))
    copies = tuple(dict.fromkeys(copy for plan in plans for copy in plan.copies))
    asked = Selector("entry", new.texts[0]) if selector.kind == "entry" else selector
    drop_copies(vm, asked)
    memories = forget_elsewhere(vm, asked, copies)
    return Receipt(
        new.selector,
        False,
        copies,
        sum(texts for texts, _ in done),
        tuple(dict.fromkeys(one for _, sessions in done for one in sessions)),
        (*left, *(Left("memory", one.provider, f"{one.failed} {one.hint}") for one in memories if one.failed)),
        bool(before),
        memories,
    )


def make_plan(vm: Vademecum, selector: Selector) -> Plan:
    """Every copy of what `selector` means. Raises UsageError, AmbiguousError."""
    if selector.kind == "entry":
        selector = Selector("entry", _whole_entry(vm, selector.value))
    found = copies_of(vm, selector)
    quoted = [selector.value] if selector.kind == "entry" else words_of(found)
    contents = _contents(vm, selector)
    if selector.kind != "entry":
        found += _quotes(vm, quoted, found)
    if selector.kind == "session" and quarantine.exists(vm.db, vm.actor.agent, selector.value):
        user = next((copy.user for copy in found if copy.tier == "sessions"), vm.actor.user)
        found.append(Copy("sessions", "", "", "assistant", user, selector.value))
    person = selector.value if selector.kind == "user" and not selector.value.endswith("*") else ""
    if person:
        theirs = quarantine.sessions_of(vm.db, vm.actor.agent, person)
        found += [Copy("sessions", "", "", "assistant", person, session) for session in theirs]
    store = vm.gate.audit.store
    known = [sha for text in quoted for sha in store.holding(text)]
    known += [sha256_of(copy.text) for copy in found if copy.whole]
    held = store.texts([*contents, *known])
    sources = quarantine.sources(vm.db, [copy.session for copy in found if copy.tier == "sessions" and copy.session])
    name = str(selector) if selector.kind != "entry" else "entry"
    return Plan(name, tuple(dict.fromkeys(found)), tuple(quoted), tuple(held), tuple(sources), person)


def words_of(found: Iterable[Copy]) -> list[str]:
    """The texts among `found` that others may repeat, and that are long enough to be known again."""
    texts = dict.fromkeys(copy.text for copy in found if copy.tier in ("core", "facts", "daily", "proposals"))
    return [text for text in texts if len(text) >= SHORTEST_QUOTED]


def _whole_entry(vm: Vademecum, text: str) -> str:
    """The entry that `text` is, or is a part of; `text` itself when there is none (any more)."""
    text = text.strip()
    if len(text) < SHORTEST:
        raise UsageError(f"{text!r} is too short to be looked for everywhere.", f"Give at least {SHORTEST} characters.")
    found = dict.fromkeys(c.text for c in copies_of(vm, Selector("entry", text)) if c.tier == "core")
    if len(found) > 1 and text not in found:
        raise AmbiguousError(
            f"{len(found)} entries contain {text!r}. Nothing was erased.",
            "Give a longer part of the entry.",
            tuple(found),
        )
    return text if text in found or not found else next(iter(found))


def _quotes(vm: Vademecum, texts: Sequence[str], found: Sequence[Copy]) -> list[Copy]:
    """Entries that are one of `texts`, messages, facts and notes that repeat one, when the assistant or a tool does;
    what a user said or a person wrote stays."""
    same = same_words(vm, texts, found, ("core", "sessions", "facts", "notes"))
    return [
        copy
        for copy in same
        if Origin.parse(copy.origin).kind not in _OWN_WORDS and (copy.tier != "core" or copy.text in texts)
    ]


def same_words(vm: Vademecum, texts: Sequence[str], found: Iterable[Copy], tiers: Collection[str] = ()) -> list[Copy]:
    """What holds one of `texts` and is not among `found`, wherever it came from; `tiers` empty: everywhere."""
    there = {_spot(copy) for copy in found}
    kept = [keeper for keeper in keepers(vm) if not tiers or keeper.name in tiers]
    more = dict.fromkeys(copy for text in texts for keeper in kept for copy in keeper.copies(Selector("entry", text)))
    return [copy for copy in more if _spot(copy) not in there]


def _spot(copy: Copy) -> tuple[str, ...]:
    """What two copies have in common that stand in one place: an entry is a place, and so is a whole note."""
    if copy.tier == "core":
        return copy.tier, copy.place, copy.user, copy.text
    return copy.tier, copy.place.partition("#")[0]


def _staying(vm: Vademecum, plans: Sequence[Plan], *, dry_run: bool) -> list[Left]:
    """What holds the words of what was erased (or will be) and stays, since somebody else wrote it."""
    hint = "It holds the same words, said by somebody else: `vademecum forget --entry TEXT` cuts them out there too."
    found = list[Left]()
    for plan in plans:
        gone = [copy for copy in plan.copies if dry_run]
        for copy in same_words(vm, plan.texts if plan.selector != "entry" else (), gone):
            place = f"{copy.place} of {copy.user}" if copy.tier == "core" and copy.place == "user" else copy.place
            found.append(Left(copy.tier, place, hint))
    return list(dict.fromkeys(found))


def _contents(vm: Vademecum, selector: Selector) -> list[str]:
    """Texts that rows of the history brought in from there, by their SHA-256."""
    return [] if selector.kind == "entry" else [row.after_sha256 for row in rows_of(vm, selector)]


def _carry_out(vm: Vademecum, plan: Plan, by: Origin) -> tuple[int, list[str]]:
    """Erase what `plan` names; all of it may be gone already. Returns texts beside the history, and sessions."""
    for keeper in keepers(vm):
        keeper.erase([copy for copy in plan.copies if copy.tier == keeper.name], plan.texts, by)
    store = vm.gate.audit.store
    with vm.db.atomic():
        for copy in plan.copies:
            if copy.tier == "proposals" and erasure.clear_proposal(vm.db, copy.place, vm.clock()):
                vm.gate.audit.record(_event(vm, copy, by))
        quoted = [proposal for text in plan.texts for proposal in proposals_of(vm, Selector("entry", text))]
        for copy in quoted:
            erasure.clear_proposal(vm.db, copy.place, vm.clock())
        hashes = [sha256_of(copy.text) for copy in plan.copies if copy.whole]
        holding = [sha for text in plan.texts for sha in store.holding(text)]
        texts = store.erase([*plan.contents, *hashes, *holding])
        erasure.cut(vm.db, _forms(plan.texts))
        if plan.user:
            erasure.erase_user(vm.db, vm.actor.agent, plan.user)
        sessions = retake(vm, plan.copies, texts=plan.texts)
        quarantine.log(vm.db, vm.actor.agent, "forget", "", vm.clock())
    return max(texts, len(plan.contents)), sessions


def _event(vm: Vademecum, copy: Copy, by: Origin) -> Event:
    return Event(
        "forgotten",
        copy.tier,
        "remove",
        copy.place,
        Origin.parse(copy.origin),
        Actor(vm.actor.agent, copy.user),
        before=copy.text,
        by=str(by),
        session=copy.session,
        proposal=copy.place,
        keep=False,
    )


def _forms(texts: Sequence[str]) -> list[str]:
    from vademecum.sessions.tier import forms

    return forms(*texts)


def _ended(vm: Vademecum, numbers: Iterable[int]) -> list[Left]:
    try:
        for n in numbers:
            erasure.end(vm.db, n)
    except LockedError as error:
        return [Left("log", f"{vm.home.database}-wal", f"{error.message} {error.hint}")]
    return []


def _left(vm: Vademecum, plans: Sequence[Plan]) -> tuple[Left, ...]:
    """Copies that are not ours to remove: backups, what clients keep themselves, imported files."""
    from vademecum.store.archives import archives_holding

    texts = [text for plan in plans for text in (*plan.texts, *(c.text for c in plan.copies if c.whole and c.text))]
    found = [
        Left("backup", str(path), "Delete it, or make a new backup in its place.")
        for path in archives_holding(vm.home, texts)
    ]
    for path in synced_files(vm, texts):
        found.append(Left("client", path, "The next `vademecum client sync openclaw` takes it out of the block there."))
    for source in dict.fromkeys(source for plan in plans for source in plan.sources):
        found.append(Left("client", source, "It was recorded from there: the client keeps its own transcript."))
    files = {p.name for plan in plans for c in plan.copies for p in Origin.parse(c.origin).parts if p.kind == "import"}
    for name in sorted(files):
        if Path(name).exists():
            found.append(Left("import", name, "It was imported from there; the file was left as it is."))
    return tuple(found)


def _unseen(vm: Vademecum, before: Sequence[tuple[int, str, int]]) -> list[Left]:
    """Backups that nobody can look into any more: the erasure had come so far that its texts are gone."""
    if all(text for _, text, _ in before):
        return []
    since = max(at for _, text, at in before if not text)
    paths = [path for path in sorted(vm.home.backups.glob("*.zip")) if path.stat().st_mtime * 1000 <= since]
    hint = "It is older than the erasure that was cut short, and may hold what was erased."
    return [Left("backup", str(path), hint) for path in paths]


def _written(plan: Plan) -> str:
    import msgspec  # one-shot commands that forget nothing need not pay for it

    return msgspec.json.encode(plan).decode()


def _read(text: str) -> Plan:
    import msgspec

    return msgspec.json.decode(text, type=Plan)
