"""One turn, from the user's message to the stored answer, and what is set in motion beside it.

Idea: the rooms below know one thing each; here they come together, for chat, servers, hooks and hosts alike. Invariant:
no surface opens a store, a session or a model of its own.
"""
