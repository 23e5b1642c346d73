"""`vademecum review`: what waits for a person.

Idea: show the exact change against what is there now, hidden characters made visible, then ask. Invariant: only a
person decides, on a terminal of their own or with a token of theirs (and the hash of a text to approve); what is
written has the bytes that were shown, to a target that is as it was shown, else it is shown again.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vademecum.errors import ConflictError, RefusedError, UsageError, VademecumError
from vademecum.surfaces.cli.app import App, Group
from vademecum.surfaces.cli.origin import agent_mark, require_person
from vademecum.surfaces.cli.output import plural
from vademecum.surfaces.cli.proposal_view import diff_lines, list_lines, proposal_json, proposal_lines

if TYPE_CHECKING:
    from vademecum.gate.candidate import Proposal
    from vademecum.gate.review import Target
    from vademecum.model import Origin

TOKEN = "VADEMECUM_PERSON_TOKEN"
"""The variable that holds a person's token, for decisions by a script of theirs."""


@click.group(cls=Group)
def review() -> None:
    """What waits for a person: look at it, approve it, change it, reject it."""


@review.command(name="list")
@click.option("--all", "everything", is_flag=True, help="Also the latest ones that were decided or have expired.")
@click.pass_obj
def list_(app: App, everything: bool) -> None:
    """Print what waits, by where it came from, the oldest first."""
    found, style = app.vm.review.pending(), app.style
    waiting = len(found)
    if everything:
        found += app.vm.review.past()
    if app.json or not found:
        app.emit_list([proposal_json(p) for p in found], style.dim("Nothing waits for you."))
        return
    for line in list_lines(style, found, app.vm.clock()):
        print(line)
    print(style.dim(f"{plural(waiting, 'proposal')} to decide on. `vademecum review show ID`, then approve or reject."))


@review.command()
@click.argument("proposal_id", metavar="ID")
@click.pass_obj
def show(app: App, proposal_id: str) -> None:
    """Print what a proposal would change, where it came from, and what the gate saw in it.

    Characters that hide something are shown as <U+200B>.
    """
    proposal = app.vm.review.show(proposal_id)
    target = app.vm.review.target(proposal) if proposal.status in ("pending", "expired") else None
    app.emit(proposal_json(proposal, target), *proposal_lines(app.style, proposal, app.vm.clock(), target))


@review.command()
@click.argument("proposal_ids", nargs=-1, required=True, metavar="ID...")
@click.option("--sha256", help="Hash of the text that you have seen: approves that one text without asking.")
@click.pass_obj
def approve(app: App, proposal_ids: tuple[str, ...], sha256: str | None) -> None:
    """Show proposals once more, ask, and carry them out. Only a person can.

    On a terminal of your own you are asked. A script of yours names one ID and --sha256, and has a token of trust
    `person` in $VADEMECUM_PERSON_TOKEN.
    """
    if sha256 is not None or app.json or app.origin.kind != "person":
        _approve_named(app, proposal_ids, sha256)
        return
    for proposal_id in proposal_ids:
        _ask_and_approve(app, proposal_id)


@review.command()
@click.argument("proposal_id", metavar="ID")
@click.pass_obj
def edit(app: App, proposal_id: str) -> None:
    """Open a proposal's text in $EDITOR, show what became of it, ask, and write exactly that."""
    from vademecum.surfaces.cli.editor import in_editor

    require_person(app.origin)
    proposal = app.vm.review.show(proposal_id)
    if proposal.status != "pending" or proposal.action == "remove":
        raise ConflictError(
            f"The proposal {proposal.id} has no text to edit: it is "
            f"{'a removal' if proposal.action == 'remove' else proposal.status}. Nothing was changed.",
            "`vademecum review list` shows what waits.",
        )
    edited = in_editor("proposal", proposal.text)
    if edited is None:
        _ask_and_approve(app, proposal.id)
        return
    text, path = edited
    if text.removesuffix("\n") and not proposal.text.endswith("\n"):  # editors end the last line
        text = text.removesuffix("\n")
    try:
        written = _ask_and_approve(app, proposal.id, text)
    except VademecumError as error:
        error.hint = f"{error.hint} Your text is kept in {path}.".strip()
        raise
    _keep_or_drop(app, path, written)


