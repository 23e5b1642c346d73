"""The guarded client through which every source of the library reaches the network.

Idea: a source says path and query and gets the answer whole or as data; where a connection may go, how much may come,
how long it may take and when a host wants to be left alone is decided here. Invariant: tokens go to the source's own
host and nowhere else, and stand in no message; an answer is never larger, unpacked, nor slower than allowed.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
import weakref
import zlib
from collections.abc import Callable, Mapping
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urljoin, urlsplit, urlunsplit

from vademecum.clock import Clock, iso, now_ms
from vademecum.errors import ConfigError, RefusedError, SourceError
from vademecum.late import dataclass, pattern
from vademecum.library.asking import ends
from vademecum.library.gunzip import Gunzip
from vademecum.wire import PASSING, is_loopback, retry_after, words

if TYPE_CHECKING:
    import httpx2

    from vademecum.library.cache import Cache
    from vademecum.library.guard import Backend, Resolver

LARGEST = 8_000_000
"""Most bytes of an answer's body, unpacked."""
SECONDS = 20.0
"""Longest time of one request, from its beginning to the last byte."""
PATIENCE = 10.0
"""Longest time, in seconds, that is waited because a host asks for it; beyond that the caller is told when to try."""

_REDIRECTS, _TRIES = 5, 3
_QUOTED = 200  # characters of the source's own words in a message
_RETRIED = 1.0  # seconds before a passing fault of a source is tried once more, when it names no time
_DEFAULT_PORTS = {"http": 80, "https": 443}
_NAME = pattern(r"[\w.-]+|[0-9a-f:.]+")
"""A host, as every reader of an address understands it."""
Query = Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer with a status below 400, or one that the call said it expects. Header names in lower case.

    `url` is where it came from after redirects. `fetched` (UTC ms) is when the body was last fetched or confirmed.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str
    fetched: int = 0


