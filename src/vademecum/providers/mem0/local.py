"""Mem0's library in this process, with its vectors in the provider's folder.

Idea: without further ado Qdrant keeps the vectors beside the home and the embedder that comes with vademecum computes
them, so that nothing leaves the machine; a section `oss` is handed to the library as it is. Invariant: a collection
that was made with one embedder is never opened with another, so it is neither rebuilt nor filled with vectors that
cannot be compared; the library sends no telemetry; what is forgotten leaves no history behind.
"""

from __future__ import annotations

import copy
import json
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from vademecum.errors import ConfigError, ModelError, ProviderError
from vademecum.files import write_atomic
from vademecum.models.embedder import Embedder, open_embedder
from vademecum.providers.contract import Context
from vademecum.providers.http import fields
from vademecum.providers.mem0.options import Options
from vademecum.providers.mem0.remote import Ids, Memory, memory_of

T = TypeVar("T")

COLLECTION = "vademecum"
_MADE_WITH = "collection.json"
_MOST = 100_000
_LOCAL = "local"
_REMOTE_DEFAULT = 1536  # what the library takes when nothing is said


@dataclass(slots=True)
class _Shared:
    """One opened library, for all the users whom this process serves: the folder can be opened once only."""

    memory: Any
    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0


_open: dict[str, _Shared] = {}
_opening = threading.Lock()


class Library:
    """A Backend; see `remote.py`. One process at a time may have the folder open."""

    def __init__(self, options: Options, context: Context) -> None:
        self._lock = threading.Lock()
        context.folder.mkdir(parents=True, exist_ok=True)
        config, embedder = _config(options.oss, context)
        made_with = _made_with(config, embedder)
        _refuse_another(context.folder / _MADE_WITH, made_with)
        self._key = json.dumps([made_with, str(context.folder)])
        with _opening:
            shared = _open.get(self._key)
            if shared is None:
                shared = _Shared(self._run(lambda: _loaded(config, context.folder)))
            self._lock, self._memory = shared.lock, shared.memory
            if not shared.users:
                if embedder is not None:
                    self._memory.embedding_model = _HostEmbedding(embedder)
                self._check_dimensions(made_with)
            shared.users += 1
            _open[self._key] = shared
        write_atomic(context.folder / _MADE_WITH, json.dumps(made_with, indent=2).encode() + b"\n", mode=0o600)

    def _check_dimensions(self, made_with: Mapping[str, Any]) -> None:
        """Refuse a collection of Qdrant that was made for vectors of another length, whoever made it."""
        store = self._memory.vector_store
        if made_with["store"] == "qdrant":
            info: Any = self._run(lambda: store.client.get_collection(store.collection_name))
            size = getattr(info.config.params.vectors, "size", None)
            if size is not None and size != made_with["dimensions"]:
                self._let_go()
                raise _another(f"vectors of {size} dimensions", f"{made_with['dimensions']} dimensions")

    def search(self, ids: Ids, query: str, *, limit: int, rerank: bool) -> list[Memory]:
        """The memories that fit, best first."""
        found: dict[str, Memory] = {}
        for filters in ({"user_id": ids.user}, {"agent_id": ids.agent}):
            answer = self._ask("search", query, filters=filters, top_k=limit, rerank=rerank)
            found |= {one.id: one for one in _memories(answer)}
        return sorted(found.values(), key=lambda one: -(one.score or 0.0))[:limit]

    def add(
        self, ids: Ids, messages: Sequence[Mapping[str, str]], metadata: Mapping[str, Any], *, session: str, infer: bool
    ) -> list[str]:
        """Store; with `infer` the configured model extracts facts first."""
        answer = self._ask(
            "add", [dict(one) for one in messages], user_id=ids.user, agent_id=ids.agent, run_id=session or None,
            metadata=dict(metadata), infer=infer,
        )  # fmt: skip
        return [str(one["id"]) for one in fields("Mem0", answer, "results")["results"]]

    def get(self, memory: str) -> Memory | None:
        """The memory with that id."""
        try:
            answer = self._ask("get", memory)
        except ProviderError as error:
            if isinstance(error.__cause__, ValueError):  # no id at all
                return None
            raise
        return None if answer is None else memory_of(answer)

    def update(self, memory: str, text: str) -> None:
        """Give a memory another text."""
        self._ask("update", memory, text=text)

    def delete(self, memory: str) -> None:
        """Erase a memory; one that is gone already is no error."""
        if self.get(memory) is not None:
            self._ask("delete", memory)

    def all(self, ids: Ids, *, session: str = "", turn: str = "") -> Iterator[Memory]:
        """Every memory, or those of a session, or those made from a turn of it."""
        more = ({"run_id": session} if session else {}) | ({"turn": turn} if turn else {})
        seen: set[str] = set()
        for filters in ({"user_id": ids.user, **more}, {"agent_id": ids.agent, **more}):
            for one in _memories(self._ask("get_all", filters=filters, top_k=_MOST)):
                if one.id not in seen:
                    seen.add(one.id)
                    yield one

    def close(self) -> None:
        """Let go of the folder, when no other user of this process needs it, so that another process may have it."""
        with _opening:
            shared = _open[self._key]
            shared.users -= 1
            if not shared.users:
                del _open[self._key]
                self._let_go()

    def _let_go(self) -> None:
        client = getattr(self._memory.vector_store, "client", None)
        if client is not None and hasattr(client, "close"):
            client.close()
        self._memory.close()

    def _ask(self, method: str, *args: Any, **more: Any) -> Any:
        return self._run(lambda: getattr(self._memory, method)(*args, **more))

    def _run(self, call: Callable[[], T]) -> T:
        """One call at a time: the local store is made for one thread. What the library raises is a ProviderError."""
        try:
            with self._lock:
                return call()
        except (ProviderError, ConfigError):
            raise
        except ModelError as error:
            raise ProviderError(error.message, error.hint, passing=True, status=error.status) from error
        except _faults() as error:
            raise _explained(error) from error


