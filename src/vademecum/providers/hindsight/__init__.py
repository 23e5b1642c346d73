"""Hindsight as a provider: the vendor's cloud, or a server of one's own, over its HTTP API.

Idea: `options.py` reads what is configured, `bank.py` is the API of one bank, `batches.py` what was handed over and
what still waits for more, `provider.py` the contract and the tools. HTTP rather than the vendor's client, which brings
an event loop and 60 MB. Invariant: one bank for each agent and user; a turn is in one document, whose name follows from
it.
"""

from vademecum.providers.hindsight.provider import Hindsight

__all__ = ["Hindsight"]
