"""`vademecum session`: what was said, found again.

Idea: sessions and hits as columns for people and as the documented objects for scripts. Invariant: only the chosen
user's sessions are seen, and deleting names everything or deletes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vademecum.clock import parse_iso
from vademecum.errors import NotFoundError, UsageError
from vademecum.surfaces.cli.app import App, Group
from vademecum.surfaces.cli.output import ago, clip, clock_time, moment, plural, printable, table
from vademecum.surfaces.cli.terminal import confirmed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vademecum.sessions.types import Message, SessionHit, SessionInfo

ROLES = ("user", "assistant", "tool", "system")


@click.group(cls=Group)
def session() -> None:
    """Conversations: list them, read them, search them, delete them."""


@session.command(name="list")
@click.option(
    "--limit", "-n", type=click.IntRange(1), default=20, show_default=True, help="How many, the latest first."
)
@click.option("--channel", help="Only those of one channel, such as `chat` or `claude-code`.")
@click.pass_obj
def list_(app: App, limit: int, channel: str | None) -> None:
    """Print recent sessions. An open one that began before the latest change of memory is marked."""
    vm, style = app.vm, app.style
    infos = vm.history.recent(limit, channel=channel)
    now_sha = _sha_now(app) if any(i.ended_at is None for i in infos) else ""
    rows = [_info_json(info, now_sha) for info in infos]
    if app.json or not infos:
        app.emit_list(rows, style.dim("No sessions yet. `vademecum chat` starts one."))
        return
    now = vm.clock()
    wide = max(style.width - 62, 24) if style.width else 60
    cells = [
        (i.id, ago(i.last_at, now), f"{i.messages:,}", clip(i.channel or "-", 30), clip(_name(i), wide)) for i in infos
    ]
    lines = table(cells, ("session", "last said", "messages", "channel", "title"), style)
    for line, row in zip(lines, [None, *rows], strict=True):
        print(line + (style.warn("  older than the files") if row and row["stale"] else ""))


@session.command()
@click.argument("session_id", metavar="ID")
@click.option("--head", type=click.IntRange(0), help="Only the first N messages (and the last --tail).")
@click.option("--tail", type=click.IntRange(0), help="Only the last N messages (and the first --head).")
@click.option("--around", type=click.IntRange(1), metavar="MESSAGE", help="Only what was said round this message.")
@click.option("--snapshot", is_flag=True, help="Print the frozen prompt instead of the messages.")
@click.option("--manifest", is_flag=True, help="Print what was recalled into each turn, and what was left out.")
@click.pass_obj
def show(
    app: App, session_id: str, head: int | None, tail: int | None, *, around: int | None, snapshot: bool, manifest: bool
) -> None:
    """Print a session's messages."""
    history = app.vm.history
    info = history.find(session_id)
    if manifest:
        from vademecum.surfaces.cli.manifest import show_manifest

        show_manifest(app, info.id)
        return
    if snapshot:
        app.emit({"session_id": info.id, "snapshot": info.snapshot or ""}, info.snapshot or "")
        return
    if around is not None:
        first, last = _round(app, info, around), list["Message"]()
    elif head is None and tail is None:
        first, last = history.messages(info.id), list["Message"]()
    else:
        first, last = history.read(info.id, head or 0, tail or 0)
    left_out = info.messages - len(first) - len(last)
    if app.json:
        data = [message_json(message) for message in (*first, *last)]
        app.emit({**_info_json(info, _sha_now(app)), "results": data, "query": "", "hint": _left_out(left_out)})
        return
    style = app.style
    print(style.bold(printable(_name(info))))
    print(style.dim(f"{info.id} · {clock_time(info.opened_at)} · {plural(info.messages, 'message')}{_ended(info)}"))
    _print_messages(app, first)
    if left_out:
        print("\n" + style.dim(f"     … {_left_out(left_out)} …"))
    _print_messages(app, last)


@session.command()
@click.argument("words", nargs=-1, required=True, metavar="QUERY...")
@click.option("--limit", "-n", type=click.IntRange(1, 200), default=10, show_default=True, help="At most so many.")
@click.option("--role", type=click.Choice(ROLES), help="Only what this role said.")
@click.option("--channel", help="Only from one channel.")
@click.option("--session", "session_id", metavar="ID", help="Only within one session.")
@click.option("--since", metavar="DATE", help="Only from this date or time on (ISO 8601).")
@click.option("--until", metavar="DATE", help="Only before this date or time (ISO 8601).")
@click.option("--newest", is_flag=True, help="Newest first instead of best first.")
@click.pass_obj
def search(app: App, words: tuple[str, ...], limit: int, newest: bool, **filters: str | None) -> None:
    """Search everything that was said. Any text is a query; a quoted phrase is found as it stands."""
    answer = app.vm.history.search(
        " ".join(words),
        limit=limit,
        role=filters["role"],
        channel=filters["channel"],
        session_id=filters["session_id"],
        since=_time(filters["since"], "--since"),
        until=_time(filters["until"], "--until"),
        order="newest" if newest else "relevance",
    )
    if app.json:
        app.emit_list([hit_json(hit) for hit in answer.results], query=answer.query, hint=answer.hint)
        return
    for line in hit_lines(app, answer.results):
        print(line)
    if not answer.results:
        print("Nothing found.")
        print(app.style.dim(f"Read as: {printable(answer.query)}."))
    if answer.hint:
        print(app.style.dim(sentence(answer.hint)))


