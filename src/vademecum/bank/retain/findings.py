"""What the rules find in an exchange: each finding with its kind, the exact words and the message that says it.

Idea: every sentence of the user goes down the decision tree of the signals; what comes out as worth keeping becomes a
finding of one kind. Tools' failures that were mended, workflows that the user confirmed and questions answered with
"yes, always" are findings too. Invariant: a finding quotes a message word for word, and its origin is joined from all
messages that it was made from.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from vademecum.bank.retain.exchanges import Exchange, Row, exact, is_reported, own_text, speaker_of
from vademecum.bank.retain.phrases import (
    confirmed,
    denied,
    denied_clauses,
    is_decision,
    is_hollow,
    opens_with_no,
    points_back,
    says_it_works,
    weak_preferences,
    without_denial,
    without_denied,
    without_reassurance,
)
from vademecum.bank.retain.trail import MANY_STEPS, Mended, Step, fix_of, mended, steps, working_steps
from vademecum.bank.signals.sentences import sentences
from vademecum.bank.signals.signal import LONGEST_TEXT, Signal, classify
from vademecum.bank.types import Kind
from vademecum.gate.restate import own_words

Basis = Literal["stated", "corrected", "confirmed", "observed"]

STEP_CHARS = 120
TITLE_CHARS = 160
MEANT_CHARS = 200
_HABITS = ("stop-doing", "told-you", "from-now-on", "standing-order")
"""Rules that say how the agent should behave: a preference, unless the statement is something more particular."""

_UNKNOWN = (".none", ".progress")
"""Rules that skip what may still say that something was decided."""

TREE: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("a dump: too long, a trace, a log, code?", ("long", "trace", "log", "code"), "skip"),
    ("in none of the languages that the rules know?", ("language",), "skip"),
    ("says itself that it is only for now, or asks what was said?", ("one-off", "asked-to-recall"), "skip"),
    ("only supposed, or what somebody else says?", ("imagined", "hearsay"), "skip"),
    ("asks outright to remember?", ("remember",), "instruction"),
    ("says how to call the person?", ("called",), "preference"),
    ("ends a habit, says it was said before, or says no?", ("stop-doing", "told-you", "no-it-is"), "correction"),
    ("says what to use in the place of something?", ("use-instead",), "correction"),
    ("a standing order: always, never, from now on?", ("from-now-on", "standing-order"), "instruction"),
    ("a question, a request, small talk, or easily looked up?", ("question", "progress", "chat", "look-up"), "skip"),
    ("what worked in the end, or the steps of a process?", ("worked", "process"), "workflow"),
    ("how a tool misbehaves, or the way round it?", ("quirk",), "quirk"),
    ("what the person likes, is, or usually does?", ("self",), "preference"),
    ("how things are done here?", ("custom",), "convention"),
    ("what there is, and where it is?", ("place",), "environment"),
    ("do all its words together read like one of these?", ("cues",), "that one"),
    ("does a context file or the core say so already?", ("known",), "skip"),
    ("says that something was decided?", ("decided",), "decision"),
    ("none of these: nothing that lasts", ("none",), "skip"),
)
"""The decision tree of the signals from the top: a question, the rules that ask it, the branch that a yes leads to."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing worth keeping. `more` are further quotes with their messages; `denies` is what it says is no longer so.

    `closes`: an explicit correction, which may end what was known before.
    """

    text: str
    kind: Kind
    quote: str
    row: Row
    basis: Basis = "stated"
    rule: str = ""
    closes: bool = False
    denies: tuple[str, ...] = ()
    detail: Mapping[str, str] = field(default_factory=dict[str, str])
    more: tuple[tuple[Row, str], ...] = ()
    about: str = ""
    """What was said before it, for finding what it corrects."""


def kind_of(signal: Signal, text: str) -> Kind:
    """The kind of fact that a signal's statement is, `text` being the statement without the words of a correction."""
    found: Kind
    match signal.branch:
        case "preference" | "environment" | "convention" | "workflow" | "quirk":
            found = signal.branch
        case _:
            inner = classify(without_denied(text) if signal.branch == "correction" else text).branch
            if inner in ("preference", "environment", "convention", "workflow", "quirk"):
                found = inner
            elif signal.rule.endswith(_HABITS) or (signal.branch == "instruction" and signal.rule.endswith(".cues")):
                found = "preference"
            elif signal.rule.endswith(".use-instead"):
                found = "convention"
            else:
                found = "fact"
    if signal.rule == "decided" or (found in ("fact", "convention", "environment") and is_decision(text)):
        return "decision"
    return found


