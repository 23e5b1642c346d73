"""Mem0 as a provider: the hosted platform, a server of one's own, or the library in this process.

Idea: `options.py` reads what is configured, `remote.py` and `local.py` are three backends behind one protocol,
`provider.py` is the contract and the tools. Invariant: what is read is this user's and what the agent noted for this
user, never another user's.
"""

from vademecum.providers.mem0.provider import Mem0

__all__ = ["Mem0"]
