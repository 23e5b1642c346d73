"""Where the library may connect to: addresses in every writing, redirects, ports, tokens."""

from __future__ import annotations

from typing import Any

import pytest

from servers.rest import Fault, Request, Rest
from vademecum.errors import ConfigError, RefusedError, SourceError
from vademecum.library.guard import Backend, kind_of
from vademecum.library.web import Web


class Echo(Rest):
    def answer(self, request: Request) -> tuple[int, Any]:
        return 200, {"path": request.path, "token": request.headers.get("authorization", "")}


def redirect(to: str, code: int = 302) -> Fault:
    return Fault(code, b"", {"Location": to})


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.255.0.9", "10.0.0.1", "172.16.4.4", "192.168.1.1", "100.64.0.1", "::1", "fc00::1", "fd12::8",
        "::ffff:127.0.0.1", "::ffff:10.1.2.3", "2002:7f00:1::", "2002:c0a8:101::1", "64:ff9b::7f00:1",
        "64:ff9b::a00:1", "2600::5efe:a00:1",
        "2600::200:5efe:c0a8:1", "64:ff9b:1::1", "fec0::1", "::127.0.0.1", "198.18.0.1", "192.0.2.1", "2001:db8::1",
    ],
)  # fmt: skip
def test_an_address_of_this_machine_or_a_private_network_is_known_in_every_writing(address: str) -> None:
    assert kind_of(address) in ("own", "never")
    with pytest.raises(RefusedError, match="not asked"):
        Backend(lambda host, port: [address], None).allowed("example.org", 443)


@pytest.mark.parametrize(
    "address",
    ["169.254.169.254", "fe80::1%eth0", "0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255", "240.0.0.1",
     "168.63.129.16", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2001:db9::5efe:a9fe:a9fe", "not an address", ""],
)  # fmt: skip
def test_an_address_that_is_nobodys_service_is_refused_even_where_a_person_configured_the_host(address: str) -> None:
    assert kind_of(address) == "never"
    with pytest.raises(RefusedError):
        Backend(lambda host, port: [address], ("wiki.example.org", 443)).allowed("wiki.example.org", 443)


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "64:ff9b::808:808", "2002:808:808::1"])
def test_a_public_address_is_allowed(address: str) -> None:
    assert kind_of(address) == "public"
    assert Backend(lambda host, port: [address], None).allowed("example.org", 443) == [address]


def test_a_name_with_one_public_and_one_private_address_is_refused() -> None:
    with pytest.raises(RefusedError, match=r"10\.0\.0\.5"):
        Backend(lambda host, port: ["8.8.8.8", "10.0.0.5"], None).allowed("rebound.example.org", 443)


def test_only_the_host_and_port_that_a_person_configured_may_be_private() -> None:
    own = Backend(lambda host, port: ["10.0.0.5"], ("wiki.example.org", 8443))
    assert own.allowed("wiki.example.org", 8443) == ["10.0.0.5"]
    with pytest.raises(RefusedError):
        own.allowed("wiki.example.org", 443)
    with pytest.raises(RefusedError):
        own.allowed("other.example.org", 443)


