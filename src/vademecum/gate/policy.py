"""What may be written at once, what waits for a person, what is refused: one table of tiers and classes of trust.

Idea: the table is text, so that it can be read, printed and overridden cell by cell in section `gate.policy` of
config.yaml. Invariant: `person` is always accepted by `all`, and nothing that a text says changes its row or column.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast, get_args

from vademecum.errors import ConfigError
from vademecum.gate.trust import CLASSES, Trust

Verdict = Literal["accept", "stage", "refuse"]
Approval = Literal["off", "untrusted", "all"]

TABLE = """\
tier            person  owner   assistant  local   file    import  user   outside
core            accept  accept  accept     accept  accept  accept  stage  stage
core:user       accept  accept  accept     accept  accept  accept  accept stage
notes           accept  accept  accept     accept  accept  accept  stage  stage
skills          accept  stage   stage      stage   stage   stage   stage  stage
sessions        accept  accept  accept     accept  accept  accept  accept accept
facts           accept  accept  accept     accept  accept  accept  stage  accept
vault           accept  accept  accept     accept  accept  accept  stage  accept
vault:decisions accept  accept  accept     accept  accept  accept  stage  stage
vault:agents    accept  accept  accept     accept  accept  accept  stage  accept
wiki            accept  accept  accept     accept  accept  accept  stage  accept
other           accept  accept  accept     accept  accept  accept  stage  stage
"""
"""The defaults for `write_approval: untrusted`. `core:user` is the store about the user who speaks; a skill is a
procedure to follow, so a person sees it first; history, facts and the shared log keep what came from outside with its
origin, and so does the wiki, whose pages say it. A decision stands for every agent, so one that was made from outside
text waits. A checkpoint (`vault:agents`) is an agent's own working state: one that waits is none after a crash."""

ALWAYS = frozenset({"skills", "sessions", "vault:agents"})
"""Rows that `write_approval` does not change."""


class Policy:
    """The table of one configuration."""

    def __init__(self, approval: str, overrides: Mapping[str, Mapping[str, str]] | None = None) -> None:
        """Raises ConfigError for an override that names no tier's cell or no verdict."""
        self.approval = cast("Approval", approval)
        self._cells = _parsed()
        for tier, cells in self._cells.items():
            if tier not in ALWAYS and approval != "untrusted":
                for one in CLASSES:
                    cells[one] = "accept" if approval == "off" or one == "person" else "stage"
        self._override(overrides or {})

    def verdict(self, tier: str, target: str, trust: Trust) -> Verdict:
        """What becomes of a write of that class to `target` (of a path: its folder) in `tier`; a tier without a row of
        its own is `other`."""
        place = f"{tier}:{target.partition('/')[0]}"
        row = self._cells.get(place) or self._cells.get(tier) or self._cells["other"]
        return row[trust]

    def rows(self) -> list[tuple[str, dict[str, Verdict]]]:
        """The table as it is now, tier by tier."""
        return [(tier, {one: cells[one] for one in CLASSES}) for tier, cells in self._cells.items()]

    def _override(self, overrides: Mapping[str, Mapping[str, str]]) -> None:
        for tier, cells in overrides.items():
            row = self._cells.setdefault(tier, {**self._cells["other"]})
            for trust, verdict in cells.items():
                _check(f"gate.policy.{tier}", trust, CLASSES)
                _check(f"gate.policy.{tier}.{trust}", verdict, get_args(Verdict))
                row[cast("Trust", trust)] = cast("Verdict", verdict)


def _parsed() -> dict[str, dict[Trust, Verdict]]:
    head, *lines = (line.split() for line in TABLE.splitlines())
    classes = cast("list[Trust]", head[1:])
    return {tier: dict(zip(classes, cast("list[Verdict]", cells), strict=True)) for tier, *cells in lines}


def _check(where: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        import difflib  # only on the way to an error

        close = difflib.get_close_matches(given, known, n=1)
        raise ConfigError(
            f"{where}: {given!r} is none of {', '.join(known)}.",
            f"Did you mean `{close[0]}`?" if close else "`vademecum config` prints the table.",
        )
