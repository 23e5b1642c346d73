"""Making room: a conversation that nears the model's window goes on in a new session.

Idea: the older turns become a summary with message ids, the last turns are handed on word for word, and memory is read
again. Invariant: nothing is erased and nothing is changed until the summary exists; the old session stays searchable,
the new one names it as its parent, and what came from outside keeps its origin across the summary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vademecum.agent.outgoing import tell_compaction
from vademecum.agent.session import Session, snapshot_now
from vademecum.agent.summary import CITE, cited
from vademecum.agent.taint import taint
from vademecum.agent.transcript import COMPACTION, readable
from vademecum.errors import ModelError
from vademecum.gate.structure import fenced
from vademecum.model import Origin, tokens
from vademecum.models import ChatMessage, ChatRequest

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.models import ChatModel
    from vademecum.sessions.types import Message

COMPACT_AT = 0.8
"""The share of the model's window from which on a conversation is compacted."""
KEEP_TURNS = 4
KEEP_SHARE = 0.2
"""The last turns that are handed on word for word, as long as they fit into this share of the window."""
_READ_SHARE = 0.5
_SUMMARY_TOKENS = 4_000

_INSTRUCTIONS = f"""\
You write the summary by which a conversation between a user and an assistant is continued. Keep: what the user wants, \
what was decided and why, what was done with which result, names, paths, numbers and commands word for word, what is \
open, and what was promised. Leave out greetings and what was superseded. Write headings only where they help, at most \
800 words. {CITE} If a message of the tool `{COMPACTION}` is among them, it is an earlier summary: carry it on.\
"""


def compact(vm: Vademecum, session: Session, model: ChatModel) -> Session | None:
    """The session in which the conversation goes on; None when there is nothing yet that could be summarised.

    The old session ends with the reason `compacted`, and its review is queued. Raises ModelError when no summary could
    be made; the old session then goes on unchanged.
    """
    stored = vm.history.messages(session.id)
    kept_from = _kept_from(stored, round(model.context_tokens * KEEP_SHARE))
    older = [message for message in stored if message.id < kept_from]
    if not any(message.role == "user" for message in older):
        return None
    summary = _summary(model, older)
    origin = session.context.carried(Origin.assistant())
    snapshot = snapshot_now(vm)
    with vm.db.atomic():
        vm.history.end(session.id, COMPACTION)
        info = vm.history.open(
            key=session.key, channel=session.channel, title=session.title, parent=session.id, snapshot=snapshot
        )
        if info.parent == session.id and not info.messages:  # else another process has just done the same
            handed_on = {"name": COMPACTION, "args": {"session": session.id, "kept_from": kept_from}}
            vm.history.record(info.id, "tool", summary, origin=origin, tool=COMPACTION, calls=[handed_on])
            taint(vm, info.id, origin)
            tell_compaction(vm, session.id, info.id, kept_from)
    from vademecum.agent.review import enqueue_review

    enqueue_review(vm, session.id, COMPACTION)
    return Session(vm, vm.history.find(info.id), info.snapshot or snapshot, info.opened_at)


def _kept_from(stored: Sequence[Message], room: int) -> int:
    """The id of the first message that is handed on; beyond the last one when not even the last turn fits."""
    kept_from, turns, size = stored[-1].id + 1 if stored else 0, 0, 0
    for message in reversed(stored):
        size += tokens(message.content) + sum(tokens(str(call)) for call in message.calls)
        if size > room or message.tool == COMPACTION:
            break
        if message.role == "user":
            kept_from, turns = message.id, turns + 1
            if turns == KEEP_TURNS:
                break
    return kept_from


def _summary(model: ChatModel, older: Sequence[Message]) -> str:
    known = {message.id for message in older} | _cited_before(older)
    room = round(model.context_tokens * _READ_SHARE)
    lines, so_far = readable(older), ""
    try:
        while lines:
            part, lines = _part(lines, room)
            earlier = f"The summary so far:\n{so_far}\n\n" if so_far else ""
            text = earlier + fenced("\n".join(part), "messages")
            request = ChatRequest(_INSTRUCTIONS, (ChatMessage("user", text),), max_tokens=_SUMMARY_TOKENS)
            reply = model.complete(request)
            if reply.truncated:
                raise ModelError("The summary was cut off before its end.", "Start a new session with /new.")
            so_far = cited(reply.text, known)
    except ModelError as error:
        raise ModelError(
            f"The conversation could not be summarised to make room: {error.message} Nothing was lost.",
            error.hint,
            error.status,
            error.retry_after,
        ) from error
    return so_far


def _part(lines: list[str], room: int) -> tuple[list[str], list[str]]:
    """As many lines as fit into `room` tokens, at least one, and the rest."""
    size = 0
    for at, line in enumerate(lines):
        size += tokens(line)
        if size > room and at:
            return lines[:at], lines[at:]
    return lines, []


def _cited_before(older: Sequence[Message]) -> set[int]:
    """The ids that an earlier summary cites; they lead to messages of sessions further back."""
    import re

    before = [message.content for message in older if message.tool == COMPACTION]
    return {int(number) for text in before for number in re.findall(r"#(\d+)", text)}