def findings(exchange: Exchange, before: Exchange | None, *, known: Collection[str], strict: bool) -> list[Finding]:
    """What an answered exchange of the user holds; `before` is the one before it.

    `strict`: outside text was read in the conversation, so that only plain sentences of the user count.
    """
    found: list[Finding] = []
    for row in exchange.said:
        found += _said(row, before, known=known, strict=strict)
    if before is not None and exchange.said and not strict:
        found += _workflow(exchange.said[0], before)
    found += [_failure(pair) for pair in mended(_trail(exchange, before)) if pair.worked.row in exchange.rows]
    return found


@dataclass(frozen=True, slots=True)
class Explained:
    """What becomes of one sentence: the way down the tree, and what is kept. `kind` is None when nothing is.

    `path` are the questions that were answered with no, then the one with yes. `wishes` are weak preferences, which
    count once they were seen in three sessions.
    """

    sentence: str
    path: tuple[str, ...]
    branch: str
    rule: str
    language: str
    reason: str
    kind: Kind | None
    text: str
    denies: tuple[str, ...] = ()
    wishes: tuple[str, ...] = ()


def explain(text: str, *, known: Collection[str] = ()) -> list[Explained]:
    """What the rules make of each sentence that a user might say, and why; writes nothing."""
    return [_explained(sentence, known) for sentence in sentences(own_text(text)) if sentence.strip(" …")]


def _explained(sentence: str, known: Collection[str]) -> Explained:
    signal, kept = judged(sentence, known)
    correction = signal.branch == "correction"
    statement = (without_denial(signal.statement) if correction else "") or signal.statement
    name = signal.rule.partition(".")[2] or signal.rule
    at = next((n for n, (_, rules, _) in enumerate(TREE) if name in rules), len(TREE) - 1)
    reason, branch = signal.reason, signal.branch if name != "decided" else "decision"
    if signal.branch != "skip" and not kept:
        reason, branch = "a question, or somebody else's words", "skip"
    return Explained(
        sentence=sentence,
        path=tuple(question for question, _, _ in TREE[: at + 1]),
        branch=branch,
        rule=signal.rule,
        language=signal.language,
        reason=reason,
        kind=kind_of(signal, statement) if kept else None,
        text=statement if kept else "",
        denies=tuple(denied(statement)) if correction and kept else (),
        wishes=tuple(wish.key for wish in weak_preferences(sentence)),
    )


def judged(sentence: str, known: Collection[str]) -> tuple[Signal, bool]:
    """What a sentence is, and whether it is kept by itself.

    A correction counts although what it says is known: it was not heeded.
    """
    said = without_reassurance(sentence)
    signal = classify(said)
    if signal.branch not in ("correction", "skip"):
        signal = classify(said, known=known)
        if signal.branch not in ("correction", "skip") and opens_with_no(said):
            rule = f"{signal.language}.no-it-is"
            signal = replace(
                signal, branch="correction", rule=rule, reason="says that something is wrong and what is right"
            )
    if signal.branch == "skip" and signal.rule.endswith(_UNKNOWN) and is_decision(sentence):
        signal = replace(signal, rule="decided", reason="says that something was decided")
    worth = signal.branch != "skip" or signal.rule == "decided"
    if signal.rule.endswith(".cues") and weak_preferences(sentence):
        worth = False  # "shorter, please": no rule is sure, so it has to be said more than once
    if is_hollow(signal.statement):
        worth = False
    return signal, worth and not is_reported(sentence) and not sentence.endswith(("?", "？"))


def own(row: Row, *, strict: bool) -> str:
    """What of a user's message they say themselves."""
    return own_words(row.content) if strict else own_text(row.content)


def wishes(exchange: Exchange, *, strict: bool) -> list[tuple[str, Row]]:
    """The keys of what the user wished for in passing, each with its message."""
    return [(wish.key, row) for row in exchange.said for wish in weak_preferences(own(row, strict=strict))]


def _trail(exchange: Exchange, before: Exchange | None) -> list[Step]:
    earlier = before.tools if before is not None and before.state == "answered" else ()
    return steps((*earlier, *exchange.tools))


