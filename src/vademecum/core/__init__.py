"""What is always in the prompt: identity, two bounded stores, the index of notes.

Idea: plain files that a person and an agent both edit, read once a session as one frozen text. Invariant: no write
loses what a person wrote, and no store or index that is within its limit is taken over it.
"""
