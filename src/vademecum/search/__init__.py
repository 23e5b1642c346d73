"""Search: reading what a person typed, preparing what is indexed, scoring, cutting, correcting.

Idea: everything about finding text that does not depend on what the text is; the rooms above bring the candidates.
Invariant: nothing here touches a file or a database, and no function raises for any string.
"""
