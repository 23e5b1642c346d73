"""Every page of the vault and of other folders of Markdown: read, indexed, found again with its place.

Idea: the files are the truth, people's files most of all; the index is derived and may be deleted at any time.
Invariant: nothing in here but `compile` writes into a folder that is indexed, and an answer is never older than the
files.
"""
