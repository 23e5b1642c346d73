"""The holographic memory as a provider: the contract, and the two tools for the model.

Idea: what the user says that is worth keeping is found by the rules of `bank/signals`, everything else is written by
the model through `fact_store`; a fact that proved right or wrong gains or loses trust. Invariant: nothing is sent
anywhere; a wrong argument is an answer that says what to write instead.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from vademecum.errors import LockedError, ProviderError, StorageError, VademecumError
from vademecum.gate.selector import Selector
from vademecum.model import ToolSpec
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
from vademecum.providers.matching import is_meant, plain

if TYPE_CHECKING:
    from vademecum.bank.signals.signal import Branch
    from vademecum.providers.holographic.engine import Engine, Hit
    from vademecum.store.holographic import FactStore, StoredFact

FILE = "holographic.db"
CATEGORIES = ("user_pref", "project", "tool", "general")
ACTIONS = ("add", "search", "probe", "related", "reason", "contradict", "update", "remove", "list")
HELPFUL, UNHELPFUL = 0.05, -0.10
"""What one judgement adds to a fact's trust."""

_PREFETCHED = 6
_OF_KIND = {
    "preference": "user_pref", "environment": "tool", "quirk": "tool", "workflow": "project", "convention": "project",
    "decision": "project", "failure": "tool",
}  # fmt: skip
_OF_BRANCH: dict[Branch, str] = {"correction": "fact", "instruction": "fact", "preference": "preference",
    "environment": "environment", "convention": "convention", "workflow": "workflow", "quirk": "quirk"}  # fmt: skip

FACT_STORE = ToolSpec(
    name="fact_store",
    description=(
        "Long-term facts with trust. add: keep a fact (name its entities). search: by words. probe: all about one "
        "entity. related: what occurs together with an entity, or facts like fact_id. reason: what connects several "
        "entities. contradict: pairs that cannot both hold. update, remove, list. Before you answer about a person, a "
        "project or a decision, probe or search."
    ),
    parameters={
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": list(ACTIONS)},
            "content": {"type": "string", "description": "The fact, for add and update."},
            "query": {"type": "string", "description": "For search."},
            "entity": {"type": "string", "description": "For probe, related, contradict."},
            "entities": {"type": "array", "items": {"type": "string"}, "description": "For reason and add."},
            "fact_id": {"type": "integer"},
            "category": {"type": "string", "enum": list(CATEGORIES)},
            "tags": {"type": "string", "description": "Comma-separated."},
            "trust_delta": {"type": "number", "description": "For update: -1 to 1."},
            "min_trust": {"type": "number", "description": "0 to 1."},
            "limit": {"type": "integer", "minimum": 1, "maximum": 50},
        },
        "required": ["action"],
    },
)  # fmt: skip
FACT_FEEDBACK = ToolSpec(
    name="fact_feedback",
    description="Say whether a fact you used was right: helpful raises its trust, unhelpful lowers it twice as much.",
    parameters={
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["helpful", "unhelpful"]},
            "fact_id": {"type": "integer"},
        },
        "required": ["action", "fact_id"],
    },
)


