"""One provider, opened for one command: to check it, to move what it holds, to save its files.

Idea: as the manager calls a provider, without what belongs to conversations: no budget of a turn, no breaker, no
outbox. Invariant: every call is waited for within a bound, whatever it raises is a `ProviderError`, and what was opened
is closed again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import TypeVar

from vademecum.errors import ProviderError
from vademecum.providers.budget import answered
from vademecum.providers.calls import Calls, guarded
from vademecum.providers.contract import Availability, Context, Provider
from vademecum.providers.manager import CLOSE_SECONDS, Host
from vademecum.providers.recaller import REQUEST_SECONDS
from vademecum.providers.registry import provider_class

T = TypeVar("T")

CALL_SECONDS = 150.0
"""Longest wait for one call: some hand a text to a model before they have stored it."""


class Direct:
    """A provider that is open. `name` and `place` are its own."""

    def __init__(self, provider: Provider, name: str, calls: Calls) -> None:
        self.provider, self.name, self.place = provider, name, provider.place
        self._calls = calls

    def ask(self, run: Callable[[Provider], T], seconds: float = CALL_SECONDS) -> T:
        """What `run` returns of the provider. Raises ProviderError, also when it takes longer than `seconds`."""
        call = self._calls.start(lambda: run(self.provider))
        call.wait(seconds)
        return call.result()


def availability(host: Host, name: str, load: Callable[[str], type[Provider]] = provider_class) -> Availability:
    """Whether the provider can be opened with the settings of `host`. Raises ProviderError, ConfigError."""
    made = guarded(load(name))
    return answered(Availability, guarded(lambda: made.available(host.config.providers.get(name, {}), host.env)))


@contextlib.contextmanager
def opened(host: Host, name: str, load: Callable[[str], type[Provider]] = provider_class) -> Generator[Direct]:
    """The provider `name` with the settings that `host` has for it. Raises ProviderError, ConfigError."""
    found = availability(host, name, load)
    if not found.ok:
        raise ProviderError(f"The memory {name} cannot be used: {found.reason}", found.hint)
    made = guarded(load(name))
    context = Context(
        host.actor, host.folder, host.config.providers.get(name, {}), host.env, host.clock,
        seconds=REQUEST_SECONDS, bank=host.bank() if name == "bank" else None,
    )  # fmt: skip
    calls = Calls(name, lambda _error: None)
    direct = Direct(made, name, calls)
    try:
        direct.ask(lambda provider: provider.open(context))
        try:
            yield direct
        finally:
            with contextlib.suppress(ProviderError):  # what it was opened for is done
                direct.ask(lambda provider: provider.close(), CLOSE_SECONDS)
    finally:
        calls.close()
