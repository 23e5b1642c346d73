"""A small real HTTP server for the API of a memory service: a subclass answers, faults can be put before it.

Idea: `answer` gets a request as data and returns status and JSON; a fault that was put in the queue takes the place of
the next answer. Invariant: it listens on loopback only, and what it knows is lost with it.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass
class Request:
    """What arrived. Header names are in lower case; `body` is None for none, `raw` its bytes."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    raw: bytes = b""


@dataclass
class Fault:
    """What happens in the place of an answer: a status, bytes as they are, silence, a cut, a closed connection.

    `done`: the request is carried out first, so that only its answer is lost.
    """

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    silent: bool = False
    cut: bool = False
    drop: bool = False
    done: bool = False


def status(code: int, message: str = "no", **headers: str) -> Fault:
    body = json.dumps({"detail": message}).encode()
    return Fault(code, body, {name.replace("_", "-"): value for name, value in headers.items()})


def raw(body: bytes) -> Fault:
    return Fault(body=body)


SILENT, DROP, CUT = Fault(silent=True), Fault(drop=True), Fault(cut=True, body=b'{"results": [{"id": "1", "mem')


class Rest:
    """`url` is its address; `requests` what arrived; `faults` what takes the place of the next answers."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.faults: deque[Fault] = deque()
        self.always: Fault | None = None
        self.release = threading.Event()
        self.lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"rest": self})
        self._http = _Http(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def answer(self, request: Request) -> tuple[int, Any] | Fault:
        """Status and JSON (None: no body; bytes: as they are); a Fault where headers matter as well."""
        raise NotImplementedError

    @contextlib.contextmanager
    def down(self) -> Iterator[None]:
        """As long as it lasts, every connection is closed without an answer."""
        self.always = DROP
        try:
            yield
        finally:
            self.always = None

    def __enter__(self) -> Any:
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
    rest: Rest

    def log_message(self, *_: object) -> None:
        pass

    def _serve(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        headers = {key.lower(): value for key, value in self.headers.items()}
        is_json = content and "json" in headers.get("content-type", "")
        body = json.loads(content) if is_json else None
        request = Request(self.command, parts.path, dict(parse_qsl(parts.query)), headers, body, content)
        with self.rest.lock:
            self.rest.requests.append(request)
            fault = self.rest.always or (self.rest.faults.popleft() if self.rest.faults else None)
            answer = self.rest.answer(request) if fault is None or fault.done else None
            if fault is None and isinstance(answer, Fault):
                fault = answer
        if fault is None:
            assert isinstance(answer, tuple)
            made = answer[1] if isinstance(answer[1], bytes) else b"" if answer[1] is None else _json(answer[1])
            self._send(answer[0], made, {})
        elif fault.silent:
            self.rest.release.wait(60)
            self.close_connection = True
        elif fault.drop:
            self.close_connection = True
        else:
            self._send(fault.status, fault.body, fault.headers, longer=64 if fault.cut else 0)
            self.close_connection = fault.cut

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

    def _send(self, code: int, body: bytes, headers: Mapping[str, str], *, longer: int = 0) -> None:
        with contextlib.suppress(OSError):
            self.send_response(code)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body) + longer))
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