class Web:
    """The connection of one source. Thread-safe. Nothing is sent, and no client imported, before the first request.

    `base` is the API's address; `own` says that a person configured it, so that it may be of this machine or a private
    network. `headers` (the token) go to the host of `base` and to no other. `pace` is the least time between two
    requests, in seconds; `penalty` how long, in seconds, a source is left alone that asks to slow down and names no
    time.
    """

    def __init__(
        self,
        source: str,
        base: str,
        *,
        headers: Mapping[str, str] | None = None,
        own: bool = False,
        pace: float = 0.0,
        seconds: float = SECONDS,
        patience: float = PATIENCE,
        penalty: float = 0.0,
        largest: int = LARGEST,
        cache: Cache | None = None,
        clock: Clock = now_ms,
        resolver: Resolver | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Raises ConfigError for an address that is neither https nor this machine's own."""
        self.source = source
        self.base = checked(source, base)
        self._headers = dict(headers or {})
        self._own, self._pace, self._penalty = own, pace, penalty
        self._seconds, self._patience, self._largest = seconds, patience, largest
        self._cache, self._clock, self._resolver, self._sleep = cache, clock, resolver, sleep
        self._row = threading.Lock()

    @cached_property
    def _backend(self) -> Backend:
        from vademecum.library.guard import Backend, resolve

        return Backend(self._resolver or resolve, _place(self.base) if self._own else None)

    @cached_property
    def _client(self) -> httpx2.Client:
        import httpx2  # 60 ms

        from vademecum.library.guard import Transport

        transport = Transport(self._backend, proxied=not self._own)
        weakref.finalize(self, transport.close)  # one that nobody closed leaves no connection behind
        return httpx2.Client(transport=transport, trust_env=False, headers={"User-Agent": _agent()})

    def close(self) -> None:
        """Let go of the connections."""
        if "_client" in self.__dict__:
            self._client.close()

    def json(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
        expected: tuple[int, ...] = (),
    ) -> Any:
        """Send `body` as JSON and return the answer's JSON (None for an empty one). Raises SourceError."""
        return as_json(self.reply(method, path, body, query=query, headers=headers, expected=expected), self.source)

    def reply(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
        expected: tuple[int, ...] = (),
    ) -> Reply:
        """The same with status and headers: `as_json` reads the body."""
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
        given = {"Accept": "application/json", **(headers or {})}
        if content is not None:
            given["Content-Type"] = "application/json"
        return self.send(method, path, content, query=query, headers=given, expected=expected)

    def get(
        self,
        path: str,
        *,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
        expected: tuple[int, ...] = (),
        largest: int | None = None,
    ) -> Reply:
        """GET `path`, which is below the base, or a whole URL of any public host. Raises SourceError, RefusedError.

        A text with an entity tag is kept, and asked for again with it: an unchanged one costs nothing to fetch.
        """
        url = self._url(path, query)
        if self._cache is None or expected:
            return self.send("GET", url, headers=headers, expected=expected, largest=largest)
        cache, given = self._cache, dict(headers or {})
        key = hashlib.sha256(json.dumps([url, given, self._headers], sort_keys=True).encode()).hexdigest()
        copy = cache.get("web", key)
        if copy is not None:
            given["If-None-Match"] = copy.tag
        reply = self.send("GET", url, headers=given, expected=(304,), largest=largest)
        if reply.status == 304 and copy is not None:
            cache.confirmed("web", key)
            return Reply(200, reply.headers, copy.value, reply.url, self._clock())
        if reply.status == 304:
            raise self._error(url, reply)
        if tag := reply.headers.get("etag", ""):
            cache.put_answer(key, reply.body, tag)
        return reply

    def send(
        self,
        method: str,
        path: str,
        content: bytes | None = None,
        *,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
        expected: tuple[int, ...] = (),
        largest: int | None = None,
    ) -> Reply:
        """One request, its answer whole; waits and tries again where the source asks for it and it is not for long.

        Only GET is tried again after a fault. Raises SourceError, and RefusedError for a place that may not be asked.
        """
        url = self._url(path, query)
        host = _host(url)
        for again in range(_TRIES):
            self._waited(host)
            reply = self._followed(method, url, content, headers or {}, largest or self._largest)
            until = self._limited(reply)
            if until:
                self._wait_until(host, until)
            if reply.status < 400 or (reply.status in expected and not _is_limit(reply)):
                return reply
            error = self._error(url, reply, until)
            lasting = not error.passing or (_is_page(reply) and reply.status < 500)
            if again == _TRIES - 1 or lasting or (method != "GET" and not _is_limit(reply)):
                raise error
            if not until:
                self._wait_until(host, self._clock() + round(_RETRIED * 1000))
        raise AssertionError("unreachable")

    # --- one request

    def _url(self, path: str, query: Query | None) -> str:
        url = path if "://" in path else self.base + path
        if query:
            url += ("&" if urlsplit(url).query else "?") + urlencode(query)
        return self._permitted(url)

    def _permitted(self, url: str) -> str:
        """`url` without a fragment. Raises RefusedError for one that is no plain address of a web server."""
        try:
            parts = urlsplit(url)
            host, _port = parts.hostname or "", parts.port
        except ValueError as error:
            raise RefusedError(f"{self.source} names an address that cannot be read; it was not asked.") from error
        if parts.scheme not in _DEFAULT_PORTS or not _NAME.fullmatch(host) or "@" in parts.netloc:
            raise RefusedError(
                f"{self.source} names an address that is not of the form https://host/path; it was not asked."
            )
        if parts.scheme == "http" and _place(url) != _place(self.base):
            parts = parts._replace(scheme="https")  # nothing outside is asked in the clear
        return urlunsplit(parts._replace(fragment=""))

    def _followed(
        self, method: str, url: str, content: bytes | None, headers: Mapping[str, str], largest: int
    ) -> Reply:
        """The answer behind redirects, each of which is looked at like the first; another host never gets the token."""
        _ = self._client  # made before the clock runs: the first one takes a while
        deadline = min(time.monotonic() + self._seconds, ends() or inf)
        for _ in range(_REDIRECTS + 1):
            reply = self._request(method, url, content, headers, largest=largest, deadline=deadline)
            if reply.status not in (301, 302, 303, 307, 308):
                return reply
            if method != "GET":
                break
            target = self._permitted(urljoin(url, reply.headers.get("location", "")))
            if target == url:
                break
            url = target
        raise SourceError(
            f"{self.source} sends the request on, again and again or with data in it ({_host(url)}); it was given up.",
            "If its address has changed, correct base_url in config.yaml.",
        )

    def _request(
        self,
        method: str,
        url: str,
        content: bytes | None,
        headers: Mapping[str, str],
        *,
        largest: int,
        deadline: float,
    ) -> Reply:
        import httpcore2
        import httpx2

        sent = {"Accept-Encoding": "gzip", **headers}
        if _place(url) == _place(self.base) and _is_tls(url) == _is_tls(self.base):
            sent = {**self._headers, **sent}
        timed_out = (httpcore2.TimeoutException, httpx2.TimeoutException)
        failed = (httpcore2.NetworkError, httpcore2.ProtocolError, httpx2.HTTPError, httpx2.InvalidURL, OSError)
        try:
            client = self._client
            self._backend.deadline(deadline)
            with client.stream(method, url, content=content, headers=sent, timeout=self._seconds) as answer:
                given = {name.lower(): value for name, value in answer.headers.items()}
                body = self._body(answer, given.get("content-encoding", ""), largest, deadline)
                return Reply(answer.status_code, given, body, url, self._clock())
        except timed_out as error:
            raise SourceError(
                f"{self.source} did not answer within {self._seconds:g} s ({_host(url)}).",
                "Try again later.",
                passing=True,
            ) from error
        except failed as error:
            said = self._without_keys(str(error) or type(error).__name__)[:_QUOTED]
            raise SourceError(
                f"{self.source} could not be reached at {_host(url)}: {said.rstrip('.')}.",
                "Check the network and the address.",
                passing=not isinstance(error, httpx2.InvalidURL),
            ) from error

    def _body(self, answer: httpx2.Response, encoding: str, largest: int, deadline: float) -> bytes:
        """The body, unpacked piece by piece, so that a small one cannot become a large one in memory."""
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise SourceError(f"{self.source} answered in the encoding {encoding[:40]!r}, which was not asked for.")
        unpack = Gunzip() if "gzip" in encoding else None
        parts, size = list[bytes](), 0
        for packed in answer.iter_raw():
            try:
                part = packed if unpack is None else unpack.more(packed, largest - size)
            except zlib.error as error:
                raise SourceError(f"{self.source} answered with a damaged gzip stream.", passing=True) from error
            size += len(part)
            if size > largest:
                raise SourceError(
                    f"{self.source} answered with more than {largest:,} bytes; nothing of it was used.",
                    "Ask for a smaller part.",
                )
            if time.monotonic() > deadline:
                import httpx2

                raise httpx2.ReadTimeout("the answer goes on for too long")
            parts.append(part)
        if unpack is not None and parts and not unpack.eof:
            raise SourceError(f"{self.source} answered with a gzip stream that is cut off.", passing=True)
        return b"".join(parts)

    # --- waiting

    def _waited(self, host: str) -> None:
        """Wait until `host` may be asked. Raises SourceError when that is longer than it is worth waiting for."""
        until = self._turn(host)
        left, end = (until - self._clock()) / 1000, ends()
        if left > self._patience or (left > 0 and end is not None and time.monotonic() + left > end):
            raise SourceError(
                f"{self.source} asks to be left alone until {iso(until)[:19].replace('T', ' ')} UTC.",
                "Try again then; what was looked up before is given from the cache.",
                passing=True,
                retry_after=left,
            )
        if left > 0:
            self._sleep(left)

    def _turn(self, host: str) -> int:
        """When this request may be sent (UTC ms). With a pace the place in the row is taken at once."""
        pace, patience = round(self._pace * 1000), round(self._patience * 1000)
        if self._cache:
            return self._cache.turn(host, pace, patience) if pace else self._cache.waits(host)
        with self._row:
            at = max(self._clock(), self._until.get(host, 0))
            if pace and at - self._clock() <= patience:
                self._until[host] = at + pace
        return at

    @cached_property
    def _until(self) -> dict[str, int]:
        return {}

    def _wait_until(self, host: str, until: int) -> None:
        if self._cache:
            self._cache.wait(host, until)
        else:
            self._until[host] = max(until, self._until.get(host, 0))

    def _limited(self, reply: Reply) -> int:
        """When the source may be asked again (UTC ms), as far as its answer says so; 0 for at once."""
        now, headers = self._clock(), reply.headers
        if reply.status in PASSING or reply.status == 403:
            wait = retry_after(headers, now)
            if wait is not None:
                return now + round(wait * 1000)
        if headers.get("x-ratelimit-remaining", headers.get("ratelimit-remaining", "")) == "0":
            reset = headers.get("x-ratelimit-reset", headers.get("ratelimit-reset", ""))
            if reset.isascii() and reset.isdigit() and len(reset) < 16:  # seconds since 1970, or from now
                at = int(reset) * 1000 if int(reset) > 1_000_000_000 else now + int(reset) * 1000
                return min(max(at, now), now + 86_400_000)
        return now + round(self._penalty * 1000) if self._penalty and _is_limit(reply) else 0

    # --- errors

    def _error(self, url: str, reply: Reply, until: int = 0) -> SourceError:
        status, limited = reply.status, _is_limit(reply)
        page = _is_page(reply) and not limited and 400 <= status < 500
        passing = limited or status in PASSING or status >= 500 or page
        if page:
            said, hint = "was not reached: a web page answers in its place", "Sign in to this network, or try later."
        elif limited:
            said, hint = "asks to slow down", "Try again later."
        elif status == 401:
            said, hint = "refused the token", "Check it in .env of the home."
        elif status in (402, 403):
            said, hint = "does not allow it", "Check the rights of the token in .env, or whether one is needed."
        elif status in (404, 410):
            said, hint = "does not know that", "Check the ref; `vademecum library search` gives refs."
        elif passing:
            said, hint = "has a fault of its own at present", "Try again later."
        else:
            said, hint = "refused the request", "Its own words say why."
        if passing and until:
            hint = f"Try again after {iso(until)[:19].replace('T', ' ')} UTC."
        quoted = self._without_keys(words(reply.body))[:_QUOTED]
        return SourceError(
            f"{self.source} {said} ({_host(url)}: HTTP {status}){': ' + quoted if quoted else '.'}",
            hint,
            passing=passing,
            status=status,
            retry_after=(until - self._clock()) / 1000 if until else None,
        )

    def _without_keys(self, text: str) -> str:
        from vademecum.gate.secrets import without_keys  # only on the way to an error

        return without_keys(text, self._headers)


def as_json(reply: Reply, source: str) -> Any:
    """The JSON of an answer; None for an empty one. Raises SourceError."""
    if not reply.body.strip():
        return None
    try:
        return json.loads(reply.body)
    except (ValueError, RecursionError) as error:
        raise SourceError(
            f"{source} answered with something that is not JSON, or is cut off.",
            "Check the address if it stays so.",
            passing=True,
            status=reply.status,
        ) from error


def checked(source: str, base: str) -> str:
    """`base` without a slash at its end. Raises ConfigError unless it is https, or http to this machine itself."""
    try:
        parts = urlsplit(base.strip())
        host, _port = parts.hostname or "", parts.port
    except ValueError as error:
        raise ConfigError(f"The address of {source} cannot be read: {error}.", "Write it as https://host.") from error
    if parts.username is not None or not host or parts.scheme not in _DEFAULT_PORTS or parts.query or parts.fragment:
        raise ConfigError(f"The address of {source} is not of the form https://host:port/path.", "Tokens go to .env.")
    if parts.scheme == "http" and not is_loopback(host):
        raise ConfigError(
            f"The address of {source} (http://{host}) is not encrypted: the token and all that is asked could be read.",
            "Use https, or a tunnel to a port of this machine (ssh -L).",
        )
    return base.strip().rstrip("/")


def _is_page(reply: Reply) -> bool:
    """A web page where none was asked for: a network that wants people to sign in, say."""
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind in ("text/html", "application/xhtml+xml") or reply.body[:200].lstrip().lower().startswith(
        (b"<!doctype html", b"<html")
    )


def _is_limit(reply: Reply) -> bool:
    """A 429, or the 403 by which some say the same."""
    headers = reply.headers
    return reply.status == 429 or (
        reply.status == 403 and ("retry-after" in headers or headers.get("x-ratelimit-remaining") == "0")
    )


def _place(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return (parts.hostname or "").lower(), parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)


def _is_tls(url: str) -> bool:
    return url.startswith("https:")


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2].lower()


def _agent() -> str:
    from vademecum import __version__

    return f"vademecum/{__version__}"
