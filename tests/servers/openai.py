"""A small real HTTP server that speaks OpenAI's chat completions and embeddings, for tests and the bench.

Idea: answers are scripted in order, requests are kept as the exact bytes that arrived. It speaks JSON and server-sent
events, tool calls, errors with any status and headers, and can hold an answer back until it is released. A vector
counts the words of its text, unless `vector` says otherwise. Invariant: it listens on loopback only, and an unscripted
request is answered with the text "ok", or with vectors.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import struct
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Answer:
    """One scripted answer; `pieces` is the text as it is streamed, `calls` are `(id, name, arguments)`."""

    pieces: tuple[str, ...] = ()
    calls: tuple[tuple[str, str, dict[str, Any] | str], ...] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    message: str = ""
    finish: str = ""
    raw: bytes = b""  # sent as it is, in the place of an answer
    drop_after: int | None = None  # pieces sent before the connection is closed
    hold_after: int | None = None  # pieces sent before the answer waits for `server.release`
    tokens: tuple[int, int] = (10, 5)


def text(*pieces: str, **more: Any) -> Answer:
    return Answer(pieces=pieces, **more)


def calls(*wanted: tuple[str, str, dict[str, Any] | str], say: str = "") -> Answer:
    return Answer(pieces=(say,) if say else (), calls=wanted)


def error(status: int, message: str, **headers: str) -> Answer:
    return Answer(status=status, message=message, headers={k.replace("_", "-"): v for k, v in headers.items()})


Script = Callable[[dict[str, Any]], Answer]


def word_vector(text: str, dimensions: int) -> list[float]:
    """How often the words of each of `dimensions` classes stand in the text: texts that share words are near."""
    counts = [0.0] * dimensions
    for word in re.findall(r"\w+", text.lower()) or [text]:
        counts[zlib.crc32(word.encode()) % dimensions] += 1.0
    return counts


class Server:
    """`url` is the base URL for `models.base_url`; `bodies` the exact bytes of each request, `headers` its headers."""

    def __init__(self) -> None:
        self.script: deque[Answer | Script] = deque()
        self.default: Answer | Script = text("ok")
        self.embedding_script: deque[Answer | None] = deque()  # None: vectors, as when nothing is scripted
        self.embedded: list[dict[str, Any]] = []  # the requests for vectors
        self.refuses: str | None = None  # a batch with such a word in a text is answered with 400
        self.dimensions = 64
        self.vector: Callable[[str, int], list[float]] = word_vector
        self.floats_only = False  # a server that does not know base64
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.release = threading.Event()
        self.arrived = threading.Condition()
        self.gone = threading.Event()
        handler = type("Handler", (_Handler,), {"server_state": self})
        self._http = _Http(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def say(self, *answers: Answer | Script) -> None:
        self.script.extend(answers)

    @property
    def requests(self) -> list[dict[str, Any]]:
        return [json.loads(body) for body in self.bodies]

    def wait_for_requests(self, count: int, seconds: float = 20) -> None:
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.bodies) >= count, seconds), "the request never came"

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Http(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        pass  # a client that went away, which tests do on purpose


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server_state: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        state = self.server_state
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("/embeddings"):
            self._embeddings(json.loads(body))
            return
        with state.arrived:
            state.bodies.append(body)
            state.headers.append({key.lower(): value for key, value in self.headers.items()})
            answer = state.script.popleft() if state.script else state.default
            state.arrived.notify_all()
        request = json.loads(body)
        if not self.path.endswith("/chat/completions"):
            answer = error(404, f"no such path: {self.path}")
        elif callable(answer):
            answer = answer(request)
        try:
            if answer.status != 200:
                self._json(answer.status, {"error": {"message": answer.message, "type": "error"}}, answer.headers)
            elif answer.raw:
                self._send(200, answer.raw, answer.headers)
            elif request.get("stream"):
                self._stream(answer, request)
            else:
                if answer.hold_after is not None:
                    state.release.wait(30)
                self._json(200, _whole(answer, request), answer.headers)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
            state.gone.set()

    def _embeddings(self, request: dict[str, Any]) -> None:
        state = self.server_state
        with state.arrived:
            state.embedded.append(request)
            state.headers.append({key.lower(): value for key, value in self.headers.items()})
            answer = state.embedding_script.popleft() if state.embedding_script else None
            state.arrived.notify_all()
        if answer is None and state.refuses and any(state.refuses in text for text in request["input"]):
            answer = error(400, "This text is too long.")
        if answer is not None and answer.raw:
            self._send(200, answer.raw, answer.headers)
        elif answer is not None:
            self._json(answer.status, {"error": {"message": answer.message, "type": "error"}}, answer.headers)
        else:
            texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
            found = [state.vector(text, state.dimensions) for text in texts]
            if request.get("encoding_format") == "base64" and not state.floats_only:
                shown: list[Any] = [base64.b64encode(struct.pack(f"<{len(v)}f", *v)).decode() for v in found]
            else:
                shown = found
            data = [{"object": "embedding", "index": n, "embedding": v} for n, v in enumerate(shown)]
            # the order of the answer is not promised
            self._json(200, {"object": "list", "data": data[::-1], "model": request["model"]}, {})

    def _json(self, status: int, data: dict[str, Any], headers: dict[str, str]) -> None:
        self._send(status, json.dumps(data).encode(), headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for key, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def _stream(self, answer: Answer, request: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for sent, (delta, finish) in enumerate(_deltas(answer)):
            if answer.hold_after is not None and sent == answer.hold_after:
                self.wfile.flush()
                while not self.server_state.release.wait(0.02):  # a comment line shows whether the client is there
                    self.wfile.write(b": still here\n\n")
                    self.wfile.flush()
            if answer.drop_after is not None and sent == answer.drop_after:
                self.wfile.flush()
                return
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            self._event(_envelope(request, "chat.completion.chunk") | {"choices": [choice]})
        self._event(_envelope(request, "chat.completion.chunk") | {"choices": [], "usage": _usage(answer)})
        self.wfile.write(b"data: [DONE]\n\n")
        self.wfile.flush()

    def _event(self, data: dict[str, Any]) -> None:
        self.wfile.write(b"data: " + json.dumps(data).encode() + b"\n\n")
        self.wfile.flush()


def _envelope(request: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1764000000, "model": request["model"]}


def _usage(answer: Answer) -> dict[str, int]:
    read, written = answer.tokens
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _call(index: int, call: tuple[str, str, dict[str, Any] | str]) -> dict[str, Any]:
    id_, name, args = call
    arguments = args if isinstance(args, str) else json.dumps(args)
    return {"index": index, "id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def _whole(answer: Answer, request: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": "".join(answer.pieces) or None}
    if answer.calls:
        message["tool_calls"] = [_call(n, call) for n, call in enumerate(answer.calls)]
    finish = answer.finish or ("tool_calls" if answer.calls else "stop")
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return _envelope(request, "chat.completion") | {"choices": [choice], "usage": _usage(answer)}


def _deltas(answer: Answer) -> Iterator[tuple[dict[str, Any], str | None]]:
    for piece in answer.pieces:
        yield {"role": "assistant", "content": piece}, None
    for n, call in enumerate(answer.calls):
        whole = _call(n, call)
        arguments = whole["function"]["arguments"]
        half = len(arguments) // 2
        head = {**whole, "function": {"name": call[1], "arguments": arguments[:half]}}
        yield {"role": "assistant", "tool_calls": [head]}, None
        yield {"tool_calls": [{"index": n, "function": {"arguments": arguments[half:]}}]}, None
    yield {}, answer.finish or ("tool_calls" if answer.calls else "stop")


@contextlib.contextmanager
def running() -> Iterator[Server]:
    """A server on a free loopback port for the length of the block."""
    with Server() as server:
        yield server
