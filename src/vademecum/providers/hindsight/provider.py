"""Hindsight as a provider: the contract, and the three tools for the model.

Idea: an exchange, or a few of them, is one document; Hindsight makes facts of it in the background and is asked later
whether it did. Invariant: a turn is in one document, after any failure and any repetition; no session is handed over
twice; an operation that failed is tried again, and said, and never taken for stored.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import threading
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

from vademecum.errors import ProviderError, VademecumError
from vademecum.gate.selector import Selector
from vademecum.ids import new_id
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
from vademecum.providers.hindsight.bank import Bank, Document, Fact
from vademecum.providers.hindsight.batches import Batches
from vademecum.providers.hindsight.options import BUDGETS, SCOPES, TYPES, Options, options
from vademecum.providers.matching import SHORTEST_PART, is_meant, plain
from vademecum.providers.pending import Operation, Pending

_LONGEST_QUERY = 800
_LONGEST_NEEDLE = 200
_MOST = 20  # facts of one answer
_CHECKED = 20  # operations that are asked about after one turn
_TRIES = 3  # how often a failed one is tried again
_WAIT_SECONDS, _LOOK_SECONDS = 10.0, 0.2
_KINDS = {"world": "fact"}

log = logging.getLogger("vademecum.providers")

_QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
_STRINGS = {"type": "array", "items": {"type": "string"}}
TOOLS = (
    ToolSpec(
        "hindsight_retain",
        "Keep information in long-term memory; Hindsight makes facts, entities and relations of it in the background.",
        {
            "type": "object",
            "properties": {
                "content": {"type": "string"},
                "context": {"type": "string", "description": "Where it comes from, in a few words."},
                "tags": _STRINGS,
                "entities": {**_STRINGS, "description": "Names that it is about."},
            },
            "required": ["content"],
        },
    ),
    ToolSpec(
        "hindsight_recall",
        "Search long-term memory by meaning, words, time and related entities. Use it before you answer from memory.",
        _QUERY,
    ),
    ToolSpec(
        "hindsight_reflect",
        "Have Hindsight answer a question from all that it knows, with reasons. Slower than hindsight_recall.",
        _QUERY,
    ),
)


class Hindsight(Provider):
    """Hindsight, in its cloud or on a server of one's own."""

    name: ClassVar[str] = "hindsight"

    def __init__(self) -> None:
        self._opened: Bank | None = None
        self._options: Options | None = None
        self._context: Context | None = None
        self._files: Batches | None = None
        self._operations: Pending | None = None
        self._syncing = threading.Lock()

    def available(self, settings: Mapping[str, Any], env: Mapping[str, str]) -> Availability:
        """A key for the cloud; a server of one's own needs none."""
        try:
            said = options(settings, env)
        except VademecumError as error:
            return Availability(False, error.message, error.hint)
        if said.mode == "cloud" and not said.key:
            return Availability(
                False, "HINDSIGHT_API_KEY is missing.",
                "Get a key at ui.hindsight.vectorize.io, or set api_url to a server of your own.",
            )  # fmt: skip
        return Availability(True)

    @classmethod
    def config_schema(cls) -> tuple[Setting, ...]:
        """The mode decides what else is needed."""
        flags = ("true", "false")
        return (
            Setting("mode", "the vendor's cloud, or a server of your own", "cloud", choices=("cloud", "local")),
            Setting("api_key", "the key of the cloud, or of your server if it asks for one", env="HINDSIGHT_API_KEY",
                    secret=True),
            Setting("api_url", "address of your server", env="HINDSIGHT_API_URL"),
            Setting("bank_id", "name of the bank; default: one for each agent", env="HINDSIGHT_BANK_ID"),
            Setting("bank_id_template", "instead: {profile}, {workspace}, {platform}, {user}, {session} filled in"),
            Setting("recall_budget", "how much Hindsight looks at", "mid", choices=BUDGETS),
            Setting("recall_types", "what is recalled", ",".join(TYPES)),
            Setting("recall_tags", "only what has one of these tags"),
            Setting("recall_prefetch_method", "facts, or an answer that its model writes (slower)", "recall",
                    choices=("recall", "reflect")),
            Setting("retain_every_n_turns", "how many turns are stored together", "1"),
            Setting("retain_async", "let Hindsight make its facts in the background", "true", choices=flags),
            Setting("retain_tags", "tags of everything that is stored"),
            Setting("observation_scopes", "what is consolidated together: everything, or by tags", "shared",
                    choices=SCOPES),
            Setting("file", "a config.json to read; default: hindsight/config.json in the home, if any"),
        )  # fmt: skip

    def open(self, context: Context) -> None:
        """Make the connection; only the bank's missions are sent at once. Raises ProviderError."""
        from vademecum.providers.http import Http

        with read.ours():
            said = options(context.settings, context.env, context.folder)
            self._options, self._context = said, context
            self._files, self._operations = Batches(context.folder), Pending(context.folder / "operations")
            self._opened = self._bank_of(Http(
                "Hindsight", said.url, headers={"Authorization": f"Bearer {said.key}"} if said.key else {},
                seconds=min(said.seconds or context.seconds, context.seconds), clock=context.clock,
            ), context.actor)  # fmt: skip
            self._opened.describe()

    def _bank_of(self, http: Any, actor: Actor) -> Bank:
        context = self._host
        name = self._said.bank_of(actor, channel=context.channel, session=context.session)
        return Bank(http, name, self._said)

    def close(self) -> None:
        """Let go of the connections; turns that wait for more stay where they are."""
        if self._opened is not None:
            self._opened.close()

    @property
    def _bank(self) -> Bank:
        assert self._opened is not None, "open comes first"
        return self._opened

    @property
    def _said(self) -> Options:
        assert self._options is not None, "open comes first"
        return self._options

    @property
    def _host(self) -> Context:
        assert self._context is not None, "open comes first"
        return self._context

    @property
    def _batches(self) -> Batches:
        assert self._files is not None, "open comes first"
        return self._files

    @property
    def _pending(self) -> Pending:
        assert self._operations is not None, "open comes first"
        return self._operations

    def system_block(self) -> str:
        """What the model needs to know of the tools."""
        return (
            "Hindsight keeps long-term memory: facts, what was experienced, and observations drawn from both. "
            "hindsight_recall finds them, hindsight_reflect answers a question from them with reasons, "
            "hindsight_retain keeps more. Conversations are handed over by themselves."
        )

    # --- what is read

    def prefetch(self, query: str) -> Sequence[Recalled]:
        """The facts that fit, or with `recall_prefetch_method: reflect` what Hindsight's model says of them."""
        text = query.strip()[:_LONGEST_QUERY]
        if not text:
            return []
        if self._said.method == "reflect":
            answer, _ = self._bank.reflect(text)
            digits = hashlib.sha256(answer.encode("utf-8", "surrogatepass")).hexdigest()[:12]
            return [Recalled(f"reflection-{digits}", answer, "reflection")] if answer else []
        return [_recalled(one) for one in self._bank.recall(text)[:_MOST]]

    def facts(self, since: int = 0) -> Iterable[Recalled]:
        """What it learnt about since then."""
        return [_recalled(one) for one in self._bank.facts() if one.at is None or one.at >= since]

    def export(self) -> Iterable[Recalled]:
        """All facts, experiences and observations."""
        return [_recalled(one) for one in self._bank.facts()]

    # --- what is stored

    def sync_turn(self, turn: TurnRecord) -> None:
        """Store an exchange, or let it wait on disk for more of its session. Each turn once."""
        with self._syncing, read.ours():
            held = self._batches
            held.load()
            now = self._host.clock()
            if turn.id not in held.done:
                held.add(turn, now)
                if len(held.waiting[turn.session].turns) < self._said.every:
                    held.save()
            for session in held.ripe(self._said.every, now):
                self._hand_over(session)
            self._look_after()

    def on_session_end(self, session: str) -> None:
        """What still waits of the session is stored."""
        with self._syncing, read.ours():
            self._batches.load()
            if session in self._batches.waiting:
                self._hand_over(session)
            self._look_after()

    def on_session_switch(self, old: str, new: str) -> None:  # noqa: ARG002
        """What still waits of the old session is stored; nothing is handed over again."""
        self.on_session_end(old)

    def _hand_over(self, session: str) -> None:
        held = self._batches
        if self._said.every > 1:
            held.save()  # should the answer get lost, the same document is handed over again
        self._put(held.waiting[session].document())
        held.stored(session)
        held.save()

    def _put(self, document: Document, *, in_background: bool | None = None) -> str:
        """Store a document, and note the operation if Hindsight does it later."""
        later = self._said.in_background if in_background is None else in_background
        operation = self._bank.retain(document, in_background=later)
        if operation:
            self._pending.expect(Operation(operation, document.session))
        return operation

    def _look_after(self) -> None:
        """Ask what became of earlier operations; failed ones are tried again. Raises ProviderError when one failed.

        The turn itself is stored by then; the error is for the person, and the retry of the turn asks again.
        """
        failed: list[str] = []
        for operation in self._pending.all()[:_CHECKED]:
            state, why = self._bank.state(operation.id)
            if state in ("pending", "processing"):
                continue
            if state == "failed":
                failed.append(why)
                if operation.tries < _TRIES:
                    self._bank.again(operation.id)
                    self._pending.expect(Operation(operation.id, operation.session, operation.tries + 1))
                    continue
                log.warning("Hindsight gave up on a text of session %s: %s", operation.session or "-", why[:200])
            self._pending.settled(operation)
        if failed:
            raise ProviderError(
                f"Hindsight accepted {len(failed)} texts and could not process them: {failed[0][:200] or 'no reason'}.",
                "It is told to try again. Look at its model and its log if it stays so.",
                passing=True,
            )

    def store(self, text: str, *, kind: str = "fact") -> str:
        """Store one statement now; the id is that of its document."""
        document = Document(f"note-{new_id()}", text, at=self._host.clock(), context=kind)
        with read.ours():
            self._put(document, in_background=False)
        return document.id

    def on_memory_write(self, change: MemoryChange) -> None:
        """What goes into the core is stored as well; what leaves it is erased."""
        with read.ours():
            if change.before and plain(change.before) != plain(change.after):
                self._bank.erase(_core_id(change.before))
            if change.after:
                about = "what the user is like and wants" if change.store == "user" else "a note of the assistant"
                document = Document(
                    _core_id(change.after), change.after, at=change.at, context=about, seal=str(change.at)
                )
                self._put(document)

    # --- tools

    def tools(self) -> tuple[ToolSpec, ...]:
        """All three."""
        return TOOLS

    def writes(self, name: str, args: Mapping[str, Any]) -> bool:  # noqa: ARG002
        """Only to retain."""
        return name == "hindsight_retain"

    def call_tool(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Run a tool. Raises ProviderError."""
        with read.ours():
            match name:
                case "hindsight_retain":
                    return self._retain(args)
                case "hindsight_recall":
                    found = self._bank.recall(read.given(args, "query")[:_LONGEST_QUERY])[:_MOST]
                    return {"results": [_shown(one) for one in found]}
                case "hindsight_reflect":
                    answer, based = self._bank.reflect(read.given(args, "query")[:_LONGEST_QUERY])
                    return {"answer": answer, "based_on": [_shown(one) for one in based[:_MOST]]}
                case _:
                    known = ", ".join(tool.name for tool in TOOLS)
                    raise ProviderError(f"Hindsight has no tool {name}.", f"There are {known}.")

    def _retain(self, args: Mapping[str, Any]) -> dict[str, Any]:
        document = Document(
            f"note-{new_id()}", read.given(args, "content"), at=self._host.clock(), context=read.text(args, "context"),
            tags=_listed(args, "tags"), entities=_listed(args, "entities"),
        )  # fmt: skip
        later = self._put(document)
        return {"outcome": "accepted; it can be recalled in a while" if later else "stored", "document_id": document.id}

    # --- forgetting

    def forget(self, selector: Selector) -> Forgotten:
        """Erase the documents of a session, those that hold a text, or a user's whole bank."""
        kept = (
            "Copies in Hindsight's logs and backups are out of reach of its API." if self._said.mode == "cloud" else ""
        )
        with self._syncing, read.ours():
            match selector.kind:
                case "session":
                    count = self._forget_session(selector.value)
                case "user":
                    count = self._forget_user(selector.value)
                case "entry":
                    count = self._forget_entry(selector.value)
                    if count:
                        kept = f"An exchange is erased with all that Hindsight made of it. {kept}".strip()
                case _:
                    return Forgotten(0, "Hindsight does not know which source a fact came from.")
        return Forgotten(count, kept)

    def _forget_session(self, session: str) -> int:
        held = self._batches
        held.load()
        count = len(held.waiting[session].turns) if session in held.waiting else 0
        if count:
            held.stored(session)
            held.save()
        with self._after_operations(session):
            prefix = f"turns-{session}-"
            meant = {one for one in self._bank.documents(prefix) if one.startswith(prefix)}
            return count + sum(self._bank.erase(one) for one in meant)

    def _forget_user(self, user: str) -> int:
        bank = self._bank
        actor = self._host.actor
        if user != actor.user:
            return self._other(user).erase_all()
        for operation in self._pending.all():
            bank.cancel(operation.id)
            self._pending.settled(operation)
        self._batches.load()
        count = sum(len(batch.turns) for batch in self._batches.waiting.values())
        self._batches.waiting.clear()
        self._batches.save()
        return count + bank.erase_all()

    def _other(self, user: str) -> Bank:
        return self._bank.named(self._said.bank_of(Actor(self._host.actor.agent, user), channel=self._host.channel))

    def _forget_entry(self, value: str) -> int:
        held = self._batches
        held.load()
        count = 0
        for batch in held.waiting.values():
            left = [turn for turn in batch.turns if not _says(turn, value)]
            count += len(batch.turns) - len(left)
            batch.turns = left
        if count:
            held.waiting = {session: batch for session, batch in held.waiting.items() if batch.turns}
            held.save()
        with self._after_operations():
            return count + sum(self._bank.erase(one) for one in self._documents(value))

    def _documents(self, value: str) -> set[str]:
        """The documents that an id or a text names, by what they say or by what was made of them."""
        bank = self._bank
        found = {value} if bank.document(value) is not None else set[str]()
        needle = value.strip().partition("\n")[0][:_LONGEST_NEEDLE]
        named = bank.fact(value.strip())
        meant = [fact for fact in bank.facts(q=needle) if is_meant(value, fact.id, fact.text)]
        for fact in [*([named] if named else []), *meant]:
            sources = [one for id_ in fact.sources if (one := bank.fact(id_)) is not None]
            found.update(one.document for one in (fact, *sources) if one.document)
        if len(plain(value)) >= SHORTEST_PART:
            texts = [(id_, bank.document(id_)) for id_ in bank.documents(needle) if id_ not in found]
            found.update(id_ for id_, text in texts if text is not None and plain(value) in plain(text))
        return found

    @contextlib.contextmanager
    def _after_operations(self, session: str | None = None) -> Generator[None]:
        """Erase when nothing is under way that would bring it back; what still is, is called off, and the error that
        is raised then has the erasure tried again.
        """
        deadline = time.monotonic() + _WAIT_SECONDS
        late: list[Operation] = []
        for operation in self._pending.all(session):
            while (state := self._bank.state(operation.id)[0]) in ("pending", "processing"):
                if time.monotonic() > deadline:
                    late.append(operation)
                    break
                time.sleep(_LOOK_SECONDS)
            if state == "failed" and session is not None:
                self._pending.settled(operation)
        for operation in late:
            self._bank.cancel(operation.id)
        yield
        if late:
            raise ProviderError(
                f"Hindsight still works on {len(late)} texts; what it had finished was erased.",
                "It was told to stop; the rest is erased when it did.",
                passing=True,
            )

    def backup_paths(self) -> tuple[Path, ...]:
        """Turns that wait, and what is not known to be done."""
        return (*self._batches.paths(), *self._pending.paths()) if self._files is not None else ()


def _core_id(text: str) -> str:
    digits = hashlib.sha256(plain(text).encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return f"core-{digits}"


def _says(turn: TurnRecord, value: str) -> bool:
    return is_meant(value, turn.id, turn.user) or is_meant(value, turn.id, turn.assistant)


def _listed(args: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value: Any = args.get(key) or []
    if not isinstance(value, list):
        raise ProviderError(f"{key} is no list; nothing was changed.", f"Write {key} as a list of texts.")
    return tuple(text for one in cast("list[object]", value) if (text := str(one).strip()))


def _shown(one: Fact) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": one.id, "text": one.text, "type": one.kind}
    if one.entities:
        shown["entities"] = list(one.entities)
    return shown | dict(one.extra)


def _recalled(one: Fact) -> Recalled:
    detail = dict(one.extra) | ({"entities": ", ".join(one.entities)} if one.entities else {})
    return Recalled(one.id, one.text, _KINDS.get(one.kind, one.kind), one.score, one.at, detail)
