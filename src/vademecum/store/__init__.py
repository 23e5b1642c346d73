"""SQLite, and the only SQL in the project.

Idea: one connection class with nesting transactions, named migrations, and one module of queries a subject. Invariant:
no other room writes SQL, and no module here knows why a row exists.
"""

from vademecum.store.connection import Database
from vademecum.store.migrations import migrate

__all__ = ["Database", "migrate"]
