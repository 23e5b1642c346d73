"""The boundary to code of other packages: whatever it raises becomes one kind of error.

Idea: a source may come from anybody, and a parser may raise anything; a person gets a sentence, not a traceback.
Invariant: nothing is swallowed; errors of ours pass as they are. No package ends the process: what a person presses
does.
"""

from __future__ import annotations

from types import TracebackType

from vademecum.errors import SourceError, VademecumError


class foreign:
    """`with foreign("The source x"):` turns what is raised inside into a SourceError that begins with those words."""

    def __init__(
        self, what: str, hint: str = "This is a fault of its package; tell its author.", *, passing: bool = False
    ) -> None:
        self._what, self._hint, self._passing = what, hint, passing

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception | SystemExit) and not isinstance(error, VademecumError):
            said = " ".join(f"{type(error).__name__}: {error}".split())[:300].rstrip(":. ")
            raise SourceError(f"{self._what}: {said}.", self._hint, passing=self._passing) from error