class _HostEmbedding:
    """vademecum's own embedder, in the form in which the library asks for one."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002
        return self._embedder.embed([text])[0].tolist()

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:  # noqa: ARG002
        return self._embedder.embed(list(texts)).tolist()


def _config(oss: Mapping[str, Any], context: Context) -> tuple[dict[str, Any], Embedder | None]:
    """What the library is given, and the embedder that takes the place of its own, if none is configured."""
    config: dict[str, Any] = copy.deepcopy(dict(oss))
    embedder: Embedder | None = None
    if not config.get("embedder"):
        embedder = open_embedder(_LOCAL, env=context.env, timeout=context.seconds)
        assert embedder is not None
        placeholder: dict[str, Any] = {"api_key": "unused", "embedding_dims": embedder.dimensions}
        config["embedder"] = {"provider": "openai", "config": placeholder}  # it is replaced before it is asked
    if not config.get("llm"):
        config["llm"] = {"provider": "openai", "config": {"api_key": "unused"}}  # never asked: nothing is inferred
    elif _goes_astray(config["llm"]):
        raise ConfigError(
            "OPENROUTER_API_KEY is set: Mem0 would send everything there, whatever oss.llm says.",
            "Set oss.llm.config.openrouter_base_url if that is meant; else take the variable away.",
        )
    for part in ("llm", "embedder"):
        if config[part].get("provider") == "openai" and context.env.get("OPENAI_API_KEY"):
            inner = config[part].setdefault("config", {})
            inner.setdefault("api_key", context.env["OPENAI_API_KEY"])
    store = config.setdefault("vector_store", {"provider": "qdrant"})
    inner = store.setdefault("config", {})
    inner.setdefault("collection_name", COLLECTION)
    wanted = cast("dict[str, Any]", config["embedder"].get("config") or {}).get("embedding_dims")
    inner.setdefault("embedding_model_dims", wanted or _REMOTE_DEFAULT)
    if store.get("provider", "qdrant") == "qdrant" and not {"url", "host", "path", "client"} & set(inner):
        inner |= {"path": str(context.folder / "qdrant"), "on_disk": True}
    config.setdefault("history_db_path", ":memory:")  # it would keep every text that was changed or erased
    return config, embedder


def _goes_astray(llm: Mapping[str, Any]) -> bool:
    """Whether the library would ask OpenRouter although another address is configured; a key of it is enough."""
    meant = {"openrouter_base_url", "models"} & set(cast("dict[str, Any]", llm.get("config") or {}))
    return llm.get("provider") == "openai" and bool(os.environ.get("OPENROUTER_API_KEY")) and not meant


def _made_with(config: Mapping[str, Any], embedder: Embedder | None) -> dict[str, Any]:
    store, own = config["vector_store"], config["embedder"]
    inner = store["config"]
    model = cast("dict[str, Any]", own.get("config") or {}).get("model")
    name = embedder.name if embedder else f"{own.get('provider')}:{model or 'default'}"
    place = inner.get("url") or inner.get("host") or inner.get("path") or ""
    return {
        "store": store.get("provider", "qdrant"), "place": str(place), "collection": inner["collection_name"],
        "embedder": name, "dimensions": inner["embedding_model_dims"],
    }  # fmt: skip


def _refuse_another(file: Path, made_with: Mapping[str, Any]) -> None:
    """Refuse to open a collection with another embedder than the one that it was made with."""
    if not file.is_file():
        return
    try:
        before: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ProviderError(f"{file} cannot be read: {error}.", "Delete it if the embedder has not changed.") from error
    if any(before.get(key) != made_with[key] for key in ("store", "place", "collection")):
        return  # another collection, which has nothing to do with this one
    if any(before.get(key) != made_with[key] for key in ("embedder", "dimensions")):
        raise _another(
            f"{before.get('embedder')} ({before.get('dimensions')} dimensions)",
            f"{made_with['embedder']} ({made_with['dimensions']} dimensions)",
        )


def _another(before: str, now: str) -> ProviderError:
    return ProviderError(
        f"Mem0's collection was made with {before}, and {now} is configured. It was left as it is.",
        "Set oss.embedder back; or set another oss.vector_store.config.collection_name, which begins empty, and bring "
        "the memories over.",
    )


def _loaded(config: dict[str, Any], folder: Path) -> Any:
    """The library's Memory. It is imported with telemetry off, and writes its own files into the folder."""
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ.setdefault("MEM0_DIR", str(folder / "library"))
    try:
        from mem0 import Memory  # pyright: ignore[reportMissingImports, reportUnknownVariableType]
        from mem0.memory import telemetry  # pyright: ignore[reportMissingImports, reportUnknownVariableType]
    except ImportError as error:
        raise ProviderError(
            f"The package mem0ai cannot be loaded: {error}.", "pip install 'vademecum[mem0]'"
        ) from error
    if cast("Any", telemetry).MEM0_TELEMETRY:
        raise ProviderError(
            "Mem0 was loaded before with its telemetry on; nothing was opened.",
            "Set MEM0_TELEMETRY=False, and restart.",
        )
    logging.getLogger("mem0").setLevel(logging.CRITICAL)  # it logs the texts themselves; failures are raised
    return cast("Any", Memory).from_config(config)


