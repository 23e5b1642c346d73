"""One conversation of a host, as a session: what is recalled for a message, and what was said.

Idea: asking for the context of a message opens its turn, telling the answer closes it; the two are matched by the
message, since a host may ask for the next before it has told the last. Invariant: what the host's own tools brought
in from outside is heard before the answer that was made from it is kept, and nothing is kept of a conversation that
the host only reads for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vademecum.errors import UsageError
from vademecum.gate.trust import OWN_TOOLS, tool_origin
from vademecum.late import dataclass
from vademecum.model import Origin, StoreName
from vademecum.store.imported import Imported, Item

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vademecum.agent.session import Session
    from vademecum.agent.turn import Turn
    from vademecum.agent.vademecum import Vademecum

OPEN_TURNS = 2
"""Messages that may wait for their answer; the oldest of more was interrupted."""
RESULT_CHARS = 20_000
"""Of what a tool of the host put out, so many characters are kept."""
_LIVE = str(2**53)
"""How far an import of the host's own database has read, where everything is told here at once."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Whose conversation it is: `host` names the program, `id` the conversation in it, `channel` where people write.

    `shares` are the texts that the host itself puts into the prompt; `adopted`: it keeps the very files of this agent.
    """

    host: str
    id: str
    channel: str = ""
    title: str = ""
    parent: str = ""
    writes: bool = True
    adopted: bool = False
    shares: Mapping[StoreName, Sequence[str]] | None = None


class Conversation:
    """The session of one conversation. Whoever calls does so in one thread at a time."""

    def __init__(self, vm: Vademecum, peer: Peer) -> None:
        self.vm = vm
        self.peer = peer
        self._session: Session | None = None
        self._turns: list[Turn] = []
        self._marked = False

    @property
    def session(self) -> Session:
        """The session, opened or resumed when it is first needed; one of which nothing is kept for who only reads."""
        if self._session is None:
            self._session = self._opened()
        return self._session

    def _opened(self) -> Session:
        vm, peer = self.vm, self.peer
        if not peer.writes:
            return vm.session(channel=peer.channel, incognito=True)
        parent = vm.history.open(source=self._source(peer.parent)).id if peer.parent else None
        info = vm.history.open(
            source=self._source(peer.id), channel=peer.channel or peer.host, title=peer.title, parent=parent
        )
        return vm.session(id=info.id)

    def _source(self, conversation: str) -> str:
        return f"{self.peer.host}:{conversation}"

    def prompt(self) -> str:
        """What belongs at the head of the conversation: entries and index that the host does not show by itself."""
        from vademecum.core.snapshot import take_snapshot

        vm, parts = self.vm, list[str]()
        shares = self.peer.shares or {}
        if not self.peer.adopted:
            titles: dict[StoreName, str] = {"memory": "Your notes", "user": "Who the user is"}
            for store, title in titles.items():
                if not vm.memory.enabled(store):
                    continue
                document = vm.memory.load(store)
                known = {text.strip() for text in shares.get(store, ())}
                pairs = zip(document.texts, vm.memory.shown(document), strict=True)
                kept = [shown for text, shown in pairs if text.strip() not in known]
                if kept:
                    parts.append("\n".join([f"## {title}", *(f"- {one}" for one in kept)]))
        sections = take_snapshot(vm.memory, vm.notes, vm.folder).sections
        parts += [section.text for section in sections if section.name == "notes"]
        return "\n\n".join(parts)

    def context(self, text: str) -> dict[str, object]:
        """Begin the turn of the user's message `text`; what is recalled for it, and lines for the person."""
        while len(self._turns) >= OPEN_TURNS:
            self._turns.pop(0).__exit__(None, None, None)
        turn = self.session.turn(text)
        turn.__enter__()
        self._turns.append(turn)
        return {"context": turn.context, "events": turn.events}

    def answer(self, text: str, answer: str, tools: Sequence[Mapping[str, Any]]) -> None:
        """The turn of the message `text` was answered; `tools` are the calls of the host's own tools in it."""
        session = self.session
        for tool in tools:
            self._observe(tool)
        turn = next((turn for turn in reversed(self._turns) if turn.text == text), None)
        if turn is None:  # the host did not ask for context
            session.user(text)
            session.assistant(answer)
        else:
            turn.answer(answer)
            self._turns.remove(turn)
        if not self._marked and not session.incognito:
            source = f"{self.peer.host}-session/{self.vm.actor.agent}/{self.vm.actor.user}"
            Imported(self.vm.db).put(Item(source, self.peer.id, "", self.vm.clock(), _LIVE))
            self._marked = True

    def _observe(self, tool: Mapping[str, Any]) -> None:
        name, text = str(tool.get("name") or "tool"), str(tool.get("text") or "")
        if name in OWN_TOOLS:
            return
        args: dict[str, Any] = tool["args"] if isinstance(tool.get("args"), dict) else {}
        kept = text if len(text) <= RESULT_CHARS else f"{text[:RESULT_CHARS]}\n[shortened]"
        self.session.observe(kept, tool_origin(name, args, text))

    def heard(self, name: str, args: dict[str, Any], text: str) -> None:
        """A tool of the host has just put out `text`; it is kept with the answer."""
        if name not in OWN_TOOLS:
            self.session.context.hear(tool_origin(name, args, text))

    def call(self, name: str, args: dict[str, Any]) -> dict[str, object]:
        """Run a tool of ours for the model, in the turn that is open."""
        return self._turns[-1].call(name, args) if self._turns else self.session.tool(name, args)

    def remembered(self, action: str, target: str, content: str, old: str) -> dict[str, object]:
        """The model wrote with the host's own memory tool: written here, too, unless the files are the same."""
        if self.peer.adopted or not self.peer.writes:
            return {"success": True, "note": "the files are this agent's own" if self.peer.adopted else "not kept"}
        if action not in ("add", "replace", "remove"):
            raise UsageError(f"There is no memory action {action!r}.", "Use add, replace or remove.")
        args: dict[str, Any] = {"action": action, "target": target}
        args |= {"content": content} if content else {}
        args |= {"old_text": old} if old else {}
        return self.call("memory", args)

    def delegated(self, task: str, result: str) -> None:
        """A subagent of the host has answered `result`; what it had read is not known, so it counts as outside."""
        name = f"{self.vm.actor.agent}/subagent"
        self.session.observe(f"{task}\n\n{result[:RESULT_CHARS]}", Origin.agent(name))

    def end(self, reason: str) -> None:
        """The conversation is over: it is looked through for facts and reviewed. One that goes on is resumed."""
        self.release()
        session, self._session = self._session, None
        if session is not None:
            session.close(reason)

    def release(self) -> None:
        """Leave the conversation open; messages without an answer are marked as interrupted."""
        while self._turns:
            self._turns.pop(0).__exit__(None, None, None)
