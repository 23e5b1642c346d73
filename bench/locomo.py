"""How much of the evidence for a question the search over turns brings: `python bench/locomo.py PATH [--json]`.

Each conversation of a LoCoMo file goes into a home of its own, as messages with speaker and time, and is embedded by
the local embedder; each question is asked of `recall_turns`, which knows no answer, and no chat model runs.
What a turn shares as a picture is its caption, in brackets after its text (`--no-captions` leaves it out).

`recall@k` is the mean share of a question's evidence turns among the first k turns; `session_recall@k` the share of
their sessions among the first k sessions that 100 ranked turns name, in that order; `ndcg@10` with equal gains.
All are fractions over the questions that have evidence, without category 5 (no answer in the conversation), which is
listed apart. An empty answer counts as none found. Baselines in the same run: the full-text index alone (any content
word, bm25) and vectors alone (the question as it stands). `other` are questions of the other conversations, to which
the answer is not there: the share of them that gets nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import vademecum
from vademecum.agent.embedding import embed_now
from vademecum.agent.vademecum import Vademecum
from vademecum.bank.recall.turns import recall_turns
from vademecum.model import Origin
from vademecum.search.query import read
from vademecum.search.vectors import vector_index
from vademecum.sessions import NewMessage
from vademecum.store.message_index import Filter, MessageIndex

FIRST, DEPTH = 20, 100
"""Turns that are asked for: for what is counted in turns, and for what is counted in sessions."""
KEYS = ("recall@5", "recall@10", "recall@20", "ndcg@10", "session_recall@5", "session_recall@10")
UNANSWERABLE = "5"
PARTS = (("p50", 0.5), ("p95", 0.95))
FIRST_DAY = datetime(2023, 1, 1, 12, tzinfo=UTC)
DATES = ("%I:%M %p on %d %B, %Y", "%Y/%m/%d (%a) %H:%M", "%Y/%m/%d %H:%M", "%Y-%m-%d %H:%M", "%d %B, %Y", "%Y-%m-%d",
         "%B %d, %Y", "%Y/%m/%d")  # fmt: skip


@dataclass(slots=True)
class Question:
    text: str
    category: str
    evidence: list[str]


@dataclass(slots=True)
class Session:
    name: str
    at: datetime
    turns: list[dict[str, Any]]


@dataclass(slots=True)
class Conversation:
    name: str
    sessions: list[Session] = field(default_factory=list[Session])
    questions: list[Question] = field(default_factory=list[Question])


Ranked = list[int]
Search = Callable[[str, int], Ranked]


def date_of(text: object, before: datetime) -> datetime:
    """A session's time; a week after the one before when it has none that can be read."""
    for form in DATES:
        try:
            return datetime.strptime(str(text).strip(), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    try:
        at = datetime.fromisoformat(str(text).strip())
    except ValueError:
        return before + timedelta(days=7)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def evidence_of(given: object) -> list[str]:
    """Ids of evidence turns from a list or a string of them, separated by anything but what ids are made of."""
    pieces = given if isinstance(given, list) else [given] if given else []
    return [one for piece in pieces for one in re.split(r"[\s;,]+", str(piece)) if one]


def conversations(path: Path) -> Iterator[Conversation]:
    """The conversations of a file: a list of them, one alone, or a mapping by name."""
    data: Any = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(data, dict) and "conversation" not in data:
        data = [one | {"sample_id": name} if isinstance(one, dict) else one for name, one in data.items()]
    for number, one in enumerate(data if isinstance(data, list) else [data]):
        held: dict[str, Any] = one.get("conversation") or {}
        found = Conversation(str(one.get("sample_id") or number))
        names = [name for name, turns in held.items() if isinstance(turns, list)]
        names.sort(key=lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)])
        at = FIRST_DAY - timedelta(days=7)
        for name in names:
            at = date_of(held.get(f"{name}_date_time") or held.get(f"{name}_date"), at)
            found.sessions.append(Session(name, at, [turn for turn in held[name] if isinstance(turn, dict)]))
        for asked in one.get("qa") or []:
            found.questions.append(
                Question(str(asked["question"]), str(asked.get("category", "")), evidence_of(asked.get("evidence")))
            )
        yield found


