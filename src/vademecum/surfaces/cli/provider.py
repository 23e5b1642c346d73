"""`vademecum provider`: which memories there are, what waits for which, and moving from one to another.

Idea: every memory as it is, also those that cannot be used, and why. Invariant: what waits for a memory is delivered,
moved or given up only at a person's word, and moving what one has learnt takes nothing away from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from vademecum.errors import ProviderError, UsageError
from vademecum.surfaces.cli.app import App, Group
from vademecum.surfaces.cli.output import Style, ago, cells, clip, moment, plural, printable, table
from vademecum.surfaces.cli.terminal import confirmed, counting

if TYPE_CHECKING:
    from vademecum.agent.migrating import Migration
    from vademecum.agent.providing import Lane, Listed
    from vademecum.store.outbox import Waiting

_WORDS = {"active": "in use", "ready": "ready", "missing": "not set up", "broken": "broken"}
_MOST_SHOWN = 10


@click.group(cls=Group)
def provider() -> None:
    """The memories that may stand next to the core: list them, see what waits for them, move between them."""


@provider.command(name="list")
@click.argument("name", required=False)
@click.pass_obj
def list_(app: App, name: str | None) -> None:
    """Print every memory with its state, or all about one: what it needs, and its settings.

    Nothing is opened and no network is used. Memories of other packages are found by their entry point.
    """
    from vademecum.agent.providing import every, listed
    from vademecum.providers.registry import misnamed

    found = [listed(app.vm, name)] if name else every(app.vm)
    wrong = misnamed(app.vm.config.memory.provider)
    said = f"{wrong.message} {wrong.hint}" if wrong else ""
    if app.json:
        app.emit_list([_listed_json(app, one) for one in found], hint=said)
        return
    lines = _one_lines(app, found[0]) if name else [*list_lines(app.style, found), *_ways_on(app)]
    lines += ["", app.style.warn(said)] if said else []
    for line in lines:
        print(line)


def list_lines(style: Style, found: Sequence[Listed]) -> list[str]:
    """All memories, a line each; what is missing is cut to the terminal's width."""
    width = max(len(one.name) for one in found)
    lines: list[str] = []
    for one in found:
        paint = {"active": style.good, "ready": style.accent, "missing": style.dim, "broken": style.bad}[one.state]
        active = one.active and one.state != "active"
        word = "in use!" if active else _WORDS[one.state]
        head = f"{one.name:<{width}}  {one.place or '?':<7}  {word:<10}"
        by = "" if one.package in ("vademecum", "") else f"from {one.package}"
        about = "  ".join(part for part in (by, one.reason) if part)
        room = style.width - cells(head) - 2 if style.width else 10_000
        tail = f"  {style.dim(clip(about, room))}" if about and room > 8 else ""
        lines.append(
            f"{style.bold(f'{one.name:<{width}}')}  {one.place or '?':<7}  {paint(f'{word:<10}')}{tail}".rstrip()
        )
    return lines


def _ways_on(app: App) -> list[str]:
    return ["", app.style.dim("vademecum provider list NAME: what it needs; vademecum memory setup NAME: use it")]


def _one_lines(app: App, one: Listed) -> list[str]:
    from vademecum.surfaces.cli.memory_setup import PLACES

    style = app.style
    lines = [f"{style.bold(one.name)}: {_WORDS[one.state]}, {PLACES.get(one.place, 'place unknown')}"]
    if one.reason:
        lines += [style.warn(style.indent(one.reason, "  "))]
        lines += [style.dim(style.indent(one.hint, "  "))] if one.hint else []
    if one.install:
        lines.append(f"  extra: pip install '{one.install}'")
    if one.package not in ("vademecum", ""):
        lines.append(f"  from the package {printable(one.package)}")
    for setting in one.schema:
        value = _value(app, one, setting.key)
        held = f" = {printable(str(value))}" if value is not None else ""
        lines.append(f"  {style.accent(setting.key)}{held}" + (" (needed)" if setting.required else ""))
        default = f"; default {setting.default}" if setting.default else ""
        choices = f"; {' | '.join(setting.choices)}" if setting.choices else ""
        env = f"; ${setting.env}" if setting.env else ""
        lines.append(style.dim(style.indent(f"{setting.help}{choices}{default}{env}", "      ")))
    return lines