@review.command()
@click.argument("proposal_ids", nargs=-1, required=True, metavar="ID...")
@click.option("--reason", default="", help="Why; kept with the proposal.")
@click.pass_obj
def reject(app: App, proposal_ids: tuple[str, ...], reason: str) -> None:
    """Decide against proposals; the same text, however it is spelled, is not proposed again. Only a person can.

    A script of yours needs a token of trust `person` in $VADEMECUM_PERSON_TOKEN.
    """
    _person(app, "reject")
    for proposal_id in proposal_ids:
        app.vm.review.reject(proposal_id, reason)
    app.emit({"success": True, "rejected": list(proposal_ids)}, f"Rejected {plural(len(proposal_ids), 'proposal')}.")


@review.command()
@click.argument("proposal_id", metavar="ID")
@click.pass_obj
def undo(app: App, proposal_id: str) -> None:
    """Take back what an approved proposal wrote. Only a person can."""
    require_person(app.origin, "undo")
    said = app.vm.review.undo(proposal_id, by=app.origin)
    app.emit({"success": True, "message": said}, f"{app.style.good('✓')} {said}")


def _approve_named(app: App, proposal_ids: tuple[str, ...], sha256: str | None) -> None:
    """Without asking: by a person whose token is given, or on a terminal; the text is named by its hash."""
    by = _person(app)
    if sha256 is None or len(proposal_ids) != 1:
        raise UsageError(
            "Without a question one proposal at a time is approved, named with --sha256. Nothing was approved.",
            "`vademecum review show ID --json` gives the sha256 of its text.",
        )
    proposal = app.vm.review.show(proposal_ids[0])
    said = app.vm.review.approve(proposal.id, by=by, sha256=sha256.strip().lower())
    app.emit({"success": True, "results": [{"id": proposal.id, "message": said}]}, f"{app.style.good('✓')} {said}")


def _person(app: App, what: str = "approve") -> Origin:
    """The person who decides. Raises RefusedError when there is none."""
    secret = os.environ.get(TOKEN, "")
    if app.origin.kind == "person" or not secret or agent_mark():
        require_person(app.origin, what)
        return app.origin
    from vademecum.model import Origin
    from vademecum.store.tokens import Tokens

    token = Tokens(app.vm.db).find(secret)
    if token is None or token.trust != "person" or token.actor != app.vm.actor:
        raise RefusedError(
            f"${TOKEN} holds no live token of trust `person` for agent {app.vm.actor.agent}, user {app.vm.actor.user}. "
            "Nothing was decided.",
            "A person makes one on a terminal with `vademecum token new --trust person`.",
        )
    return Origin("person", f"token:{token.id}")


def _ask_and_approve(app: App, proposal_id: str, text: str | None = None) -> bool:
    """Show the proposal (with `text` in its place), ask, and write; ask again as long as its target changes."""
    from vademecum.surfaces.cli.terminal import ask

    review, style = app.vm.review, app.style
    proposal = review.show(proposal_id)
    while True:
        target = review.target(proposal)
        lines = proposal_lines(style, proposal, app.vm.clock(), target)
        for line in lines if text is None else _edited_lines(app, proposal, target, text):
            print(line)
        if proposal.status == "pending" and not ask("Write this?"):
            print(
                style.dim(f"Not written; it still waits. `vademecum review reject {proposal.id}` decides against it.")
            )
            return False
        try:
            said = _write(app, proposal, target, text)
        except ConflictError as error:
            shown, proposal = proposal, review.show(proposal_id)
            if proposal != shown or review.target(proposal).base == target.base:
                raise
            print(style.warn(f"! {error.message} Once more:\n"))
            continue
        print(f"{style.good('✓')} {said}")
        return True


def _write(app: App, proposal: Proposal, target: Target, text: str | None) -> str:
    if text is None:
        return app.vm.review.approve(proposal.id, by=app.origin, sha256=proposal.sha256, base=target.base)
    return app.vm.review.approve_edited(proposal.id, text, by=app.origin, base=target.base)


def _edited_lines(app: App, proposal: Proposal, target: Target, text: str) -> list[str]:
    from vademecum.gate.proposals import sha256_of

    style = app.style
    return [
        f"{style.bold('Edited')} {style.dim(proposal.id)}",
        style.dim(f"  sha256 {sha256_of(text)}"),
        "",
        *diff_lines(style, target.text, text),
    ]


def _keep_or_drop(app: App, path: Path, written: bool) -> None:
    if written:
        path.unlink(missing_ok=True)
    else:
        print(app.style.dim(f"Your text is kept in {path}."))
