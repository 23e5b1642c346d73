"""The bank: facts retained with their evidence.

Idea: what is learnt in a conversation is first recognised, then kept with who said it and where. Invariant: what the
bank knows can be followed back to words that somebody said; importing the room loads nothing, for hooks look into it.

`Signal` and `classify` recognise what is worth keeping, without a model and without the network;
`vademecum.bank.signals.signal.signals` does it for each sentence of a message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vademecum.bank.signals.signal import Signal, classify

__all__ = ["Signal", "classify"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'vademecum.bank' has no attribute {name!r}")
    from vademecum.bank.signals import signal as signals

    return getattr(signals, name)
