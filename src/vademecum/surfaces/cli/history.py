"""`vademecum history` and `undo`: who changed what, when and why, and the way back.

Idea: the log's rows, newest first, with the texts that went and came. Invariant: only a person undoes; texts are shown
with what hides in them made visible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vademecum.errors import UsageError
from vademecum.surfaces.cli.app import App, Command
from vademecum.surfaces.cli.origin import require_person
from vademecum.surfaces.cli.output import Style, clock_time, plural, printable

if TYPE_CHECKING:
    from vademecum.gate.audit import Audit, AuditEntry

_LINES = 12
"""Lines of a text that a list of rows shows."""
_COMPARED = 2_000  # lines of two texts that are compared
_PROPOSAL_ID = 26


@click.command(cls=Command)
@click.argument("entry", required=False, metavar="[ENTRY|ID]")
@click.option("--origin", metavar="SELECTOR", help="List all that came from there, what was made from it too.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 10_000), help="How many rows at most.")
@click.pass_obj
def history(app: App, entry: str | None, origin: str | None, limit: int) -> None:
    """Print what was decided about memory, the newest first: who, when, why, before and after.

    ENTRY is a part of an entry's text or a note's name: then its whole story is shown, also under the texts that it
    replaced. ID is the number of a row, or a proposal. SELECTOR is `url:...`, `session:...`, `agent:...`, `tool:...`,
    `connector:...`, `import:...` or `user:...`, see `vademecum quarantine`.

    \b
    vademecum history
    vademecum history "host north"
    vademecum history --origin url:bad.example
    """
    if origin is not None:
        if entry is not None:
            raise UsageError("Give an ENTRY or --origin, not both.")
        _from_there(app, origin, limit)
        return
    rows = _found(app.vm.audit, entry or "", limit)
    hint = "" if rows else "Nothing is recorded about it." if entry else "Nothing is recorded yet."
    if app.json or not rows:
        app.emit_list([entry_json(row) for row in rows], app.style.dim(hint), query=entry or "", hint=hint)
        return
    for position, row in enumerate(rows):
        print("\n".join([*([""] if position else []), *entry_lines(app.style, row, whole=len(rows) == 1)]))
    undoable = next((row.n for row in rows if row.written and row.state), None)
    if undoable is not None:
        print(app.style.dim(f"\n{plural(len(rows), 'row')}. `vademecum undo {undoable}` takes the newest change back."))


@click.command(cls=Command)
@click.argument("row", metavar="ID")
@click.pass_obj
def undo(app: App, row: str) -> None:
    """Bring back what was there before a change. Only a person on a terminal of their own can.

    ID is a row of `vademecum history`, or the proposal that was approved. What else was changed since stays. An undo
    is a change of its own in the history, and can be undone in turn.
    """
    require_person(app.origin, "undo")
    said = app.vm.review.undo(row, by=app.origin)
    app.emit({"success": True, "done": True, "id": row, "message": said}, f"{app.style.good('✓')} {said}")


def _from_there(app: App, text: str, limit: int) -> None:
    from vademecum.agent.quarantine import copies_of, rows_of
    from vademecum.gate.selector import Selector
    from vademecum.surfaces.cli.forget import copy_json, copy_lines

    selector = Selector.parse(text)
    held = {str(one.selector) for one in app.vm.quarantine.list()}
    copies, rows = copies_of(app.vm, selector), rows_of(app.vm, selector)
    listed = ", ".join(f"#{row.n}" for row in rows[:limit])
    hint = f"Rows of the history: {listed}." if rows else "" if copies else "Nothing that is kept came from there."
    state = app.style.warn("In quarantine.") if str(selector) in held else ""
    head = app.style.bold(f"{plural(len(copies), 'text')} from {printable(text)}") + (f"  {state}" if state else "")
    next_ = "`vademecum quarantine` takes it out of every prompt, `vademecum forget` erases it." if copies else ""
    lines = [line for line in (head, *copy_lines(app.style, copies), hint, app.style.dim(next_)) if line]
    app.emit_list([copy_json(copy) for copy in copies], *lines, query=text, hint=hint)


def _found(audit: Audit, text: str, limit: int) -> list[AuditEntry]:
    number = text.removeprefix("#")
    if number.isdigit():
        return [audit.get(int(number))]
    if len(text) == _PROPOSAL_ID and text.isalnum():
        decided = audit.of_proposal(text)
        if decided:
            return decided[:limit]
    return audit.entries(text, limit=limit)


def entry_json(row: AuditEntry) -> dict[str, object]:
    """A row as scripts see it; `before` and `after` are null when the text was not kept or was erased."""
    return {
        "id": row.n,
        "at": row.at,
        "decision": row.decision,
        "tier": row.tier,
        "action": row.action,
        "target": row.target,
        "origin": str(row.origin),
        "agent": row.actor.agent,
        "user": row.actor.user,
        "by": row.by,
        "rule": row.rule,
        "session": row.session,
        "proposal": row.proposal,
        "before": row.before,
        "after": row.after,
        "before_sha256": row.before_sha256,
        "after_sha256": row.after_sha256,
        "hash": row.hash,
    }


def entry_lines(style: Style, row: AuditEntry, *, whole: bool = True) -> list[str]:
    """A row for people; of long texts, unless `whole`, only what differs and their beginning."""
    place = row.target if row.tier == "core" else f"{row.tier}/{row.target}"
    paint = style.bad if row.decision in ("refused", "rejected") else style.good if row.written else style.warn
    head = f"{style.bold(f'#{row.n}')}  {paint(row.decision)}  {row.action} {printable(place)}"
    about = [clock_time(row.at), f"from {printable(str(row.origin))}"]
    about += [f"user {printable(row.actor.user)}"] if not row.actor.is_owner else []
    about += [f"by {printable(row.by)}"] if row.by else []
    about += [printable(row.rule)] if row.rule else []
    about += [f"session {row.session}"] if row.session else []
    about += [f"proposal {row.proposal}"] if row.proposal else []
    lines = [f"{head}  {style.dim(' · '.join(about))}"]
    before, after, left = (row.before, row.after, 0) if whole else _shortened(row.before, row.after)
    for mark, text, sha256 in (("-", before, row.before_sha256), ("+", after, row.after_sha256)):
        if sha256 and text != "":
            lines.append(_text(style, mark, text))
    more = f"    {plural(left, 'line')} more: `vademecum history {row.n}` shows all."
    return [*lines, style.dim(more)] if left else lines


def _shortened(before: str | None, after: str | None) -> tuple[str | None, str | None, int]:
    """Both texts, and how many lines are left out: of long ones what only one of them has, and at most some lines."""
    gone, come = (before or "").split("\n"), (after or "").split("\n")
    if len(gone) + len(come) <= 2 * _LINES:
        return before, after, 0
    if before and after and len(gone) + len(come) <= _COMPARED:
        from difflib import SequenceMatcher  # only for long texts

        steps = SequenceMatcher(None, gone, come, autojunk=False).get_opcodes()
        changed = [step[1:] for step in steps if step[0] != "equal"]
        gone, come = (
            [line for start, end, _, _ in changed for line in gone[start:end]],
            [line for _, _, start, end in changed for line in come[start:end]],
        )
    left = max(0, len(gone) - _LINES) + max(0, len(come) - _LINES)
    one, other = "\n".join(gone[:_LINES]), "\n".join(come[:_LINES])
    return None if before is None else one, None if after is None else other, left


def _text(style: Style, mark: str, text: str | None) -> str:
    from vademecum.gate.unicode import visible

    if text is None:
        return style.dim(f"  {mark} (the text is not kept)")
    paint = style.bad if mark == "-" else style.good
    body = style.indent(visible(text), "    ")
    return "\n".join(paint(f"  {mark} ") + line[4:] for line in body.split("\n"))