@session.command()
@click.option("--key", help="Find it again by this key, such as `telegram:42`; ends the key's open session.")
@click.option("--channel", default="", help="Where it takes place.")
@click.option("--title", default="", help="A title; else the first words of the user become it.")
@click.pass_obj
def new(app: App, key: str | None, channel: str, title: str) -> None:
    """Open a session with memory as it is now, and print its id."""
    opened = app.vm.session(key, channel=channel, new=key is not None)
    if title:
        app.vm.history.set_title(opened.id, title)
    app.emit({"session_id": opened.id, "key": opened.key, "snapshot": opened.snapshot}, opened.id)


@session.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--yes", "-y", is_flag=True, help="Do not ask; needed where nobody can be asked.")
@click.pass_obj
def delete(app: App, ids: tuple[str, ...], yes: bool) -> None:
    """Delete sessions with all their messages. This cannot be undone."""
    history = app.vm.history
    infos = [history.find(session_id) for session_id in ids]  # all or none: an unknown id deletes nothing
    count = sum(info.messages for info in infos)
    what = f"{plural(len(infos), 'session')} with {plural(count, 'message')}"
    if not confirmed(f"Delete {what} for good?", yes=yes, json=app.json):
        print("Nothing was deleted.")
        return
    gone = sum(history.delete(info.id) for info in infos)
    app.emit({"success": True, "sessions": len(infos), "messages": gone}, f"Deleted {what}.")


def _round(app: App, info: SessionInfo, message: int) -> list[Message]:
    found = app.vm.history.around(message)
    if found[0].session_id != info.id:
        raise NotFoundError(f"Message {message} is not of session {info.id}.", f"It is of {found[0].session_id}.")
    return found


def sentence(hint: str) -> str:
    """A hint of the search for people: printable, with a capital at its beginning."""
    return printable(hint[:1].upper() + hint[1:])


def _time(text: str | None, option: str) -> int | None:
    if text is None:
        return None
    try:
        return parse_iso(text)
    except ValueError as error:
        raise UsageError(f"{option} {text!r} is not a date.", "Write it as 2026-11-29 or 2026-11-29T17:42.") from error


def _sha_now(app: App) -> str:
    from vademecum.agent.session import sha256, snapshot_now

    return sha256(snapshot_now(app.vm))


def _name(info: SessionInfo) -> str:
    return info.title or info.key or "untitled"


def _ended(info: SessionInfo) -> str:
    return f" · ended ({info.end_reason})" if info.ended_at is not None else ""


def _left_out(count: int) -> str:
    return f"{plural(count, 'message')} left out" if count > 0 else ""


def _info_json(info: SessionInfo, now_sha: str) -> dict[str, object]:
    stale = info.ended_at is None and info.snapshot_sha256 is not None and info.snapshot_sha256 != now_sha
    return {
        "session_id": info.id,
        "key": info.key,
        "title": info.title,
        "channel": info.channel,
        "parent": info.parent,
        "opened_at": moment(info.opened_at),
        "last_at": moment(info.last_at),
        "ended_at": moment(info.ended_at),
        "end_reason": info.end_reason,
        "messages": info.messages,
        "stale": stale,
    }


def message_json(message: Message) -> dict[str, object]:
    """A message as scripts see it."""
    return {
        "message_id": message.id,
        "time": moment(message.time),
        "role": message.role,
        "content": message.content,
        "tool": message.tool,
        "calls": list(message.calls),
        "origin": str(message.origin),
        "channel": message.channel,
    }


def hit_json(hit: SessionHit) -> dict[str, object]:
    """A hit as scripts see it."""
    return {
        "session_id": hit.session_id,
        "message_id": hit.message_id,
        "role": hit.role,
        "time": moment(hit.time),
        "snippet": hit.snippet,
        "score": hit.score,
        "title": hit.title,
        "why": hit.why,
    }


def hit_lines(app: App, hits: Sequence[SessionHit]) -> list[str]:
    """Hits for people: where and when, then the words."""
    style, now, lines = app.style, app.vm.clock(), list[str]()
    for hit in hits:
        if lines:
            lines.append("")
        title = clip(hit.title or "untitled", 50)
        about = f" · {hit.role} · {ago(hit.time, now)} · message {hit.message_id} of {hit.session_id}"
        lines += [style.bold(title) + style.dim(about), style.indent(hit.snippet.strip(), "  ")]
    return lines


def _print_messages(app: App, messages: Sequence[Message]) -> None:
    style = app.style
    for message in messages:
        name = printable(f"{message.role} {message.tool}" if message.tool else message.role)
        paint = style.accent if message.role == "user" else style.bold if message.role == "assistant" else style.dim
        print(f"\n{paint(name)}  {style.dim(f'{clock_time(message.time)} · {message.id}')}")
        print(style.indent(message.content, "  "))
