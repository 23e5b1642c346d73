"""The part of `vademecum memory status` about the memory next to the core.

Idea: a few lines from the database and the provider's own word, the network only with --check. Invariant: the exit code
is 1 exactly when something wants a person: it cannot be used, is left alone, refused something, failed the check.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vademecum.clock import iso
from vademecum.errors import ProviderError
from vademecum.surfaces.cli.output import ago, moment, plural

if TYPE_CHECKING:
    from vademecum.agent.providing import Lane
    from vademecum.providers.canary import RoundTrip
    from vademecum.providers.status import Status
    from vademecum.surfaces.cli.app import App
    from vademecum.surfaces.cli.output import Style

Shown = tuple[dict[str, object], list[str], int]
"""What scripts see, what people see, and the exit code."""


def provider_status(app: App, *, check: bool, wait: float | None = None) -> Shown:
    """How the memory next to the core is; `check`: with a sentence sent through it and back, within `wait` seconds."""
    vm = app.vm
    if not vm.config.memory.provider:
        data: dict[str, object] = {"provider": "", "word": "none"}
        line = f"{app.style.bold('NEXT TO IT'):<14}none"
        return data, [line, app.style.dim(f"{'':14}vademecum memory setup chooses one")], 0
    status, left = vm.manager.status(), _left(app)
    trip, failure = _tried(app, wait) if check and not status.trouble else (None, None)
    wrong = bool(status.trouble or status.word == "left alone" or status.aside or failure)
    data = _json(app, status, left) | {"check": _check_json(trip, failure) if check else None}
    lines = _lines(app, status, left)
    if trip is not None:
        from vademecum.surfaces.cli.memory_setup import trip_lines

        lines += trip_lines(app.style, status.provider, trip, " " * 14)
    if failure is not None:
        lines.append(_wrapped(app.style, app.style.bad("✗ "), failure.message))
        lines += [app.style.dim(_wrapped(app.style, "  ", failure.hint))] if failure.hint else []
    return data, lines, 1 if wrong else 0


def _left(app: App) -> list[Lane]:
    """What waits for memories that are not in use."""
    from vademecum.agent.providing import lanes

    return [lane for lane in lanes(app.vm) if not lane.in_use]


def _tried(app: App, wait: float | None) -> tuple[RoundTrip | None, ProviderError | None]:
    from vademecum.surfaces.cli.memory_setup import checked

    name = app.vm.config.memory.provider
    try:
        return checked(app, name, app.vm.config, app.vm.env, wait, kept=""), None
    except ProviderError as error:
        return None, error


def _facts(app: App) -> int:
    from vademecum.store.counts import read_fact_counts

    return sum(read_fact_counts(app.vm.db, app.vm.actor.agent, app.vm.actor.user).kinds.values())


def _worked_at(status: Status) -> int | None:
    return max((at for at in (status.health.worked_at, status.outgoing.worked_at) if at is not None), default=None)


def _last_error(status: Status) -> tuple[str, int | None]:
    """The newest failure of recall or of telling, and when."""
    parts = [(one.failed_at or 0, one.error) for one in (status.health, status.outgoing) if one.error]
    if not parts:
        return status.error, None
    at, error = max(parts)
    return error, at or None


def _until(status: Status) -> int | None:
    return max((at for at in (status.health.open_until, status.outgoing.open_until) if at is not None), default=None)


def _json(app: App, status: Status, left: list[Lane]) -> dict[str, object]:
    error, failed_at = _last_error(status)
    until = _until(status)
    return {
        "provider": status.provider,
        "place": status.place,
        "mode": status.mode,
        "word": status.word,
        "trouble": status.trouble,
        "hint": status.hint,
        "waiting": status.waiting,
        "aside": status.aside,
        "oldest_at": moment(status.oldest_at),
        "last_error": error,
        "failed_at": moment(failed_at),
        "worked_at": moment(_worked_at(status)),
        "open_until": moment(until),
        "facts_in_bank": _facts(app),
        "waiting_for_others": {lane.provider: lane.waiting + lane.aside for lane in left},
    }


def _check_json(trip: RoundTrip | None, failure: ProviderError | None) -> dict[str, object]:
    from vademecum.surfaces.cli.memory_setup import trip_json

    if failure is not None:
        return {"success": False, **failure.as_dict()}
    return {"success": True, **(trip_json(trip) or {})}


def _lines(app: App, status: Status, left: list[Lane]) -> list[str]:
    style, now = app.style, app.vm.clock()
    bad = status.trouble or status.word == "left alone"
    word = style.bad(status.word) if bad else style.good(status.word) if status.word == "works" else status.word
    about = ", ".join(one for one in (status.place, f"recall {status.mode}") if one)
    lines = [f"{style.bold(f'{status.provider.upper():<14}')}{word}  {style.dim(about)}"]
    if status.trouble:
        lines += [_wrapped(style, "", status.trouble), style.dim(_wrapped(style, "", status.hint))]
    until = _until(status)
    if until is not None:
        when = iso(until)[:19].replace("T", " ")
        lines.append(style.warn(_wrapped(style, "", f"left alone until {when} UTC; what is said is kept for it")))
    if status.provider == "bank":
        lines.append(style.dim(f"{'':14}{plural(_facts(app), 'fact')} in the bank"))
        if not status.waiting and status.health.worked_at is None:
            return [*lines, *_others(style, left)]
    else:
        if status.waiting or status.aside or not status.trouble:
            lines.append(f"{'':14}{_queue(status, now)}")
    worked = _worked_at(status)
    lines += [style.dim(f"{'':14}answered {ago(worked, now)}")] if worked is not None else []
    error, failed_at = _last_error(status)
    if error:
        when = f"last error {ago(failed_at, now)}" if failed_at else "last error"
        lines.append(style.dim(_wrapped(style, "", f"{when}: {error}")))
    if status.aside:
        lines.append(style.warn(_wrapped(style, "", f"refused: vademecum provider status {status.provider}")))
    return [*lines, *_others(style, left)]


def _queue(status: Status, now: int) -> str:
    if not status.waiting and not status.aside:
        return "everything was told"
    parts = [f"{status.waiting:,} waiting to be told"] if status.waiting else []
    parts += [f"{status.aside:,} refused and set aside"] if status.aside else []
    oldest = f", the oldest {ago(status.oldest_at, now)}" if status.oldest_at is not None else ""
    return ", ".join(parts) + oldest


def _others(style: Style, left: list[Lane]) -> list[str]:
    said = [f"{plural(one.waiting + one.aside, 'thing')} wait for {one.provider}, which is not in use" for one in left]
    return [style.warn(_wrapped(style, "", f"{line}: vademecum provider status")) for line in said]


def _wrapped(style: Style, mark: str, text: str) -> str:
    """`text` below the name, its first line behind `mark`."""
    margin = " " * 14
    body = style.indent(text, margin)
    return f"{margin}{mark}{body[len(margin) :]}" if mark else body
