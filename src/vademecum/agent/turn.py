"""One turn, from the user's message to the stored answer: the one implementation for chat and every host.

Idea: entering records the message, `call` runs tools and counts failures, `answer` records the answer; whoever has a
loop of their own only brings the model. Invariant: a turn that is left, in whatever way, ends answered or marked as
interrupted, and `events` holds whatever the person should be told about it. A process that is killed leaves the turn
as far as it was recorded; a later request shows it as interrupted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from vademecum.agent.sharing import Steps, answered, before_answer, keep_steps
from vademecum.errors import UsageError, VademecumError
from vademecum.ids import new_id
from vademecum.model import Origin, StoreName, ToolSpec

if TYPE_CHECKING:
    from vademecum.agent.session import Session, TurnKind
    from vademecum.agent.tools import Answer
    from vademecum.gate.trust import Trust
    from vademecum.vault.delta import Delta

State = Literal["new", "open", "answered", "interrupted"]

INTERRUPTED = "(interrupted before an answer was complete)"


class Turn:
    """A turn in progress; get one with `session.turn(text)` and use it in a `with` block.

    `id` names it in the messages' `turn` column; `context` is what is recalled, and what is new in the shared log, for
    the sent copy of the message; `tools` are the schemas that the model may call; `events` are lines for the person,
    never for the model; `proposals` are the ids of what now waits for a person.
    """

    def __init__(self, session: Session, text: str, kind: TurnKind, made_in: Origin | None = None) -> None:
        self.session = session
        self.text = text
        self.kind: TurnKind = kind
        self.made_in = made_in
        self.id = new_id()
        self.context = ""
        self.state: State = "new"
        self.events: list[str] = []
        self.proposals: list[str] = []
        self.calls = 0
        self.unseen: Delta | None = None
        """What of the shared log is shown in this turn; seen once it is answered."""
        self.briefed = ""
        """The checkpoint whose brief this turn begins with."""
        self.steps = Steps()
        self._question: int | None = None

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """What the model may call in this turn."""
        return self.session.vm.tools()

    @property
    def trust(self) -> Trust:
        """The lowest class of trust in the context: `outside` once it has heard outside text, `user` when somebody
        else than the owner speaks, else `assistant`. A tool that can do harm may ask a person when it is low.
        """
        return self.session.trust

    def __enter__(self) -> Self:
        if self.state != "new":
            raise UsageError("A turn is used once.", "Ask the session for another turn.")
        from vademecum.core.memory_tool import Attempts

        self.state = "open"
        session = self.session
        session.refresh()
        session.attempts = Attempts()
        if self.kind == "user":
            self._question = session.record("user", self.text, Origin.user(session.vm.actor.user), turn=self.id)
        else:  # the host's words must never be taken for the user's
            session.record("system", self.text, self._prompt_origin(), turn=self.id)
        if session.vm.config.memory.provider:
            from vademecum.agent.incoming import recall_for

            recall_for(self, first=session.unasked)
            session.unasked = False
        before_answer(self)
        if session.tell_stale():
            self.tell("Memory has changed since this session began; a new session will start with it.")
        return self

    def _prompt_origin(self) -> Origin:
        """A host's own prompt is its agent's; what another session wrote for a subagent may hold anything it read."""
        agent = self.session.vm.actor.agent
        if self.kind != "subagent":
            return Origin.agent(agent)
        origin = self.made_in or Origin.agent(f"{agent}/subagent")
        self.session.context.hear(origin)
        return origin

    def call(self, name: str, args: dict[str, Any]) -> Answer:
        """Run a tool for the model; see `Session.tool`."""
        self._must_be_open()
        self.calls += 1
        answer = self.session.call(name, args, turn=self.id)
        self._notice(name, args, answer)
        if self.steps.add(name, args, ok=answer.get("success") is not False):
            keep_steps(self)
        return answer

    def memory_files(self, command: object) -> tuple[str, bool]:
        """Run a command of Anthropic's memory tool; its answer, and True when it failed (`is_error`).

        `command` is the tool's input, a mapping or one of the vendor's own objects. See `agent.memory_files`.
        """
        dump = getattr(command, "model_dump", None)
        given: Any = dump(exclude_none=True) if callable(dump) else command
        if not isinstance(given, Mapping):
            return str(self.refuse("memory_files")["error"]), True
        answer = self.call("memory_files", dict(cast("Mapping[str, Any]", given)))
        return str(answer.get("text") or answer.get("error")), answer.get("success") is not True

    def refuse(self, name: str) -> Answer:
        """Answer a call whose arguments are no JSON object, and record it; nothing was run."""
        from vademecum.agent.tools import as_sent, malformed

        self._must_be_open()
        self.calls += 1
        answer = malformed(self.session.attempts, name)
        call: dict[str, Any] = {"name": name, "args": {}}
        self.session.record("tool", as_sent(answer), Origin.tool(name), tool=name, calls=[call], turn=self.id)
        self._notice(name, {}, answer)
        return answer

    def answer(self, text: str, *, interrupted: bool = False) -> None:
        """Store the assistant's answer and end the turn; `interrupted` keeps the part that had arrived."""
        self._must_be_open()
        self.state = "answered"
        session = self.session
        if interrupted or not text.strip() or self._question is None or not session.vm.config.memory.provider:
            session.record("assistant", text, Origin.assistant(), turn=self.id)
        else:
            self._answer_and_tell(self._question, text)
        if interrupted:
            self._interrupt()
            return
        answered(self)
        keep_steps(self, finished=True)
        if self.kind == "user":
            session.review_when_due(self.calls)

    def _answer_and_tell(self, question: int, text: str) -> None:
        """Store the answer, and in the same transaction that the memory next to the core has to hear of this turn."""
        from vademecum.agent.incoming import after_turn
        from vademecum.agent.outgoing import tell_turn

        session = self.session
        with session.vm.db.atomic():
            answer = session.record("assistant", text, Origin.assistant(), turn=self.id)
            if answer is not None:
                tell_turn(session.vm, session.id, self.id, question, answer, session.channel)
        after_turn(session.vm, self.text)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.state != "open":
            return
        if error is None:
            self._interrupt()
            return
        with contextlib.suppress(VademecumError):  # the caller's own error is the one to be seen
            self._interrupt()

    def _interrupt(self) -> None:
        self.state = "interrupted"
        self.session.record("system", INTERRUPTED, Origin.assistant(), turn=self.id)

    def _must_be_open(self) -> None:
        if self.state != "open":
            raise UsageError(
                f"This turn is {self.state}; nothing was recorded.",
                "Use it inside its `with` block, before its answer.",
            )

    def tell(self, line: str) -> None:
        """Tell the person something, once."""
        if line not in self.events:
            self.events.append(line)

    def _notice(self, name: str, args: dict[str, Any], answer: Answer) -> None:
        proposal = answer.get("proposal")
        if answer.get("staged") and isinstance(proposal, str):
            self.proposals.append(proposal)
            self.tell(f"A proposal waits for you: vademecum review show {proposal}")
        if name in ("note", "memory_files") and answer.get("success"):
            self.session.remember_state()
        if name != "memory":
            return
        self.session.remember_state()
        target: StoreName = "user" if args.get("target") == "user" else "memory"
        view = self.session.vm.memory.view(target)
        label = "The user profile" if target == "user" else "Memory"
        size = f"{view.percent}%, {view.used:,} of {view.limit:,} characters"
        if answer.get("code") == "full":
            self.tell(f"{label} is full ({size}): the entry was refused, nothing was dropped.")
        elif answer.get("code") == "attempts":
            self.tell("The memory tool failed three times and is closed for this turn; something was not saved.")
        elif view.consolidate:
            self.tell(f"{label} is nearly full ({size}): time to merge entries, vademecum memory edit {target}")
