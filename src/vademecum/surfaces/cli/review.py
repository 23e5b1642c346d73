"""`vademecum review`: what waits for a person.

Idea: show the exact text that would be written, hidden characters made visible. Invariant: only a person on a terminal
of their own approves, and what is approved has the bytes that were shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from vademecum.errors import RefusedError
from vademecum.surfaces.cli.app import App, Group
from vademecum.surfaces.cli.origin import agent_mark, on_terminal
from vademecum.surfaces.cli.output import Style, ago, clip, moment, plural, printable, table

if TYPE_CHECKING:
    from vademecum.gate.candidate import Proposal


@click.group(cls=Group)
def review() -> None:
    """What waits for a person: look at it, approve it, reject it."""


@review.command(name="list")
@click.pass_obj
def list_(app: App) -> None:
    """Print what waits, the oldest first."""
    waiting, style = app.vm.review.pending(), app.style
    if app.json or not waiting:
        app.emit_list([proposal_json(p) for p in waiting], style.dim("Nothing waits for you."))
        return
    now = app.vm.clock()
    width = max(style.width - 66, 24) if style.width else 60
    rows = [
        (p.id, ago(p.created_at, now), f"{p.action} {place(p)}", clip(p.text if p.text else p.before, width))
        for p in waiting
    ]
    for line in table(rows, ("proposal", "made", "what", "text"), style):
        print(line)
    print(style.dim(f"\n{plural(len(waiting), 'proposal')}. `vademecum review show ID`, then approve or reject."))


@review.command()
@click.argument("proposal_id", metavar="ID")
@click.pass_obj
def show(app: App, proposal_id: str) -> None:
    """Print the exact text of a proposal. Characters that hide something are shown as <U+200B>."""
    proposal = app.vm.review.show(proposal_id)
    app.emit(proposal_json(proposal), *proposal_lines(app.style, proposal, app.vm.clock()))


@review.command()
@click.argument("proposal_ids", nargs=-1, required=True, metavar="ID...")
@click.pass_obj
def approve(app: App, proposal_ids: tuple[str, ...]) -> None:
    """Show proposals once more and carry them out. Only a person on a terminal of their own can."""
    require_person(app)
    done: list[dict[str, str]] = []
    for proposal_id in proposal_ids:
        proposal = app.vm.review.show(proposal_id)
        if not app.json:
            for line in proposal_lines(app.style, proposal, app.vm.clock()):
                print(line)
        said = app.vm.review.approve(proposal.id, by=app.origin, sha256=proposal.sha256)
        done.append({"id": proposal.id, "message": said})
        if not app.json:
            print(f"{app.style.good('✓')} {said}")
    if app.json:
        app.emit({"success": True, "results": done})


@review.command()
@click.argument("proposal_ids", nargs=-1, required=True, metavar="ID...")
@click.option("--reason", default="", help="Why; kept with the proposal.")
@click.pass_obj
def reject(app: App, proposal_ids: tuple[str, ...], reason: str) -> None:
    """Decide against proposals; the same text is not proposed again."""
    for proposal_id in proposal_ids:
        app.vm.review.reject(proposal_id, reason)
    app.emit({"success": True, "rejected": list(proposal_ids)}, f"Rejected {plural(len(proposal_ids), 'proposal')}.")


def require_person(app: App) -> None:
    """Raise RefusedError unless a person types this."""
    if app.origin.kind == "person":
        return
    mark = agent_mark()
    why = f"an agent runs this command (${mark} is set)" if mark else "this is not a terminal"
    if mark or not on_terminal():
        raise RefusedError(
            f"Only a person can approve, and {why}. Nothing was approved; it still waits.",
            "Run `vademecum review approve` yourself in a terminal.",
        )


def place(proposal: Proposal) -> str:
    """Where a proposal would be written."""
    return proposal.target if proposal.tier == "core" else f"{proposal.tier}/{proposal.target}"


def proposal_json(proposal: Proposal) -> dict[str, object]:
    """A proposal as scripts see it."""
    return {
        "id": proposal.id,
        "tier": proposal.tier,
        "action": proposal.action,
        "target": proposal.target,
        "text": proposal.text,
        "before": proposal.before,
        "origin": str(proposal.origin),
        "findings": [{"rule": f.rule, "message": f.message, "start": f.start} for f in proposal.findings],
        "sha256": proposal.sha256,
        "reason": proposal.reason,
        "session": proposal.session,
        "created_at": moment(proposal.created_at),
        "status": proposal.status,
        "decision": proposal.decision,
    }


def proposal_lines(style: Style, proposal: Proposal, now: int) -> list[str]:
    """A proposal for people: what it does, the exact texts, and what the gate saw."""
    lines = [
        f"{style.bold(f'{proposal.action} {place(proposal)}')}  {style.dim(proposal.id)}",
        style.dim(f"from {printable(str(proposal.origin))} · {ago(proposal.created_at, now)} · {proposal.status}"),
    ]
    if proposal.reason:
        lines.append(style.dim(printable(proposal.reason)))
    if proposal.before:
        lines += ["", _block(style, proposal.before, "- ", style.bad)]
    if proposal.text:
        lines += [*([] if proposal.before else [""]), _block(style, proposal.text, "+ ", style.good)]
    return lines + [style.warn(f"! {finding.message}") for finding in proposal.findings]


def _block(style: Style, text: str, mark: str, paint: Callable[[str], str]) -> str:
    from vademecum.gate.unicode import visible

    body = style.indent(visible(text), "  ")
    return "\n".join(paint(mark) + line[2:] for line in body.split("\n"))
