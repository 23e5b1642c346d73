"""Whatever is done with facts, short of forgetting, no word of them and no evidence is lost."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import vademecum
from vademecum.bank.types import Evidence
from vademecum.errors import ConflictError, RefusedError
from vademecum.model import Origin

OWNER, PERSON = Origin.user(), Origin.person()
WORDS = st.sampled_from(
    ["The port is 5432.", "the PORT is 5432", "The port is 5433.", "Tea is good!", "tea is good", "No tea."]
)
MESSAGES = st.integers(1, 12)
PLACES = st.integers(0, 20)


class Keeping(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.vm = vademecum.open(Path(self._folder.name) / "home")
        self.quotes: set[str] = set()
        self.texts: set[str] = set()

    def teardown(self) -> None:
        self.vm.close()
        self._folder.cleanup()

    def _said(self, message: int) -> Evidence:
        return Evidence(f"said in {message}", OWNER, message, "01S", message)

    def _some(self, place: int) -> str | None:
        found = self.vm.bank.list(include_closed=True)
        return found[place % len(found)].id if found else None

    @rule(text=WORDS, message=MESSAGES)
    def retain(self, text: str, message: int) -> None:
        one = self._said(message)
        if self.vm.bank.retain(text, origin=OWNER, evidence=[one]).fact is not None:
            self.quotes.add(one.quote)

    @rule(place=PLACES, text=WORDS, message=MESSAGES)
    def correct(self, place: int, text: str, message: int) -> None:
        id_, one = self._some(place), self._said(message)
        if id_ is None:
            return
        try:
            done = self.vm.bank.correct(id_, text, origin=OWNER, evidence=[one])
        except ConflictError:
            return
        if done.fact is not None:
            self.quotes.add(one.quote)

    @rule(place=PLACES, text=WORDS)
    def edit(self, place: int, text: str) -> None:
        id_ = self._some(place)
        if id_ is not None:
            try:
                self.vm.bank.edit(id_, text, by=PERSON)
            except ConflictError:
                return

    @rule(place=PLACES)
    def close(self, place: int) -> None:
        id_ = self._some(place)
        if id_ is not None:
            self.vm.bank.close(id_, by=OWNER)

    @rule(place=PLACES, message=MESSAGES)
    def confirm(self, place: int, message: int) -> None:
        id_, one = self._some(place), self._said(message)
        if id_ is not None and self.vm.bank.confirm(id_, [one]).fact is not None:
            self.quotes.add(one.quote)

    @rule()
    def undo_the_last(self) -> None:
        rows = self.vm.audit.entries(limit=1)
        if rows and rows[0].action == "replace":  # a change of what is there; a new fact would be withdrawn
            try:
                self.vm.review.undo(str(rows[0].n), by=PERSON)
            except (ConflictError, RefusedError):
                return
            self.quotes = self._quotes()  # what a correction brought goes with it, into the history

    def _quotes(self) -> set[str]:
        found = self.vm.bank.list(include_closed=True, limit=-1)
        return {one.quote for fact in found for one in fact.evidence} & {f"said in {n}" for n in range(1, 13)}

    @invariant()
    def no_evidence_is_lost(self) -> None:
        assert self.quotes == self._quotes()

    @invariant()
    def no_text_is_lost(self) -> None:
        rows = self.vm.audit.entries(limit=-1)
        kept = {text for row in rows for text in (row.before, row.after) if text}
        kept |= {fact.text for fact in self.vm.bank.list(include_closed=True, limit=-1)}
        assert kept >= self.texts
        self.texts = kept

    @invariant()
    def nothing_is_open_twice(self) -> None:
        from vademecum.bank.compare.normal import key_of

        open_ = [key_of(fact.text) for fact in self.vm.bank.list(limit=-1)]
        assert len(open_) == len(set(open_))

    @invariant()
    def what_was_superseded_is_closed(self) -> None:
        for fact in self.vm.bank.list(include_closed=True, limit=-1):
            assert fact.evidence
            assert fact.superseded_by is None or fact.valid_to is not None


TestKeeping = Keeping.TestCase
TestKeeping.settings = settings(
    max_examples=12, stateful_step_count=14, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
