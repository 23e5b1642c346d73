"""Taking over what other agents remember: one module a source, and what they share.

Idea: a source is read, never changed; everything goes through the gate with the origin that it had. Invariant: each
thing comes in once, however often an import runs or is killed.
"""
