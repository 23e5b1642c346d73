"""The holographic memory: facts with trust in one SQLite file, found by words and by a vector-symbolic algebra.

Idea: `phases.py` is the algebra, `engine.py` what is asked of it, `provider.py` the contract and the tools. Invariant:
everything stays on this machine, no model is asked, and a write costs the same whether ten facts are kept or ten
thousand.
"""

from vademecum.providers.holographic.provider import Holographic

__all__ = ["Holographic"]
