"""`vademecum project`: the state of each project, one page that agents and people share.

Idea: a write names the version that was read. Invariant: whoever has not seen the newest state changes nothing and is
shown what differs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vademecum.errors import ConflictError
from vademecum.surfaces.cli.app import App, Group
from vademecum.surfaces.cli.decide import read_text
from vademecum.surfaces.cli.output import Style, printable

if TYPE_CHECKING:
    from vademecum.vault.projects import Project


@click.group(cls=Group)
def project() -> None:
    """The state of each project: status, owner, next step, blockers, and free text."""


@project.command(name="list")
@click.pass_obj
def list_(app: App) -> None:
    """Name every project with its status, owner and next step."""
    from vademecum.agent.vaulting import projects

    app.owners_only()
    found = projects(app.vm).list()
    hint = "" if found else "There is no project yet: `vademecum project set NAME --status ...` makes one."
    lines = [line for one in found for line in _short(app.style, one)]
    rows = [project_json(one) for one in found]
    app.emit_list(app.shown(rows), *app.shown(lines or [app.style.dim(hint)]), hint=hint)


@project.command()
@click.argument("name")
@click.pass_obj
def show(app: App, name: str) -> None:
    """Print a project's state, and the version to name when you change it."""
    from vademecum.agent.vaulting import projects

    app.owners_only()
    one = projects(app.vm).show(name)
    edited = _is_edited(app, one)
    lines = _lines(app.style, one)
    if edited:
        lines.append(f"  {app.style.warn('It was edited by hand since that was written.')}")
    app.emit(app.shown(project_json(one) | {"edited": edited}), *app.shown(lines))


@project.command(name="set")
@click.argument("name")
@click.option("--status", metavar="TEXT", help="Such as active, waiting, done.")
@click.option("--owner", metavar="NAME", help="Who is at it.")
@click.option("--next", "next_", metavar="TEXT", help="The next step.")
@click.option("--blocker", multiple=True, metavar="TEXT", help="What is in the way (repeatable; replaces the list).")
@click.option("--no-blockers", is_flag=True, help="Nothing is in the way any more.")
@click.option("--text", metavar="TEXT", help="The free text; `-` reads it from standard input.")
@click.option("--version", metavar="VERSION", help="What you have read, as `project show` prints it.")
@click.option("--channel", default="", metavar="NAME", help="Where you are, such as telegram.")
@click.option("--session", metavar="ID", help="The conversation that it comes from.")
@click.pass_obj
def set_(
    app: App,
    name: str,
    *,
    status: str | None,
    owner: str | None,
    next_: str | None,
    blocker: tuple[str, ...],
    no_blockers: bool,
    text: str | None,
    version: str | None,
    channel: str,
    session: str | None,
) -> None:
    """Change what is given, when the project is still as you have read it; make it when there is none.

    \b
    vademecum project set Nexus --status active --owner ella --next "cut the release"
    """
    from vademecum.agent.vaulting import projects
    from vademecum.vault.page import By
    from vademecum.vault.projects import Wanted

    blockers = () if no_blockers else blocker or None
    wanted = Wanted(status, owner, next_, blockers, None if text is None else read_text(text))
    try:
        done = projects(app.vm).set(name, wanted, version=version, by=By(app.origin, channel, session))
    except ConflictError as error:
        if not app.json and error.diff:
            print(printable(error.diff))
        raise
    data: dict[str, object] = {"success": True, "done": True, "outcome": done.outcome, "message": done.message}
    if done.outcome == "staged":
        data |= {"staged": True, "proposal": done.proposal}
    mark = app.style.good("✓ ") if done.outcome == "done" else app.style.dim("• ")
    lines = [mark + printable(done.message)]
    lines += [f"  {app.style.dim(printable(done.note))}"] if done.note else []
    if done.outcome == "staged":
        lines.append("  " + app.style.dim(f"A person decides: vademecum review show {done.proposal}"))
    else:
        lines.append("  " + app.style.dim(f"version {done.project.version}"))
    app.emit(data | {"note": done.note, "project": project_json(done.project)}, *lines)


def _is_edited(app: App, one: Project) -> bool:
    """Whether the page is no longer as its last author left it; False when the log tells nothing of it."""
    from vademecum.vault.proving import as_left, written

    live = app.vm.live
    return bool(written(live, one)) and as_left(live, one) is None


def project_json(one: Project) -> dict[str, object]:
    """A project as scripts see it."""
    return {
        "name": one.name,
        "slug": one.slug,
        "version": one.version,
        "status": one.status,
        "owner": one.owner,
        "next": one.next,
        "blockers": list(one.blockers),
        "updated": one.updated,
        "updated_by": one.updated_by,
        "text": one.text,
        "problem": one.problem,
        "link": one.target,
    }


def _short(style: Style, one: Project) -> list[str]:
    about = " · ".join(part for part in (one.status, one.owner, one.next and f"next: {one.next}") if part)
    lines = [f"{style.bold(printable(one.name))}  {style.dim(printable(about))}".rstrip()]
    return lines + ([f"  {style.warn(printable(one.problem))}"] if one.problem else [])


def _lines(style: Style, one: Project) -> list[str]:
    lines = [style.bold(printable(one.name))]
    changed = " by ".join(part for part in (one.updated[:16], one.updated_by) if part)
    rows = (
        ("status", one.status),
        ("owner", one.owner),
        ("next", one.next),
        ("blocked by", "; ".join(one.blockers)),
        ("changed", changed),
        ("version", one.version),
    )
    lines += [f"  {style.dim(f'{name:<11}')}{printable(value)}" for name, value in rows if value]
    lines += [f"  {style.warn(printable(one.problem))}"] if one.problem else []
    return lines + (["", style.indent(one.text, "  ")] if one.text else [])
