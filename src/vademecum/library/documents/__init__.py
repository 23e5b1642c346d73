"""Documents as Markdown: what a person or a program keeps in files, made readable and searchable.

Idea: `convert` takes bytes and a name, and gives text in parts (pages, sheets, slides, chapters). A small reader for
each kind stands on the standard library, with PDFium for PDF; formats that can be made to hurt are read in a process of
their own, under a limit of time and memory. Invariant: nothing here follows a name or an address that a document
holds; what was left out is said in `problems`, what cannot be read at all is an UnreadableError that says why.
"""

from vademecum.library.documents.convert import convert
from vademecum.library.documents.kinds import kind_of, readable
from vademecum.library.documents.types import Converted, Limits, Part

__all__ = ["Converted", "Limits", "Part", "convert", "kind_of", "readable"]
