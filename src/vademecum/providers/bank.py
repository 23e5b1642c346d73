"""The bank of facts as the memory next to the core: built in, local, needs no model.

Idea: the thinnest of the providers; `bank/` does the work. Conversations are not told to it turn by turn: retention
follows the history with its own cursor (agent/retaining.py), so that nothing is kept twice or only half heard.
Invariant: what came from outside is never recalled unasked, nor what is in the conversation anyway.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from vademecum.errors import NotFoundError, ProviderError, StorageError, VademecumError
from vademecum.gate.selector import Selector
from vademecum.model import Origin
from vademecum.providers.contract import Availability, Context, Forgotten, Provider, Recalled, TurnRecord

if TYPE_CHECKING:
    from vademecum.bank.bank import Bank
    from vademecum.bank.types import Fact, RecallHit

HITS = 12
"""What one question brings; the manager shows what its budget has room for."""


class BankProvider(Provider):
    """The provider `bank`. It takes no settings of its own: the sections `memory`, `bank` and `embedder` are its."""

    name: ClassVar[str] = "bank"
    place: ClassVar[Literal["local", "service"]] = "local"

    def __init__(self) -> None:
        self._bank: Bank | None = None
        self._lock = threading.Lock()
        self._recalled: list[str] = []

    def available(self, settings: Mapping[str, Any], env: Mapping[str, str]) -> Availability:  # noqa: ARG002  the contract
        """Always."""
        return Availability(True)

    def open(self, context: Context) -> None:
        """Take the bank that the host gives. Raises ProviderError without one."""
        if context.bank is None:
            raise ProviderError("The host gave no bank.", "Update vademecum.")
        self._bank = context.bank

    def close(self) -> None:
        """Write down what was recalled last."""
        with contextlib.suppress(VademecumError):
            self._count_uses()

    def system_block(self) -> str:
        """About `recall` and `retain`, which are tools of the core."""
        return (
            "What you learnt in earlier conversations is recalled before you answer, behind a fence; it may be out of "
            "date. `recall` asks for more, with dates and kinds; `retain` keeps a conclusion, a decision with its "
            "reason, or a failure with its fix."
        )

    def on_session_start(self, session: str) -> Sequence[Recalled]:  # noqa: ARG002  the same for every session
        """Open decisions, failures to avoid, preferences that nobody confirmed."""
        from vademecum.bank.recall.matters import at_start

        bank = self._own
        with _ours():
            found = at_start(bank.db, bank.actor, bank.config.bank, bank.clock())
        return [
            Recalled(one.id, one.text, one.label, None, one.learnt_at, {"why": one.why}, Origin.parse(one.origin))
            for one in found
        ]

    def prefetch(self, query: str) -> Sequence[Recalled]:
        """Facts and turns of other conversations that fit; by meaning too, when no weights must be loaded for it."""
        bank = self._own
        with _ours():
            here = _said_in(bank, query)
            found = bank.recall(query, limit=HITS, min_trust="user", here=here, unasked=True)
        hits = [hit for hit in found.results if not _was_learnt_here(hit, here, bank.clock())]
        with self._lock:
            self._recalled += [hit.id for hit in hits if hit.kind != "turn"]
        return [_recalled(hit) for hit in hits]

    def queue_prefetch(self, query: str) -> None:  # noqa: ARG002  an answer takes milliseconds: there is nothing to prepare
        """Count what was recalled for the last turn, now that nobody waits."""
        with _ours():
            self._count_uses()

    def sync_turn(self, turn: TurnRecord) -> None:
        """Nothing: the turn stands in the history, from which retention takes it exactly once."""

    def store(self, text: str, *, kind: str = "fact") -> str:
        """Keep one statement. Raises ProviderError when it waits for a person."""
        with _ours():
            kept = self._own.retain(text, kind=kind, origin=Origin.assistant())
        if kept.fact is None:
            raise ProviderError(f"It was not kept at once: {kept.message}", "`vademecum review list` shows it.")
        return kept.fact.id

    def forget(self, selector: Selector) -> Forgotten:
        """Erase what `selector` names; called for a person only."""
        bank = self._own
        with _ours():
            if selector.kind == "entry":
                with contextlib.suppress(NotFoundError):
                    selector = Selector("entry", bank.get(selector.value).text)
            gone = bank.forget(selector, by=Origin.person())
        return Forgotten(len(gone))

    def facts(self, since: int = 0) -> Iterable[Recalled]:
        """The facts that hold and were learnt since then."""
        with _ours():
            found = self._own.list(limit=-1)
        return [_of_fact(fact) for fact in found if fact.learnt_at >= since]

    def export(self) -> Iterable[Recalled]:
        """Every fact, also those that have ended."""
        with _ours():
            return [_of_fact(fact) for fact in self._own.list(include_closed=True, limit=-1)]

    def call_tool(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002  the contract
        """It has no tools of its own. Raises ProviderError."""
        raise ProviderError(f"The bank has no tool {name!r}.", "`recall` and `retain` are tools of the core.")

    @property
    def _own(self) -> Bank:
        if self._bank is None:
            raise ProviderError("The bank was not opened.")
        return self._bank

    def _count_uses(self) -> None:
        with self._lock:
            ids, self._recalled = self._recalled, []
        if ids and self._bank is not None:
            self._bank.used(ids)


@contextlib.contextmanager
def _ours() -> Generator[None]:
    """The bank's errors as a provider's; a busy or full disk may pass."""
    try:
        yield
    except ProviderError:
        raise
    except VademecumError as error:
        passing = isinstance(error, StorageError) or error.code == "locked"
        raise ProviderError(error.message, error.hint, passing=passing) from error


def _said_in(bank: Bank, query: str) -> str | None:
    """The conversation in which this was just asked."""
    from vademecum.store import messages

    return messages.latest_saying(bank.db, bank.actor, query)


def _was_learnt_here(hit: RecallHit, here: str | None, now: int) -> bool:
    """Whether a fact is from this very conversation, and what it was learnt from is in the prompt."""
    from vademecum.bank.recall.recall import IN_PROMPT_MS

    if here is None or hit.kind == "turn" or now - hit.time > IN_PROMPT_MS:
        return False
    return bool(hit.evidence) and all(one.session == here for one in hit.evidence)


def _recalled(hit: RecallHit) -> Recalled:
    source = next((one for one in hit.evidence if one.message is not None), None)
    detail = {"why": hit.why}
    text = hit.text
    if source is not None:
        detail["evidence"] = f"{source.session}#{source.message}"
        if hit.kind == "turn" and source.speaker:
            text = f"{source.speaker}: {text}"
    return Recalled(hit.id, text, hit.kind, hit.score, hit.time, detail, hit.origin)


def _of_fact(fact: Fact) -> Recalled:
    text = " ".join([fact.text, *(f"{name.capitalize()}: {value}" for name, value in fact.detail.items())])
    return Recalled(fact.id, text, fact.kind, None, fact.learnt_at, dict(fact.detail), fact.origin)
