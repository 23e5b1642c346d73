"""`vademecum reflect`, `consolidate` and `promote`: what becomes of facts after they were kept.

Idea: each first shows what it would do. Invariant: only a person has a consolidation carried out, a promotion is
proposed whoever asks for it, and an answer without a model says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vademecum.errors import UsageError
from vademecum.surfaces.cli.app import App, Command
from vademecum.surfaces.cli.output import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from vademecum.agent.consolidating import Report
    from vademecum.bank.care.consolidate import Step
    from vademecum.bank.care.promote import Promotable
    from vademecum.bank.care.reflect import Reflection

_TOLD = 200  # steps between two lines of progress
_TO = ("note", "memory", "user")


@click.command(cls=Command)
@click.argument("question", nargs=-1, required=True)
@click.option("--keep", is_flag=True, help="Keep the answer as a fact, marked as derived.")
@click.pass_obj
def reflect(app: App, question: tuple[str, ...], *, keep: bool) -> None:
    """Answer QUESTION from everything that is known, each sentence with what says so.

    Without a model the evidence is laid out by kind and name, with what contradicts, and nothing is made up.
    """
    found = app.vm.bank.reflect(" ".join(question), keep=keep)
    if app.json:
        app.emit(_reflection_json(found))
        return
    for line in _reflection_lines(app, found):
        print(line)


def _reflection_json(found: Reflection) -> dict[str, object]:
    from vademecum.surfaces.cli.recall import hit_json

    return {
        "question": found.question,
        "answer": found.answer,
        "with_model": found.with_model,
        "why": found.why,
        "claims": [{"text": one.text, "citations": list(one.citations)} for one in found.claims],
        "dropped": list(found.dropped),
        "groups": [
            {"kind": one.kind, "about": one.about, "results": [hit_json(hit) for hit in one.hits]}
            for one in found.groups
        ],
        "contradicts": [list(pair) for pair in found.contradicts],
        "kept": found.kept.fact.id if found.kept and found.kept.fact else None,
        "proposal": found.kept.proposal if found.kept else None,
        "not_kept": found.not_kept,
    }


def _reflection_lines(app: App, found: Reflection) -> list[str]:
    from vademecum.bank.care.reflect import cited_by

    style = app.style
    if found.with_model:
        hits = {hit.id: hit for group in found.groups for hit in group.hits}
        lines = [style.indent(found.answer, ""), ""]
        for n, id_ in enumerate(cited_by(found.claims), 1):
            lines.append(style.dim(style.indent(f"[{n}] {hits[id_].text} ({id_})", "")))
    else:
        lines = [style.warn(printable(found.why))]
        lines += [style.indent(line, "") for line in found.answer.splitlines()]
    if found.dropped:
        lines += [
            "",
            style.warn(f"Dropped, because nothing that was found says so: {len(found.dropped)} of the model's."),
        ]
    if found.kept is not None:
        what = found.kept.fact.id if found.kept.fact else f"waits: vademecum review show {found.kept.proposal}"
        lines += ["", f"{style.good('✓')} Kept as a derived fact: {what}"]
    elif found.not_kept:
        lines += ["", style.dim(printable(f"Not kept. {found.not_kept}"))]
    return lines


@click.command(cls=Command)
@click.option("--apply", is_flag=True, help="Do what loses nothing, and propose the rest.")
@click.option("--last", is_flag=True, help="Show the last report instead of looking again.")
@click.pass_obj
def consolidate(app: App, *, apply: bool, last: bool) -> None:
    """Look through the bank for what says the same, no longer holds, contradicts, or is worth more; a dry run.

    The report is Markdown: `vademecum consolidate > report.md`. Nothing is ever deleted, and `vademecum undo` takes
    back what --apply did.
    """
    from vademecum.agent.consolidating import consolidate as look
    from vademecum.agent.consolidating import last_report
    from vademecum.agent.consolidation_report import render
    from vademecum.surfaces.cli.origin import require_person

    if apply and last:
        raise UsageError("--apply and --last exclude each other. Nothing was done.")
    if apply:
        require_person(app.origin, "consolidate")
    report = last_report(app.vm) if last else look(app.vm, apply=apply, by=app.origin, progress=_progress(app))
    if report is None:
        app.emit({"report": None}, "There is no report yet.")
        return
    app.emit(_report_json(report), *(printable(line) for line in render(app.vm, report).splitlines()))


def _progress(app: App) -> Callable[[int, int], None]:
    def tell(done: int, of: int) -> None:
        if of > _TOLD and done % _TOLD == 0:
            app.note(f"{done:,} of {of:,} ...")

    return tell


def _report_json(report: Report) -> dict[str, object]:
    from vademecum.surfaces.cli.output import moment

    return {
        "at": moment(report.at),
        "applied": report.applied,
        "dry_run": not report.applied,
        "steps": [_step_json(step) for step in report.steps],
        "often": list(report.often),
        "trouble": report.trouble,
    }


def _step_json(step: Step) -> dict[str, object]:
    return {
        "rule": step.rule,
        "about": list(step.about),
        "say": step.say,
        "lossless": step.lossless,
        "outcome": step.outcome,
        "proposal": step.proposal or None,
        "note": step.note,
    }


@click.command(cls=Command)
@click.argument("fact_id", required=False, metavar="[ID]")
@click.option("--to", type=click.Choice(_TO), help="A note, or a store of the core [where its kind belongs].")
@click.option("--candidates", is_flag=True, help="List what has earned a place.")
@click.option("--limit", "-n", type=click.IntRange(1, 100), default=20, show_default=True, help="At most so many.")
@click.pass_obj
def promote(app: App, fact_id: str | None, *, to: str | None, candidates: bool, limit: int) -> None:
    """Propose a fact for the core or the notes; `vademecum review approve` decides.

    \b
    vademecum promote --candidates
    vademecum promote 01JD2Q... --to note

    Candidates are facts that were used, said in several sessions, or corrected; of an external memory what it learnt
    last. What you reject does not come back.
    """
    if candidates == (fact_id is not None):
        raise UsageError("Name one fact, or ask for --candidates. Nothing was proposed.", "`vademecum promote --help`")
    if fact_id is None:
        _candidates(app, limit)
        return
    from vademecum.agent.promoting import find
    from vademecum.agent.promoting import promote as propose

    done = propose(app.vm, find(app.vm, fact_id), to=to)  # pyright: ignore[reportArgumentType]  click has checked it
    data = {"success": True, "done": True, "staged": True, "proposal": done.proposal, "to": done.to}
    data |= {"message": done.message}
    app.emit(
        data,
        f"{app.style.dim('•')} {printable(done.message)}",
        app.style.dim(f"  A person decides: vademecum review show {done.proposal}"),
    )


def _candidates(app: App, limit: int) -> None:
    from vademecum.agent.promoting import bank_candidates, daily_candidates, provider_candidates

    places = (bank_candidates, daily_candidates, provider_candidates)
    found = [one for look in places for one in look(app.vm, limit=limit)][:limit]
    style, lines = app.style, list[str]()
    for one in found:
        lines += [*([""] if lines else []), style.indent(one.text, "")]
        lines.append(style.dim(printable(f"  {'; '.join(one.why)} · to {one.to} · vademecum promote {one.source}")))
    if not found:
        lines = ["Nothing has earned a place yet: a fact has to be used, confirmed or corrected first."]
    app.emit_list([_candidate_json(one) for one in found], *lines)


def _candidate_json(one: Promotable) -> dict[str, object]:
    return {
        "id": one.source,
        "text": one.text,
        "kind": one.kind,
        "to": one.to,
        "why": list(one.why),
        "score": one.score,
        "origin": str(one.origin),
        "evidence": len(one.evidence),
    }
