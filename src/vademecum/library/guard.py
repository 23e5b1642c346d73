"""Where the library may connect to: the addresses behind a name are looked at, and only those are connected to.

Idea: the check stands where a connection is opened, so it holds for every redirect and for a name that changes its
address between two look-ups. Invariant: no request reaches this machine, a private network, or an address that means
one of them in another writing, unless a person configured exactly that host; and reading ends by a deadline, however
slowly the bytes come.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpcore2
import httpx2

from vademecum.errors import RefusedError

Resolver = Callable[[str, int], list[str]]
"""The addresses of a host, as texts. Raises OSError when there are none."""
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

PORTS = frozenset({80, 443})
"""Ports that are connected to beside the one that a person configured."""
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_HOSTS_OWN = frozenset({"168.63.129.16"})
"""Addresses that look public, behind which a provider of machines answers each of them alone (Azure)."""
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)
_COMPATIBLE = ipaddress.IPv6Network("::/96")


def resolve(host: str, port: int) -> list[str]:
    """The addresses of `host`, by the system's resolver, which also reads `127.1`, `0x7f000001` and `2130706433`."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


def kind_of(text: str) -> str:
    """`public`, `own` (this machine or a private network), or `never` (nobody's service: link-local, multicast ...).

    An address that carries another one inside (mapped, 6to4, Teredo, NAT64, ISATAP) is as bad as the worse of the two.
    """
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return "never"
    kinds = {_plain(one) for one in (address, *_inside(address))}
    return next((kind for kind in ("never", "own") if kind in kinds), "public")


def _plain(address: Address) -> str:
    if address.is_loopback:
        return "own"
    if str(address) in _HOSTS_OWN:
        return "never"
    if isinstance(address, ipaddress.IPv6Address):
        if address in _NAT64:
            return "public"  # as public as the address inside
        if address.is_site_local or address in _COMPATIBLE:
            return "own" if int(address) else "never"
    if address.is_link_local or address.is_multicast or address.is_unspecified or address.is_reserved:
        return "never"
    return "own" if address.is_private else "public" if address.is_global else "never"


def _inside(address: Address) -> Iterator[Address]:
    if not isinstance(address, ipaddress.IPv6Address):
        return
    if address.ipv4_mapped:
        yield address.ipv4_mapped
    if address.sixtofour:
        yield address.sixtofour
    if address.teredo:
        yield from address.teredo
    if address in _NAT64 or int(address) >> 32 & 0xFFFFFFFF in _ISATAP:
        yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)