def _value(app: App, one: Listed, key: str) -> object:
    """What holds now; of a secret only that it is there."""
    setting = next(found for found in one.schema if found.key == key)
    if setting.secret:
        return "(set)" if app.vm.env.get(setting.env) else None
    held = app.vm.config.providers.get(one.name, {}).get(key)
    return held if held is not None else app.vm.env.get(setting.env) if setting.env else None


def _listed_json(app: App, one: Listed) -> dict[str, object]:
    return {
        "name": one.name,
        "state": one.state,
        "active": one.active,
        "place": one.place,
        "reason": one.reason,
        "hint": one.hint,
        "package": one.package,
        "install": one.install,
        "settings": [
            {
                "key": setting.key,
                "help": setting.help,
                "default": setting.default,
                "env": setting.env,
                "secret": setting.secret,
                "required": setting.required,
                "choices": list(setting.choices),
                "value": _value(app, one, setting.key),
            }
            for setting in one.schema
        ],
    }


# What waits


@provider.command()
@click.argument("name", required=False)
@click.option("--retry", is_flag=True, help="Deliver what waits now, also what was refused before.")
@click.option("--move-to", "to", metavar="NAME", help="Give what waits for NAME to another memory.")
@click.option("--drop", is_flag=True, help="Give up what waits for NAME; the conversations themselves stay.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.pass_obj
def status(app: App, name: str | None, **how: Any) -> int:
    """Print what has still to be told to which memory, and what went wrong.

    Also for memories that are not in use any more, or whose name was misspelt. Exit code 1 when something was refused,
    or waits for a memory that nobody tells.
    """
    if sum((how["retry"], bool(how["to"]), how["drop"])) > 1:
        raise UsageError("--retry, --move-to and --drop exclude each other. Nothing was changed.", "Give one of them.")
    if (how["to"] or how["drop"]) and name is None:
        raise UsageError("Whose rows are meant? Nothing was changed.", "Name the memory that they wait for.")
    if how["retry"]:
        return _retry(app, name)
    if how["to"] and name:
        return _move(app, name, how["to"], yes=how["yes"])
    if how["drop"] and name:
        return _drop(app, name, yes=how["yes"])
    return _show(app, name)


def _show(app: App, name: str | None) -> int:
    from vademecum.agent.providing import known, lanes
    from vademecum.store import outbox

    found = [lane for lane in lanes(app.vm) if name in (None, lane.provider)]
    if name is not None and not found:
        known(name)
    failed = {lane.provider: outbox.rows_of(app.vm.db, lane.provider, failed=True) for lane in found}
    lines: list[str] = []
    for lane in found:
        lines += _lane_lines(app, lane, failed[lane.provider])
    if not found:
        lines = ["Nothing waits to be told."]
    app.emit_list([_lane_json(lane, failed[lane.provider]) for lane in found], *lines)
    return 1 if any(lane.aside or not (lane.in_use and lane.exists) for lane in found) else 0


def _lane_lines(app: App, lane: Lane, failed: Sequence[Waiting]) -> list[str]:
    style, now = app.style, app.vm.clock()
    use = "there is no such memory" if not lane.exists else "in use" if lane.in_use else "not in use"
    served = lane.in_use and lane.exists
    head = f"{style.bold(lane.provider)}  {use if served else style.warn(use)}"
    kinds = ", ".join(_counted(kind, count) for kind, count in lane.kinds.items())
    aside = f", {lane.aside:,} refused and set aside" if lane.aside else ""
    lines = [head, f"  {lane.waiting:,} waiting{aside}; the oldest {ago(lane.oldest_at, now)}", style.dim(f"  {kinds}")]
    for row in failed[:_MOST_SHOWN]:
        what = f"{row.kind} of session {row.session}" if row.session else f"{row.kind} {row.ref}"
        state = "refused" if row.aside else f"tried {plural(row.attempts, 'time')}"
        lines.append(style.warn(style.indent(f"{what}, {state}: {row.error}", "  ")))
    if len(failed) > _MOST_SHOWN:
        lines.append(style.dim(f"  and {len(failed) - _MOST_SHOWN} more; --json lists 100"))
    way = f"vademecum provider status {lane.provider}"
    if not served:
        retry = f"{way} --retry delivers it all the same; " if lane.exists else ""
        lines.append(style.dim(style.indent(f"{retry}{way} --move-to NAME, or --drop", "  ")))
    elif lane.aside:
        lines.append(style.dim(f"  {way} --retry, or --drop"))
    return lines


def _counted(kind: str, count: int) -> str:
    noun, rest = _KINDS.get(kind, (kind, ""))
    return f"{plural(count, noun)}{rest}"


_KINDS = {
    "turn": ("turn", ""),
    "change": ("change", " of the core"),
    "compress": ("compaction", ""),
    "switch": ("change", " of session"),
    "end": ("end", " of a session"),
    "forget": ("request", " to erase"),
}


def _lane_json(lane: Lane, failed: Sequence[Waiting]) -> dict[str, object]:
    return {
        "provider": lane.provider,
        "in_use": lane.in_use,
        "exists": lane.exists,
        "waiting": lane.waiting,
        "aside": lane.aside,
        "oldest_at": moment(lane.oldest_at),
        "kinds": dict(lane.kinds),
        "failures": [
            {
                "kind": row.kind,
                "agent": row.actor.agent,
                "user": row.actor.user,
                "session_id": row.session or None,
                "ref": row.ref,
                "at": moment(row.at),
                "attempts": row.attempts,
                "aside": row.aside,
                "error": row.error,
            }
            for row in failed
        ],
    }


def _retry(app: App, name: str | None) -> int:
    from vademecum.agent.providing import lane, lanes

    wanted = [lane(app.vm, name)] if name else [one for one in lanes(app.vm) if one.exists]
    rows: list[dict[str, object]] = []
    lines: list[str] = []
    for one in wanted:
        done, error = _delivered(app, one)
        after = next((now for now in lanes(app.vm) if now.provider == one.provider), None)
        left = after.waiting + after.aside if after else 0
        error = error or (after.error if after else "")
        rows.append({"provider": one.provider, "delivered": done, "left": left, "error": error})
        mark = app.style.good("✓") if not left else app.style.warn("!")
        lines.append(f"{mark} {one.provider}: {done:,} delivered, {left:,} left.")
        lines += [app.style.dim(app.style.indent(error, "  "))] if left and error else []
    app.emit({"success": not any(row["left"] for row in rows), "results": rows}, *(lines or ["Nothing waits."]))
    return 1 if any(row["left"] for row in rows) else 0


def _delivered(app: App, lane: Lane) -> tuple[int, str]:
    """How many rows were taken, and what stood in the way."""
    from vademecum.agent.providing import deliver

    total = lane.waiting + lane.aside
    with counting(json=app.json) as count:

        def progress(left: int) -> None:
            if count is not None:
                count(max(0, total - left), total, lane.provider)

        try:
            return deliver(app.vm, lane.provider, progress=progress), ""
        except ProviderError as fault:
            return 0, f"{app.vm.redactor.clean(fault.message)} {fault.hint}".strip()


def _move(app: App, name: str, to: str, *, yes: bool) -> int:
    from vademecum.agent.providing import known, lane, move
    from vademecum.surfaces.cli.memory_setup import not_by_an_agent

    not_by_an_agent("give what was said to another memory")
    one = lane(app.vm, name)
    known(to)
    count = plural(one.waiting + one.aside, "thing")
    if not confirmed(f"Give {count} that wait for {name} to {to}?", yes=yes, json=app.json):
        app.emit({"success": True, "outcome": "unchanged"}, "Nothing was changed.")
        return 0
    moved, stay = move(app.vm, name, to)
    lines = [f"{app.style.good('✓')} {plural(moved, 'thing')} now wait for {to}."]
    if stay:
        lines.append(
            app.style.dim(f"  {plural(stay, 'request')} to erase stay with {name}, where what they mean lies.")
        )
    app.emit({"success": True, "moved": moved, "left": stay, "provider": to}, *lines)
    return 0


def _drop(app: App, name: str, *, yes: bool) -> int:
    from vademecum.agent.providing import drop, lane
    from vademecum.surfaces.cli.memory_setup import not_by_an_agent

    not_by_an_agent("give up what a memory has still to be told")
    one = lane(app.vm, name)
    erase = one.kinds.get("forget", 0)
    also = f" With them {plural(erase, 'request')} to erase: what they mean would stay in {name}." if erase else ""
    count = plural(one.waiting + one.aside, "thing")
    if not confirmed(f"Give up {count} that {name} has still to be told?{also}", yes=yes, json=app.json):
        app.emit({"success": True, "outcome": "unchanged"}, "Nothing was changed.")
        return 0
    gone = drop(app.vm, name)
    app.emit(
        {"success": True, "dropped": gone, "provider": name},
        f"{app.style.good('✓')} {plural(gone, 'thing')} given up; the conversations themselves stay in the history.",
    )
    return 0


# Moving


@provider.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--dry-run", is_flag=True, help="Only say what would be stored.")
@click.option("--wait", type=click.FloatRange(0, 3600), metavar="SECONDS", help="Longest wait until TO shows it all.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.pass_obj
def migrate(app: App, source: str, target: str, dry_run: bool, wait: float | None, yes: bool) -> int:
    """Store everything that FROM holds in TO as well, compare text by text, and report; FROM keeps all of it.

    \b
    vademecum provider migrate bank holographic --dry-run
    vademecum provider migrate mem0 bank --yes

    Either may be `bank`, the built-in one; neither has to be in use. What was stored once is not stored again, so it
    may be stopped and run again. What comes into the bank counts as outside text from FROM. Exit code 1 when something
    was refused or is not found in TO.
    """
    from vademecum.agent.migrating import SETTLE_SECONDS
    from vademecum.agent.migrating import migrate as run
    from vademecum.agent.providing import listed
    from vademecum.surfaces.cli.memory_setup import PLACES, not_by_an_agent

    if not dry_run:
        not_by_an_agent("hand a memory to another")
        place = PLACES.get(listed(app.vm, target).place, "place unknown")
        if not confirmed(f"Store what {source} holds in {target} ({place})?", yes=yes, json=app.json):
            app.emit({"success": True, "outcome": "unchanged"}, "Nothing was changed.")
            return 0
    with counting(json=app.json) as show:
        seconds = SETTLE_SECONDS if wait is None else wait
        done = run(app.vm, source, target, dry_run=dry_run, seconds=seconds, progress=show or _silent)
    app.emit(_migration_json(done), *_migration_lines(app.style, done))
    return 0 if done.complete else 1


def _silent(_done: int, _total: int, _what: str) -> None:
    """No progress is shown without a terminal."""


_OUTCOMES = {
    "stored": "stored",
    "there": "there already",
    "moved": "stored by an earlier run",
    "staged": "wait for a person (vademecum review list)",
    "refused": "refused",
    "left_out": "left out",
}


def _migration_lines(style: Style, done: Migration) -> list[str]:
    verb = "would be stored" if done.dry_run else "stored"
    counts = [(word if key != "stored" else verb, done.count(key)) for key, word in _OUTCOMES.items()]
    head = f"{plural(len(done.items), 'text')} of {done.source} for {done.target}"
    lines = [f"{style.warn('!') if done.stopped else style.good('✓')} {style.bold(head)}"]
    lines += [f"  {line}" for line in table([(f"{count:,}", word) for word, count in counts if count])]
    for one in [one for one in done.items if one.outcome in ("refused", "left_out")][:_MOST_SHOWN]:
        lines += [style.warn(style.indent(f"{_OUTCOMES[one.outcome]}: {clip(one.text, 60)}", "  "))]
        lines += [style.dim(style.indent(one.note, "    "))]
    if done.stopped:
        lines += [style.bad(style.indent(f"Stopped: {done.stopped}", "  "))]
        lines += [style.dim("  Run it again: it goes on where it stopped.")]
    if not done.dry_run:
        lines += _comparison(style, done)
    return lines


def _comparison(style: Style, done: Migration) -> list[str]:
    whole = f"{done.found:,} of {done.compared:,} are in {done.target} word for word"
    if not done.missing:
        return [f"{style.good('✓')} Compared: {whole}; {done.source} was left as it is."]
    lines = [style.warn(f"! Compared: {whole}. Not found, or in other words:")]
    lines += [style.indent(f"{clip(text, 80)}", "    ") for text in done.missing[:_MOST_SHOWN]]
    more = len(done.missing) - _MOST_SHOWN
    return [*lines, *([style.dim(f"    and {more} more; --json lists all")] if more > 0 else [])]


def _migration_json(done: Migration) -> dict[str, object]:
    return {
        "success": done.complete,
        "dry_run": done.dry_run,
        "from": done.source,
        "to": done.target,
        "counts": {key: done.count(key) for key in _OUTCOMES},
        "results": [{"id": one.id, "outcome": one.outcome, "text": one.text, "note": one.note} for one in done.items],
        "compared": done.compared,
        "found": done.found,
        "missing": list(done.missing),
        "stopped": done.stopped,
    }
