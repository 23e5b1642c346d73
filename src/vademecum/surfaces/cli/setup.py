"""`vademecum init`, `agent`, `token`, `config`: what is done once.

Idea: make what is missing and say what was made. Invariant: nothing that is there is overwritten; of an adopted folder
not a byte changes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from vademecum.errors import RefusedError, UsageError
from vademecum.surfaces.cli.app import App, Command, Group
from vademecum.surfaces.cli.origin import require_person
from vademecum.surfaces.cli.output import ago, moment, plural, printable, table

if TYPE_CHECKING:
    from vademecum.home import AgentFolder, Home


@click.command(cls=Command)
@click.option("--if-missing", is_flag=True, help="Say nothing when there is nothing to do.")
@click.option("--adopt", type=click.Path(path_type=Path), metavar="PATH", help="Use this agent folder where it is.")
@click.pass_obj
def init(app: App, if_missing: bool, adopt: Path | None) -> None:
    """Make a home that reads well: configuration, identity, empty stores, empty index.

    What is there already is never changed. With --adopt an existing agent folder (a Hermes home, say) becomes the
    agent of --agent, in place: only the home's config.yaml is written, not a byte in PATH.
    """
    from vademecum.home import Home
    from vademecum.surfaces.cli.config_text import write_new

    home = Home.find(app.home)
    folder = None if adopt is None else _adoptable(adopt)
    _make_private(home.root)
    made = [str(path) for path in write_new(home.config, home.env)]
    if folder is not None:
        _adopt(app, home, folder)
    agent = app.vm.folder
    if app.vm.made:
        made.append(str(agent.root))
    _ = app.vm.db  # the database is part of a home that is ready, and so is what the agent signs with
    if not app.vm.live.keys.has(agent.name):
        app.vm.live.keys.signer(agent.name)
        made.append(str(app.vm.live.keys.path(agent.name)))
    data = {"success": True, "home": str(home.root), "agent": agent.name, "folder": str(agent.root), "made": made}
    style = app.style
    if not made and folder is None:
        app.emit(data, *([] if if_missing else [f"The home {home.root} is ready; nothing had to be made."]))
        return
    app.emit(
        data,
        f"{style.good('✓')} {style.bold(str(home.root))} is ready.",
        "",
        *_tour(app, agent, adopted=folder is not None),
    )


def _tour(app: App, agent: AgentFolder, *, adopted: bool) -> list[str]:
    style = app.style
    identity = "adopted in place, nothing in it was changed" if adopted else "who the agent is: yours to write"
    rows = [
        (str(agent.root) if adopted else str(agent.soul), identity),
        (str(app.vm.home.config), "every setting, explained"),
        ("vademecum chat", "talk to it"),
        ("vademecum client install claude-code", "give Claude Code this memory"),
        ("vademecum memory show", "see what it remembers"),
    ]
    return [f"  {line}" for line in table([(left, style.dim(right)) for left, right in rows])]


def _make_private(root: Path) -> None:
    if root.exists() and not root.is_dir():
        raise UsageError(f"{root} is not a folder. Nothing was made.", "Choose another place with --home.")
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"The home {root} cannot be made: {error.strerror}.", "Choose another place with --home."
        ) from error


def _adoptable(path: Path) -> Path:
    folder = path.expanduser().absolute()
    if not folder.is_dir():
        raise UsageError(
            f"{folder} is not a folder. Nothing was adopted.", "Give the folder that holds SOUL.md and memories/."
        )
    return folder


def _adopt(app: App, home: Home, folder: Path) -> None:
    from vademecum.home import folder_name
    from vademecum.surfaces.cli.config_text import add_agent

    own = home.agents / folder_name(app.agent)
    if own.is_dir() and own != folder:
        raise RefusedError(
            f"Agent {app.agent!r} already has its own folder: {own}. Nothing was adopted.",
            f"Give the adopted agent a name: vademecum init --adopt {folder} --agent NAME",
        )
    add_agent(home.config, app.agent, folder)


@click.group(cls=Group)
def agent() -> None:
    """The agents of a home; each has an identity, memory and history of its own."""


@agent.command()
@click.argument("name")
@click.pass_obj
def add(app: App, name: str) -> None:
    """Make an agent: an identity to be written, empty stores, an empty index."""
    app.agent = "default" if app.agent == name else app.agent
    other = app.vm.home.agent(name, app.vm.config)
    if other.root.is_dir():
        raise RefusedError(f"Agent {name!r} is there already: {other.root}. Nothing was changed.")
    made = app.vm.as_(agent=name)
    made.live.keys.signer(name)  # now, so that nobody's key is seen for its name before
    app.emit(
        {"success": True, "agent": name, "folder": str(made.folder.root)},
        f"{app.style.good('✓')} Agent {app.style.bold(name)} lives in {made.folder.root}",
        app.style.dim(f"  Write who it is in {made.folder.soul}; talk to it with `vademecum --agent {name} chat`."),
    )


@agent.command(name="list")
@click.pass_obj
def list_agents(app: App) -> None:
    """Print every agent with its folder and how full its memory is."""
    rows = [_agent_row(app, name) for name in agent_names(app)]
    cells = [
        (
            str(row["agent"]),
            f"{row['memory_percent']}%",
            str(row["sessions"]),
            f"{row['folder']}{'  (adopted)' if row['adopted'] else ''}{'  missing!' if row['missing'] else ''}",
        )
        for row in rows
    ]
    app.emit_list(rows, *table(cells, ("agent", "memory", "sessions", "folder"), app.style))


def agent_names(app: App) -> list[str]:
    """Every agent of the home by name: those with a folder in it, and the adopted ones."""
    from vademecum.agent.vademecum import agent_names as names

    return names(app.vm.home, app.vm.config)


def _agent_row(app: App, name: str) -> dict[str, object]:
    from vademecum.store.counts import read_counts

    vm = app.vm
    folder = vm.home.agent(name, vm.config)
    missing = not folder.root.is_dir()
    counts = read_counts(vm.db).agents.get(name)
    return {
        "agent": name,
        "folder": str(folder.root),
        "adopted": name in vm.config.agents,
        "missing": missing,
        "memory_percent": 0 if missing else vm.as_(agent=name).memory.view("memory").percent,
        "sessions": counts.sessions if counts else 0,
    }


@click.group(cls=Group)
def token() -> None:
    """Tokens for the HTTP server and for approvals: one is one agent, one user and one degree of trust."""


@token.command()
@click.option(
    "--trust",
    type=click.Choice(["trusted", "outside", "person"]),
    default="trusted",
    show_default=True,
    help="`outside`: what this client writes waits for a person. `person`: for approvals by a person's own script.",
)
@click.option("--label", default="", help="What it is for.")
@click.pass_obj
def new(app: App, trust: str, label: str) -> None:
    """Make a token for --agent and --user. It is printed once and cannot be shown again.

    One of trust `person` is made by a person on a terminal; it opens no server.
    """
    from vademecum.store.tokens import Tokens

    if trust == "person":
        require_person(app.origin, "make a token that approves")
    label = app.vm.redactor.clean(label)
    token_id, secret = Tokens(app.vm.db).new(app.vm.actor, trust, label)
    app.emit(
        {"id": token_id, "token": secret, "agent": app.agent, "user": app.user, "trust": trust, "label": label}, secret
    )
    app.note(f"Token {token_id} for agent {app.agent}, user {app.user}, {trust}. It is shown only now.")


@token.command(name="list")
@click.pass_obj
def list_tokens(app: App) -> None:
    """Print every token but its secret: whose it is, and when it was last used."""
    from vademecum.store.tokens import Tokens

    found, now = Tokens(app.vm.db).list(), app.vm.clock()
    rows = [
        {
            "id": t.id,
            "agent": t.actor.agent,
            "user": t.actor.user,
            "trust": t.trust,
            "label": t.label,
            "created_at": moment(t.created_at),
            "used_at": moment(t.used_at),
            "revoked_at": moment(t.revoked_at),
        }
        for t in found
    ]
    if app.json or not found:
        app.emit_list(rows, app.style.dim("No tokens yet. `vademecum token new` makes one."))
        return
    cells = [
        (
            t.id,
            f"{t.actor.agent}/{t.actor.user}",
            t.trust,
            "revoked" if t.revoked_at is not None else "never used" if t.used_at is None else ago(t.used_at, now),
            printable(t.label),
        )
        for t in found
    ]
    for line in table(cells, ("token", "agent/user", "trust", "last used", "label"), app.style):
        print(line)


@token.command()
@click.argument("token_ids", nargs=-1, required=True, metavar="ID...")
@click.pass_obj
def revoke(app: App, token_ids: tuple[str, ...]) -> None:
    """End tokens at once."""
    from vademecum.store.tokens import Tokens

    tokens = Tokens(app.vm.db)
    live = {token.id for token in tokens.list() if token.revoked_at is None}
    for token_id in token_ids:
        tokens.revoke(token_id)
    ended = [token_id for token_id in dict.fromkeys(token_ids) if token_id in live]
    before = [token_id for token_id in dict.fromkeys(token_ids) if token_id not in live]
    lines = [f"Revoked {plural(len(ended), 'token')}."] if ended else []
    lines += [f"Revoked already: {', '.join(before)}."] if before else []
    app.emit({"success": True, "revoked": ended, "revoked_before": before}, *lines)


@click.command(cls=Command)
@click.pass_obj
def config(app: App) -> None:
    """Print every key of the configuration with its value and where the value comes from."""
    from vademecum.config import load, sources
    from vademecum.gate.policy import Policy
    from vademecum.gate.trust import CLASSES
    from vademecum.home import Home

    home = Home.find(app.home)
    loaded, rows = load(home.config), sources(home.config)
    policy = Policy(loaded.memory.write_approval, loaded.gate.policy)
    if app.json:
        app.emit_list([{"key": key, "value": value, "source": source} for key, value, source in rows])
        return
    style = app.style
    cells = [
        (key, _value(value), source if source == "default" else style.accent(source)) for key, value, source in rows
    ]
    for line in table(cells, ("key", "value", "from"), style):
        print(line)
    print("\nWhat becomes of a write, by tier and by trust (section gate.policy changes cells):")
    for line in table([(tier, *verdicts.values()) for tier, verdicts in policy.rows()], ("tier", *CLASSES), style):
        print(line)
    print(style.dim(f"\n{home.config}{'' if home.config.exists() else ' (not there; `vademecum init` writes it)'}"))


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ", ".join(map(str, cast("list[object]", value)))
    return '""' if value == "" else str(value)
