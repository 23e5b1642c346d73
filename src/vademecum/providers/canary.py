"""Whether a memory keeps what it is told, finds it again, and forgets it: a sentence is sent through it and taken back.

Idea: store one sentence that nothing else says, look for it as a turn would, erase it, look again. Invariant: a memory
that answers "stored" and does not find the sentence has failed; whatever happens, erasing the sentence is tried, and
what may be left of it is named.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from vademecum.errors import ProviderError
from vademecum.gate.selector import Selector
from vademecum.providers.budget import answered, recalled
from vademecum.providers.contract import Forgotten, Provider
from vademecum.providers.direct import Direct

SETTLE_SECONDS = 45.0
"""How long a memory may take until it finds what it has stored, and again until what was erased is gone."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 3.0
_NAMES = ("Xanthippe", "Theodora", "Melusine", "Araminta", "Philomena", "Cordelia", "Hermione", "Leocadia")

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """How the sentence fared. `found_after` in seconds; `left` says what of it may still be there, empty for nothing.

    `kept` is what the memory says that it cannot erase.
    """

    text: str
    id: str
    found_after: float
    erased: bool
    kept: str = ""
    left: str = ""


def round_trip(
    direct: Direct,
    *,
    seconds: float = SETTLE_SECONDS,
    say: Say = lambda _line: None,
    pause: Callable[[float], None] = time.sleep,
) -> RoundTrip:
    """Store, find and erase one sentence. `seconds`: how long it may take to be found, and to be gone.

    `say` is told of each step. Raises ProviderError that says which step failed, and what may be left.
    """
    name = f"{secrets.choice(_NAMES)}-{secrets.randbelow(9000) + 1000}"
    text = f"The vademecum canary of this memory is called {name}."
    say("storing a sentence")
    id_ = _step("It could not store a sentence", lambda: answered(str, direct.ask(lambda to: to.store(text))))
    say("looking for it")
    began = time.monotonic()
    try:
        found = _until(lambda: _finds(direct, name), seconds, pause)
    except ProviderError as error:
        raise _failed("It could not be asked for what it had stored", error, _erase(direct, id_, text)) from error
    if not found:
        left = _erase(direct, id_, text)
        lost = f"It took a sentence, answered that it was stored, and did not find it within {seconds:g} s."
        raise ProviderError(
            f"{lost} {left}".strip(),
            "It may lose what it is told, or be slow to learn: look at the service, or wait longer with --wait.",
        )
    took = time.monotonic() - began
    say("erasing it")
    return _taken_back(direct, RoundTrip(text, id_, took, erased=False), name, seconds, pause)


def _taken_back(
    direct: Direct, trip: RoundTrip, name: str, seconds: float, pause: Callable[[float], None]
) -> RoundTrip:
    sentence = f'the sentence "{trip.text}" ({trip.id})'
    try:
        done = answered(Forgotten, direct.ask(lambda to: to.forget(Selector("entry", trip.id))))
        gone = _until(lambda: not _finds(direct, name), seconds, pause)
    except ProviderError as error:
        left = f"It could not erase {sentence}: {error.message}"
        return RoundTrip(trip.text, trip.id, trip.found_after, erased=False, left=left)
    if gone:
        return RoundTrip(trip.text, trip.id, trip.found_after, erased=True, kept=done.kept)
    said = "says that it erased" if done.count else "erased nothing of"
    left = f"It {said} {sentence} and still recalls it after {seconds:g} s. What you have forgotten may stay there."
    return RoundTrip(trip.text, trip.id, trip.found_after, erased=False, kept=done.kept, left=left)


def _finds(direct: Direct, name: str) -> bool:
    question = f"What is the vademecum canary of this memory called? {name}"

    def ask(provider: Provider) -> bool:
        return any(name in one.text for one in recalled(provider.prefetch(question)))

    return direct.ask(ask)


def _until(test: Callable[[], bool], seconds: float, pause: Callable[[float], None]) -> bool:
    """Whether `test` comes true within so many seconds; it is asked at least twice. A passing failure is no answer.

    Raises ProviderError when the last answer was one.
    """
    deadline, wait, again = time.monotonic() + seconds, FIRST_PAUSE, True
    while True:
        failure: ProviderError | None = None
        try:
            if test():
                return True
        except ProviderError as error:
            if not error.passing:
                raise
            failure = error
        left = deadline - time.monotonic()
        if left <= 0 and not again:
            if failure is not None:
                raise failure
            return False
        again = False
        pause(max(0.0, min(wait, left)))
        wait = min(wait * 1.6, LONGEST_PAUSE)


def _erase(direct: Direct, id_: str, text: str) -> str:
    """Try to take the sentence back; says what may be left, empty for nothing."""
    try:
        direct.ask(lambda to: to.forget(Selector("entry", id_)))
    except ProviderError as error:
        return f'The sentence "{text}" ({id_}) may still be there: {error.message}'
    return ""


def _step(what: str, run: Callable[[], str]) -> str:
    try:
        return run()
    except ProviderError as error:
        raise _failed(what, error) from error


def _failed(what: str, error: ProviderError, left: str = "") -> ProviderError:
    message = f"{what}: {error.message} {left}".strip()
    return ProviderError(message, error.hint, passing=error.passing, status=error.status, retry_after=error.retry_after)
