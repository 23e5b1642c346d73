"""`vademecum memory setup` and `off`: choosing the memory next to the core.

Idea: ask what the provider's schema names, or take it from `--set`; see that it works; then write. Invariant: a memory
that fails the check changes no file; a secret is neither shown nor put into config.yaml; what waits for the memory that
was there before stays, and is named.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from vademecum.errors import ProviderError, RefusedError, UsageError
from vademecum.surfaces.cli.app import App, Command
from vademecum.surfaces.cli.origin import agent_mark, on_terminal
from vademecum.surfaces.cli.output import Style, plural, printable, wrapped
from vademecum.surfaces.cli.terminal import confirmed

if TYPE_CHECKING:
    from vademecum.agent.providing import Listed
    from vademecum.config import Config
    from vademecum.providers.canary import RoundTrip
    from vademecum.providers.contract import Setting
    from vademecum.surfaces.cli.config_edit import Edit

PLACES = {"local": "on this machine", "service": "a service: what is said leaves this machine"}
CLEAR = "-"
"""What a person types to take a setting out."""


@click.command(cls=Command)
@click.argument("provider", required=False)
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="A setting; nothing is asked then. Repeatable.")
@click.option("--yes", "-y", is_flag=True, help="Ask nothing; what is not given stays as it is.")
@click.option("--no-check", is_flag=True, help="Write it untried, also when it cannot be used yet.")
@click.option("--wait", type=click.FloatRange(0, 3600), metavar="SECONDS", help="Longest wait for a text to be found.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@click.pass_obj
def setup(app: App, provider: str | None, **how: Any) -> None:
    """Choose the memory next to the core: ask for its settings, try it out, write config.yaml and .env.

    \b
    vademecum memory setup                  # asks
    vademecum memory setup holographic --yes
    vademecum memory setup mem0 --set mode=server --set host=http://127.0.0.1:8888 --set api_key=-

    A sentence is stored, found and erased before anything is written. Keys go into .env; `-` for a key reads it from
    standard input, which keeps it out of the shell's history. KEY= without a value takes a setting out.
    """
    if not how["dry_run"]:
        not_by_an_agent("choose where what you say is kept")
    asks = on_terminal() and not (how["sets"] or how["yes"] or app.json)
    found = _usable(app, provider or _choice(app, asks))
    given = _asked(app, found) if asks else _taken(found, how["sets"])
    edit, config, env = _planned(app, found, given)
    if not how["no_check"]:
        _must_be_available(app, found.name, config, env)
    if how["dry_run"]:
        diff = edit.diff()
        shown = [_painted(app.style, line) for line in diff.splitlines()] or ["Nothing would change."]
        app.emit({"success": True, "dry_run": True, "provider": found.name, "diff": diff}, *shown)
        return
    old = app.vm.config.memory.provider
    if not _may_switch(app, old, found, yes=how["yes"]):
        app.emit({"success": True, "outcome": "unchanged"}, "Nothing was changed.")
        return
    trip = None if how["no_check"] else checked(app, found.name, config, env, how["wait"])
    files = [str(path) for path in edit.write()]
    _report(app, old, found, trip, files, checked=not how["no_check"])


@click.command(cls=Command)
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@click.pass_obj
def off(app: App, dry_run: bool) -> None:
    """Use no memory next to the core any more. Everything stays where it is: settings, keys, and what it has learnt."""
    from vademecum.surfaces.cli.config_edit import Edit

    if not dry_run:
        not_by_an_agent("switch a memory off")
    vm, style = app.vm, app.style
    old = vm.config.memory.provider
    if not old:
        app.emit({"success": True, "outcome": "unchanged", "provider": ""}, "There is no memory next to the core.")
        return
    edit = Edit(vm.home.config, vm.home.env, {("memory", "provider"): ""})
    if dry_run:
        diff = edit.diff()
        app.emit({"success": True, "dry_run": True, "diff": diff}, *(_painted(style, one) for one in diff.splitlines()))
        return
    edit.write()
    stays = _what_stays(app, old)
    app.emit(
        {"success": True, "provider": "", "before": old, "stays": stays},
        f"{style.good('✓')} {style.bold(old)} is no longer used; new conversations get core, notes and search.",
        *(style.dim(style.indent(line, "  ")) for line in stays),
        style.dim(f"  Back again: vademecum memory setup {old}"),
    )


def not_by_an_agent(what: str) -> None:
    """Raise RefusedError in an agent's environment: a script of a person's may do this, a model may not."""
    mark = agent_mark()
    if mark:
        raise RefusedError(
            f"An agent runs this command (${mark} is set), and only a person can {what}. Nothing was changed.",
            "Run it yourself, outside of an agent's environment.",
        )


def _what_stays(app: App, old: str) -> list[str]:
    """Where everything of a memory that is switched off lies, in sentences."""
    from vademecum.agent.incoming import host_of
    from vademecum.agent.providing import lanes, listed, with_provider

    vm = app.vm
    lines: list[str] = []
    if old == "bank":
        from vademecum.store.counts import read_fact_counts

        facts = sum(read_fact_counts(vm.db, vm.actor.agent, vm.actor.user).kinds.values())
        lines.append(f"{plural(facts, 'fact')} stay in state.db: vademecum fact list, vademecum recall.")
    else:
        found = listed(vm, old)
        folder = host_of(vm, with_provider(vm.config, old)).folder.parent.parent
        if found.place == "service":
            lines.append(f"What {old} has learnt stays there, where `vademecum forget` does not reach it any more.")
        if folder.is_dir():
            lines.append(f"Its files stay in {folder}")
        keys = [one.env for one in found.schema if one.secret and one.env in vm.env]
        if vm.config.providers.get(old):
            lines.append(f"Its settings stay in config.yaml under providers.{old}.")
        if keys:
            lines.append(f"Its keys stay in .env: {', '.join(keys)}.")
    for lane in lanes(vm):
        if lane.provider == old and lane.waiting + lane.aside:
            lines.append(_waits(lane.waiting + lane.aside, old))
    return lines


def _waits(count: int, name: str) -> str:
    things = f"{plural(count, 'thing')} that {name} has still to be told"
    how = f"vademecum provider status {name} --retry (or --move-to NAME, --drop)"
    return f"Kept: {things}. Deliver or drop: {how}"


# Which one, and with what settings


def _choice(app: App, asks: bool) -> str:
    if not asks:
        raise UsageError("No provider is named. Nothing was changed.", "`vademecum provider list` shows them.")
    from vademecum.agent.providing import every
    from vademecum.surfaces.cli.provider import list_lines

    found = every(app.vm)
    for line in list_lines(app.style, found):
        print(line)
    names = [one.name for one in found]
    while True:
        name: str = click.prompt("Which one", default=app.vm.config.memory.provider or "bank").strip()
        if name in names:
            return name
        print(app.style.warn(f"There is no provider {name!r}."))


def _usable(app: App, name: str) -> Listed:
    """The provider of that name; one that cannot be loaded is an error, one that lacks a setting is none yet."""
    from vademecum.agent.providing import listed

    found = listed(app.vm, name)
    if found.state == "broken" and not found.place:
        raise ProviderError(f"The memory {name} cannot be loaded: {found.reason} Nothing was changed.", found.hint)
    return found


def _asked(app: App, found: Listed) -> dict[str, str]:
    """What a person answers, by key; what stays as it is is left out, and what is taken out is empty."""
    style, given = app.style, dict[str, str]()
    settings = app.vm.config.providers.get(found.name, {})
    print(style.indent(f"{found.name}, {PLACES.get(found.place, 'place unknown')}.", ""))
    if found.schema:
        print(style.dim(style.indent(f"Enter keeps what is in brackets; {CLEAR} takes a setting out.", "")))
    for one in found.schema:
        about = f" ${one.env}, kept in .env" if one.secret else ""
        print()
        for line in wrapped(printable(f"{one.key}: {one.help}{about}"), style.width):
            print(line)
        if one.choices:
            print(style.dim("  " + " · ".join(one.choices)))
        answer = _answer(app, one, _now(app, one, settings))
        if answer is not None:
            given[one.key] = answer
    return given


def _now(app: App, one: Setting, settings: Mapping[str, Any]) -> str:
    """What holds now, as it is shown in brackets."""
    if one.secret:
        return "kept" if app.vm.env.get(one.env) else "none"
    held = settings.get(one.key)
    if held is None:
        held = app.vm.env.get(one.env) if one.env else None
    return (str(held).lower() if isinstance(held, bool) else str(held)) if held is not None else one.default or "none"


def _answer(app: App, one: Setting, now: str) -> str | None:
    while True:
        said: str = click.prompt(f"[{printable(now)}]", default="", show_default=False, hide_input=one.secret).strip()
        if not said and one.required and now == "none":
            print(app.style.warn("This one is needed."))
            continue
        if not said:
            return None
        if said == CLEAR:
            return ""
        if one.choices and said not in one.choices:
            print(app.style.warn(f"Choose one of {', '.join(one.choices)}."))
            continue
        return said


def _taken(found: Listed, sets: tuple[str, ...]) -> dict[str, str]:
    """What `--set` gives, by key. Raises UsageError for a key or a choice that the provider does not know."""
    schema, given = {one.key: one for one in found.schema}, dict[str, str]()
    for item in sets:
        key, equals, value = item.partition("=")
        one = schema.get(key.strip())
        if not equals or one is None:
            import difflib  # only on the way to an error

            close = difflib.get_close_matches(key.strip(), schema, n=1)
            hint = f"Did you mean `{close[0]}`?" if close else f"It takes: {', '.join(schema) or 'none'}."
            raise UsageError(f"{found.name} has no setting {key.strip()!r} to be set so. Nothing was changed.", hint)
        value = value.strip()
        if one.secret and value == CLEAR:
            value = sys.stdin.readline().strip()
        if one.choices and value and value not in one.choices:
            raise UsageError(
                f"{one.key} of {found.name} cannot be {value!r}. Nothing was changed.",
                f"Choose one of {', '.join(one.choices)}.",
            )
        given[one.key] = value
    return given


def _planned(app: App, found: Listed, given: Mapping[str, str]) -> tuple[Edit, Config, dict[str, str]]:
    """The edit of the files, and configuration and environment as they would be after it."""
    from vademecum.agent.providing import with_provider
    from vademecum.surfaces.cli.config_edit import Edit, secret_value

    vm = app.vm
    settings = dict(vm.config.providers.get(found.name, {}))
    changes: dict[tuple[str, ...], object] = {("memory", "provider"): found.name}
    secrets: dict[str, str] = {}
    for one in found.schema:
        said = given.get(one.key)
        if said is None:
            continue
        if one.secret:
            if said:
                secrets[one.env] = secret_value(one.env, said)
            continue
        value = None if not said or (said == one.default and one.key not in settings) else _typed(said)
        changes[("providers", found.name, one.key)] = value
        settings.pop(one.key, None)
        if value is not None:
            settings[one.key] = value
    set_here = {name: os.environ[name] for name in secrets if name in os.environ}
    for name in set_here:
        app.note(f"${name} is set in this shell, and wins over .env.")
    env = {**vm.env, **secrets, **set_here}
    edit = Edit(vm.home.config, vm.home.env, changes, secrets)
    return edit, with_provider(vm.config, found.name, settings), env


def _typed(said: str) -> object:
    """`true` and numbers as what they are, where that loses nothing of how they were written."""
    if said in ("true", "false"):
        return said == "true"
    for kind in (int, float):
        try:
            number = kind(said)
        except ValueError:
            continue
        if str(number) == said and number == number and abs(number) != float("inf"):
            return number
    return said


def _painted(style: Style, line: str) -> str:
    shown = printable(line)
    if line.startswith(("+++", "---", "@@")):
        return style.dim(shown)
    return style.good(shown) if line.startswith("+") else style.bad(shown) if line.startswith("-") else shown


# Trying it out, and writing


def _must_be_available(app: App, name: str, config: Config, env: Mapping[str, str]) -> None:
    from vademecum.agent.incoming import host_of
    from vademecum.providers.direct import availability

    found = availability(host_of(app.vm, config, env), name)
    if not found.ok:
        raise ProviderError(
            f"{name} cannot be used: {found.reason} Nothing was changed.",
            f"{found.hint} (--no-check writes it all the same.)".strip(),
        )


def _may_switch(app: App, old: str, found: Listed, *, yes: bool) -> bool:
    """Whether to go on: a person is asked when another memory is in use."""
    if not old or old == found.name:
        return True
    from vademecum.agent.providing import lanes

    style = app.style
    waiting = sum(lane.waiting + lane.aside for lane in lanes(app.vm) if lane.provider == old)
    wrap = Style.for_stream(sys.stderr).indent
    said = f"{old} is in use. It will not be asked or told anything more; what it has learnt stays where it is."
    app.note(wrap(said, ""))
    if waiting:
        app.note(wrap(_waits(waiting, old), ""))
    question = f"Use {style.bold(found.name)} ({PLACES.get(found.place, '')}) in the place of {style.bold(old)}?"
    return confirmed(question, yes=yes, json=app.json)


def checked(
    app: App,
    name: str,
    config: Config,
    env: Mapping[str, str],
    wait: float | None,
    *,
    kept: str = "Nothing was changed.",
) -> RoundTrip | None:
    """The result of a round trip; None for the bank. Raises ProviderError with `kept` in its message."""
    from vademecum.agent.providing import check
    from vademecum.providers.canary import SETTLE_SECONDS
    from vademecum.surfaces.cli.terminal import watching

    try:
        with watching(f"trying {name}", json=app.json) as say:
            return check(app.vm, name, config, env, seconds=SETTLE_SECONDS if wait is None else wait, say=say)
    except ProviderError as error:
        said = app.vm.redactor.clean(error.message)
        raise ProviderError(f"{name} failed the check. {said} {kept}".strip(), error.hint) from error


def trip_lines(style: Style, name: str, trip: RoundTrip, margin: str = "") -> list[str]:
    """What a round trip showed, in lines behind `margin`."""
    erased = "and erased" if trip.erased else style.warn("and NOT erased")
    lines = [f"{margin}{style.good('✓')} A sentence was stored, found after {trip.found_after:.1f} s, {erased}."]
    if trip.left:
        lines.append(style.warn(style.indent(f"{name}: {trip.left}", f"{margin}! ")))
    if trip.kept:
        lines.append(style.dim(style.indent(f"It says: {trip.kept}", f"{margin}  ")))
    return lines


def trip_json(trip: RoundTrip | None) -> dict[str, object] | None:
    """A round trip as scripts see it."""
    if trip is None:
        return None
    return {
        "found_after": round(trip.found_after, 3),
        "erased": trip.erased,
        "kept": trip.kept,
        "left": trip.left,
    }


def _report(app: App, old: str, found: Listed, trip: RoundTrip | None, files: list[str], *, checked: bool) -> None:
    from vademecum.agent.providing import lanes

    style = app.style
    lines = trip_lines(style, found.name, trip) if trip else []
    lines.append(f"{style.good('✓')} The memory next to the core is {style.bold(found.name)} ({PLACES[found.place]}).")
    lines += [style.dim(f"  written: {', '.join(files)}")] if files else [style.dim("  It was set up so already.")]
    if not checked:
        lines.append(style.warn("  It was not tried out: vademecum memory status --check"))
    waiting = 0
    if old and old != found.name:
        waiting = sum(lane.waiting + lane.aside for lane in lanes(app.vm) if lane.provider == old)
        lines += [style.dim(style.indent(_waits(waiting, old), "  "))] if waiting else []
        move = f"vademecum provider migrate {old} {found.name}"
        lines.append(style.dim(style.indent(f"To bring along what {old} has learnt: {move}", "  ")))
    lines.append(style.dim(style.indent("Chats, servers and clients that run take it up when they start again.", "  ")))
    data: dict[str, object] = {"success": True, "provider": found.name, "place": found.place, "before": old}
    data |= {"checked": checked, "round_trip": trip_json(trip), "files": files, "waiting_for_before": waiting}
    app.emit(data, *lines)
