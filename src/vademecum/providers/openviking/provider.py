"""OpenViking as a provider: the contract.

Idea: what was said goes into a conversation of OpenViking, which its model makes memories of when it is over; one
statement is one file. Invariant: a turn is in one conversation once, after any failure; nobody else's files are seen;
a conversation of which no memories could be made is said to be one.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from vademecum.clock import iso
from vademecum.errors import ProviderError, VademecumError
from vademecum.gate.selector import Selector
from vademecum.model import Actor, ToolSpec
from vademecum.providers import settings as read
from vademecum.providers.contract import (
    Availability,
    Context,
    Forgotten,
    MemoryChange,
    Provider,
    Recalled,
    Setting,
    TurnRecord,
)
from vademecum.providers.http import Http, checked
from vademecum.providers.matching import is_meant
from vademecum.providers.openviking.options import ENDPOINT, Options, options
from vademecum.providers.openviking.tools import CATEGORIES, TOOLS, WRITERS, Tools, address
from vademecum.providers.openviking.viking import SHARED, Found, Viking
from vademecum.providers.pending import Operation, Pending

_LONGEST_QUERY = 2_000
_LONGEST_TEXT = 1_500  # characters of one recalled file
_LONGEST_NEEDLE = 200
_REMEMBERED = 500  # ids of turns that were stored lately
_CHECKED = 20  # tasks that are asked about after one turn
_WAIT_SECONDS, _LOOK_SECONDS = 15.0, 0.25
_UNDER_WAY = ("pending", "running")


class OpenViking(Provider):
    """OpenViking, over HTTP."""

    name: ClassVar[str] = "openviking"

    def __init__(self) -> None:
        self._viking: Viking | None = None
        self._options: Options | None = None
        self._context: Context | None = None
        self._tasks: Pending | None = None
        self._done: OrderedDict[str, None] = OrderedDict()
        self._syncing, self._meeting = threading.Lock(), threading.Lock()
        self._met = False

    def available(self, settings: Mapping[str, Any], env: Mapping[str, str]) -> Availability:
        """Whether the address and the names can be used; a server of one's own needs no key."""
        try:
            said = options(settings, env)
            checked("OpenViking", said.url)
        except VademecumError as error:
            return Availability(False, error.message, error.hint)
        return Availability(True)

    @classmethod
    def config_schema(cls) -> tuple[Setting, ...]:
        """Nothing is required for a server on this machine."""
        return (
            Setting("endpoint", "address of the server", ENDPOINT, env="OPENVIKING_ENDPOINT"),
            Setting("api_key", "its key, if it asks for one", env="OPENVIKING_API_KEY", secret=True),
            Setting("account", "the account in OpenViking", "default", env="OPENVIKING_ACCOUNT"),
            Setting("user", "your name in OpenViking", "default", env="OPENVIKING_USER"),
            Setting("agent", "the agent's name in OpenViking; default: its own", env="OPENVIKING_AGENT"),
            Setting("recall_limit", "most memories of one turn", "6", env="OPENVIKING_RECALL_LIMIT"),
            Setting("score_threshold", "least score of a memory, 0 to 1", "0.15"),
            Setting("recall_resources", "recall from resources too", "false", choices=("true", "false")),
            Setting("file", "an ovcli.conf to read; default: ~/.openviking/ovcli.conf, if any"),
        )  # fmt: skip

    def open(self, context: Context) -> None:
        """Prepare the connection; nothing is sent before the first request. Raises ProviderError."""
        with read.ours():
            said = options(context.settings, context.env)
            self._options, self._context, self._tasks = said, context, Pending(context.folder / "tasks")
            self._viking = self._view(context.actor, said.user_of(context.actor))

    def _view(self, actor: Actor, user: str, *, whole: bool = False) -> Viking:
        """The API as that user sees it; `whole`: with what every agent has of them."""
        said, context = self._said, self._host
        agent = said.agent_of(actor)
        headers = {"X-OpenViking-Account": said.account, "X-OpenViking-User": user}
        headers |= {} if whole else {"X-OpenViking-Actor-Peer": agent}
        headers |= {"X-API-Key": said.key} if said.key else {}
        http = Http("OpenViking", said.url, headers=headers, seconds=context.seconds, clock=context.clock)
        return Viking(http, user, agent)

    def close(self) -> None:
        """Let go of the connections."""
        if self._viking is not None:
            self._viking.close()

    @property
    def _said(self) -> Options:
        assert self._options is not None, "open comes first"
        return self._options

    @property
    def _pending(self) -> Pending:
        assert self._tasks is not None, "open comes first"
        return self._tasks

    @property
    def _host(self) -> Context:
        assert self._context is not None, "open comes first"
        return self._context

    def _to(self) -> Viking:
        """The API, once it is known for whom the server takes us: a key may belong to one user only."""
        assert self._viking is not None, "open comes first"
        if not self._met:
            with self._meeting:
                if not self._met:
                    self._viking = self._checked(self._viking)
                    self._met = True
        return self._viking

    def _checked(self, viking: Viking) -> Viking:
        taken_for = viking.me()
        if taken_for == viking.user:
            return viking
        if self._host.actor.is_owner and not self._said.user and taken_for:
            viking.close()
            return self._view(self._host.actor, taken_for)
        raise ProviderError(
            f"OpenViking takes the user {viking.user!r} for {taken_for!r}, whose key it is. Nothing was sent.",
            "Set user to that name; for more users run the server in trusted mode, or give each a home of their own.",
        )

    def system_block(self) -> str:
        """What the model needs to know of the tools."""
        return (
            "OpenViking keeps memories and resources as files under viking://. viking_search finds them by meaning, "
            "viking_read and viking_browse look closer, viking_remember keeps a memory word for word, viking_forget "
            "erases one, viking_add_resource files a page. Conversations are handed over by themselves."
        )

    # --- what is read

    def prefetch(self, query: str) -> Sequence[Recalled]:
        """The memories that fit; with `recall_resources` what fits of the resources too."""
        text = query.strip()[:_LONGEST_QUERY]
        if not text:
            return []
        viking, said = self._to(), self._said
        within = [viking.root, *([SHARED] if said.resources else [])]
        kind = "" if said.resources else "memory"
        found = viking.find(text, within=within, limit=said.limit, threshold=said.threshold, kind=kind)
        return [_recalled(one) for one in found if one.text]

    def facts(self, since: int = 0) -> Iterable[Recalled]:
        """The memories that have changed since then."""
        return [one for one in self.export() if one.at is None or one.at >= since]

    def export(self) -> Iterable[Recalled]:
        """All memories of this user and agent."""
        viking = self._to()
        for root in viking.memories:
            for entry in viking.entries(root):
                if entry.is_folder:
                    continue
                text = viking.read(entry.uri)
                if text is not None and text.strip():
                    yield Recalled(entry.uri, text.strip(), "memory", None, entry.at)

    # --- what is stored

    def sync_turn(self, turn: TurnRecord) -> None:
        """Add an exchange to its conversation, once. OpenViking's model is asked when the conversation is over."""
        with self._syncing, read.ours():
            viking = self._to()
            if turn.id not in self._done and not viking.grep(viking.session(turn.session), turn.id):
                self._add(viking, turn)
            self._done[turn.id] = None
            while len(self._done) > _REMEMBERED:
                self._done.popitem(last=False)
            self._look_after()

    def _add(self, viking: Viking, turn: TurnRecord) -> None:
        at = iso(turn.at)
        messages = [{"role": "user", "content": turn.user, "turn_id": turn.id, "created_at": at}]
        if turn.assistant.strip():
            messages.append({"role": "assistant", "content": turn.assistant, "turn_id": turn.id, "created_at": at})
        viking.add(turn.session, messages)

    def on_session_end(self, session: str) -> None:
        """Have memories made of the conversation. Whether it worked is looked at with what comes next."""
        with self._syncing, read.ours():
            task = self._to().commit(session)
            if task:
                self._pending.expect(Operation(task, session))
            self._look_after()

    def _look_after(self) -> None:
        """Ask what became of conversations that were over. Raises ProviderError when no memories could be made of one.

        What was to be stored is stored by then; the error is for the person.
        """
        failed: list[str] = []
        for operation in self._pending.all()[:_CHECKED]:
            state, why = self._to().task(operation.id)
            if state not in _UNDER_WAY:
                self._pending.settled(operation)
            if state == "failed":
                failed.append(f"{operation.session}: {why[:200]}")
        if failed:
            raise ProviderError(
                f"OpenViking keeps {len(failed)} conversations, but could make no memories of them ({failed[0]}).",
                "Look at the section vlm of its ov.conf, and at its log.",
                passing=True,
            )

    def on_session_switch(self, old: str, new: str) -> None:  # noqa: ARG002
        """The old conversation is over."""
        self.on_session_end(old)

    def on_pre_compress(self, turns: Sequence[TurnRecord]) -> None:
        """What leaves the prompt becomes memories now."""
        for session in dict.fromkeys(turn.session for turn in turns):
            self.on_session_end(session)

    def store(self, text: str, *, kind: str = "fact") -> str:
        """Keep one statement as a file; the id is its address."""
        viking = self._to()
        uri = address(viking, text, kind if kind in CATEGORIES else "fact")
        viking.write(uri, text)
        return uri

    def on_memory_write(self, change: MemoryChange) -> None:
        """What goes into the core is a file as well; what leaves it is none any more."""
        viking = self._to()
        category = "preference" if change.store == "user" else "fact"
        if change.after:
            viking.write(address(viking, change.after, category), change.after)
        if change.before and change.before != change.after:
            viking.remove(address(viking, change.before, category))

    def backup_paths(self) -> tuple[Path, ...]:
        """What is not known to be done."""
        return self._pending.paths() if self._tasks is not None else ()

    # --- tools

    def tools(self) -> tuple[ToolSpec, ...]:
        """All six."""
        return TOOLS

    def writes(self, name: str, args: Mapping[str, Any]) -> bool:  # noqa: ARG002
        """To remember, to forget, to add."""
        return name in WRITERS

    def call_tool(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Run a tool. Raises ProviderError."""
        with read.ours():
            return Tools(self._to()).run(name, args)

    # --- forgetting

    def forget(self, selector: Selector) -> Forgotten:
        """Erase a conversation with the memories made of it, single memories, or all of a user."""
        viking = self._to()
        match selector.kind:
            case "session":
                return self._forget_session(selector.value)
            case "user":
                return self._forget_user(selector.value)
            case "entry":
                meant = self._named(selector.value)
                for uri in meant:
                    viking.remove(uri)
                needle = _needle(selector.value)
                talks = viking.grep(f"{viking.root}/sessions", needle) if needle else []
                names = sorted({uri.split("/sessions/", 1)[-1].split("/", 1)[0] for uri in talks})
                kept = (
                    f"It also stands in what OpenViking keeps of the conversations {', '.join(names)}." if names else ""
                )
                return Forgotten(len(meant), kept)
            case _:
                return Forgotten(0, "OpenViking does not know which source a memory came from.")

    def _forget_session(self, session: str) -> Forgotten:
        viking = self._to()
        deadline = time.monotonic() + _WAIT_SECONDS
        while (busy := viking.commits(session)) and time.monotonic() < deadline:
            time.sleep(_LOOK_SECONDS)
        made, changed = viking.made_of(session)
        count = sum(viking.remove(uri) for uri in made)
        if busy:
            raise ProviderError(
                f"OpenViking still makes memories of the conversation {session}; those that were there are erased.",
                "The rest is erased when it is done.",
                passing=True,
            )
        count += viking.drop(session)
        left = [uri for uri in changed if uri not in made]
        kept = f"OpenViking merged something of it into {', '.join(left)}: look there." if left else ""
        return Forgotten(count, kept)

    def _forget_user(self, user: str) -> Forgotten:
        mine, actor = self._to(), self._host.actor
        other = Actor(actor.agent, user)
        view = self._view(other, mine.user if user == actor.user else self._said.user_of(other), whole=True)
        try:
            return Forgotten(self._checked(view).remove(view.root, recursive=True))
        finally:
            view.close()

    def _named(self, value: str) -> list[str]:
        """The memories that an address or a text names."""
        viking = self._to()
        uri = value.strip()
        if uri.startswith("viking://"):
            return [uri] if viking.is_mine(uri, memory=True) and viking.read(uri) is not None else []
        needle = _needle(value)
        found = [one for root in viking.memories for one in viking.grep(root, needle)] if needle else []
        held = [one for one in found if viking.is_mine(one, memory=True)]
        return [one for one in held if is_meant(value, one, viking.read(one) or "")]


def _needle(value: str) -> str:
    """The first line of a text, which stands as it is in a file, as far as it is looked for."""
    return value.strip().partition("\n")[0].strip()[:_LONGEST_NEEDLE]


def _recalled(one: Found) -> Recalled:
    return Recalled(one.uri, one.text[:_LONGEST_TEXT], "memory" if one.kind == "memory" else "document", one.score)
