"""`vademecum retain`: keep a fact by hand, look through conversations for facts, explain what the rules say.

Idea: by hand, from a conversation, or only explained. Invariant: what was looked at once is not looked at again, a dry
run writes nothing, and what is kept by hand says who typed it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from vademecum.errors import UsageError
from vademecum.surfaces.cli.app import App, Command
from vademecum.surfaces.cli.output import moment, plural, printable

if TYPE_CHECKING:
    from vademecum.bank.retain.findings import Explained, Finding
    from vademecum.bank.retain.retention import Report
    from vademecum.bank.types import Retained

_KINDS = ("decision", "fact", "failure", "preference", "environment", "convention", "workflow", "quirk")
_SCOPES = ("organisation", "team", "user", "agent")


@click.command(cls=Command)
@click.argument("text", required=False)
@click.option("--kind", type=click.Choice(_KINDS), help="What it is [fact].")
@click.option("--scope", type=click.Choice(_SCOPES), help="Who shares it [bank.scope].")
@click.option("--entity", "entities", multiple=True, metavar="NAME", help="What it is about; repeatable [found in it].")
@click.option("--valid-from", metavar="TIME", help="When it begins to hold: a date, or words.")
@click.option("--valid-to", metavar="TIME", help="The last day, month or year in which it holds.")
@click.option("--signature", metavar="TEXT", help="Of a failure: the words of the error.")
@click.option("--fix", metavar="TEXT", help="Of a failure: what mended it.")
@click.option("--propose", is_flag=True, help="Let a person decide first.")
@click.option("--session", metavar="ID", help="Look through this conversation.")
@click.option("--all", "everything", is_flag=True, help="Look through all conversations that nobody looked through.")
@click.option("--dry-run", is_flag=True, help="With --session or --all: only say what would be kept.")
@click.option("--explain", is_flag=True, help="Only say what the rules make of TEXT, and why; nothing is kept.")
@click.pass_obj
def retain(app: App, text: str | None, **how: Any) -> None:
    """Keep TEXT as a fact, or look through conversations for facts.

    \b
    vademecum retain "The staging database listens on port 5433." --kind environment
    vademecum retain --explain "No, we use pnpm, not npm."
    vademecum retain --all --dry-run

    TEXT `-` is read from standard input. Conversations are looked through by themselves while `memory.provider` is
    `bank`; --all is for those from before.
    """
    app.warn_of_provider()
    session, everything = how["session"], how["everything"]
    if (session is not None and everything) or (text is not None and (session is not None or everything)):
        raise UsageError("Expected one of TEXT, --session and --all. Nothing was done.", "Give one of them.")
    if session is not None or everything:
        _conversations(app, session, dry_run=how["dry_run"])
    elif text is None:
        raise UsageError("There is nothing to retain.", 'Give a text: vademecum retain "We deploy on Tuesdays."')
    else:
        from vademecum.surfaces.cli.memory import read_stdin

        text = read_stdin() if text == "-" else text
        if how["explain"]:
            _explain(app, text)
        else:
            _by_hand(app, text, how)


def _by_hand(app: App, text: str, how: dict[str, Any]) -> None:
    detail = {name: how[name] for name in ("signature", "fix") if how[name]}
    kind = how["kind"] or ("failure" if detail else "fact")
    if kind == "preference":
        detail["basis"] = "stated"
    from vademecum.bank.recall.periods import time_given

    now = app.vm.clock()
    begin, end = time_given(how["valid_from"], "--valid-from", now), time_given(how["valid_to"], "--valid-to", now)
    done = app.vm.bank.retain(
        text,
        kind=kind,
        origin=app.origin,
        entities=how["entities"] or None,
        scope=how["scope"],
        valid_from=None if begin is None else begin[0],
        valid_to=None if end is None else end[1],
        detail=detail,
        propose=how["propose"],
    )
    style = app.style
    mark = style.good("✓") if done.outcome != "staged" else style.dim("•")
    lines = [f"{mark} {printable(done.fact.text if done.fact else text)}", style.dim(f"  {done.message}")]
    if done.fact is not None:
        lines.append(style.dim(f"  fact {done.fact.id}"))
    if done.proposal:
        lines.append(style.dim(f"  A person decides: vademecum review show {done.proposal}"))
    app.emit({"success": True, "done": True, **_retained_json(done)}, *lines)


def _retained_json(done: Retained) -> dict[str, object]:
    data: dict[str, object] = {"outcome": done.outcome, "message": done.message}
    if done.outcome == "staged":
        data |= {"staged": True, "proposal": done.proposal}
    if done.fact is not None:
        fact = done.fact
        data |= {
            "id": fact.id,
            "text": fact.text,
            "kind": fact.kind,
            "scope": fact.scope,
            "entities": list(fact.entities),
            "valid_from": moment(fact.valid_from),
            "valid_to": moment(fact.valid_to),
        }
    return data | {"near": list(done.near), "contradicts": list(done.contradicts)}


# Conversations


def _conversations(app: App, session: str | None, *, dry_run: bool) -> None:
    from vademecum.store import retention
    from vademecum.surfaces.cli.terminal import counting

    vm = app.vm
    ids = [vm.history.find(session).id] if session is not None else retention.behind(vm.db, vm.actor)
    rows: list[dict[str, object]] = []
    lines: list[str] = []
    facts = refused = 0
    with counting(json=app.json) as count:
        for n, id_ in enumerate(ids, 1):
            found, report = _one(app, id_, dry_run=dry_run)
            if report is not None:
                rows.append(_report_json(id_, report))
                facts, refused = facts + report.count("new"), refused + len(report.refused)
                lines += [f"  {_told(one)}" for one in report.kept if one.outcome != "merged"]
            else:
                rows.append({"session_id": id_, "found": [_finding_json(one) for one in found]})
                facts += len(found)
                lines += [f"  {one.kind}: {printable(one.text)}" for one in found]
            if count is not None:
                count(n, len(ids), id_)
    verb = "would be kept" if dry_run else "kept"
    head = f"{plural(len(ids), 'conversation')} looked through, {plural(facts, 'fact')} {verb}"
    head += f", {refused} refused" if refused else ""
    app.emit({"success": True, "dry_run": dry_run, "results": rows}, f"{head}.", *lines)


def _one(app: App, session: str, *, dry_run: bool) -> tuple[list[Finding], Report | None]:
    from vademecum.agent.retainer import conversation_of, retain_now
    from vademecum.agent.retaining import working_folder

    if not dry_run:
        return [], retain_now(app.vm, session, folder=working_folder())
    from vademecum.bank.retain.retention import look

    conversation = conversation_of(app.vm, session, folder=working_folder())
    return [finding for _, held in look(conversation) for finding in held], None


def _report_json(session: str, report: Report) -> dict[str, object]:
    return {
        "session_id": session,
        "exchanges": report.exchanges,
        "kept": [_retained_json(one) for one in report.kept],
        "refused": report.refused,
    }


def _finding_json(one: Finding) -> dict[str, object]:
    return {
        "kind": one.kind,
        "text": one.text,
        "quote": one.quote,
        "message_id": one.row.id,
        "basis": one.basis,
        "rule": one.rule,
    }


def _told(one: Retained) -> str:
    if one.fact is None:
        return f"proposed: vademecum review show {one.proposal}"
    return f"{one.fact.kind}: {printable(one.fact.text)}" + (" (proposed)" if one.outcome == "staged" else "")


# Explaining


def _explain(app: App, text: str) -> None:
    from vademecum.agent.retainer import Known
    from vademecum.agent.retaining import working_folder
    from vademecum.bank.retain.findings import explain

    found = explain(text, known=Known(app.vm, working_folder()))
    lines = [line for one in found for line in _explained_lines(app, one)]
    if not found:
        lines = ["Nothing of this is the user's own sentence: quoted, pasted, recalled, or code."]
    app.emit_list([_explained_json(one) for one in found], *lines)


def _explained_json(one: Explained) -> dict[str, object]:
    return {
        "sentence": one.sentence,
        "branch": one.branch,
        "rule": one.rule,
        "language": one.language,
        "reason": one.reason,
        "path": list(one.path),
        "kept": one.kind is not None,
        "kind": one.kind,
        "text": one.text,
        "denies": list(one.denies),
        "wishes": list(one.wishes),
    }


def _explained_lines(app: App, one: Explained) -> list[str]:
    style = app.style
    lines = [style.bold(printable(one.sentence))]
    lines += [style.dim(f"  no   {question}") for question in one.path[:-1]]
    lines.append(f"  {style.accent('yes')}  {one.path[-1]}  {style.dim(f'-> {one.branch}')}")
    lines.append(style.dim(f"  rule {one.rule}: {one.reason}"))
    if one.kind is not None:
        lines.append(f"  {style.good('kept')} as {one.kind}: {printable(one.text)}")
    else:
        lines.append(f"  {style.dim('not kept')}")
    if one.denies:
        lines.append(style.dim(f"  closes what is known of {', '.join(map(printable, one.denies))}, if that is clear"))
    if one.wishes:
        lines.append(style.dim(f"  a wish in passing ({', '.join(one.wishes)}): a preference once seen in 3 sessions"))
    return lines
