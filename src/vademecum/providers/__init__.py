"""At most one external memory next to the core: the contract, the manager, one file for each.

Idea: `contract.py` says what a provider is, `manager.py` holds it to its bounds. Invariant: a provider that is slow,
wrong or gone never breaks a turn, and the core never depends on one.
"""
