"""Scanners: what text says that should not steer an agent by being remembered.

Idea: built-in rules as data, one file a language, run over scan copies of the text, and scanners of others found by the
entry-point group `vademecum.scanners`. Invariant: a scanner only ever adds findings; none of them grants anything, and
one that fails is a finding itself. Content tells little of intent: this is a net for the clumsy, not the defence.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from vademecum.gate.candidate import Finding
from vademecum.gate.canonical import scan_copies
from vademecum.gate.rulebook import Rulebook

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

RULES_VERSION = 1
"""Counts changes of the built-in rules: what was scanned under another number is scanned again."""

GROUP = "vademecum.scanners"
"""Entry points of this group are called with the text and answer findings."""

Scanner = Callable[[str], Iterable[Finding]]

GAP = r"[\x01-/:-`{-\x7f]{0,4}"
"""What a space in a pattern stands for: words may be set apart, or run together, in any way."""

_MESSAGES = {
    "override": "tells an assistant to drop its instructions",
    "role": "gives an assistant another role or takes its limits away",
    "prompt-leak": "asks an assistant for its instructions or secrets",
    "hidden-instruction": "addresses an assistant that reads it along with other text",
    "forged-structure": "looks like a part of the prompt",
    "exfiltrate-credentials": "wants credentials sent somewhere",
    "exfiltrate-data": "wants what is remembered or said sent somewhere",
    "redirect-endpoint": "redirects requests, messages or payments to an address",
    "ssh-back-door": "opens an SSH back door",
    "reverse-shell": "opens a shell to another machine",
    "remote-code": "runs code that is fetched from elsewhere",
    "persistence": "wants something done again and again, unseen",
    "delayed-trigger": "waits for the user's next words to do something else",
    "concealment": "wants something kept from the user",
    "memory-manipulation": "wants memory to be changed or believed over rules",
    "approval-bypass": "grants rights or goes around approval",
}


@cache
def _book() -> Rulebook:
    return Rulebook(*sorted(Path(__file__).with_name("scan_rules").glob("*.rules")), gap=GAP)


def rule_names() -> frozenset[str]:
    """The names of the built-in rules, as they stand in `Finding.rule`."""
    return frozenset(_MESSAGES)


def scan(text: str, *, off: Iterable[str] = ()) -> tuple[Finding, ...]:
    """What the built-in rules and all installed scanners see in `text`; () means nothing was seen, not that it is safe.

    `off` names rules that are not applied. Never raises for any text; the built-in rules take time linear in it.
    """
    switched_off = frozenset(off)
    found: dict[str, Finding] = {}
    for copy in scan_copies(text):
        for rule, refuse, matched in _matches(copy):
            if rule not in switched_off and (rule not in found or (refuse and not refuses(found[rule]))):
                found[rule] = Finding(
                    f"{rule}!" if refuse else rule, f"The text {_MESSAGES[rule]}.", _place(text, matched)
                )
    for point in _installed():
        for finding in _run(point, text):
            if finding.rule not in switched_off:
                found.setdefault(finding.rule, finding)
    return tuple(found.values())


def refuses(finding: Finding) -> bool:
    """True when `finding` is grave enough to refuse the text whoever brings it; its rule ends with `!`."""
    return finding.rule.endswith("!")


def _matches(copy: str) -> Iterator[tuple[str, bool, str]]:
    """Each built-in rule that matches `copy`: its name, whether it refuses, and what it matched."""
    data = b""
    for rule in _book().awake(copy):
        data = data or copy.encode("utf-8", "surrogatepass")
        for start, end in _book().spans(rule, data):
            yield rule.name, rule.note == "refuse", data[start:end].decode("utf-8", "replace")
            break


def _place(text: str, matched: str) -> int:
    """Where in `text` the start of what was matched in a copy is, as far as the copy still tells; else 0."""
    return max(0, text.lower().find(matched.strip()[:12]))


def _run(point: EntryPoint, text: str) -> list[Finding]:
    """What the scanner behind `point` finds; its failure, of whatever kind, is a finding."""
    name = point.name
    try:
        return [Finding(f"{name}:{finding.rule}", finding.message, finding.start) for finding in _load(point)(text)]
    except Exception as error:  # noqa: BLE001  a boundary to code of others
        message = f"The scanner {name} failed ({type(error).__name__}), so that the text was not scanned by it."
        return [Finding(f"{name}:failed", message)]


@cache
def _load(point: EntryPoint) -> Scanner:
    return point.load()


@cache
def _installed() -> tuple[EntryPoint, ...]:
    """The scanners of other packages, in the order of their names."""
    if not _any_declared():
        return ()
    from importlib.metadata import entry_points  # 30 ms; only when some package declares a scanner

    return tuple(sorted(entry_points(group=GROUP), key=lambda point: point.name))


def _any_declared() -> bool:
    """True when an installed package's metadata names the group; looking is 10 times faster than parsing it."""
    for folder in map(Path, sys.path):
        for metadata in folder.glob("*.dist-info/entry_points.txt"):
            if f"[{GROUP}]" in metadata.read_text(encoding="utf-8", errors="replace"):
                return True
    return False
