"""From a conversation to facts, exactly once.

Idea: what the rules find in the exchanges beyond a session's cursor is written in the one transaction that moves the
cursor; a model, when there is one, is asked later about the same exchanges and has a cursor of its own. Invariant:
killed at any point, tried again, or done by two workers at once, each exchange is retained once; of what the user did
not say to the end nothing is kept as theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from vademecum.bank.compare.normal import normal
from vademecum.bank.retain import phrases
from vademecum.bank.retain.corrections import Standing, propose_if_repeated, standing
from vademecum.bank.retain.exchanges import Exchange, Row, exact, exchanges, finished, speaker_of
from vademecum.bank.retain.extraction import Drawn, Shown, extract
from vademecum.bank.retain.extraction import parts as parted
from vademecum.bank.retain.findings import Finding, findings, own, rows_of, wishes
from vademecum.bank.signals.signal import Signal, signals
from vademecum.bank.types import Evidence, Retained
from vademecum.clock import EARLIEST
from vademecum.errors import RefusedError
from vademecum.gate.restate import restates
from vademecum.model import Origin
from vademecum.store import facts as fact_rows
from vademecum.store import retention as rows_
from vademecum.store.retention import Cursors

if TYPE_CHECKING:
    from vademecum.bank.bank import Bank
    from vademecum.models.types import ChatReply, ChatRequest

Mode = Literal["auto", "propose"]

ANSWERS = 3
"""Messages of the assistant in one exchange that a model is shown, the last ones."""
SHORTEST_ASKED = 20
"""Bytes of a sentence without a signal that a model is asked about."""
_TRIVIAL = ("chat", "progress", "one-off", "asked-to-recall", "look-up", "long", "trace", "log", "code")
_WISH_ROWS = 200


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session as it is looked through: messages from a few before the cursors to the last, in order.

    `over`: nothing will be added. `strict`: outside text was read in it. `interrupted` is the mark of an interrupted
    turn, `hidden` are texts that stand in the place of messages nobody may see, `known` what need not be kept again.
    """

    session: str
    rows: Sequence[Row]
    cursors: Cursors
    over: bool
    strict: bool
    interrupted: str
    hidden: Collection[str] = ()
    known: Collection[str] = ()


@dataclass(slots=True)
class Report:
    """What came of a run, in numbers; `kept` are the facts and proposals, `refused` why something was not kept."""

    exchanges: int = 0
    kept: list[Retained] = field(default_factory=list[Retained])
    refused: list[str] = field(default_factory=list[str])
    found: list[Finding] = field(default_factory=list[Finding])

    def count(self, outcome: str) -> int:
        """How many statements had that outcome: `new`, `merged` or `staged`."""
        return sum(one.outcome == outcome for one in self.kept)

    @property
    def line(self) -> str:
        """The report in one line."""
        line = f"{self.count('new')} new facts, {self.count('merged')} known already, {self.count('staged')} proposed"
        return line + (f", {len(self.refused)} refused" if self.refused else "")


def look(conversation: Conversation) -> list[tuple[Exchange, list[Finding]]]:
    """The finished exchanges beyond the cursor with what the rules find in them; writes nothing."""
    found: list[tuple[Exchange, list[Finding]]] = []
    before: Exchange | None = None
    looked_to = conversation.cursors.looked_to
    for one in _finished(conversation):
        if one.last > looked_to:
            held = [] if one.state != "answered" else _findings(one, before, conversation)
            found.append((one, [finding for finding in held if max(row.id for row in rows_of(finding)) > looked_to]))
        before = one if one.state == "answered" else None
    return found


def retain_session(
    bank: Bank, conversation: Conversation, *, mode: Mode = "auto", model: bool = False
) -> Report | None:
    """Keep what the rules find beyond the cursor, and move it; None when another worker has done it meanwhile.

    `model`: a model will be asked about the same exchanges (`ask_about`); else its cursor moves along. Raises
    LockedError, StorageError; then nothing was kept and the cursor stands where it stood.
    """
    looked = look(conversation)
    report = Report(exchanges=len(looked), found=[finding for _, held in looked for finding in held])
    if not looked:
        return report
    old, end = conversation.cursors, looked[-1][0].last
    new = Cursors(end, old.asked_to if model else end)
    with bank.db.atomic():
        if not rows_.move(bank.db, bank.actor, conversation.session, old, new):
            return None
        keeper = _Keeper(bank, conversation, mode, report)
        for exchange, held in looked:
            for finding in held:
                keeper.keep(finding)
            if exchange.state == "answered":
                keeper.notice(exchange, old.looked_to)
    report.kept[:] = map(bank.point_out, report.kept)
    return report


