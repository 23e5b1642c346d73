"""`vademecum decide` and `decisions`: what holds for every agent, who decided it and why.

Idea: a decision is one line that stands until another supersedes it; a list shows what stands. Invariant: nothing here
changes what is in the file; what a decision may contradict is said when it is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vademecum.errors import UsageError
from vademecum.surfaces.cli.app import App, Command
from vademecum.surfaces.cli.output import Style, moment, plural, printable

if TYPE_CHECKING:
    from vademecum.vault.decision_text import Decision
    from vademecum.vault.decisions import Decided


@click.command(cls=Command)
@click.argument("what")
@click.option("--why", default="", metavar="TEXT", help="The reason; `-` reads it from standard input.")
@click.option("--alternatives", default="", metavar="TEXT", help="What was not chosen.")
@click.option("--project", default="", metavar="NAME", help="The project that it belongs to.")
@click.option("--supersedes", multiple=True, metavar="ID", help="A decision that no longer stands (repeatable).")
@click.option("--channel", default="", metavar="NAME", help="Where it was decided, such as telegram.")
@click.option("--session", metavar="ID", help="The conversation in which it was decided.")
@click.pass_obj
def decide(
    app: App,
    what: str,
    *,
    why: str,
    alternatives: str,
    project: str,
    supersedes: tuple[str, ...],
    channel: str,
    session: str | None,
) -> None:
    """Write down a decision: it stands, for every agent, until another supersedes it.

    \b
    vademecum decide "Secrets are stored in the system keyring" --why "a file can be read by every program"
    """
    from vademecum.agent.vaulting import decisions as open_decisions
    from vademecum.vault.page import By

    by = By(app.origin, channel, session)
    done = open_decisions(app.vm).decide(
        what, by=by, why=read_text(why), alternatives=alternatives, project=project, supersedes=supersedes
    )
    app.emit(decided_json(done), *_decided_lines(app.style, done))


@click.command(cls=Command)
@click.option("--about", metavar="QUESTION", help="Only those that a question is about, best first.")
@click.option("--against", metavar="STATEMENT", help="Only those that a statement may contradict.")
@click.option("--as-of", metavar="DATE", help="What stood then, e.g. 2026-01-31.")
@click.option("--project", metavar="NAME", help="Only those of a project.")
@click.option("--open", "only_open", is_flag=True, help="Only what stands (the default).")
@click.option("--limit", type=click.IntRange(1), default=20, metavar="N", help="Most results of --about [20].")
@click.option("--all", "all_", is_flag=True, help="What was superseded, too.")
@click.pass_obj
def decisions(
    app: App,
    *,
    about: str | None,
    against: str | None,
    as_of: str | None,
    project: str | None,
    only_open: bool,
    limit: int,
    all_: bool,
) -> None:
    """List what was decided, with date, author and reason; by default what stands.

    \b
    vademecum decisions --about "How must secrets be stored?"
    """
    from vademecum.agent import vaulting

    if all_ and (only_open or as_of or against):
        raise UsageError("--all shows what was superseded; it goes with none of --open, --as-of, --against.")
    app.owners_only()
    kept = vaulting.decisions(app.vm)
    book = kept.book()
    found = vaulting.shown(app.vm, book.decisions if all_ else book.standing(as_of=_end_of(as_of)))
    if project is not None:
        found = [one for one in found if one.project.casefold() == project.casefold()]
    if against is not None:
        excluded = {one.id for one in kept.against(against, book)}
        found = [one for one in found if one.id in excluded]
    if about is not None:
        from vademecum.store.message_index import tokenizer

        found = kept.about(about, found, tokenizer(app.vm.db))[:limit]
    for problem in book.problems:
        app.note(printable(problem))
    hint = "" if found else _nothing(about, against)
    signed = {one.id: vaulting.signed_by(app.vm, one) for one in found}
    lines = [line for one in found for line in _listed(app.style, one, signed[one.id])]
    app.emit_list(
        app.shown([decision_json(one) | {"signed_by": signed[one.id]} for one in found]),
        *app.shown(lines or [app.style.dim(hint)]),
        query=about or against or "",
        hint=hint,
    )


def read_text(argument: str) -> str:
    """An argument, or standard input for `-`."""
    if argument != "-":
        return argument
    from vademecum.surfaces.cli.memory import read_stdin

    return read_stdin()


def decision_json(one: Decision) -> dict[str, object]:
    """A decision as scripts see it."""
    return {
        "id": one.id,
        "what": one.what,
        "why": one.why,
        "alternatives": one.alternatives,
        "project": one.project,
        "time": moment(one.time),
        "by": one.by,
        "channel": one.channel,
        "supersedes": list(one.supersedes),
        "superseded_by": list(one.superseded_by),
        "may_contradict": list(one.contradicts),
        "origin": str(one.origin),
        "session": one.session,
        "link": one.target,
    }


def decided_json(done: Decided) -> dict[str, object]:
    """What became of a decision, as scripts see it."""
    data: dict[str, object] = {"success": True, "done": True, "outcome": done.outcome, "message": done.message}
    if done.outcome == "staged":
        data |= {"staged": True, "proposal": done.proposal}
    else:
        data |= {"id": done.decision.id, "decision": decision_json(done.decision)}
    return data | {"note": done.note, "may_contradict": [decision_json(one) for one in done.contradicts]}


def decision_lines(style: Style, one: Decision) -> list[str]:
    """A decision for people."""
    when = (moment(one.time) or "no date")[:10]
    who = " · ".join(part for part in (when, one.by or "typed into the file", one.channel, one.project) if part)
    gone = f"  superseded by {', '.join(one.superseded_by)}" if one.superseded_by else ""
    lines = [style.dim(printable(one.what)) if gone else style.bold(printable(one.what))]
    lines.append("  " + style.dim(printable(f"{who} · {one.id}{gone}")))
    for name, text in (("why", one.why), ("instead of", one.alternatives)):
        if text:
            lines.append(style.indent(f"{name}: {text}", "  "))
    return lines


def _listed(style: Style, one: Decision, signed: str) -> list[str]:
    lines = decision_lines(style, one)
    if one.by and not signed:
        lines.append(
            "  " + style.warn("No signed entry of the log says so in these words: it was changed, or not decided.")
        )
    elif signed not in ("", one.by):
        lines.append("  " + style.dim(f"signed by {printable(signed)}"))
    return lines


def _decided_lines(style: Style, done: Decided) -> list[str]:
    mark = style.good("✓ ") if done.outcome == "new" else style.dim("• ")
    lines = [mark + printable(done.message)]
    if done.contradicts:
        count = plural(len(done.contradicts), "standing decision")
        lines.append("  " + style.warn(f"It may contradict {count}:"))
        lines += [f"  {line}" for one in done.contradicts for line in decision_lines(style, one)]
        lines.append("  " + style.dim("If it takes the place of one: decide again with --supersedes ID."))
    elif done.note:
        lines.append("  " + style.dim(printable(done.note)))
    if done.outcome == "staged":
        lines.append("  " + style.dim(f"A person decides: vademecum review show {done.proposal}"))
    return lines


def _nothing(about: str | None, against: str | None) -> str:
    if against is not None:
        return "Nothing that stands seems to contradict that."
    return "No decision is about that." if about is not None else "Nothing has been decided yet."


def _end_of(text: str | None) -> int | None:
    """The end of a day, or the moment, that was typed. Raises UsageError."""
    if text is None:
        return None
    from vademecum.clock import parse_iso

    try:
        at = parse_iso(text)
    except ValueError as error:
        raise UsageError(f"--as-of {text!r} is no date.", "Write it as 2026-01-31 or 2026-01-31T12:00Z.") from error
    return at + 86_399_999 if len(text.strip()) == 10 else at
