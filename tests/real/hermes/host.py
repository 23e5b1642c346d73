"""Hermes itself, as a program of its own: run by its own Python with the work to do as JSON; it prints JSON.

Idea: what `hermes` does, without its terminal: the provider is found and loaded by Hermes, a real agent holds the
conversation with a model on loopback. Invariant: HERMES_HOME is a folder of the test's.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import Any


def found() -> dict[str, Any]:
    from plugins.memory import discover_memory_providers, load_memory_provider

    listed = {name: available for name, _, available in discover_memory_providers()}
    return {"available": listed.get("vademecum"), "loads": load_memory_provider("vademecum") is not None}


def contract() -> dict[str, list[str]]:
    """The parameters of each method of a provider, as Hermes declares them."""
    import inspect

    from agent.memory_provider import MemoryProvider

    methods = {name: one for name, one in vars(MemoryProvider).items() if inspect.isfunction(one)}
    return {name: list(inspect.signature(one).parameters) for name, one in methods.items()}


def agent(url: str, session: str, said: list[str], *, keeps: bool = False, **more: Any) -> dict[str, Any]:
    """A conversation: what the agent answered, and which tools it offered to the model."""
    import psutil
    from hermes_state import SessionDB
    from run_agent import AIAgent

    more |= {"session_db": SessionDB()} if keeps else {}
    made = AIAgent(
        base_url=url, api_key="no-key", provider="custom", model="stand-in", session_id=session, quiet_mode=True,
        enabled_toolsets=["memory", "todo"], skip_context_files=True, tool_delay=0.0, **more,
    )  # fmt: skip
    answers, history = [], None
    for text in said:
        result = made.run_conversation(text, conversation_history=history)
        answers.append(result["final_response"])
        history = result["messages"]
        if made._memory_manager is not None:
            made._memory_manager.flush_pending(30)
    tools = [tool["function"]["name"] for tool in made.tools]
    made.shutdown_memory_provider(history)
    state = made._memory_manager.shutdown_drain_state if made._memory_manager is not None else None
    left = [" ".join(one.cmdline()) for one in psutil.Process().children(recursive=True)]
    return {"answers": answers, "tools": tools, "state": state, "left": left}


def turns(count: int, pause: float = 0.2) -> dict[str, Any]:
    """Milliseconds that a turn waits for the provider: before the model is asked, after it has answered, and for a
    question to which there is nothing to do. Between turns a person thinks for `pause` seconds.
    """
    from agent.memory_manager import MemoryManager
    from plugins.memory import load_memory_provider

    manager = MemoryManager()
    manager.add_provider(load_memory_provider("vademecum"))
    manager.initialize_all("timed", platform="cli", agent_context="primary")
    provider = manager.providers[0]
    before, after, way = [], [], []
    for number in range(count):
        time.sleep(pause)
        start = time.perf_counter()
        provider._ask("hello", 5.0)
        way.append((time.perf_counter() - start) * 1000)
        text = f"Where does host number {number} stand?"
        start = time.perf_counter()
        manager.on_turn_start(number, text)
        manager.prefetch_all(text)
        before.append((time.perf_counter() - start) * 1000)
        start = time.perf_counter()
        manager.sync_all(text, "In Zurich.", session_id="timed", messages=[])
        manager.queue_prefetch_all(text, session_id="timed")
        after.append((time.perf_counter() - start) * 1000)
        manager.flush_pending(30)
    manager.on_session_end([])
    manager.shutdown_all()
    return {"before": statistics.median(before), "after": statistics.median(after), "way": statistics.median(way)}


if __name__ == "__main__":
    work = json.loads(sys.argv[1])
    sys.stdout, out = sys.stderr, sys.stdout  # Hermes prints
    done = {"found": found, "contract": contract, "agent": agent, "turns": turns}[work.pop("do")](**work)
    out.write(json.dumps(done) + "\n")
