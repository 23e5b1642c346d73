"""JSON over HTTP to a vendor: what is an error, what passes, what is never sent or said."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from servers.rest import CUT, DROP, SILENT, Fault, Request, Rest, raw, status
from vademecum.errors import ConfigError, ProviderError
from vademecum.providers.http import LARGEST, Http, fields

KEY = "sk-a-key-that-nobody-may-see-0123456789"


class Echo(Rest):
    def answer(self, request: Request) -> tuple[int, Any]:
        if request.path == "/nothing":
            return 204, None
        return 200, {"method": request.method, "path": request.path, "query": request.query, "body": request.body}


@pytest.fixture
def server() -> Iterator[Echo]:
    with Echo() as made:
        yield made


@pytest.fixture
def http(server: Echo) -> Iterator[Http]:
    made = client(server.url)
    yield made
    made.close()


def client(url: str, seconds: float = 5.0) -> Http:
    clock = 1_780_000_000_000
    return Http("Acme", url, headers={"Authorization": f"Bearer {KEY}"}, seconds=seconds, clock=lambda: clock)


def failed(http: Http, *args: Any, **more: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        http.json(*(args or ("GET", "/x")), **more)
    return caught.value


def test_a_request_is_sent_and_its_answer_read(http: Http, server: Echo) -> None:
    found = http.json("POST", "/things", {"name": "Zoë"}, query={"page": 2})
    assert found == {"method": "POST", "path": "/things", "query": {"page": "2"}, "body": {"name": "Zoë"}}
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert http.json("DELETE", "/nothing") is None


@pytest.mark.parametrize(
    ("code", "passing"), [(400, False), (401, False), (403, False), (404, False), (409, False), (422, False),
                          (408, True), (429, True), (500, True), (502, True), (503, True), (504, True)],
)  # fmt: skip
def test_a_status_says_whether_to_try_again(http: Http, server: Echo, code: int, passing: bool) -> None:
    server.faults.append(status(code, "because"))
    error = failed(http)
    assert (error.status, error.passing) == (code, passing)
    assert "because" in error.message
    assert error.hint


def test_a_status_that_is_expected_is_an_answer(http: Http, server: Echo) -> None:
    server.faults.append(status(404, "gone"))
    assert http.json("GET", "/x", expected=(404,)) == {"detail": "gone"}


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7.0), ("Thu, 28 May 2026 20:27:20 GMT", 40.0), ("soon", None), ("-3", 0.0), ("9999999", 86_400.0)],
)
def test_how_long_to_wait_is_read_as_seconds_and_as_a_date(
    http: Http, server: Echo, header: str, seconds: float | None
) -> None:
    server.faults.append(status(429, "slow down", Retry_After=header))
    assert failed(http).retry_after == seconds


def test_a_server_that_is_not_there_passes() -> None:
    with Echo() as server:
        url = server.url
    error = failed(client(url))
    assert error.passing
    assert error.status is None


@pytest.mark.parametrize("fault", [DROP, CUT])
def test_an_answer_that_breaks_off_passes(http: Http, server: Echo, fault: Fault) -> None:
    server.faults.append(fault)
    assert failed(http).passing


def test_silence_ends_in_time_and_passes(server: Echo) -> None:
    server.faults.append(SILENT)
    http, began = client(server.url, seconds=0.3), time.monotonic()
    assert failed(http).passing
    assert time.monotonic() - began < 5
    http.close()


@pytest.mark.parametrize(
    "body", [b'{"results": [{"id": "1", "mem', b"<html>Gateway</html>", b"\xff\xfe", b"[" * 100_000]
)
def test_what_is_not_json_passes(http: Http, server: Echo, body: bytes) -> None:
    server.faults.append(raw(body))
    error = failed(http)
    assert error.passing
    assert "not JSON" in error.message


def test_an_answer_without_end_is_cut_off(http: Http, server: Echo) -> None:
    server.faults.append(raw(b'"' + b"x" * LARGEST + b'"'))
    assert not failed(http).passing


def test_no_key_stands_in_a_message(http: Http, server: Echo) -> None:
    server.faults.append(status(401, f"The key {KEY} is not valid, nor is ghp_{'a1B2' * 9}"))
    error = failed(http)
    assert KEY not in error.message
    assert "ghp_a1B2" not in error.message
    assert "is not valid" in error.message


def test_a_page_of_a_gateway_is_not_quoted(http: Http, server: Echo) -> None:
    server.faults.append(Fault(502, b"<html><body>nginx</body></html>"))
    assert "html" not in failed(http).message


@pytest.mark.parametrize(
    "url", ["http://mem.example.org", "http://192.168.1.4:8888", "ftp://127.0.0.1", "https://ana:pass@mem.example.org",
            "mem.example.org", "", "http://127.0.0.1.example.org", "https://[bad"],
)  # fmt: skip
def test_an_address_that_would_show_the_key_to_others_is_refused(url: str) -> None:
    with pytest.raises(ConfigError):
        client(url)


@pytest.mark.parametrize(
    "url", ["https://mem.example.org/api/", "http://localhost:8888", "http://[::1]:9", "http://127.0.0.1"]
)
def test_an_encrypted_address_and_this_machine_are_taken(url: str) -> None:
    assert client(url).base == url.rstrip("/")


def test_a_redirect_to_another_host_gets_nothing(http: Http, server: Echo) -> None:
    with Echo() as thief:
        server.faults.append(Fault(307, headers={"Location": f"{thief.url}/x"}))
        error = failed(http, "POST", "/x", {"private": True})
        assert not error.passing
        assert thief.requests == []


def test_a_redirect_on_the_same_host_is_followed(http: Http, server: Echo) -> None:
    server.faults.append(Fault(308, headers={"Location": "/there"}))
    assert http.json("POST", "/here", {"a": 1}) == {"method": "POST", "path": "/there", "query": {}, "body": {"a": 1}}


def test_a_redirect_in_circles_ends(http: Http, server: Echo) -> None:
    server.always = Fault(302, headers={"Location": "/x"})
    failed(http)
    assert len(server.requests) == 3


def test_another_schema_is_an_error_that_does_not_pass() -> None:
    for data in ([], None, {"items": []}):
        with pytest.raises(ProviderError) as caught:
            fields("Acme", data, "results")
        assert not caught.value.passing
    assert fields("Acme", {"results": []}, "results") == {"results": []}


def test_a_file_is_sent_as_a_form(http: Http, server: Echo) -> None:
    http.send("POST", "/files", files={"file": ("a.txt", b"hello", "text/plain")})
    assert server.requests[0].headers["content-type"].startswith("multipart/form-data")
    assert b"hello" in server.requests[0].raw
