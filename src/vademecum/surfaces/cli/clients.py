"""`vademecum client`: other agents' homes.

Idea: reports of `clients/` as lines a person can check, line by changed line. Invariant: `--dry-run` shows the same
and changes nothing.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

import click

from vademecum.clients.catalogue import NAMES
from vademecum.clock import now_ms
from vademecum.errors import UsageError
from vademecum.home import Home
from vademecum.model import Actor
from vademecum.surfaces.cli.app import App, Group
from vademecum.surfaces.cli.client_doctor import CONTEXT, doctor, is_there
from vademecum.surfaces.cli.client_sync import sync
from vademecum.surfaces.cli.output import ago, moment, printable, table

if TYPE_CHECKING:
    from vademecum.clients.install import ClientReport
    from vademecum.clients.status import ClientStatus

CLIENT = click.Choice(NAMES)
Scope = Literal["user", "project"]


@click.group(cls=Group)
def client() -> None:
    """Give an agent that you use already this memory, and take it away again."""


@client.command()
@click.argument("name", type=CLIENT, metavar="CLIENT")
@click.option("--user", "scope", flag_value="user", default="user", help="For all your projects (default).")
@click.option("--project", "scope", flag_value="project", help="For the project in this folder only.")
@click.option(
    "--rules/--no-rules",
    default=None,
    help="Put the block of `vademecum rules` into the text that the client always loads [where hooks do not say it].",
)
@click.option("--plugin", is_flag=True, help="Hermes: be its memory provider, in the place of an MCP server.")
@click.option(
    "--mine", multiple=True, metavar="ACCOUNT", help="With --plugin: a gateway account that is you, as telegram:42."
)
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
@click.pass_obj
def install(
    app: App, name: str, scope: Scope, rules: bool | None, *, plugin: bool, mine: tuple[str, ...], dry_run: bool
) -> None:
    """Register the MCP server, the hooks and the rules in the client's files.

    \b
    CLIENT is one of claude-code, claude-desktop, codex, cursor, gemini-cli,
    hermes, openclaw, opencode, vscode.

    Settings that are there stay as they are; the files from before are kept, and `uninstall` puts them back.
    """
    from vademecum.clients.install import install as register

    home, actor = Home.find(app.home), Actor(app.agent, app.user)
    if plugin:
        from vademecum.clients.hermes.install import plug_in

        _require_hermes(name)
        act = partial(plug_in, home, actor, mine=mine)
    else:
        act = partial(register, name, home, actor, scope=scope, rules=rules)
    report = act(dry_run=True)
    if not dry_run:
        _ = app.vm  # home and agent are made now that nothing stands against it
        report = act()
    _print_report(app, name, report, "plugged in" if plugin else "registered")


@client.command()
@click.argument("name", type=CLIENT, metavar="CLIENT")
@click.option("--user", "scope", flag_value="user", default="user", help="From your own settings (default).")
@click.option("--project", "scope", flag_value="project", help="From the project in this folder.")
@click.option("--plugin", is_flag=True, help="Hermes: the memory provider.")
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
@click.pass_obj
def uninstall(app: App, name: str, scope: Scope, *, plugin: bool, dry_run: bool) -> None:
    """Take all that `install` put in out again. Files that nobody edited since come back byte for byte."""
    from vademecum.clients.install import uninstall as take_out

    if plugin:
        from vademecum.clients.hermes.install import unplug

        _require_hermes(name)
        _print_report(app, name, unplug(Home.find(app.home), dry_run=dry_run), "taken out")
        return
    _print_report(app, name, take_out(name, Home.find(app.home), scope=scope, dry_run=dry_run), "taken out")


def _require_hermes(name: str) -> None:
    if name != "hermes":
        raise UsageError(f"{name} has no plug-in of ours. Nothing was changed.", "Leave --plugin out.")


@client.command()
@click.argument("name", type=CLIENT, metavar="CLIENT", default="claude-code")
@click.pass_obj
def status(app: App, name: str) -> None:
    """Print whether memory arrives in the client: its server, each hook's last call, the rules, the context."""
    from vademecum.clients.status import client_status

    vm = app.vm if is_there(app) else None
    found = client_status(vm, name)
    if app.json:
        app.emit(_status_json(name, found))
        return
    style, now = app.style, vm.clock() if vm is not None else now_ms()
    if not found.installed and not found.servers:
        print(f"{name} does not use this memory yet: vademecum client install {name}")
    print(f"{style.dim('server ')}  {printable(', '.join(found.servers)) or 'not registered'}")
    if found.rules:
        print(f"{style.dim('rules  ')}  {printable(', '.join(str(path) for path in found.rules))}")
    if not found.hooks:
        print(style.dim("         This client runs no hooks of ours: the model has the tools."))
    arrived = f", {ago(found.context_at, now)}" if found.context_at is not None else ""
    if found.hooks:
        print(f"{style.dim('memory ')}  {CONTEXT.get(found.context, found.context)}{arrived}\n")
    rows = [
        (
            hook.event,
            ", ".join(hook.scopes) or "not registered",
            "never called" if hook.last is None else ago(hook.last.at, now),
            "" if hook.last is None else f"{hook.last.milliseconds} ms",
            "" if hook.last is None else printable(f"{hook.last.outcome} {hook.last.detail}".strip()),
        )
        for hook in found.hooks
    ]
    for line in table(rows, ("hook", "registered", "last call", "took", "outcome"), style):
        print(line)
    for problem in found.problems:
        print(style.warn(f"! {printable(problem)}"))


client.add_command(doctor)
client.add_command(sync)


def _status_json(name: str, found: ClientStatus) -> dict[str, object]:
    return {
        "client": name,
        "installed": found.installed,
        "servers": list(found.servers),
        "context": found.context,
        "context_at": moment(found.context_at),
        "hooks": [
            {
                "event": hook.event,
                "hook": hook.hook,
                "scopes": list(hook.scopes),
                "at": None if hook.last is None else moment(hook.last.at),
                "milliseconds": None if hook.last is None else hook.last.milliseconds,
                "outcome": None if hook.last is None else hook.last.outcome,
                "detail": None if hook.last is None else hook.last.detail,
            }
            for hook in found.hooks
        ],
        "rules": [str(path) for path in found.rules],
        "problems": list(found.problems),
    }


def _print_report(app: App, name: str, report: ClientReport, done: str) -> None:
    changes = [
        {
            "path": str(change.path),
            "action": change.action,
            "lines": list(change.lines),
            "backup": None if change.backup is None else str(change.backup),
        }
        for change in report.changes
    ]
    if app.json:
        app.emit(
            {
                "success": True,
                "client": name,
                "scope": report.scope,
                "dry_run": report.dry_run,
                "changed": report.changed,
                "changes": changes,
                "notes": list(report.notes),
            }
        )
        return
    style = app.style
    for change in report.changes:
        action = "unchanged" if change.action == "none" else change.action
        print(f"{style.bold(printable(str(change.path)))}  {style.dim(action)}")
        for line in change.lines:
            paint = style.good if line.startswith("+") else style.bad if line.startswith("-") else style.dim
            print(f"  {paint(printable(line))}")
    if report.dry_run:
        print(style.dim("Nothing was changed (--dry-run)."))
    elif report.changed:
        print(f"{style.good('✓')} {name}: {done}.")
    else:
        print("Nothing had to be changed.")
    for note in report.notes:
        print(style.dim(f"  {printable(note)}"))
