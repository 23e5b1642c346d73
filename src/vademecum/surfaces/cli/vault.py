"""`vademecum vault`: make the shared folder ready, fold what sync tools left, look after the keys.

Idea: each command says what it did and touches nothing outside of the vault's own folder. Invariant: whose keys count
is a person's decision; nothing here removes a word that anybody wrote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vademecum.surfaces.cli.app import App, Group
from vademecum.surfaces.cli.origin import require_person
from vademecum.surfaces.cli.output import plural, printable, table

if TYPE_CHECKING:
    from vademecum.vault.merge import Merged


@click.group(cls=Group)
def vault() -> None:
    """The folder that several agents share, and that people open in Obsidian or any editor."""


@vault.command()
@click.pass_obj
def init(app: App) -> None:
    """Make the vault's folders, what git needs to merge them, and the agent's key. What is there is never changed.

    Where the vault lies is `vault.path` in config.yaml, and `vault.subfolder` for one that you use already.
    """
    live = app.vm.live
    made = live.prepare()
    key = live.keys.signer(app.vm.actor.agent).id
    root = str(live.paths.root)
    data = {"success": True, "path": root, "made": made, "agent": app.vm.actor.agent, "key": key}
    style = app.style
    head = (
        f"{style.good('✓')} {style.bold(printable(root))} is ready; {printable(app.vm.actor.agent)} signs with {key}."
    )
    app.emit(data, head, *(style.dim(f"  made {printable(name)}") for name in made))


@vault.command()
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--restore", is_flag=True, help="Put back signed entries that no file has any more, too.")
@click.pass_obj
def merge(app: App, dry_run: bool, restore: bool) -> None:
    """Fold conflict copies (Syncthing, Obsidian, Dropbox), unfinished git merges and doubles, by entry id.

    Nothing that anybody wrote goes: what differs under one id is kept twice, and named.
    """
    done = app.vm.vault.merge(restore=restore, dry_run=dry_run)
    app.emit(merged_json(done), *_merged_lines(app, done))


def merged_json(done: Merged) -> dict[str, object]:
    """What was folded, as scripts see it."""
    return {
        "success": True,
        "dry_run": done.dry_run,
        "files": list(done.files),
        "copies": list(done.copies),
        "added": done.added,
        "doubles": done.doubles,
        "restored": list(done.restored),
        "twins": [{"id": twin.id, "file": twin.file, "lines": list(twin.lines)} for twin in done.twins],
        "left": list(done.left),
        "proposed": [{"file": one.file, "diff": one.diff, "proposal": one.proposal} for one in done.proposed],
    }


def _merged_lines(app: App, done: Merged) -> list[str]:
    style, would = app.style, "would be " if done.dry_run else ""
    lines = [f"{style.good('✓')} {printable(name)} {would}folded in and removed." for name in done.copies]
    counts = [
        (done.added, "came from copies"),
        (done.doubles, "dropped, which stood there twice"),
        (len(done.restored), "put right or put back from the signed copies"),
    ]
    lines += [f"  {plural(count, 'entry')} {would}{what}." for count, what in counts if count]
    lines += [
        f"{style.warn('!')} {printable(twin.file)}: {twin.id} stands there with different words, in lines"
        f" {', '.join(map(str, twin.lines))}. Both were kept; `vademecum log verify` says which is signed."
        for twin in done.twins
    ]
    lines += [
        f"{style.warn('!')} {printable(name)} is named like a conflict copy and was kept: it is yours to merge."
        for name in done.left
    ]
    for one in done.proposed:
        way = f"vademecum review show {one.proposal}" if one.proposal else "it is yours to merge"
        way = "it would be proposed to you" if done.dry_run else way
        lines.append(f"{style.warn('!')} {printable(one.file)} says something else than the page: {way}.")
        lines.append(style.indent(one.diff))
    return lines or ["There was nothing to merge."]


@vault.group(cls=Group)
def key() -> None:
    """The keys that agents sign their entries with."""


@key.command(name="list")
@click.pass_obj
def list_keys(app: App) -> None:
    """Print the pinned public keys, and those that no pinned one announced."""
    live = app.vm.live
    live.refresh()
    rows = [
        _key_json(pin.agent, pin.id, pin.public, pin.how, here=live.keys.has(pin.agent))
        for pins in live.keys.pins().values()
        for pin in pins
    ]
    rows += [_key_json(head.agent, head.id, head.public, "unknown", here=False) for head in live.unknown_keys()]
    cells = [(printable(str(row["agent"])), str(row["id"]), str(row["how"])) for row in rows]
    app.emit_list(rows, *table(cells, ("agent", "key", "why it counts"), app.style))


def _key_json(agent: str, id_: str, public: str, how: str, *, here: bool) -> dict[str, object]:
    return {"agent": agent, "id": id_, "public": public, "how": how, "here": here}


@key.command()
@click.pass_obj
def new(app: App) -> None:
    """Give the agent of --agent a new key; an entry that the old key signs announces it."""
    require_person(app.origin, "change an agent's key")
    made = app.vm.live.new_key()
    data = {"success": True, "agent": app.vm.actor.agent, "key": made}
    app.emit(data, f"{app.style.good('✓')} {printable(app.vm.actor.agent)} signs with the key {made} from now on.")


@key.command()
@click.argument("key_id", metavar="KEY")
@click.pass_obj
def trust(app: App, key_id: str) -> None:
    """Let a second key count as its agent's: one that you know to be yours, from another machine."""
    require_person(app.origin, "trust a key")
    head = app.vm.live.trust(key_id)
    data = {"success": True, "agent": head.agent, "key": head.id}
    app.emit(data, f"{app.style.good('✓')} The key {head.id} counts as {printable(head.agent)}'s from now on.")
