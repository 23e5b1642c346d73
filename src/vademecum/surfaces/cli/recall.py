"""`vademecum recall`: what was learnt and what was said, found again, with where it comes from.

Idea: a hit is its text, when it held, and the command that opens what it was learnt from. Invariant: only a person
changes a fact here, and a text that could not be saved is kept in the file that the error names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from vademecum.clock import day_of, last_day
from vademecum.errors import UsageError, VademecumError
from vademecum.surfaces.cli.app import App, Command
from vademecum.surfaces.cli.output import Style, ago, clock_time, moment, plural, printable
from vademecum.surfaces.cli.session import sentence

if TYPE_CHECKING:
    from vademecum.bank.types import Evidence, Fact, RecallHit

_KINDS = ("decision", "fact", "failure", "preference", "environment", "convention", "workflow", "quirk")
_SCOPES = ("organisation", "team", "user", "agent")
_TRUST = ("person", "owner", "assistant", "local", "file", "import", "user", "outside")


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="[QUERY]...")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(_KINDS), help="Only facts of this kind; repeatable.")
@click.option("--scope", "scopes", multiple=True, type=click.Choice(_SCOPES), help="Only facts kept here; repeatable.")
@click.option("--trust", type=click.Choice(_TRUST), help="Only from sources that are trusted at least so far.")
@click.option("--as-of", metavar="TIME", help="What held then: a date, or words such as `last March`.")
@click.option("--since", metavar="TIME", help="Only what was learnt or said from then on.")
@click.option("--until", metavar="TIME", help="Only what was learnt or said before the end of that time.")
@click.option("--limit", "-n", type=click.IntRange(1, 100), default=10, show_default=True, help="At most so many.")
@click.option("--budget", type=click.IntRange(1), metavar="TOKENS", help="At most so many tokens of text.")
@click.option("--facts", "what", flag_value="facts", help="Only facts.")
@click.option("--turns", "what", flag_value="turns", help="Only what was said, word for word.")
@click.option("--meaning", is_flag=True, help="By meaning as well: loads the embedder, about a second.")
@click.option("--explain", is_flag=True, help="Also which way of finding gave what, and what was said beside it.")
@click.option("--edit", metavar="ID", help="Correct the text of a fact, in $VISUAL or $EDITOR.")
@click.option("--text", metavar="TEXT", help="With --edit: the new text, without an editor.")
@click.option("--contradictions", is_flag=True, help="List facts that may contradict one another.")
@click.pass_obj
def recall(
    app: App,
    words: tuple[str, ...],
    *,
    explain: bool,
    edit: str | None,
    text: str | None,
    contradictions: bool,
    **how: object,
) -> None:
    """Ask what is known: facts, and the turns that say them.

    \b
    vademecum recall "which port does the database listen on?"
    vademecum recall "what did we decide last March" --kind decision
    vademecum recall --kind failure

    Without QUERY the newest of what the options let through. An answer without hits says how the question was read.
    """
    app.warn_of_provider()
    if edit is not None:
        _edit(app, edit, text)
    elif contradictions:
        _contradictions(app)
    else:
        _recall(app, " ".join(words), how, explain=explain)


def _recall(app: App, query: str, how: dict[str, Any], *, explain: bool) -> None:
    from vademecum.bank.recall.periods import time_given

    now = app.vm.clock()
    since, until = time_given(how["since"], "--since", now), time_given(how["until"], "--until", now)
    found = app.vm.bank.recall(
        query,
        limit=how["limit"],
        budget=how["budget"],
        kinds=how["kinds"] or None,
        scopes=how["scopes"] or None,
        min_trust=how["trust"],
        as_of=time_given(how["as_of"], "--as-of", now),
        since=None if since is None else since[0],
        until=None if until is None else until[1],
        what=how["what"] or "all",
        vectors=True if how["meaning"] else None,
    )
    if app.json:
        app.emit_list([hit_json(hit) for hit in found.results], query=found.query, hint=found.hint)
        return
    for position, hit in enumerate(found.results):
        if position:
            print()
        for line in _lines(app, hit, explain=explain):
            print(line)
    if not found.results:
        print("Nothing found.")
    style = app.style
    if not found.results or explain:
        print(("\n" if found.results else "") + style.dim(f"Read as: {printable(found.query)}."))
    if found.left_out:
        print(style.dim(f"Left out for lack of room: {plural(len(found.left_out), 'hit')}."))
    if found.hint:
        print(style.dim(sentence(found.hint)))


def hit_json(hit: RecallHit) -> dict[str, object]:
    """A hit as scripts see it."""
    return {
        "id": hit.id,
        "kind": hit.kind,
        "text": hit.text,
        "evidence": [_evidence_json(one) for one in hit.evidence],
        "valid_from": moment(hit.valid_from),
        "valid_to": moment(hit.valid_to),
        "trust": hit.trust,
        "score": hit.score,
        "why": hit.why,
        "time": moment(hit.time),
        "origin": str(hit.origin),
        "arms": dict(hit.arms),
        "collapsed": list(hit.collapsed),
        "context": list(hit.context),
        "session_id": hit.session_id,
    }


def _evidence_json(one: Evidence) -> dict[str, object]:
    return {
        "session_id": one.session,
        "message_id": one.message,
        "quote": one.quote,
        "speaker": one.speaker,
        "origin": str(one.origin),
        "at": moment(one.at),
    }


def _lines(app: App, hit: RecallHit, *, explain: bool) -> list[str]:
    style = app.style
    head = style.accent(hit.kind) + style.dim(f"  {_when(app, hit)}")
    if hit.trust == "outside":
        head += style.warn(f"  outside: {printable(str(hit.origin))}")
    lines = [head, style.indent(hit.text.strip(), "  ")]
    opened = next((one for one in hit.evidence if one.session and one.message is not None), None)
    if opened is not None:
        lines.append(style.dim(f"  vademecum session show {opened.session} --around {opened.message}"))
    if hit.kind == "daily":
        lines.append(style.dim(f"  vademecum note day {hit.id.removeprefix('daily:').partition('#')[0]}"))
    elif hit.kind != "turn":
        lines.append(style.dim(f"  fact {hit.id}"))
    if hit.collapsed:
        lines.append(style.dim(f"  also stands for {', '.join(hit.collapsed)}"))
    if explain:
        lines += _explained(style, hit)
    return lines


def _when(app: App, hit: RecallHit) -> str:
    now = app.vm.clock()
    parts = [f"said {ago(hit.time, now)}" if hit.kind == "turn" else f"learnt {ago(hit.time, now)}"]
    if hit.valid_from is not None:
        parts.append(f"from {day_of(hit.valid_from)}")
    if hit.valid_to is not None:
        parts.append(f"until {last_day(hit.valid_to)}")
    speaker = next((one.speaker for one in hit.evidence if one.speaker), "")
    return " · ".join([*parts, *([printable(speaker)] if speaker else [])])


def _explained(style: Style, hit: RecallHit) -> list[str]:
    arms = ", ".join(f"{arm} {strength:.2f}" for arm, strength in hit.arms.items())
    lines = [style.dim(f"  score {hit.score:.2f} ({arms or 'newest'}); {printable(hit.why)}")]
    lines += [style.dim(style.indent(line, "    | ")) for line in hit.context]
    return lines


# Changing


def _edit(app: App, fact_id: str, text: str | None) -> None:
    from vademecum.surfaces.cli.origin import require_person

    require_person(app.origin, "edit a fact")
    bank = app.vm.bank
    before = bank.get(fact_id)
    if text is not None:
        _saved(app, bank.edit(before.id, text, by=app.origin))
        return
    from vademecum.surfaces.cli.editor import in_editor

    edited = in_editor("fact", before.text + "\n")
    if edited is None:
        app.emit({"success": True, "done": True, "outcome": "unchanged"}, "Nothing was changed.")
        return
    after, path = edited
    if not after.strip():
        raise UsageError("The editor left nothing. Nothing was changed.", "To erase it: vademecum forget.")
    try:
        fact = bank.edit(before.id, after.strip(), by=app.origin)
    except VademecumError as error:
        error.hint = f"{error.hint} Your text is kept in {path}.".strip()
        raise
    path.unlink(missing_ok=True)
    _saved(app, fact)


def _saved(app: App, fact: Fact) -> None:
    data = {"success": True, "done": True, "outcome": "edited", "id": fact.id, "text": fact.text}
    app.emit(data, f"{app.style.good('✓')} {printable(fact.text)}")


def _contradictions(app: App) -> None:
    pairs = app.vm.bank.contradictions()
    rows = [{"facts": [_fact_json(a), _fact_json(b)], "why": why} for a, b, why in pairs]
    style = app.style
    lines: list[str] = []
    for a, b, why in pairs:
        lines += [*([""] if lines else []), style.warn(printable(why) or "may contradict")]
        lines += [f"{style.indent(one.text, '  ')}\n  {style.dim(_origin_line(one))}" for one in (a, b)]
    if pairs:
        lines += ["", style.dim("Close or correct one: vademecum recall --edit ID")]
    app.emit_list(rows, *(lines or ["Nothing contradicts anything."]))


def _fact_json(fact: Fact) -> dict[str, object]:
    return {"id": fact.id, "kind": fact.kind, "text": fact.text, "learnt_at": moment(fact.learnt_at)}


def _origin_line(fact: Fact) -> str:
    return f"{fact.kind} {fact.id} · learnt {clock_time(fact.learnt_at)} · {printable(str(fact.origin))}"
