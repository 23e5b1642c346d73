"""The one door for every write: what a text holds, where it came from, and what waits for a person.

Idea: `Gate.admit` accepts, stages or refuses; `Review` carries out what a person approves. Invariant: the gate decides
before anything is written and imports no noun; each noun registers a `Tier`.
"""
