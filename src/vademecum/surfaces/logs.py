"""Where the servers' log lines go, and what never does.

Idea: one formatter for everything on stderr. Invariant: no line, and no traceback in one, holds a secret that the
redactor of the home knows.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vademecum.gate.redactor import Redactor


class _Clean(logging.Formatter):
    def __init__(self, name: str, redactor: Redactor) -> None:
        super().__init__(f"vademecum {name}: %(levelname)s %(message)s")
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        return self._redactor.clean(super().format(record))


def log_to_stderr(name: str, redactor: Redactor) -> None:
    """Send warnings and errors to stderr as lines of `vademecum NAME`, without secrets."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Clean(name, redactor))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
