"""Other agents' homes: put vademecum into a client, and take over what it remembers.

Idea: one module a client for its settings and one for each import; what they share is how to change a file that
belongs to somebody else. Invariant: originals are never touched by an import, and an uninstall gives a client's files
back as they were.
"""