@pytest.mark.parametrize("port", [22, 25, 6379, 8080, 11211])
def test_other_ports_than_those_of_the_web_are_refused(port: int) -> None:
    with pytest.raises(RefusedError, match="ports 80 and 443"):
        Backend(lambda host, port: ["8.8.8.8"], None).allowed("example.org", port)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "localhost", "[::1]", "[::ffff:7f00:1]"]
)
def test_the_systems_resolver_leads_no_spelling_of_loopback_past_the_guard(host: str) -> None:
    web = Web("arxiv", "https://export.arxiv.org/api")
    with pytest.raises((RefusedError, SourceError)) as caught:
        web.get(f"https://{host}/latest/meta-data")
    if isinstance(caught.value, SourceError):  # what the client itself takes for no address
        assert "Invalid IPv4 address" in caught.value.message or "not known" in caught.value.message


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "ftp://example.org/a", "gopher://example.org/", "unix://tmp/s", "data://text/plain,x",
     "https://user:pass@example.org/", "https://api.example.org@evil.example/", "https://@example.org/",
     "https://exa mple.org/", "https://example.org\\@evil.example/", "https://", "https:///path", "jar:https://a.b/!/c",
     "https://example.org:99999/"],
)  # fmt: skip
def test_only_plain_addresses_of_web_servers_are_asked(url: str) -> None:
    asked: list[str] = []

    def resolver(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["8.8.8.8"]

    with pytest.raises((RefusedError, SourceError)):
        Web("arxiv", "https://export.arxiv.org/api", resolver=resolver).get(url)
    assert asked == []


@pytest.mark.parametrize(
    "target",
    ["http://169.254.169.254/latest/meta-data", "https://localhost/x", "https://intern.example/x", "file:///etc/passwd",
     "https://user:pass@example.org/", "https://example.org:6379/"],
)  # fmt: skip
def test_a_redirect_is_looked_at_like_the_first_address(target: str) -> None:
    addresses = {"intern.example": ["192.168.7.7"], "localhost": ["127.0.0.1"], "127.0.0.1": ["127.0.0.1"]}
    with Echo() as server:
        server.faults.append(redirect(target))
        web = Web("src", server.url, own=True, resolver=lambda host, port: addresses.get(host, [host]))
        with pytest.raises(RefusedError, match="not asked"):
            web.get("/start")
        assert [one.path for one in server.requests] == ["/start"]


def test_another_server_of_this_machine_is_not_reached_through_a_redirect_from_the_configured_one() -> None:
    with Echo() as other, Echo() as server:
        server.faults.append(redirect(f"{other.url}/secret"))
        with pytest.raises(RefusedError):
            Web("src", server.url, own=True).get("/start")
        assert other.requests == []


def test_a_redirect_within_the_configured_server_is_followed_with_its_token() -> None:
    with Echo() as server:
        server.faults.append(redirect("/moved", 301))
        reply = Web("src", server.url, own=True, headers={"Authorization": "Bearer abcdefgh1234"}).json("GET", "/start")
    assert reply == {"path": "/moved", "token": "Bearer abcdefgh1234"}


def test_an_endless_redirect_ends_with_an_error() -> None:
    with Echo() as server:
        server.faults.extend(redirect(f"/{n}") for n in range(30))
        with pytest.raises(SourceError, match="again and again"):
            Web("src", server.url, own=True).get("/start")
        assert len(server.requests) <= 6


def test_data_that_is_sent_is_not_sent_on_to_another_place() -> None:
    with Echo() as server:
        server.faults.append(redirect("/moved", 307))
        with pytest.raises(SourceError, match="sends the request on"):
            Web("src", server.url, own=True).json("POST", "/start", {"a": 1})
        assert len(server.requests) == 1


def test_the_token_goes_to_no_other_host() -> None:
    with Echo() as server, Echo() as other:
        port = int(other.url.rpartition(":")[2])
        web = Web("src", server.url, own=True, headers={"Authorization": "Bearer abcdefgh1234"})
        web._backend._own = ("127.0.0.1", port)  # pyright: ignore[reportPrivateUsage]  only so that it is reached at all
        with pytest.raises((RefusedError, SourceError)):  # http to another place becomes https, which it does not speak
            web.get(f"{other.url}/x")
        assert all("authorization" not in one.headers for one in other.requests)


def test_without_a_configured_address_loopback_is_refused_however_the_source_was_written() -> None:
    with Echo() as server:
        with pytest.raises(RefusedError, match=r"belongs to this machine|ports 80 and 443"):
            Web("src", server.url).get("/")
        assert server.requests == []


@pytest.mark.parametrize(
    "base",
    ["http://example.org/api", "ftp://example.org", "https://user:key@example.org", "example.org", "https://",
     "https://example.org/?a=1", "http://127.0.0.1.evil.example/"],
)  # fmt: skip
def test_an_address_that_would_show_the_token_cannot_be_configured(base: str) -> None:
    with pytest.raises(ConfigError, match="address of src"):
        Web("src", base)
