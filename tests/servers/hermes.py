"""A stand-in for what Hermes Agent does with a memory provider: the contract it loads, and its manager's calls.

Idea: the same files are loaded the same way, the calls come in the same order (tools before the conversation is
opened), writes on one thread of their own. Invariant: `MemoryProvider` has the parameters of the real one, which a
test against the real package holds.
"""

from __future__ import annotations

import importlib.util
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any


class MemoryProvider(ABC):
    @property
    @abstractmethod
    def name(self) -> str: ...

    @abstractmethod
    def is_available(self) -> bool: ...

    @abstractmethod
    def initialize(self, session_id: str, **kwargs: Any) -> None: ...

    def system_prompt_block(self) -> str:
        return ""

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        return ""

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        return None

    def sync_turn(
        self, user_content: str, assistant_content: str, *, session_id: str = "", messages: list[Any] | None = None
    ) -> None:
        return None

    @abstractmethod
    def get_tool_schemas(self) -> list[dict[str, Any]]: ...

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        raise NotImplementedError

    def shutdown(self) -> None:
        return None

    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        return None

    def on_session_end(self, messages: list[Any]) -> None:
        return None

    def on_session_switch(
        self,
        new_session_id: str,
        *,
        parent_session_id: str = "",
        reset: bool = False,
        rewound: bool = False,
        **kwargs: Any,
    ) -> None:
        return None

    def on_pre_compress(self, messages: list[Any]) -> str:
        return ""

    def on_delegation(self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any) -> None:
        return None

    def on_memory_write(self, action: str, target: str, content: str, metadata: dict[str, Any] | None = None) -> None:
        return None

    def backup_paths(self) -> list[str]:
        return []


class Host:
    """One agent of Hermes with its provider; `hooks` are those that the plug-in registered."""

    def __init__(self, provider: Any, hooks: dict[str, Any]) -> None:
        self.provider = provider
        self.hooks = hooks
        self.tools: list[str] = []
        self._writes = ThreadPoolExecutor(1)

    def start(self, session: str, **more: Any) -> str:
        """As an agent starts; returns the block for the system prompt."""
        self.tools = [tool["name"] for tool in self.provider.get_tool_schemas()]
        self.provider.initialize(session_id=session, **{"platform": "cli", "agent_context": "primary"} | more)
        return self.provider.system_prompt_block()

    def ask(self, text: str) -> str:
        """A message of the user: what is put before the model with it."""
        self.provider.on_turn_start(1, text)
        return self.provider.prefetch(text)

    def tell(self, text: str, answer: str, messages: list[Any] | None = None) -> Future[None]:
        """The turn was answered."""
        return self._writes.submit(self.provider.sync_turn, text, answer, session_id="", messages=messages)

    def turn(self, text: str, answer: str, messages: list[Any] | None = None) -> str:
        """A whole turn, told before this returns; what was put before the model."""
        context = self.ask(text)
        self.tell(text, answer, messages).result(30)
        return context

    def end(self) -> None:
        """As Hermes ends."""
        self._writes.shutdown()
        self.provider.on_session_end([])
        self.provider.shutdown()


@contextmanager
def loaded(folder: Path, *, tells_tools: bool = True) -> Iterator[Host]:
    """The plug-in in `folder`, loaded; `tells_tools`: this Hermes lets it hear of each call of a tool."""
    package, contract = ModuleType("agent"), ModuleType("agent.memory_provider")
    contract.MemoryProvider = MemoryProvider  # type: ignore[attr-defined]
    before = {name: sys.modules.get(name) for name in ("agent", "agent.memory_provider")}
    sys.modules |= {"agent": package, "agent.memory_provider": contract}
    try:
        spec = importlib.util.spec_from_file_location("_hermes_user_memory_vademecum", folder / "__init__.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        for name, kept in before.items():
            if kept is None:
                del sys.modules[name]
            else:
                sys.modules[name] = kept

    class Context:
        def __init__(self) -> None:
            self.provider: Any = None
            self.hooks: dict[str, Any] = {}

        def register_memory_provider(self, provider: Any) -> None:
            self.provider = provider

        def register_hook(self, name: str, callback: Any) -> None:
            if tells_tools:
                self.hooks[name] = callback

    context = Context()
    module.register(context)
    yield Host(context.provider, context.hooks)
    context.provider.shutdown()
