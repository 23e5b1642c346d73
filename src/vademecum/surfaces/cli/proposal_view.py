"""A proposal as a person decides on it, and as scripts see it.

Idea: the exact change against what is there now, with everything that cannot be seen shown as <U+200B>; where it came
from in words; what binds it (hash, age, expiry). Invariant: nothing in a text drives the terminal or hides in it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from vademecum.clock import iso
from vademecum.surfaces.cli.output import Style, ago, clip, moment, plural, printable, table

if TYPE_CHECKING:
    from vademecum.gate.candidate import Proposal
    from vademecum.gate.review import Target
    from vademecum.model import Origin


def place(proposal: Proposal) -> str:
    """Where a proposal would be written."""
    return proposal.target if proposal.tier == "core" else f"{proposal.tier}/{proposal.target}"


def proposal_json(proposal: Proposal, target: Target | None = None) -> dict[str, object]:
    """A proposal as scripts see it; with `target` also what is there now, and the text with everything visible."""
    data: dict[str, object] = {
        "id": proposal.id,
        "tier": proposal.tier,
        "action": proposal.action,
        "target": proposal.target,
        "text": proposal.text,
        "before": proposal.before,
        "origin": str(proposal.origin),
        "source": proposal.source,
        "findings": [{"rule": f.rule, "message": f.message, "start": f.start} for f in proposal.findings],
        "sha256": proposal.sha256,
        "base": proposal.base,
        "reason": proposal.reason,
        "session": proposal.session,
        "created_at": moment(proposal.created_at),
        "expires_at": moment(proposal.expires_at),
        "status": proposal.status,
        "decision": proposal.decision,
    }
    if target is not None:
        data |= {"now": target.text, "changed": target.changed, "visible": _visible(proposal.text)}
    return data


def proposal_lines(style: Style, proposal: Proposal, now: int, target: Target | None = None) -> list[str]:
    """A proposal for people: what it does and to what, where it came from, what binds it, and what the gate saw."""
    head = f"{style.bold(f'{proposal.action} {printable(proposal.tier)}/{printable(proposal.target)}')}"
    lines = [f"{head}  {style.dim(proposal.id)}"]
    lines += [style.indent(line, "  ") for line in origin_words(proposal.origin)]
    if proposal.reason:
        lines.append(style.indent(f"because: {proposal.reason}", "  "))
    lines.append(style.dim(f"  {_times(proposal, now)}"))
    lines.append(style.dim(f"  sha256 {proposal.sha256}"))
    lines += [style.warn(f"! {printable(finding.message)}") for finding in proposal.findings]
    if target is not None and target.changed and proposal.status == "pending":
        lines.append(style.warn("! What it would change is not what it was when this was proposed; compare again."))
    return [*lines, "", *diff_lines(style, target.text if target else proposal.before, proposal.text)]


def origin_words(origin: Origin) -> list[str]:
    """Where a text came from, in words; what it was made from on lines of their own."""
    first, *rest = origin.parts
    return [_words(first), *(f"  made from what was {_words(part)}" for part in rest)]


def diff_lines(style: Style, before: str, after: str) -> list[str]:
    """What changes, line by line, with three lines round each change; everything that hides is shown."""
    old, new = (_shown_lines(text) for text in (before, after))
    if not (old and new):
        changes: Iterator[str] | list[str] = [*(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    else:
        changes = difflib.unified_diff(old, new, n=3, lineterm="")
    paints: dict[str, Callable[[str], str]] = {"-": style.bad, "+": style.good}
    lines: list[str] = []
    for change in changes:
        if change in ("--- ", "+++ "):
            continue
        if change.startswith("@@"):
            lines.append(style.dim("  …"))
            continue
        mark, body = change[0], style.indent(change[1:], "  ")
        lines += [paints.get(mark, style.dim)(f"{mark} ") + line[2:] for line in body.split("\n")]
    return lines


def list_lines(style: Style, waiting: Sequence[Proposal], now: int) -> Iterator[str]:
    """What waits, by where it came from: the source whose oldest proposal is the oldest comes first."""
    groups: dict[str, list[Proposal]] = {}
    for proposal in waiting:
        groups.setdefault(proposal.source or str(proposal.origin), []).append(proposal)
    width = max(style.width - 66, 24) if style.width else 60
    for source, proposals in groups.items():
        yield f"{style.bold(printable(source))}  {style.dim(plural(len(proposals), 'proposal'))}"
        yield from table(
            [
                (
                    p.id,
                    p.status if p.status != "pending" else ago(p.created_at, now),
                    f"{p.action} {printable(place(p))}",
                    clip(_visible(p.text or p.before), width),
                )
                for p in proposals
            ],
            ("proposal", "made", "what", "text"),
            style,
        )
        yield ""


def _words(part: Origin) -> str:
    name = part.name or "unnamed"
    match part.kind:
        case "person":
            said = "typed by a person"
        case "user":
            said = "said by the owner" if part.name in ("", "owner") else f"said by the user {name}"
        case "assistant":
            said = "written by the assistant"
        case "tool":
            said = f"put out by the tool {name}" + (f" for {part.item}" if part.item else "")
        case "connector":
            said = f"read from {part.item or 'an item'} of the source {name}"
        case "agent":
            said = f"written by the agent {name}"
        case "import":
            said = f"imported from {name}"
        case "file":
            said = "found in the file, edited by hand"
    return f"{said} (content {part.digest})" if part.digest else said


def _times(proposal: Proposal, now: int) -> str:
    made = f"proposed {ago(proposal.created_at, now)}"
    session = f" in session {printable(proposal.session)}" if proposal.session else ""
    day = iso(proposal.expires_at)[:10] if proposal.expires_at is not None else ""
    match proposal.status:
        case "pending":
            end = f"waits until {day}" if day else "waits until you decide"
        case "expired":
            end = f"expired on {day}: it is not applied"
        case "approved" | "rejected":
            end = f"{proposal.status} {ago(proposal.decided_at, now)}"
            end += f" ({printable(proposal.decision)})" if proposal.decision else ""
    return f"{made}{session} · {end}"


def _shown_lines(text: str) -> list[str]:
    return _visible(text).split("\n") if text else []


def _visible(text: str) -> str:
    from vademecum.gate.unicode import visible

    return visible(text)
