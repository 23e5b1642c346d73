"""OWASP's agent-memory-guard as one more scanner (extra `owasp`, switched on with `gate.owasp`).

Idea: three of its detectors look at what a text says; the others watch keys, sizes and rates, which is the gate's own
work. Invariant: it is loaded only when it is switched on, and what it sees makes a person decide, never more.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

from vademecum.errors import ConfigError
from vademecum.gate.candidate import Finding


def check_installed() -> None:
    """Raise ConfigError when the package is not there."""
    if find_spec("agent_memory_guard") is None:
        raise ConfigError(
            "`gate.owasp` is on and the package agent-memory-guard is not installed.",
            "Install it with `pip install 'vademecum[owasp]'`, or switch `gate.owasp` off.",
        )


def scan(text: str) -> tuple[Finding, ...]:
    """What its detectors see in `text`."""
    seen = [detector.inspect("memory", text, operation="write") for detector in _detectors()]
    return tuple(Finding(f"owasp:{one.detector}", f"OWASP: {one.message}") for one in seen if one.matched)


@cache
def _detectors() -> tuple[Any, ...]:
    from agent_memory_guard import detectors  # pyright: ignore[reportMissingImports, reportUnknownVariableType]

    made: Any = detectors
    return (
        made.PromptInjectionDetector(),
        made.MemoryPersistenceInjectionDetector(),
        made.PrivilegeEscalationDetector(),
    )
