"""The pages of an export that are for reading: conversations and facts as Markdown.

Idea: the records beside them are what is read back, so a page may be plain. Invariant: a page holds the words as they
were said, and says of each where they came from.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vademecum.clock import iso

Record = dict[str, Any]


def readme(user: str | None) -> str:
    """The first page."""
    whose = "Everything of a home of vademecum" if user is None else f"What a home of vademecum keeps of {user}"
    return f"""# {whose}

- `agents/`: the agents' files as they are: identity, memory, notes, skills, daily notes
- `conversations/`: every conversation, a page each
- `facts.md`: what was learnt, with the words that say so
- `vault/`: the folder that agents share, when it lies in the home
- `records/`: the same conversations and facts for programs, a JSON object a line
- `manifest.json`: what is here, with the SHA-256 of every file

Keys, tokens and the history of changes are not here: a backup has them. To read it all into an empty home:

    vademecum --home NEW import vademecum THIS-FOLDER
"""


def session_page(session: Record, messages: Iterator[Record]) -> Iterator[tuple[str, Record | None]]:
    """The page of a conversation piece by piece, each with the message that it is of."""
    about = [f"- id: {session['id']}", f"- begun: {_time(session['opened_at'])}"]
    about += [f"- channel: {session['channel']}"] if session["channel"] else []
    about += [f"- from: {session['source']}"] if session["source"] else []
    about += [f"- outside: {session['outside']}"] if session["outside"] else []
    title = " ".join(session["title"].split()) or "Conversation"
    yield f"# {title}\n\n" + "\n".join(about) + "\n", None
    for message in messages:
        yield _said(message), message


def _said(message: Record) -> str:
    who = message["speaker"] or message["tool"] or message["role"]
    role = message["role"] if who != message["role"] else ""
    head = " · ".join(part for part in (f"**{who}**", role, _time(message["time"]), f"`{message['origin']}`") if part)
    held = "\n\n(in quarantine)" if message["held"] else ""
    calls = f"\n\n```json\n{message['calls']}\n```" if message["calls"] else ""
    return f"\n{head}{held}\n\n{message['content']}{calls}\n"


def facts_page(facts: Iterator[Record]) -> Iterator[str]:
    """The page of all facts piece by piece."""
    yield "# What was learnt\n"
    for fact in facts:
        owner = fact["owner"]
        whose = " ".join(part for part in (owner["scope"], owner["agent"], owner["user"], owner["name"]) if part)
        state = "withdrawn" if fact["withdrawn"] else "in quarantine" if fact["held"] else ""
        ended = f"held until {_time(fact['valid_to'])}" if fact["valid_to"] is not None else ""
        about = [fact["kind"], whose, _time(fact["learnt_at"]), f"`{fact['origin']}`", ended, state]
        yield f"\n- {_flat(fact['text'])}\n  ({' · '.join(part for part in about if part)})\n"
        for one in fact["evidence"]:
            yield f"  > {_flat(one['quote'])}\n"


def _flat(text: str) -> str:
    return " ".join(text.split())


def _time(ms: int) -> str:
    return iso(ms)[:16].replace("T", " ")
