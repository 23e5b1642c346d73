"""Hermes Agent: its memory-provider plug-in, and putting that into a Hermes home.

Idea: `plugin/` holds the files that Hermes loads, in its own Python. Invariant: nothing here imports Hermes but those
files, and those import nothing of vademecum.
"""