def ask_about(
    bank: Bank,
    conversation: Conversation,
    ask: Callable[[ChatRequest], ChatReply],
    *,
    mode: Mode = "auto",
) -> Report:
    """Have a model look at the exchanges that the rules have seen and it has not; each part is kept as it is answered.

    Raises what `ask` raises (ModelError, RefusedError when the allowance is used up), LockedError, StorageError; what
    was answered before that is kept.
    """
    report, cursors = Report(), conversation.cursors
    new = [one for one in _finished(conversation) if cursors.asked_to < one.last <= cursors.looked_to]
    for group in _grouped([(one, _shown(one, conversation)) for one in new]):
        shown = [message for _, messages in group for message in messages]
        end = group[-1][0].last
        there = rows_.quoted(bank.db, conversation.session, group[0][0].rows[0].id, end)
        drawn: tuple[Drawn, ...] = ()
        if shown:
            answer = extract(ask, shown, list(dict.fromkeys(text for _, _, text in there)))
            drawn = answer.facts
            report.refused += answer.dropped if answer.usable else ("The model gave no usable answer, twice.",)
        rows = {row.id: row for one, _ in group for row in one.rows}
        moved = Cursors(cursors.looked_to, end)
        before = len(report.kept)
        with bank.db.atomic():
            if not rows_.move(bank.db, bank.actor, conversation.session, cursors, moved):
                return report  # another worker goes on from there
            keeper = _Keeper(bank, conversation, mode, report)
            for fact in drawn:
                if not _overlaps(fact, there):
                    keeper.keep_drawn(fact, rows[fact.message], shown)
        report.kept[before:] = map(bank.point_out, report.kept[before:])
        cursors, report.exchanges = moved, report.exchanges + len(group)
    return report


def _finished(conversation: Conversation) -> list[Exchange]:
    found = exchanges(
        conversation.rows,
        interrupted=conversation.interrupted,
        over=conversation.over,
        hidden=conversation.hidden,
    )
    return finished(found)


def _findings(exchange: Exchange, before: Exchange | None, conversation: Conversation) -> list[Finding]:
    return findings(exchange, before, known=conversation.known, strict=conversation.strict)


