"""Honcho as a provider, over HTTP: version 3 of its API, hosted or on one's own machine.

Idea: `options.py` reads `honcho.json`, `api.py` has the requests, `buffer.py` holds turns back when fewer writes are
wished for, `provider.py` is the contract and the tools. Invariant: every user is a peer of their own, and what the
assistant understands of one is asked for and shown only in that one's conversations.
"""

from vademecum.providers.honcho.provider import Honcho

__all__ = ["Honcho"]
