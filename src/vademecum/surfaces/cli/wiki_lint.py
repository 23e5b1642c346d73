"""`vademecum wiki lint`: what is wrong with the pages.

Idea: the report is a page of Markdown, to be read here or kept in a file; scripts take JSON. Invariant: nothing of the
pages is changed, and no secret is printed.
"""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from vademecum.surfaces.cli.app import App, Command
from vademecum.surfaces.cli.output import plural, printable
from vademecum.surfaces.cli.terminal import counting
from vademecum.wiki.lint import TITLES, Check, Report


@click.command(cls=Command)
@click.option(
    "--check",
    "checks",
    multiple=True,
    type=click.Choice([*get_args(Check)]),
    help="Only this check; repeatable [all].",
)
@click.option("--output", type=click.Path(path_type=Path), help="Write the report (Markdown) into this file.")
@click.option("--strict", is_flag=True, help="Exit with 1 when anything was found, for scripts.")
@click.pass_obj
def lint(app: App, checks: tuple[Check, ...], output: Path | None, *, strict: bool) -> None:
    """Say what is wrong with the pages of the vault and of `wiki.sources`, as Markdown.

    Links that lead nowhere, pages that nothing is joined to, doubles, what was superseded or compiled before its inputs
    changed, what may contradict a decision that stands, claims without a source in `Wiki/`, and secrets.
    """
    from vademecum.agent.wiki_linting import lint as run

    with counting(json=app.json) as show:
        report = run(app.vm, checks or None, progress=(lambda done, total: show(done, total, "")) if show else None)
    if output is not None:
        from vademecum.files import write_atomic

        write_atomic(output, report.markdown().encode())
    app.emit(_json(report), *_lines(report, output))
    if strict and report.findings:
        raise click.exceptions.Exit(1)


def _lines(report: Report, output: Path | None) -> list[str]:
    if output is None:
        return [printable(line) for line in report.markdown().rstrip("\n").split("\n")]
    counts = ", ".join(f"{TITLES[one].lower()}: {report.count(one)}" for one in report.checks if report.count(one))
    return [f"{plural(len(report.findings), 'finding')} in {plural(report.pages, 'page')}: {output}", counts or "none"]


def _json(report: Report) -> dict[str, object]:
    return {
        "results": [
            {"check": one.check, "page": one.page, "line": one.line, "message": one.message, "hint": one.hint}
            for one in report.findings
        ],
        "query": "",
        "hint": "",
        "pages": report.pages,
        "counts": {check: report.count(check) for check in report.checks},
    }
