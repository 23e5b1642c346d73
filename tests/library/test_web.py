"""How much may come, how long it may take, and when a host wants to be left alone."""

from __future__ import annotations

import contextlib
import gzip
from pathlib import Path
from typing import Any

import pytest

from servers.rest import CUT, DROP, SILENT, Fault, Request, Rest, status
from vademecum.errors import SourceError
from vademecum.library.cache import Cache
from vademecum.library.web import Web
from vademecum.store import Database
from vademecum.store.schema_cache import open_cache

NOW = 1_764_000_000_000


class Things(Rest):
    """Answers with its path; `tagged` gives an entity tag, and 304 to who has it."""

    tag = ""

    def answer(self, request: Request) -> tuple[int, Any]:
        return 200, {"path": request.path, "query": request.query}


class Time:
    """A clock that goes on only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = NOW
        self.slept: list[float] = []

    def __call__(self) -> int:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 3))
        self.now += round(seconds * 1000)


@pytest.fixture
def cache_db(tmp_path: Path) -> Any:
    db = open_cache(tmp_path / "cache.db")
    yield db
    db.close()


def web_of(server: Rest, time: Time, db: Database | None = None, **given: Any) -> Web:
    cache = None if db is None else Cache(lambda: db, "src#1", time)
    return Web("src", server.url, own=True, clock=time, sleep=time.sleep, cache=cache, **given)


def test_an_answer_is_data_and_a_query_is_encoded() -> None:
    with Things() as server:
        got = web_of(server, Time()).json("GET", "/a", query={"q": "C++ & co", "n": 3})
    assert got == {"path": "/a", "query": {"q": "C++ & co", "n": "3"}}


def test_more_bytes_than_allowed_are_not_read() -> None:
    with Things() as server:
        server.faults.append(Fault(body=b"x" * 300_000))
        with pytest.raises(SourceError, match="more than 100,000 bytes") as caught:
            web_of(server, Time(), largest=100_000).get("/a")
    assert not caught.value.passing


def test_a_small_answer_that_unpacks_to_a_large_one_is_given_up_early() -> None:
    bomb = gzip.compress(b"\0" * 30_000_000)
    assert len(bomb) < 300_000
    with Things() as server:
        server.faults.append(Fault(body=bomb, headers={"Content-Encoding": "gzip"}))
        with pytest.raises(SourceError, match="more than 1,000,000 bytes"):
            web_of(server, Time(), largest=1_000_000).get("/a")


def test_a_packed_answer_is_unpacked() -> None:
    with Things() as server:
        server.faults.append(Fault(body=gzip.compress(b'{"a": 1}'), headers={"Content-Encoding": "gzip"}))
        assert web_of(server, Time()).json("GET", "/a") == {"a": 1}


@pytest.mark.parametrize(
    ("body", "encoding"),
    [(b"no gzip", "gzip"), (gzip.compress(b"x" * 5000, mtime=0)[:-20], "gzip"), (b"{}", "br")],
    ids=["no gzip", "cut off", "another"],
)
def test_a_damaged_or_foreign_packing_is_an_error(body: bytes, encoding: str) -> None:
    with Things() as server:
        server.always = Fault(body=body, headers={"Content-Encoding": encoding})
        with pytest.raises(SourceError, match=r"gzip stream|encoding"):
            web_of(server, Time()).get("/a")


def test_a_server_that_says_nothing_is_given_up() -> None:
    with Things() as server:
        server.faults.append(SILENT)
        with pytest.raises(SourceError, match=r"within 0.2 s") as caught:
            web_of(server, Time(), seconds=0.2).get("/a")
        assert caught.value.passing


def test_a_server_that_sends_a_byte_now_and_then_is_given_up_at_the_deadline() -> None:
    import socket
    import threading

    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip() -> None:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.recv(4000)
                connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                while not stop.wait(0.03):  # each byte comes well within any time-out of a single read
                    connection.sendall(b"y")

        thread = threading.Thread(target=drip)
        thread.start()
        web = Web("src", f"http://127.0.0.1:{listener.getsockname()[1]}", own=True, seconds=0.3)
        with pytest.raises(SourceError, match=r"within 0.3 s"):
            web.get("/a")
        stop.set()
        socket.create_connection(listener.getsockname()).close()  # where the time was up before it was connected
        thread.join()


@pytest.mark.parametrize("fault", [CUT, DROP])
def test_a_connection_that_breaks_is_a_passing_fault(fault: Fault) -> None:
    with Things() as server:
        server.always = fault
        with pytest.raises(SourceError, match="could not be reached") as caught:
            web_of(server, Time()).get("/a")
    assert caught.value.passing


def test_nobody_there_is_an_error_that_names_the_place() -> None:
    with Things() as server:
        url = server.url
    with pytest.raises(SourceError, match="could not be reached at 127") as caught:
        Web("src", url, own=True).get("/a")
    assert caught.value.passing
    assert "network" in caught.value.hint


def test_a_short_wait_that_a_source_asks_for_is_waited() -> None:
    time = Time()
    with Things() as server:
        server.faults.append(status(429, "slow down", Retry_After="3"))
        assert web_of(server, time).json("GET", "/a")["path"] == "/a"
    assert time.slept == [3.0]


def test_a_long_wait_is_an_error_that_says_until_when_and_is_kept_by_every_process(cache_db: Database) -> None:
    time = Time()
    with Things() as server:
        server.faults.append(status(503, "maintenance", Retry_After="600"))
        with pytest.raises(SourceError) as caught:
            web_of(server, time, cache_db).get("/a")
        assert caught.value.retry_after == 600
        with pytest.raises(SourceError, match="2025-11-24 16:10:00 UTC"):
            web_of(server, time, cache_db).get("/b")  # another process with the same database
        assert len(server.requests) == 1
        time.now += 600_000
        assert web_of(server, time, cache_db).json("GET", "/c")["path"] == "/c"


def test_a_date_in_retry_after_is_understood() -> None:
    time = Time()
    with Things() as server:
        server.faults.append(status(503, "no", Retry_After="Mon, 24 Nov 2025 16:00:04 GMT"))
        web_of(server, time).get("/a")
    assert time.slept == [4.0]


def test_a_used_up_rate_limit_stops_further_requests_until_it_is_reset(cache_db: Database) -> None:
    time = Time()
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(NOW // 1000 + 900)}
    with Things() as server:
        server.faults.append(Fault(body=b'{"ok": 1}', headers=headers))
        web = web_of(server, time, cache_db)
        assert web.json("GET", "/a") == {"ok": 1}
        with pytest.raises(SourceError, match="left alone until 2025-11-24 16:15:00 UTC") as caught:
            web.get("/b")
        assert caught.value.retry_after == 900
        assert len(server.requests) == 1


def test_a_403_that_means_too_many_requests_is_no_lack_of_rights() -> None:
    time = Time()
    with Things() as server:
        server.faults.append(Fault(403, b'{"message": "secondary rate limit"}', {"Retry-After": "2"}))
        assert web_of(server, time).json("GET", "/a")["path"] == "/a"
    assert time.slept == [2.0]


def test_requests_keep_the_distance_that_a_source_asks_for() -> None:
    time = Time()
    with Things() as server:
        web = web_of(server, time, pace=3.0)
        for path in ("/a", "/b", "/c"):
            web.get(path)
    assert time.slept == [3.0, 3.0]


def test_a_fault_of_a_source_is_tried_again_and_a_refusal_is_not() -> None:
    time = Time()
    with Things() as server:
        server.faults.extend([status(502), status(500)])
        assert web_of(server, time).json("GET", "/a")["path"] == "/a"
        server.faults.append(status(422, "no such field"))
        with pytest.raises(SourceError, match=r"refused the request .*no such field") as caught:
            web_of(server, time).get("/b")
        assert caught.value.status == 422
        assert not caught.value.passing
        assert len(server.requests) == 4


def test_what_is_sent_is_not_sent_twice_after_a_fault() -> None:
    with Things() as server:
        server.faults.append(status(500))
        with pytest.raises(SourceError):
            web_of(server, Time()).json("POST", "/a", {"x": 1})
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("code", "said"), [(401, "refused the token"), (403, "does not allow"), (404, "does not know"), (410, "not know")]
)
def test_a_refusal_says_what_to_do_and_shows_no_token(code: int, said: str) -> None:
    token = "made-up-token-123456"
    with Things() as server:
        server.always = status(code, f"bad credentials {token}")
        with pytest.raises(SourceError, match=said) as caught:
            web_of(server, Time(), headers={"Authorization": f"Bearer {token}"}).get("/a")
    assert caught.value.hint
    assert token not in caught.value.message


def test_an_unchanged_answer_is_taken_from_the_cache(cache_db: Database) -> None:
    time = Time()
    with Things() as server:
        server.faults.append(Fault(body=b'{"n": 1}', headers={"ETag": '"v1"'}))
        web = web_of(server, time, cache_db)
        assert web.get("/a").body == b'{"n": 1}'
        server.faults.append(Fault(304, b"", {}))
        time.now += 1000
        again = web.get("/a")
        assert (again.status, again.body, again.fetched) == (200, b'{"n": 1}', time.now)
        assert server.requests[1].headers["if-none-match"] == '"v1"'
        server.faults.append(Fault(body=b'{"n": 2}', headers={"ETag": '"v2"'}))
        assert web.get("/a").body == b'{"n": 2}'


def test_an_answer_with_another_token_is_not_taken_from_the_cache(cache_db: Database) -> None:
    time = Time()
    with Things() as server:
        server.faults.append(Fault(body=b'{"mine": 1}', headers={"ETag": '"v1"'}))
        web_of(server, time, cache_db, headers={"Authorization": "Bearer aaaaaaaaaa"}).get("/a")
        web_of(server, time, cache_db, headers={"Authorization": "Bearer bbbbbbbbbb"}).get("/a")
        assert "if-none-match" not in server.requests[1].headers


def test_something_that_is_no_json_is_a_passing_fault() -> None:
    with Things() as server:
        server.faults.append(Fault(body=b"<html>down</html>"))
        with pytest.raises(SourceError, match="not JSON") as caught:
            web_of(server, Time()).json("GET", "/a")
    assert caught.value.passing


@pytest.mark.parametrize("body", [b'{"password": "hunter2"}', b"%PDF-1.4 \xff\xfe"])
def test_an_answer_with_a_secret_or_that_is_no_text_is_not_kept(cache_db: Database, body: bytes) -> None:
    time = Time()
    cache = Cache(lambda: cache_db, "src#1", time, clean=lambda text: text.replace("hunter2", "[secret]"))
    with Things() as server:
        server.faults.append(Fault(body=body, headers={"ETag": '"v1"'}))
        web = Web("src", server.url, own=True, clock=time, sleep=time.sleep, cache=cache)
        assert web.get("/a").body == body
    assert cache_db.all("SELECT * FROM library_copies") == []


def test_a_gzip_stream_of_several_members_is_read_whole() -> None:
    with Things() as server:
        body = gzip.compress(b'{"a": ') + gzip.compress(b"1}") + b"\0\0"
        server.faults.append(Fault(body=body, headers={"Content-Encoding": "gzip"}))
        assert web_of(server, Time()).json("GET", "/a") == {"a": 1}


def test_a_reset_that_is_no_number_is_no_limit() -> None:
    with Things() as server:
        headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "9" * 400}
        server.faults.append(Fault(body=b"{}", headers=headers))
        assert web_of(server, Time()).json("GET", "/a") == {}
