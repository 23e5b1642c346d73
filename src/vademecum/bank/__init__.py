"""The bank: facts retained with their evidence.

Idea: what is learnt in a conversation is first recognised, then kept with who said it and where. Invariant: what the
bank knows can be followed back to words that somebody said.

`Signal` and `classify` recognise what is worth keeping, without a model and without the network;
`vademecum.bank.signals.signals` does it for each sentence of a message.
"""

from vademecum.bank.signals import Signal, classify

__all__ = ["Signal", "classify"]