class _Keeper:
    """Writes what one run found; a refusal of the gate is noted and the rest goes on."""

    def __init__(self, bank: Bank, conversation: Conversation, mode: Mode, report: Report) -> None:
        self._bank = bank
        self._conversation = conversation
        self._mode: Mode = mode
        self._report = report

    def keep(self, finding: Finding) -> None:
        """Keep one finding of the rules; an explicit correction ends the fact that it is clearly about."""
        bank, row = self._bank, finding.row
        origin = row.origin.joined(*(other.origin for other, _ in finding.more))
        evidence = [self._evidence(one, quote) for one, quote in ((row, finding.quote), *finding.more)]
        detail = {"basis": finding.basis} if finding.kind == "preference" else {}
        detail |= finding.detail
        about = standing(bank, finding) if finding.closes and not speaker_of(row) else Standing()

        def write() -> Retained:
            if about.replaced is not None:
                return bank.correct(
                    about.replaced.id,
                    finding.text,
                    origin=origin,
                    evidence=evidence,
                    kind=finding.kind,
                    at=self._time(row),
                    detail=detail,
                    session=self._conversation.session,
                    unattended=self._mode == "propose",
                )
            done = self._retain(finding.text, finding.kind, origin, evidence, detail)
            if done.fact is not None:
                for other in about.beside:  # which of them is meant is not clear: they stay side by side
                    fact_rows.link(bank.db, "contradicts", *sorted((done.fact.n, other.n)))
            return done

        done = self._guarded(write)
        if finding.basis == "corrected" and not speaker_of(row):
            proposal = propose_if_repeated(bank, finding, origin, self._conversation.session)
            if proposal is not None:
                self._report.kept.append(Retained("staged", done.fact if done else None, proposal=proposal))

    def keep_drawn(self, drawn: Drawn, row: Row, shown: Sequence[Shown]) -> None:
        """Keep one fact that a model found; its text is the model's unless it is the user's sentence."""
        text = drawn.text.strip()
        own_words = restates(text, [row.content])
        origin = row.origin if own_words else Origin.assistant().joined(row.origin)
        quote = exact(drawn.quote.strip(), row.content) or drawn.quote.strip()
        evidence = [replace(self._evidence(row, quote), stated=origin)]
        said = " ".join(one.text for one in shown).casefold()
        names = [name for name in drawn.entities if name.casefold() in said]
        detail = {"basis": "stated"} if drawn.kind == "preference" else drawn.detail
        begin, end = drawn.validity
        if begin is not None and end is not None and end <= begin:
            begin = end = None

        def write() -> Retained:
            return self._bank.retain(
                text,
                kind=drawn.kind,
                origin=origin,
                evidence=evidence,
                entities=names or None,
                speaker=speaker_of(row),
                valid_from=begin,
                valid_to=end,
                detail=detail,
                session=self._conversation.session,
                unattended=True,
                propose=self._mode == "propose",
                at=self._time(row),
            )

        self._guarded(write)

    def notice(self, exchange: Exchange, looked_to: int) -> None:
        """Remember what the user wished for in passing; what was wished in enough sessions is a preference."""
        bank, db = self._bank, self._bank.db
        for key, row in wishes(exchange, strict=self._conversation.strict):
            if row.id <= looked_to or speaker_of(row):
                continue
            rows_.see(db, row.id, f"weak:{key}")
            seen = rows_.seen(db, bank.actor, f"weak:{key}", limit=_WISH_ROWS)
            latest = {one.session: one for one in reversed(seen)}
            if len(latest) < phrases.SESSIONS:
                continue
            found = [
                (wish, one)
                for one in sorted(latest.values(), key=lambda one: one.message)
                for wish in phrases.weak_preferences(one.content)
                if wish.key == key
            ]
            if len(found) < phrases.SESSIONS:
                continue  # what stood there was erased or cut meanwhile
            origin = row.origin.joined(*(Origin.parse(one.origin) for _, one in found))
            evidence = [
                Evidence(wish.quote, Origin.parse(one.origin), one.at, one.session, one.message) for wish, one in found
            ]
            says = found[-1][0].says
            self._guarded(lambda: self._retain(says, "preference", origin, evidence, {"basis": "observed"}))  # noqa: B023

    def _retain(
        self, text: str, kind: str, origin: Origin, evidence: list[Evidence], detail: dict[str, str]
    ) -> Retained:
        return self._bank.retain(
            text,
            kind=kind,
            origin=origin,
            evidence=evidence,
            speaker=evidence[0].speaker,
            detail=detail,
            session=self._conversation.session,
            propose=self._mode == "propose",
            at=self._learnt(evidence[0].at),
        )

    def _time(self, row: Row) -> int:
        """When it was learnt: when it was said, whenever that is looked at."""
        return self._learnt(row.time)

    def _learnt(self, said: int) -> int:
        return max(EARLIEST, min(said, self._bank.clock()))

    def _evidence(self, row: Row, quote: str) -> Evidence:
        return Evidence(quote, row.origin, row.time, self._conversation.session, row.id, speaker_of(row))

    def _guarded(self, write: Callable[[], Retained]) -> Retained | None:
        try:
            done = write()
        except RefusedError as error:  # hidden characters, a scanner's rule, or what a person rejected before
            self._report.refused.append(error.message)
            return None
        self._report.kept.append(done)
        return done


# What a model is shown


def _shown(exchange: Exchange, conversation: Conversation) -> list[Shown]:
    """The exchange for a model: nothing when it is not the user's, or holds nothing but trivia."""
    if exchange.state != "answered":
        return []
    said: list[Shown] = []
    worth = False
    for row in exchange.said:
        text = own(row, strict=conversation.strict).strip()
        found = signals(text, known=conversation.known)
        signal = any(one.branch != "skip" for one in found)
        worth = worth or signal or any(_may_hold(one) for one in found)
        if text:
            said.append(Shown(row.id, "user", text, speaker_of(row), signal))
    if not worth or not said:
        return []
    if not conversation.strict:  # what the assistant says may come from what it has read
        for row in exchange.answers[-ANSWERS:]:
            said.append(Shown(row.id, "assistant", own(row, strict=False).strip(), speaker_of(row)))
    return sorted((one for one in said if one.text), key=lambda one: one.id)


def _may_hold(signal: Signal) -> bool:
    """Whether a sentence in which no rule finds anything may hold something all the same."""
    long = len(signal.statement.encode()) >= SHORTEST_ASKED
    return long and not signal.rule.endswith(_TRIVIAL)


def _grouped(new: Sequence[tuple[Exchange, list[Shown]]]) -> list[list[tuple[Exchange, list[Shown]]]]:
    """Exchanges that are asked about in one request, in order."""
    groups: list[list[tuple[Exchange, list[Shown]]]] = []
    for one in new:
        together = [message for _, shown in (groups[-1] if groups else []) for message in shown] + one[1]
        if groups and len(parted(together)) <= 1:
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def _overlaps(drawn: Drawn, there: Sequence[tuple[int, str, str]]) -> bool:
    """Whether a rule has kept those words already."""
    words = normal(drawn.quote)
    quotes = [normal(quote) for message, quote, _ in there if message == drawn.message]
    return any(words in quote or quote in words for quote in quotes)