def _said(row: Row, before: Exchange | None, *, known: Collection[str], strict: bool) -> list[Finding]:
    text = own(row, strict=strict)
    if len(text) > LONGEST_TEXT:
        return []
    found: list[Finding] = []
    asked = before.answers[-1] if before is not None and before.answers else None
    if asked is not None and not speaker_of(row):
        question = confirmed(own_text(asked.content), text.strip())
        if question:
            return [_confirmed(row, asked, question, text.strip())]
    no = False
    for sentence in sentences(text):
        signal, worth = judged(sentence, known)
        correction = signal.branch == "correction"
        if (correction or signal.rule.endswith(".none")) and not without_denial(signal.statement):
            no = True  # "That is wrong." The next sentence says how it is.
            continue
        if worth or (no and signal.rule.endswith(".none") and not is_reported(sentence)):
            found.append(_finding(row, sentence, signal, before, corrects=correction or no))
        no = False
    return found


def _finding(row: Row, sentence: str, signal: Signal, before: Exchange | None, *, corrects: bool) -> Finding:
    statement = (without_denial(signal.statement) if corrects else "") or signal.statement
    gone = denied(statement) if corrects else denied_clauses(statement)
    finding = Finding(
        text=statement,
        kind=kind_of(signal, statement),
        quote=exact(sentence, row.content) or sentence,
        row=row,
        basis="corrected" if corrects else "stated",
        rule=signal.rule,
        closes=corrects or bool(gone),
        denies=tuple(gone),
    )
    if before is None or not corrects:
        return finding
    answers = [answer.content for answer in before.answers[-1:]]
    finding = replace(finding, about=" ".join(answers)[-1_000:])
    return _with_meaning(finding, before) if points_back(statement) else finding


def _with_meaning(finding: Finding, before: Exchange) -> Finding:
    """What "that" was: the last thing that was done, else the last sentence that was said."""
    trail = [step for step in steps(before.tools) if not step.failed]
    if trail:
        row, quote, meant = trail[-1].row, trail[-1].does, f"`{trail[-1].does}`"
    elif before.answers and (said := list(sentences(own_text(before.answers[-1].content)))):
        row, quote = before.answers[-1], said[-1]
        meant = f'"{said[-1]}"'
    else:
        return finding
    text = f"{finding.text.rstrip(' .!')} ({meant[:MEANT_CHARS]})"
    return replace(finding, text=text, more=((row, quote),), denies=(), closes=False)


def _confirmed(row: Row, asked: Row, question: str, answer: str) -> Finding:
    return Finding(
        text=f"{question} — {answer}",
        kind="preference",
        quote=exact(answer, row.content) or answer,
        row=row,
        basis="confirmed",
        rule="confirmed",
        more=((asked, exact(question, asked.content) or question),),
    )


def _failure(pair: Mended) -> Finding:
    fix = fix_of(pair)
    command = pair.failed.does
    return Finding(
        text=f"`{command}` failed with `{pair.failed.signature}`; what worked: `{fix}`",
        kind="failure",
        quote=pair.failed.signature,
        row=pair.failed.row,
        rule="mended",
        detail={"signature": pair.failed.signature, "fix": fix},
        more=((pair.worked.row, pair.worked.does),),
    )


def _workflow(row: Row, before: Exchange) -> list[Finding]:
    """The steps of the exchange before, when the user says that they worked."""
    if before.state != "answered" or not before.said:
        return []
    says = next((one for one in sentences(own_text(row.content)) if says_it_works(one)), "")
    done = working_steps(steps(before.tools)) if says else []
    if len(done) < MANY_STEPS:
        return []
    asked = before.said[0]
    title = next(iter(sentences(own_text(asked.content))), "")[:TITLE_CHARS]
    listed = "; ".join(f"{n}. `{step.does[:STEP_CHARS]}`" for n, step in enumerate(done, 1))
    finding = Finding(
        text=f"{title.rstrip(' .!?:')}: {listed}",
        kind="workflow",
        quote=exact(says, row.content) or says,
        row=row,
        basis="confirmed",
        rule="worked",
        more=((asked, exact(title, asked.content) or title), *((step.row, step.does) for step in done)),
    )
    return [finding] if title else []


def rows_of(finding: Finding) -> Sequence[Row]:
    """All messages that a finding was made from."""
    return (finding.row, *(row for row, _ in finding.more))