def _faults() -> tuple[type[BaseException], ...]:
    """What the library and its parts raise, as far as they are installed."""
    known: list[type[BaseException]] = [
        ValueError, RuntimeError, OSError, LookupError, TypeError, AttributeError, ImportError, sqlite3.Error,
    ]  # fmt: skip
    from importlib import import_module
    from importlib.util import find_spec

    for module, name in (("mem0.exceptions", "MemoryError"), ("openai", "OpenAIError"), ("httpx", "HTTPError"),
                         ("qdrant_client.http.exceptions", "ApiException")):  # fmt: skip
        if find_spec(module.partition(".")[0]) is not None:
            known.append(getattr(import_module(module), name))
    return tuple(known)


def _explained(error: BaseException) -> ProviderError:
    from vademecum.gate.secrets import redact

    said = redact(" ".join(str(error).split())[:300], b"a message is not kept")[0] or type(error).__name__
    if "already accessed by another instance" in said:
        return ProviderError(
            "Another process has Mem0's folder open; the library allows one.",
            "Close it, or run a Qdrant server and set oss.vector_store.config.url.",
            passing=True,
        )
    status = getattr(error, "status_code", None)
    cause = error.__cause__
    status = status if status is not None or cause is None else getattr(cause, "status_code", None)
    fixed = isinstance(error, ValueError | TypeError | ImportError | AttributeError) or status in (400, 401, 403, 404)
    return ProviderError(
        f"Mem0's library failed: {said}", "Check the section oss of mem0.", passing=not fixed,
        status=status if isinstance(status, int) else None,
    )  # fmt: skip


def _memories(answer: object) -> list[Memory]:
    return [memory_of(one) for one in cast("list[object]", fields("Mem0", answer, "results")["results"])]