class Backend(httpcore2.NetworkBackend):
    """Opens connections to addresses that were looked at. `own` is the host and port that a person configured."""

    def __init__(self, resolver: Resolver, own: tuple[str, int] | None) -> None:
        self._resolver, self._own = resolver, own
        self.gateway: tuple[str, int] | None = None
        """Host and port of the proxy through which public hosts are reached, which the environment names."""
        self._inner = httpcore2.SyncBackend()
        self._until = threading.local()

    def deadline(self, at: float) -> None:
        """Everything that this thread reads and writes from now on ends at `at` (monotonic seconds)."""
        self._until.at = at

    def left(self, timeout: float | None) -> float:
        """Seconds that are left, at most `timeout`. Raises ReadTimeout when there are none."""
        left = getattr(self._until, "at", time.monotonic() + 60.0) - time.monotonic()
        if left <= 0:
            raise httpcore2.ReadTimeout("the time is up")
        return left if timeout is None else min(timeout, left)

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """A connection to the first address of `host` that answers. Raises RefusedError for one that may not be."""
        last: httpcore2.ConnectError | httpcore2.ConnectTimeout | None = None
        for address in self.allowed(host, port):
            try:
                stream = self._inner.connect_tcp(address, port, self.left(timeout), local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                last = error
            else:
                return _Stream(stream, self)
        raise last or httpcore2.ConnectError(f"{host} has no address")

    def allowed(self, host: str, port: int) -> list[str]:
        """The addresses of `host`, all of which may be connected to. Raises RefusedError, ConnectError."""
        if (host, port) == self.gateway:
            return [host]
        own = (host, port) == self._own
        if port not in PORTS and not own:
            raise RefusedError(
                f"{host}:{port} was not asked: the library connects to the ports 80 and 443 only.",
                "A source of your own may have another one: set its base_url.",
            )
        try:
            found = self._resolver(host, port)
        except (OSError, UnicodeError) as error:
            raise httpcore2.ConnectError(f"{host} is not known: {error}") from error
        for address in found:
            kind = kind_of(address)
            if kind == "never" or (kind == "own" and not own):
                raise RefusedError(
                    f"{host} was not asked: its address {address} belongs to this machine or to a private network.",
                    "If that is a server of your own, set it as base_url of the source in config.yaml.",
                )
        return found

    def check_through(self, host: str, port: int) -> None:
        """Raises RefusedError for a host that the proxy may not be asked for. A name that only the proxy can look up
        passes: what it leads to is for the proxy to say.
        """
        with contextlib.suppress(httpcore2.ConnectError):
            self.allowed(host, port)


class _Stream(httpcore2.NetworkStream):
    """A connection whose every read and write ends by the deadline."""

    def __init__(self, inner: httpcore2.NetworkStream, backend: Backend) -> None:
        self._inner, self._backend = inner, backend

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._backend.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._backend.left(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        inner = self._inner.start_tls(ssl_context, server_hostname, self._backend.left(timeout))
        return _Stream(inner, self._backend)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


@lru_cache(maxsize=4)
def _trusted(_file: str, _folder: str) -> ssl.SSLContext:
    """The certificates that are trusted, read once for all sources: 30 ms and more. The environment may name them."""
    return httpx2.create_ssl_context()


class Transport(httpx2.BaseTransport):
    """httpx2 over connections that the guard opened, or a proxy that it checked for. Errors are those of httpcore2."""

    def __init__(self, backend: Backend, *, proxied: bool) -> None:
        """`proxied`: the proxy that `https_proxy` and `no_proxy` name is used for the hosts that they mean."""
        self._backend = backend
        trusted = _trusted(os.environ.get("SSL_CERT_FILE", ""), os.environ.get("SSL_CERT_DIR", ""))
        options: dict[str, Any] = {"ssl_context": trusted, "network_backend": backend}
        options |= {"max_connections": 4, "keepalive_expiry": 10.0}
        self._direct = httpcore2.ConnectionPool(**options)
        self._proxy: httpcore2.HTTPProxy | None = None
        address = getproxies().get("https", "") if proxied else ""
        if address.startswith(("http://", "https://")):
            url = httpx2.URL(address)
            backend.gateway = (url.host, url.port or (443 if url.scheme == "https" else 80))
            auth = (url.username, url.password) if url.username else None
            bare = f"{url.scheme}://{url.netloc.decode('ascii')}"
            self._proxy = httpcore2.HTTPProxy(bare, proxy_auth=auth, **options)

    def _pool(self, url: httpx2.URL) -> httpcore2.ConnectionPool:
        if self._proxy is None or proxy_bypass(url.host):
            return self._direct
        self._backend.check_through(url.host, url.port or (443 if url.scheme == "https" else 80))
        return self._proxy

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """One request on a connection of the pool."""
        url = request.url
        answer = self._pool(url).handle_request(
            httpcore2.Request(
                method=request.method,
                url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx2.Response(answer.status, headers=answer.headers, stream=_Body(answer))

    def close(self) -> None:
        """Close all connections."""
        self._direct.close()
        if self._proxy is not None:
            self._proxy.close()


class _Body(httpx2.SyncByteStream):
    def __init__(self, answer: httpcore2.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        yield from self._answer.iter_stream()

    def close(self) -> None:
        self._answer.close()
