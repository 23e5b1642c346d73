"""What a conversation looks like: for a person, through a pipe, or as JSON.

Idea: events become lines; the answer itself goes to standard output, and beside a pipe everything else goes to
standard error. Invariant: a proposal is shown to the byte before a person answers y or n.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, cast

from vademecum.errors import VademecumError
from vademecum.model import StoreName
from vademecum.surfaces.cli.memory import STORES, view_lines
from vademecum.surfaces.cli.origin import actor_origin, on_terminal
from vademecum.surfaces.cli.output import Style, ago, cells, clip, dumps, plural, printable, table
from vademecum.surfaces.cli.terminal import Flow, ask, remember

if TYPE_CHECKING:
    from vademecum.agent.chat import Chat, Event
    from vademecum.agent.session import Session
    from vademecum.surfaces.cli.app import App

COMMANDS = {
    "/new": "begin a new session; memory is read again",
    "/memory": "show what is remembered",
    "/search WORDS": "search everything that was said",
    "/notes [NAME]": "list the notes, or show one",
    "/help": "show this",
    "/quit": "leave; so does Ctrl-D. Ctrl-C stops an answer",
}
_PLAIN = re.compile(r'"(?:target|action|content|operations|query|name)": |[{}"\[\]]')
_COMMAND = re.compile(r"/[a-z]+(?=\s|$)")


class Screen:
    """A conversation for people. `interactive` is false beside a pipe: then only answers go to standard output."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.interactive = on_terminal()
        self.style = app.style if self.interactive else Style()
        self._aside = sys.stdout if self.interactive else sys.stderr

    def _say(self, line: str = "") -> None:
        print(line, file=self._aside, flush=True)

    def welcome(self, session: Session, model: str) -> None:
        """Who is talking to whom, how full memory is, and where a resumed conversation stands."""
        if not self.interactive:
            return
        style, app = self.style, self._app
        who = app.agent if app.user == "owner" else f"{app.agent} with {app.user}"
        self._say(f"{style.bold('vademecum')}  {style.dim(f'{who} · {model}')}")
        self._say(self._usage())
        if session.incognito:
            self._say(style.warn("Incognito: nothing of this conversation is kept."))
        self._resumed(session)
        self._say(style.dim("/help for commands, Ctrl-D to leave"))
        self._say()

    def _resumed(self, session: Session) -> None:
        messages = [] if session.incognito else self._app.vm.history.messages(session.id)
        spoken = [m for m in messages if m.role in ("user", "assistant") and m.content.strip()]
        remember([m.content for m in messages if m.role == "user"])
        if not spoken:
            return
        style, now = self.style, self._app.vm.clock()
        title = clip(session.title or session.key or "untitled", 60)
        where = f"· {plural(len(messages), 'message')}, {ago(spoken[-1].time, now)}"
        self._say(f"Resuming {style.bold(title)} {style.dim(where)}")
        session.tell_stale()  # said here, it is no news in the next turn
        if session.stale:
            self._say(
                style.warn("Memory has changed since this session began. It goes on with what it knew; /new re-reads.")
            )
        for message in spoken[-2:]:
            mark = "›" if message.role == "user" else " "
            self._say(style.dim(f"  {mark} {clip(message.content, max(style.width - 4, 40))}"))

    def _usage(self) -> str:
        style, memory = self.style, self._app.vm.memory
        labels: dict[StoreName, str] = {"memory": "memory", "user": "profile"}
        parts: list[str] = []
        for store in STORES:
            view = memory.view(store)
            if view.enabled:
                bar = style.bar(view.percent, warn=view.consolidate, size=10)
                parts.append(f"{style.dim(labels[store])} {bar} {view.percent}%")
        return "   ".join(parts)

    def turn(self, chat: Chat, text: str) -> None:
        """Send `text` and show what comes; afterwards ask about proposals."""
        from vademecum.agent.chat import Answered, Called, Done, Notice, Piece, Proposed

        flow, proposals, before = Flow(self.style), list[str](), self._usage()
        events = cast("Generator[Event]", chat.send(text))
        with (
            contextlib.closing(flow),
            contextlib.closing(events),
        ):  # an interrupt in here ends the turn as a cut-off one
            for event in events:
                match event:
                    case Piece(piece):
                        flow.feed(piece)
                    case Called(name, line):
                        flow.close()
                        self._called(name, line)
                    case Answered(_, ok, line):
                        self._answered(ok, line)
                    case Notice(line):
                        flow.close()
                        self._say(self.style.warn(f"  {printable(line)}"))
                    case Proposed(proposal):
                        proposals.append(proposal)
                    case Done():
                        pass
        for proposal in proposals:
            self._propose(proposal, chat.session)
        after = self._usage()
        if after != before:
            self._say(f"  {after}")
        if self.interactive:
            self._say()

    def _called(self, name: str, line: str) -> None:
        room = max((self.style.width or 100) // 2, 30)
        words = _PLAIN.sub("", line.removeprefix(name)).strip()
        print(self.style.dim(f"  {name}  {clip(words, room)}"), end="", file=self._aside, flush=True)
        self._used = cells(name) + 4 + min(cells(words), room)

    def _answered(self, ok: bool, line: str) -> None:
        room = max((self.style.width or 120) - self._used - 5, 20)
        mark = self.style.good("✓") if ok else self.style.bad("✗")
        self._say(f"  {mark} {self.style.dim(clip(line, room))}")

    def _propose(self, proposal_id: str, session: Session) -> None:
        from vademecum.surfaces.cli.proposal_view import proposal_lines

        vm = self._app.vm
        proposal = vm.review.show(proposal_id)
        target = vm.review.target(proposal)
        self._say()
        for line in proposal_lines(self.style, proposal, vm.clock(), target):
            self._say(line)
        if not self.interactive or actor_origin().kind != "person":
            self._say(f"It waits for a person: vademecum review show {proposal.id}")
            return
        answer = ask("Write this?")
        if answer is None:
            self.hint(f"It waits: vademecum review show {proposal.id}")
        elif answer:
            done = vm.review.approve(proposal.id, by=actor_origin(), sha256=proposal.sha256, base=target.base)
            session.remember_state()
            self._say(f"{self.style.good('✓')} {done}")
        else:
            vm.review.reject(proposal.id)
            self.hint("Rejected; it will not be proposed again.")

    def command(self, text: str) -> bool:
        """Carry out a slash command; False when `text` is none. A path such as /etc/hosts is text for the model."""
        found = _COMMAND.match(text)
        if found is None:
            return False
        name, rest = found.group(), text[found.end() :].strip()
        match name:
            case "/memory":
                self._memory()
            case "/search":
                self._search(rest)
            case "/notes":
                self._notes(rest)
            case "/help":
                for line in table([(key, self.style.dim(value)) for key, value in COMMANDS.items()]):
                    self._say(f"  {line}")
                self._say()
            case _:
                self.hint(f"There is no command {name}; /help lists them.\n")
        return True

    def _memory(self) -> None:
        for store in STORES:
            for line in view_lines(self._app, store, self._app.vm.memory.view(store)):
                self._say(line)
            self._say()

    def _search(self, words: str) -> None:
        from vademecum.surfaces.cli.session import hit_lines, sentence

        if not words:
            self.hint("What for? /search WORDS\n")
            return
        answer = self._app.vm.search_sessions(words, limit=5)
        for line in hit_lines(self._app, answer.results) or ["Nothing found."]:
            self._say(line)
        if answer.hint:
            self.hint(sentence(answer.hint))
        self._say()

    def _notes(self, name: str) -> None:
        notes = self._app.vm.notes
        if name:
            self._say(self.style.indent(notes.read(name).body.strip("\n"), "  "))
        else:
            rows = [(head.slug, self.style.dim(clip(head.description or head.name, 70))) for head in notes.list()]
            for line in table(rows) or [self.style.dim("No notes yet.")]:
                self._say(f"  {line}")
        self._say()

    def hint(self, line: str) -> None:
        """A quiet line for the person."""
        self._say(self.style.dim(line))

    def error(self, error: VademecumError) -> None:
        """Say what went wrong; the conversation goes on."""
        self._say(f"{self.style.bad('error:')} {printable(error.message)}")
        if error.hint:
            self._say(f"{self.style.dim('hint: ')} {printable(error.hint)}")
        self._say()

    def goodbye(self, session: Session) -> None:
        """How to come back."""
        if not self.interactive or session.incognito or not session.spoken:
            return
        again = f"--key {session.key}" if session.key else f"--resume {session.id}"
        self.hint(f"Go on with: vademecum chat {again}")


class JsonScreen:
    """A conversation for scripts: one JSON object a turn on standard output."""

    interactive = False

    def welcome(self, session: Session, model: str) -> None:
        """Nothing: the first output is the first turn's."""

    def command(self, text: str) -> bool:  # noqa: ARG002  every line is a message
        """None: every line is a message for the model."""
        return False

    def turn(self, chat: Chat, text: str) -> None:
        """Send `text`; print the answer with its tool calls, notices and proposals."""
        events = list(chat.send(text))
        data: dict[str, Any] = {"session_id": chat.session.id, "answer": ""}
        data |= {"tools": [], "notices": [], "proposals": []}
        for event in events:
            _collect(event, data)
        print(dumps(data), flush=True)

    def hint(self, line: str) -> None:
        """Nothing: hints are for people."""

    def error(self, error: VademecumError) -> None:
        """Print the error object in the place of the turn."""
        print(dumps(error.as_dict()), flush=True)

    def goodbye(self, session: Session) -> None:
        """Nothing."""


def _collect(event: Event, data: dict[str, Any]) -> None:
    from vademecum.agent.chat import Answered, Called, Done, Notice, Piece, Proposed

    match event:
        case Done(text, usage):
            tokens = {
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "dollars": usage.dollars,
            }
            data |= {"answer": text, "usage": tokens}
        case Called(name, line):
            data["tools"].append({"name": name, "call": line})
        case Answered(_, ok, line):
            data["tools"][-1] |= {"ok": ok, "answer": line}
        case Notice(line):
            data["notices"].append(line)
        case Proposed(proposal):
            data["proposals"].append(proposal)
        case Piece():
            pass