@dataclass(slots=True)
class Stored:
    """A conversation in a home: the message of each turn id, and the session of each message."""

    vm: Vademecum
    messages: dict[str, int]
    session_of: dict[int, str]


def store(one: Conversation, home: Path, captions: bool) -> Stored:
    vm = vademecum.open(home, config={"memory.provider": "bank"})
    messages, session_of = dict[str, int](), dict[int, str]()
    first = next((turn.get("speaker") for session in one.sessions for turn in session.turns), "user")
    for session in one.sessions:
        opened = round(session.at.timestamp() * 1000)
        info = vm.history.open(title=session.name.replace("_", " "), opened_at=opened)
        new = [message(turn, first, opened + n * 1000, captions) for n, turn in enumerate(session.turns)]
        vm.history.record_many(info.id, new)
        for turn, stored in zip(session.turns, vm.history.messages(info.id), strict=True):
            messages[str(turn.get("dia_id") or turn.get("id") or f"{session.name}:{len(messages)}")] = stored.id
            session_of[stored.id] = session.name
    embed_now(vm)
    return Stored(vm, messages, session_of)


def message(turn: dict[str, Any], first: object, at: int, captions: bool) -> NewMessage:
    speaker = str(turn.get("speaker") or turn.get("role") or "user")
    text = str(turn.get("text") or turn.get("content") or "")
    if captions and turn.get("blip_caption"):
        text = f"{text} [shares {turn['blip_caption']}]"
    is_role = speaker.casefold() in ("user", "assistant")
    role = speaker.casefold() if is_role else "user" if speaker == first else "assistant"
    named = "" if is_role else speaker
    origin = Origin.user() if role == "user" else Origin.assistant()
    return NewMessage("user" if role == "user" else "assistant", text or "…", origin, time=at, speaker=named)


def product(stored: Stored, vectors: bool) -> Search:
    vm = stored.vm
    embedder = vm.embedder if vectors else None

    def search(question: str, limit: int) -> Ranked:
        hits = recall_turns(vm.db, vm.actor, question, embedder=embedder, limit=limit, now=vm.clock())
        return [int(one) for hit in hits for one in (hit.id.removeprefix("message:"), *map(_number, hit.collapsed))]

    return search


def _number(ref: str) -> str:
    return ref.removeprefix("message:")


def full_text(stored: Stored) -> Search:
    index = MessageIndex(stored.vm.db, stored.vm.actor, Filter())

    def search(question: str, limit: int) -> Ranked:
        query = read(question)
        terms = query.content or query.terms
        return index.best(" OR ".join(term.match for term in terms), limit) if terms else []

    return search


def nearest(stored: Stored) -> Search:
    embedder = stored.vm.embedder
    assert embedder is not None
    index = vector_index(stored.vm.db, "message", embedder.name)
    return lambda question, limit: [ref for ref, _ in index.nearest(embedder.embed([question])[0], limit)]


def scores(stored: Stored, question: Question, ranked: Ranked, deep: Ranked) -> list[float] | None:
    """The values of KEYS for one question; None when none of its evidence is known."""
    gold = {stored.messages[one] for one in question.evidence if one in stored.messages}
    if not gold:
        return None
    of = {stored.session_of[one] for one in gold}
    visited = list(dict.fromkeys(stored.session_of[one] for one in deep))
    gain = sum(1 / math.log2(place + 2) for place, one in enumerate(ranked[:10]) if one in gold)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(gold))))
    found = [len(gold.intersection(ranked[:k])) / len(gold) for k in (5, 10, 20)]
    return [*found, gain / ideal, *(len(of.intersection(visited[:k])) / len(of) for k in (5, 10))]