class Holographic(Provider):
    """Facts with trust in `holographic.db` of the provider's folder."""

    name: ClassVar[str] = "holographic"
    place = "local"

    def __init__(self) -> None:
        self._path = Path()
        self._facts: FactStore | None = None
        self._reader: Engine | None = None
        self._context: Context | None = None
        self._least = 0.3
        self._trust = 0.5
        self._extract = True

    def available(self, settings: Mapping[str, Any], env: Mapping[str, str]) -> Availability:  # noqa: ARG002
        """Always: it needs nothing but the package itself."""
        return Availability(True)

    @classmethod
    def config_schema(cls) -> tuple[Setting, ...]:
        """Nothing is required."""
        return (
            Setting("auto_extract", "keep what the user says and the rules find worth remembering", "true",
                    choices=("true", "false")),
            Setting("default_trust", "trust of a new fact, 0 to 1", "0.5"),
            Setting("min_trust", "facts below it are neither injected nor searched", "0.3"),
            Setting("half_life_days", "days after which a fact counts half; 0: never", "0"),
        )  # fmt: skip

    def open(self, context: Context) -> None:
        """Open or make the file. Raises ProviderError."""
        from vademecum.providers.holographic.engine import Engine  # numpy
        from vademecum.store.holographic import FactStore

        said = context.settings
        with _ours():
            self._extract = read.flag(said, "auto_extract", default=True)
            self._trust = read.number(said, "default_trust", 0.5, least=0, most=1)
            self._least = read.number(said, "min_trust", 0.3, least=0, most=1)
            half_life = read.number(said, "half_life_days", 0, least=0, most=36_500)
            self._path = context.folder / FILE
            self._facts = FactStore(self._path, context.actor)
            self._reader = Engine(self._facts, context.clock, half_life=half_life)
        self._context = context

    @property
    def _store(self) -> FactStore:
        assert self._facts is not None, "open comes first"
        return self._facts

    @property
    def _engine(self) -> Engine:
        assert self._reader is not None, "open comes first"
        return self._reader

    def close(self) -> None:
        """Close the file."""
        if self._facts is not None:
            self._facts.close()

    def system_block(self) -> str:
        """What the model needs to know of the tools."""
        return (
            "Facts about the user, projects and tools are kept in `fact_store`. Keep what lasts with add; probe an "
            "entity or search before you answer from memory; contradict shows what no longer fits together. Tell "
            "fact_feedback when a fact proved right or wrong."
        )

    def prefetch(self, query: str) -> Sequence[Recalled]:
        """The facts that fit, with enough trust."""
        with _ours():
            hits = self._engine.search(query, limit=_PREFETCHED, least_trust=self._least)
            self._store.retrieved([hit.fact.id for hit in hits])
        return [_recalled(hit.fact, hit.score) for hit in hits]

    def sync_turn(self, turn: TurnRecord) -> None:
        """Keep the sentences of the user that the rules find worth remembering, once for each turn."""
        from vademecum.bank.signals.signal import signals

        with _ours():
            if self._store.has_turn(turn.id):
                return
            found = signals(turn.user) if self._extract else ()
            with self._store.atomic():
                if self._store.has_turn(turn.id):
                    return
                for signal in found:
                    if signal.branch != "skip":
                        self._add(signal.statement, kind=_OF_BRANCH[signal.branch], session=turn.session)
                self._store.add_turn(turn.id, turn.session, turn.at)

    def _add(self, text: str, *, kind: str, session: str = "", category: str = "") -> tuple[int, bool]:
        from vademecum.providers.holographic.engine import Draft

        category = category or _OF_KIND.get(kind, "general")
        return self._engine.add(text, Draft(kind=kind, category=category, trust=self._trust, session=session))

    def tools(self) -> tuple[ToolSpec, ...]:
        """Both."""
        return (FACT_STORE, FACT_FEEDBACK)

    def writes(self, name: str, args: Mapping[str, Any]) -> bool:
        """Feedback, and the actions that change a fact."""
        return name != FACT_STORE.name or str(args.get("action", "")).strip().lower() in ("add", "update", "remove")

    def call_tool(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Run a tool. Raises ProviderError that says what was wrong with the arguments."""
        with _ours():
            if name == FACT_FEEDBACK.name:
                return self._feedback(args)
            if name != FACT_STORE.name:
                raise _wrong(f"There is no tool {name}.", f"There are {FACT_STORE.name} and {FACT_FEEDBACK.name}.")
            action = str(args.get("action", "")).strip().lower()
            if action not in ACTIONS:
                raise _wrong(f"There is no action {action!r}.", f"There are {', '.join(ACTIONS)}.")
            run: Callable[[Mapping[str, Any]], dict[str, Any]] = getattr(self, f"_do_{action}")
            return run(args)

    def _do_add(self, args: Mapping[str, Any]) -> dict[str, Any]:
        from vademecum.providers.holographic.engine import Draft

        assert self._context is not None
        draft = Draft(
            category=_category(args) or "general", tags=_many(args, "tags"), entities=_many(args, "entities"),
            trust=self._trust, session=self._context.session,
        )  # fmt: skip
        fact, new = self._engine.add(_said(args, "content"), draft)
        if new:
            return {"outcome": "added", "fact": _shown(self._engine.get(fact))}
        return {"outcome": "known already, nothing changed", "fact": _shown(self._engine.get(fact))}

    def _do_search(self, args: Mapping[str, Any]) -> dict[str, Any]:
        query, category = _said(args, "query"), _category(args)
        return self._out(
            self._engine.search(query, limit=_limit(args), least_trust=self._least_of(args), category=category)
        )

    def _do_probe(self, args: Mapping[str, Any]) -> dict[str, Any]:
        return self._out(
            self._engine.probe(_said(args, "entity"), limit=_limit(args), least_trust=self._least_of(args))
        )

    def _do_related(self, args: Mapping[str, Any]) -> dict[str, Any]:
        fact = _fact_id(args, required=not args.get("entity"))
        if fact is not None:
            return self._out(self._engine.like(fact, limit=_limit(args), least_trust=self._least_of(args)))
        found = self._engine.related(_said(args, "entity"), limit=_limit(args))
        return {"entities": [{"entity": name, "facts": list(facts)} for name, facts in found], "count": len(found)}

    def _do_reason(self, args: Mapping[str, Any]) -> dict[str, Any]:
        entities = _many(args, "entities")
        if len(entities) < 2:
            raise _wrong("reason needs at least two entities.", "For one entity there is probe.")
        hits, bridges = self._engine.reason(entities, limit=_limit(args), least_trust=self._least_of(args))
        return self._out(hits) | {"connected_through": [{"entity": n, "facts": list(f)} for n, f in bridges]}

    def _do_contradict(self, args: Mapping[str, Any]) -> dict[str, Any]:
        found = self._engine.contradictions(
            entity=read.text(args, "entity"), fact=_fact_id(args, required=False), limit=_limit(args)
        )
        pairs = [{"older": _shown(one), "newer": _shown(other), "likeness": round(s, 2)} for one, other, s in found]
        return {"pairs": pairs, "count": len(pairs)}

    def _do_update(self, args: Mapping[str, Any]) -> dict[str, Any]:
        fact = cast("int", _fact_id(args, required=True))
        delta = _number(args, "trust_delta", 0.0, least=-1, most=1)
        trust = min(1.0, max(0.0, self._engine.get(fact).trust + delta)) if delta else None
        content = read.text(args, "content") or None
        tags = _many(args, "tags") if args.get("tags") is not None else None
        if content is None and tags is None and trust is None and not args.get("category"):
            raise _wrong("Nothing to update was given.", "Give content, category, tags or trust_delta.")
        changed = self._engine.update(fact, text=content, category=_category(args) or None, tags=tags, trust=trust)
        return {"outcome": "updated", "fact": _shown(changed)}

    def _do_remove(self, args: Mapping[str, Any]) -> dict[str, Any]:
        fact = self._engine.get(cast("int", _fact_id(args, required=True)))
        self._store.remove([fact.id])
        return {"outcome": "removed", "fact": _shown(fact)}

    def _do_list(self, args: Mapping[str, Any]) -> dict[str, Any]:
        facts = self._store.list(
            category=_category(args), least_trust=_number(args, "min_trust", 0.0, least=0, most=1),
            limit=_limit(args), newest_first=True,
        )  # fmt: skip
        return {"facts": [_shown(fact) for fact in facts], "count": len(facts)}

    def _feedback(self, args: Mapping[str, Any]) -> dict[str, Any]:
        action = str(args.get("action", "")).strip().lower()
        if action not in ("helpful", "unhelpful"):
            raise _wrong(f"The action {action!r} is neither helpful nor unhelpful.")
        with self._store.atomic():
            fact = self._engine.get(cast("int", _fact_id(args, required=True)))
            trust = fact.trust + (HELPFUL if action == "helpful" else UNHELPFUL)
            self._store.rate(fact.id, trust=min(1.0, max(0.0, trust)), helpful=action == "helpful")
        return {"fact": _shown(self._engine.get(fact.id))}

    def _out(self, hits: Sequence[Hit]) -> dict[str, Any]:
        self._store.retrieved([hit.fact.id for hit in hits])
        return {"facts": [_shown(hit.fact) | {"score": round(hit.score, 3)} for hit in hits], "count": len(hits)}

    def _least_of(self, args: Mapping[str, Any]) -> float:
        return _number(args, "min_trust", self._least, least=0, most=1)

    def store(self, text: str, *, kind: str = "fact") -> str:
        """Keep a fact; one that is there already keeps its id."""
        with _ours():
            return str(self._add(text, kind=kind)[0])

    def on_memory_write(self, change: MemoryChange) -> None:
        """What goes into the core is a fact as well; what leaves it is none any more."""
        with _ours(), self._store.atomic():
            old = self._store.find(plain(change.before)) if change.before else None
            if not change.after:
                self._store.remove([old] if old is not None else [])
            elif old is not None and self._store.find(plain(change.after)) in (None, old):
                self._engine.update(old, text=change.after)
            else:
                self._add(change.after, kind="preference" if change.store == "user" else "fact")
                self._store.remove([old] if old is not None else [])

    def forget(self, selector: Selector) -> Forgotten:
        """Erase facts: those of a session, all of this user, one by its id, or those that hold a text."""
        assert self._context is not None
        with _ours():
            match selector.kind:
                case "session":
                    facts = self._store.list(session=selector.value)
                case "user":
                    facts = self._store.list() if selector.value == self._context.actor.user else []
                case "entry":
                    facts = [fact for fact in self._store.list() if is_meant(selector.value, str(fact.id), fact.text)]
                case _:
                    return Forgotten(0, "The holographic memory does not know which source a fact came from.")
            return Forgotten(self._store.remove([fact.id for fact in facts]))

    def facts(self, since: int = 0) -> Iterable[Recalled]:
        """What was written or changed since then."""
        with _ours():
            return [_recalled(fact) for fact in self._store.list(since=since)]

    def export(self) -> Iterable[Recalled]:
        """All facts, in the order in which they were written."""
        return self.facts()

    def backup_paths(self) -> tuple[Path, ...]:
        """The one file, with everything written so far in it."""
        if self._facts is None:
            return ()
        with _ours():
            self._store.settle()
        return (self._path,)


@contextlib.contextmanager
def _ours() -> Generator[None]:
    """Errors of the file and of arguments as the one error of a provider."""
    try:
        yield
    except ProviderError:
        raise
    except VademecumError as error:
        hint = error.hint
        if isinstance(error, StorageError):  # its own advice is about state.db
            hint = "The core files are unaffected. Bring the file back from a backup, or move it away to begin anew."
        raise ProviderError(error.message, hint, passing=isinstance(error, LockedError)) from error


def _wrong(message: str, hint: str = "") -> ProviderError:
    return ProviderError(message, hint)


def _said(args: Mapping[str, Any], key: str) -> str:
    found = read.text(args, key)
    if not found:
        raise _wrong(f"This action needs {key}.")
    return found


def _many(args: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """A list, or a text with commas, as models write either."""
    value = args.get(key)
    parts = cast("list[object]", value) if isinstance(value, list) else str(value or "").split(",")
    return tuple(dict.fromkeys(text for text in (str(part).strip() for part in parts) if text))


def _category(args: Mapping[str, Any]) -> str:
    found = read.text(args, "category").lower()
    if found and found not in CATEGORIES:
        raise _wrong(f"There is no category {found!r}.", f"There are {', '.join(CATEGORIES)}.")
    return found


def _number(args: Mapping[str, Any], key: str, default: float, *, least: float, most: float) -> float:
    return read.number(args, key, default, least=least, most=most)


def _limit(args: Mapping[str, Any]) -> int:
    return int(_number(args, "limit", 10, least=1, most=50))


def _fact_id(args: Mapping[str, Any], *, required: bool) -> int | None:
    value = args.get("fact_id")
    if value is None or value == "":
        if required:
            raise _wrong("This action needs fact_id.", "Ids are in what search and list answer.")
        return None
    digits = re.fullmatch(r"#?\s*(\d{1,15})(?:\.0)?", str(value).strip())
    if digits is None or isinstance(value, bool):
        raise _wrong(f"{value!r} is no id of a fact.", "Ids are numbers, as search and list give them.")
    return int(digits[1])


def _shown(fact: StoredFact) -> dict[str, Any]:
    return {
        "fact_id": fact.id, "content": fact.text, "category": fact.category, "tags": list(fact.tags),
        "entities": list(fact.entities), "trust": round(fact.trust, 3), "retrievals": fact.retrievals,
    }  # fmt: skip


def _recalled(fact: StoredFact, score: float | None = None) -> Recalled:
    detail = {"category": fact.category, "trust": f"{fact.trust:.2f}"}
    if fact.tags:
        detail["tags"] = ", ".join(fact.tags)
    return Recalled(str(fact.id), fact.text, fact.kind, score, fact.updated_at, detail)
