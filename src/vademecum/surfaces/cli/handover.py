"""`vademecum checkpoint`, `resume` and `rules`: leaving work so that it can be taken up, and taking it up.

Idea: a checkpoint is short and written often; the brief is what a session begins with. Invariant: reading a brief
marks nothing as seen; the rules name commands and nothing that a person alone may do.
"""

from __future__ import annotations

import click

from vademecum.surfaces.cli.app import App, Command
from vademecum.surfaces.cli.decide import read_text
from vademecum.surfaces.cli.output import moment, printable


@click.command(cls=Command)
@click.argument("task")
@click.option("--done", default="", metavar="TEXT", help="What is done; `-` reads it from standard input.")
@click.option("--next", "next_", default="", metavar="TEXT", help="The next step.")
@click.option("--question", multiple=True, metavar="TEXT", help="What is open (repeatable).")
@click.option("--file", "files", multiple=True, metavar="PATH", help="A file that is being worked on (repeatable).")
@click.option("--finished", is_flag=True, help="The task is done: nobody has to go on with it.")
@click.option("--channel", default="", metavar="NAME", help="Where you are, such as telegram.")
@click.option("--session", metavar="ID", help="The conversation that it comes from.")
@click.pass_obj
def checkpoint(
    app: App,
    task: str,
    *,
    done: str,
    next_: str,
    question: tuple[str, ...],
    files: tuple[str, ...],
    finished: bool,
    channel: str,
    session: str | None,
) -> None:
    """Write down where the work stands; the last ten are kept.

    \b
    vademecum checkpoint "Move the gateway" --done "image built" --next "switch the route" --file deploy.yaml
    """
    from vademecum.agent.vaulting import checkpoints
    from vademecum.vault.page import By

    kept = checkpoints(app.vm).save(
        task,
        by=By(app.origin, channel, session),
        done=read_text(done),
        next=next_,
        questions=question,
        files=files,
        state="finished" if finished else "working",
    )
    data: dict[str, object] = {"success": True, "done": True, "message": kept.message, "note": kept.note}
    if kept.outcome == "staged":
        data |= {"staged": True, "proposal": kept.proposal}
    else:
        data |= {"id": kept.checkpoint.id, "time": moment(kept.checkpoint.time)}
    mark = app.style.good("✓ ") if kept.outcome == "done" else app.style.dim("• ")
    app.emit(data, mark + printable(f"{kept.message} {kept.note}".strip()))


@click.command(cls=Command)
@click.option("--agent", "whose", metavar="NAME", help="Whose work you take over; default: your own.")
@click.option("--budget", type=click.IntRange(100, 20_000), default=1_500, metavar="TOKENS", help="Most tokens [1500].")
@click.pass_obj
def resume(app: App, whose: str | None, budget: int) -> None:
    """Print the brief: last checkpoint, what was said last, the log since then, what stands, what waits."""
    from vademecum.agent.resuming import brief

    app.owners_only()
    found = brief(app.vm, whose, budget=budget)
    one = found.checkpoint
    data: dict[str, object] = {
        "agent": found.agent,
        "text": found.text,
        "tokens": found.tokens,
        "origin": str(found.origin),
        "left_out": dict(found.left_out),
        "checkpoint": None,
    }
    if one is not None:
        data["checkpoint"] = {
            "id": one.id,
            "time": moment(one.time),
            "state": one.state,
            "task": one.task,
            "done": one.done,
            "next": one.next,
            "questions": list(one.questions),
            "files": list(one.files),
            "channel": one.channel,
            "session": one.session,
            "origin": str(one.origin),
        }
    app.emit(app.shown(data), app.shown(printable(found.text)) or app.style.dim("There is nothing to go on with."))


@click.command(cls=Command)
@click.option("--agent", "name", metavar="NAME", help="Who is told; default: the agent of this command.")
@click.option("--channel", default="", metavar="NAME", help="Where that agent speaks with people, such as telegram.")
@click.option("--client", default="", metavar="NAME", help="Begin as the client's own file of rules has to begin.")
@click.pass_obj
def rules(app: App, name: str | None, channel: str, client: str) -> None:
    """Print the protocol block for AGENTS.md, SOUL.md, CLAUDE.md or a rule of an editor.

    `vademecum client install` puts the same block in by itself.

    \b
    vademecum rules --agent ella --channel telegram >> AGENTS.md
    vademecum rules --client cursor > .cursor/rules/vademecum.mdc
    """
    from vademecum.vault.rules import rules as block

    agent, header = name or app.agent, ""
    if client:
        from vademecum.clients.catalogue import client as described

        found = described(client).rules
        header = found.header if found else ""
    text = header + block(agent, channel)
    app.emit({"agent": agent, "channel": channel, "text": text}, text.rstrip("\n"))
