"""Supermemory as a provider, over HTTP: the API of today (version 5), and the older one that own servers still speak.

Idea: `options.py` reads what is configured, `api.py` has the two dialects behind one protocol, `provider.py` is the
contract and the tools. Invariant: one container is one agent's and one user's, and no request names another.
"""

from vademecum.providers.supermemory.provider import Supermemory

__all__ = ["Supermemory"]
