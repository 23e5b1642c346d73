"""Changing files that belong to somebody else: settings in JSON, TOML and YAML, and blocks in texts.

Idea: what is added is spliced into the text; nothing is parsed into values and written anew. Invariant: every byte that
is not ours stays where it is, and what was put aside before the first change comes back whole.
"""
