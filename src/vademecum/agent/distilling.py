"""From a document of the library to proposals: a few statements, each with its citation, for a person to decide on.

Idea: a model is shown the document as data and hands over statements with the words they stand on; without one the
document's own sentences are offered to choose from. Invariant: the document itself is never kept; every statement goes
through the gate as a proposal whose origin is the source, whoever chose it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import msgspec

from vademecum.agent.library_tools import kept_back, whole_origin
from vademecum.errors import ModelError, NotFoundError, RefusedError, UsageError, VademecumError
from vademecum.gate.structure import fenced
from vademecum.late import dataclass
from vademecum.library.library import Library
from vademecum.model import Origin

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.bank.types import Evidence
    from vademecum.library.contract import Document
    from vademecum.library.distil import Statement

Goal = Literal["notes", "memory", "facts"]
GOALS: tuple[Goal, ...] = ("notes", "memory", "facts")
READ = 12_000
"""Tokens of a document that are read to distil it; `part` chooses which."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of one statement: a proposal, or why there is none."""

    statement: Statement
    proposal: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Distilled:
    """The statements of a document. `model` says that a model made them; `complete` that all of the text was read."""

    document: Document
    statements: tuple[Statement, ...]
    model: bool
    complete: bool
    kept: tuple[Kept, ...] = ()


class _Statement(msgspec.Struct):
    text: str
    quote: str


class _Statements(msgspec.Struct):
    statements: list[_Statement]


class AgentLibrary(Library):
    """The library of a home, with what only its agent can do: make statements into proposals."""

    def __init__(self, vm: Vademecum) -> None:
        super().__init__(
            vm.config.library,
            env=vm.env,
            folder=vm.home.root,
            db=lambda: vm.cache,
            clean=vm.redactor.clean,
            clock=vm.clock,
        )
        self._vm = vm

    def distil(self, ref: str, *, part: str = "", model: bool = True) -> Distilled:
        """One to five statements of a model, else the sentences that say most. Nothing is proposed yet.

        `model` False: the sentences, also where there is a model. Raises what `read` raises, NotFoundError when there
        is no sentence in it, ModelError, and RefusedError when the day's allowance is used up or it is in quarantine.
        """
        from vademecum.library.distil import has_sentences, sentences

        document = self.read(ref, part=part, budget=READ)
        if kept_back(self._vm, document.ref, document.revision):
            raise RefusedError(f"{ref} is in quarantine.", "`vademecum release` takes it out.")
        found = self._of_model(document) if model and has_sentences(document.text) else None
        made = sentences(document.text, document.title) if found is None else found
        if not made:
            raise NotFoundError(
                f"{ref} has no statement in what was read of it" + (f" (part {part})." if part else "."),
                f"Another part may: {', '.join(document.parts[:8])}." if document.parts else "",
            )
        return Distilled(document, made, found is not None, not document.next)

    def propose(self, distilled: Distilled, numbers: Sequence[int] = (), *, to: Goal = "notes") -> Distilled:
        """The statements with these numbers, counted from 1 (none: all), as proposals. Raises UsageError.

        What cannot be proposed (it is there already, or was decided against) says so in `Kept.message`.
        """
        known = len(distilled.statements)
        if wrong := [number for number in numbers if not 1 <= number <= known]:
            raise UsageError(f"There is no statement {wrong[0]}; they are 1 to {known}. Nothing was proposed.")
        if to not in GOALS:
            raise UsageError(f"Statements go to {', '.join(GOALS)}, not to {to!r}. Nothing was proposed.")
        chosen = [distilled.statements[number - 1] for number in dict.fromkeys(numbers)] or distilled.statements
        return replace(distilled, kept=tuple(self._kept(distilled, one, to) for one in chosen))

    def _kept(self, distilled: Distilled, one: Statement, to: Goal) -> Kept:
        from vademecum.bank.types import Evidence

        document = distilled.document
        source = self._vm.redactor.origin(whole_origin(self._vm, document.ref, document.revision))
        origin = Origin.assistant().joined(source) if distilled.model else source
        evidence = (Evidence(one.quote, source, document.fetched or self._vm.clock(), stated=origin),)
        try:
            if to == "facts":
                done = self._vm.bank.retain(one.text, origin=origin, evidence=evidence, propose=True)
                return Kept(one, done.proposal or "", done.message)
            return self._promoted(document, one, origin, evidence, to)
        except VademecumError as error:
            if not isinstance(error, RefusedError | UsageError):
                raise
            return Kept(one, "", f"{error.message} {error.hint}".strip())

    def _promoted(
        self, document: Document, one: Statement, origin: Origin, evidence: tuple[Evidence, ...], to: Goal
    ) -> Kept:
        from vademecum.agent.promoting import promote
        from vademecum.bank.care.promote import Promotable

        mark = hashlib.sha256(one.text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        cited = f"{one.text} ({' '.join(filter(None, (document.ref, document.revision)))})"
        why = (f"distilled from {document.ref}", *((document.title,) if document.title else ()))
        item = Promotable(f"library:{document.ref}#{mark}", cited, "fact", origin, evidence, why)
        done = promote(self._vm, item, to="memory" if to == "memory" else "note")
        return Kept(one, done.proposal, done.message)

    def _of_model(self, document: Document) -> tuple[Statement, ...] | None:
        """What the background model makes of it, as far as it stands in the text; None when there is none to ask."""
        from vademecum.agent.spending import asker
        from vademecum.bank.typed import ask_typed
        from vademecum.library.distil import INSTRUCTIONS, TOOL, Statement, grounded
        from vademecum.models import ChatMessage, ChatRequest

        ask = asker(self._vm, "distil")
        if ask is None:
            return None
        said = fenced(f"{document.title}\n\n{document.text}", document.ref)
        request = ChatRequest(INSTRUCTIONS, (ChatMessage("user", said),), (TOOL,), max_tokens=2_000)
        answer = ask_typed(ask, request, _Statements)
        if answer is None:
            raise ModelError(
                "The model handed over no statements.", "Try again, or choose sentences yourself with --sentences."
            )
        clean = self._vm.redactor.clean
        return grounded(document.text, (Statement(clean(one.text), one.quote) for one in answer.statements))
