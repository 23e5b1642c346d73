"""`vademecum log delta`, `ack` and `unacknowledged`: what a conversation has not seen, and saying that it was seen.

Idea: an agent that has only a shell reads before each answer; a conversation is its session, else its channel.
Invariant: entries count as seen once they were printed; with nothing new nothing is printed.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from vademecum.surfaces.cli.app import App, Command

if TYPE_CHECKING:
    from vademecum.vault.delta import Delta


@click.command(cls=Command)
@click.option("--channel", default="", metavar="NAME", help="Where you speak with people, such as telegram.")
@click.option("--session", metavar="ID", help="The conversation; default: the channel's.")
@click.option("--budget", type=click.IntRange(300, 20_000), default=600, metavar="TOKENS", help="Most tokens [600].")
@click.option("--peek", is_flag=True, help="Show it, and let it count as unseen.")
@click.pass_obj
def delta(app: App, *, channel: str, session: str | None, budget: int, peek: bool) -> None:
    """Print what this conversation has not seen of the log; nothing when there is nothing.

    What concerns you comes first, then the oldest; what does not fit comes next time. What you have still to
    acknowledge is repeated until you do.

    \b
    vademecum --agent ella log delta --channel telegram
    """
    app.owners_only()
    vault = app.vm.vault
    found = vault.delta(session, channel=channel, budget=budget)
    _hear(app, session, found)
    app.emit(app.shown(_json(found)), *([found.text] if found.text else []))
    sys.stdout.flush()
    if not peek:
        vault.commit(found, how="cli")


@click.command(cls=Command)
@click.argument("id_", metavar="ID")
@click.argument("note", default="")
@click.option("--channel", default="", metavar="NAME", help="Where you are, such as telegram.")
@click.option("--session", metavar="ID", help="The conversation in which you read it.")
@click.pass_obj
def ack(app: App, id_: str, note: str, *, channel: str, session: str | None) -> None:
    """Acknowledge an entry of somebody else (its id, or the end of it), with a NOTE if there is more to say."""
    from vademecum.surfaces.cli.log import report_logged

    report_logged(app, app.vm.vault.ack(id_, note, channel=channel, origin=app.origin, session=session))


@click.command(cls=Command)
@click.pass_obj
def unacknowledged(app: App) -> None:
    """List what others wrote that concerns this agent and that it has not acknowledged, the oldest first."""
    from vademecum.surfaces.cli.log import entry_json, entry_lines

    app.owners_only()
    found = app.vm.vault.unacknowledged()
    hint = "" if found else "Nothing waits to be acknowledged."
    lines = [line for entry in found for line in entry_lines(app, entry)] or [app.style.dim(hint)]
    app.emit_list(app.shown([entry_json(entry) for entry in found]), *app.shown(lines), hint=hint)


def _hear(app: App, session: str | None, found: Delta) -> None:
    """A conversation of this memory that reads it has heard it."""
    if session is None or found.origin is None:
        return
    from vademecum.agent.taint import taint

    taint(app.vm, session, found.origin)


def _json(found: Delta) -> dict[str, object]:
    from vademecum.surfaces.cli.log import entry_json

    return {
        "text": found.text,
        "tokens": found.tokens,
        "results": [entry_json(one) | {"why": why} for one, why in zip(found.entries, found.why, strict=True)],
        "left": found.left,
        "unacknowledged": list(found.waiting),
    }
