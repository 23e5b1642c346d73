"""What a chat turn costs beside the request itself: `python bench/chat.py [TURNS]`.

Idea: a model server in a process of its own answers at once. Each turn of the chat is followed by the same request sent
through the same model library alone, so that the difference is ours; the same bytes over one plain connection show
what the library costs. Target: at most 20 ms a turn of our own.
"""

from __future__ import annotations

import http.client
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import vademecum
from servers import openai
from vademecum.agent.chat import Chat
from vademecum.models import ChatModel, ChatReply, ChatRequest

WARM_UP = 5


def serve(pipe: Connection) -> None:
    """Answer until asked for the requests, hand them back, go on until told to stop."""
    with openai.running() as server:
        server.default = openai.text("A short ", "answer.")
        pipe.send(server.url)
        pipe.recv()
        pipe.send(server.bodies)
        pipe.recv()


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


class Recording:
    """The model, and the last request that was made of it."""

    def __init__(self, model: ChatModel) -> None:
        self.name, self.context_tokens, self._model = model.name, model.context_tokens, model
        self.last = ChatRequest("", ())

    def complete(self, request: ChatRequest) -> ChatReply:
        return self._model.complete(request)

    def stream(self, request: ChatRequest) -> Iterator[str | ChatReply]:
        self.last = request
        return self._model.stream(request)


def chat_turns(home: Path, url: str, turns: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each whole turn, and of its request alone through the same library."""
    vm = vademecum.open(home, config={"model": "openai:instant", "models.base_url": url})
    for n in range(16):
        vm.memory.add("memory", f"Fact number {n}: " + "a line of some length about the harbour crane. " * 2)
    model = Recording(vm.model())
    chat = Chat(vm, vm.session(key="bench"), model)
    whole: list[float] = []
    request: list[float] = []
    for n in range(turns):
        whole.append(timed(lambda n=n: list(chat.send(f"Message number {n}, of ordinary length, about nothing."))))
        request.append(timed(lambda: list(model.stream(model.last))))
    vm.close()
    return whole, request


def bare(url: str, bodies: list[bytes]) -> list[float]:
    address = urlsplit(url)
    times: list[float] = []

    def post(body: bytes) -> None:
        connection = http.client.HTTPConnection(address.hostname or "", address.port)
        connection.request("POST", f"{address.path}/chat/completions", body, {"Content-Type": "application/json"})
        connection.getresponse().read()
        connection.close()

    times.extend(timed(lambda body=body: post(body)) for body in bodies)
    return times


def main(turns: int) -> None:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    url = ours.recv()
    with tempfile.TemporaryDirectory() as home:
        whole, request = (times[WARM_UP:] for times in chat_turns(Path(home), url, turns + WARM_UP))
    ours.send("the requests, please")
    bodies = ours.recv()[::2]
    alone = bare(url, bodies)[WARM_UP:]
    ours.send("stop")
    server.join()

    own = [turn - asked for turn, asked in zip(whole, request, strict=True)]
    print(f"{turns} turns, the last request {len(bodies[-1]):,} bytes; median (95th percentile)")
    for name, times in (
        ("chat turn", whole),
        ("the same request through the model library", request),
        ("the same bytes over a plain connection", alone),
        ("our own: turn without request (target: at most 20 ms)", own),
    ):
        print(f"  {name:56} {statistics.median(times):7.2f} ms  ({sorted(times)[int(turns * 0.95)]:.2f})")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
