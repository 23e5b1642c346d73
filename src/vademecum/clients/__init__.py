"""Other agents' homes: put vademecum into a client, and take over what it remembers.

Idea: a client is described as data and handled by the same code as the others (`edit`, `catalogue`); each source of an
import is a module (`imports`). Invariant: originals are never touched by an import, and an uninstall gives a client's
files back as they were.
"""
