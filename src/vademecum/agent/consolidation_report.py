"""A consolidation as Markdown that a person reads.

Idea: a section a rule, the texts as they are now. Invariant: a report names ids only, so a memory that was forgotten
since is shown as gone; what a text holds cannot leave its line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vademecum.agent.consolidating import Report
from vademecum.agent.promoting import find
from vademecum.bank.care.consolidate import Rule, Step
from vademecum.clock import iso
from vademecum.errors import VademecumError

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

_LONGEST = 300
_SECTIONS: dict[Rule, tuple[str, tuple[str, str]]] = {
    "merge": ("Say the same", ("stays", "its place is taken, its evidence moves along")),
    "superseded": ("Another took their place, and they are still open", ("holds", "would be closed")),
    "outdated": ("No longer so, by the owner's words", ("holds", "would be closed")),
    "judged": ("No longer so, as a model judges", ("holds", "would be closed")),
    "same": ("Say the same, as a model judges", ("stays", "its place would be taken")),
    "contradiction": ("May contradict each other", ("older", "newer")),
    "ended": ("Their time was up", ("ended", "")),
    "promote": ("Worth being always in mind", ("promote", "")),
    "demote": ("Notes that nobody reads", ("take out", "")),
}


def render(vm: Vademecum, report: Report) -> str:
    """The report in Markdown, with the texts as they are now."""
    head = "What loses nothing was carried out." if report.applied else "A dry run: no fact was changed."
    lines = [f"# Consolidation of {vm.actor.agent}, {iso(report.at)[:16].replace('T', ' ')} UTC", "", head, ""]
    lines += [report.trouble, ""] if report.trouble else []
    for rule, (title, roles) in _SECTIONS.items():
        steps = [step for step in report.steps if step.rule == rule]
        if steps:
            lines += [f"## {title}", "", *(line for step in steps for line in _step(vm, step, roles)), ""]
    if report.often:
        lines += ["## Used most", "", *(f"- {_text(vm, id_)}" for id_ in report.often), ""]
    if not report.steps:
        lines += ["There is nothing to tidy.", ""]
    if not report.applied and any(step.lossless or step.outcome == "" for step in report.steps):
        lines += ["`vademecum consolidate --apply` does what loses nothing, and proposes the rest.", ""]
    return "\n".join(lines)


def _step(vm: Vademecum, step: Step, roles: tuple[str, str]) -> list[str]:
    told = {"": "", "done": "done", "proposed": f"waits for you: `vademecum review show {step.proposal}`"}
    outcome = told.get(step.outcome, f"not done: {step.note}")
    lines = [f"- {role}: {_text(vm, id_)}" for role, id_ in zip(roles, step.about, strict=False)]
    lines[1:] = [f"  {line.removeprefix('- ')}" for line in lines[1:]]
    say = "; ".join(part for part in (step.say, outcome) if part)
    return [f"{line}  " if n + 1 < len(lines) or say else line for n, line in enumerate(lines)] + (
        [f"  ({say})"] if say else []
    )


def _text(vm: Vademecum, id_: str) -> str:
    """The memory of that id in one line, as it is now."""
    kind, mark, name = id_.partition(":")
    if mark and kind != "daily":
        return f"{kind} `{name}`"
    try:
        if mark:
            return f"{find(vm, id_).text} (daily note {name.partition('#')[0]})"
        fact = vm.bank.get(id_)
    except VademecumError:
        return f"`{id_}`, which is gone"
    line = " ".join(fact.text.split())
    short = line if len(line) <= _LONGEST else line[: _LONGEST - 1].rstrip() + "…"
    said = f", {len(fact.evidence)} times" if len(fact.evidence) > 1 else ""
    return f"{short} ({fact.kind}, {fact.trust}{said}, `{id_}`)"
