"""What several agents share: a folder of Markdown that people open in an editor and agents read and write.

Idea: the files are the truth; what is in `state.db` can be built from them again. Invariant: nothing outside of the
vault's own folder is written.
"""