Rows = list[tuple[str, str, list[float]]]
"""Category, conversation, values."""


def means(rows: Rows) -> dict[str, float]:
    return {
        key: round(statistics.fmean(row[2][place] for row in rows), 4) if rows else 0.0
        for place, key in enumerate(KEYS)
    }


def summary(rows: Rows) -> dict[str, Any]:
    asked = [row for row in rows if row[0] != UNANSWERABLE]
    by = {category: means([row for row in rows if row[0] == category]) for category in sorted({row[0] for row in rows})}
    each = {name: means([row for row in asked if row[1] == name]) for name in dict.fromkeys(row[1] for row in rows)}
    apart = by.pop(UNANSWERABLE, None)
    return {**means(asked), "questions": len(asked), "categories": by, "category_5": apart, "conversations": each}


def measure(path: Path, captions: bool, log: Callable[[str], object]) -> dict[str, Any]:
    found = list(conversations(path))
    rows: dict[str, Rows] = {}
    times: list[float] = []
    nothing = {"own": [0, 0], "category_5": [0, 0], "other": [0, 0]}
    with tempfile.TemporaryDirectory() as folder:
        for number, one in enumerate(found):
            stored = store(one, Path(folder) / str(number), captions)
            ways = {"recall": product(stored, True), "without_vectors": product(stored, False),
                    "full_text": full_text(stored), "vectors": nearest(stored)}  # fmt: skip
            for question in one.questions:
                for name, search in ways.items():
                    began = time.perf_counter()
                    ranked = search(question.text, FIRST)
                    if name == "recall":
                        times.append((time.perf_counter() - began) * 1000)
                        kind = "category_5" if question.category == UNANSWERABLE else "own"
                        nothing[kind][0] += not ranked
                        nothing[kind][1] += 1
                    values = scores(stored, question, ranked, search(question.text, DEPTH))
                    if values is not None:
                        rows.setdefault(name, []).append((question.category, one.name, values))
            for other in found[:number] + found[number + 1 :]:
                for question in other.questions[::20]:
                    nothing["other"][0] += not ways["recall"](question.text, FIRST)
                    nothing["other"][1] += 1
            stored.vm.close()
            log(f"{one.name}: {len(stored.messages)} turns, {len(one.questions)} questions")
    ways_summed = {name: summary(each) for name, each in rows.items()}
    times.sort()
    return {
        **ways_summed.pop("recall", summary([])),
        "baselines": ways_summed,
        "answered_nothing": {name: round(a / b, 4) if b else None for name, (a, b) in nothing.items()},
        "milliseconds": {name: round(times[int(len(times) * part)], 1) if times else 0.0 for name, part in PARTS},
    }  # fmt: skip


def table(result: dict[str, Any]) -> str:
    lines = [f"{'':<28}" + "".join(f"{key:>19}" for key in KEYS)]
    baselines: dict[str, Any] = result["baselines"]

    def line(name: str, values: dict[str, float]) -> None:
        lines.append(f"{name:<28}" + "".join(f"{100 * values[key]:>19.1f}" for key in KEYS))

    line("recall", result)
    for name, values in baselines.items():
        line(name, values)
    for part in ("categories", "conversations"):
        for name, values in result[part].items():
            line(f"  {part[:-1] if part != 'categories' else 'category'} {name}", values)
    if result["category_5"]:
        line("  category 5, apart", result["category_5"])
    lines += [f"nothing answered: {result['answered_nothing']}", f"milliseconds: {result['milliseconds']}"]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--no-captions", action="store_true")
    given = parser.parse_args()
    result = measure(given.path, not given.no_captions, lambda text: print(text, file=sys.stderr))
    print(json.dumps(result, indent=2) if given.json else table(result))


if __name__ == "__main__":
    main()
