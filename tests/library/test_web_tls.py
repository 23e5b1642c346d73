"""The guarded client over TLS and proxies: a certificate is checked for the name that was asked."""

from __future__ import annotations

import contextlib
import datetime
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from servers.rest import Request, Rest
from vademecum.errors import RefusedError, SourceError
from vademecum.library.web import Web

NAME = "wiki.example.org"


class Secret(Rest):
    def answer(self, request: Request) -> tuple[int, Any]:
        return 200, {"host": request.headers["host"], "token": request.headers.get("authorization", "")}


def certificate(folder: Path) -> Path:
    """A certificate that signs itself, with its key, for NAME."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Secret]:
    path = certificate(tmp_path)
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(b"-----BEGIN CERT" + path.read_bytes().split(b"-----BEGIN CERT")[1])
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    made = Secret()
    made._http.socket = context.wrap_socket(made._http.socket, server_side=True)  # pyright: ignore[reportPrivateUsage]
    with made:
        yield made


def port_of(server: Secret) -> int:
    return int(server.url.rpartition(":")[2])


def test_a_server_of_ones_own_is_asked_by_its_name(server: Secret) -> None:
    base = f"https://{NAME}:{port_of(server)}"
    web = Web("src", base, own=True, headers={"Authorization": "Bearer x1"}, resolver=lambda host, port: ["127.0.0.1"])
    assert web.json("GET", "/a") == {"host": f"{NAME}:{port_of(server)}", "token": "Bearer x1"}


def test_another_name_with_the_same_address_is_not_trusted(server: Secret) -> None:
    base = f"https://other.example.org:{port_of(server)}"
    with pytest.raises(SourceError, match="could not be reached"):
        Web("src", base, own=True, resolver=lambda host, port: ["127.0.0.1"]).json("GET", "/a")
    assert server.requests == []


def test_a_certificate_that_nobody_vouches_for_is_not_trusted(server: Secret, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(SourceError, match="could not be reached"):
        Web("src", f"https://{NAME}:{port_of(server)}", own=True, resolver=lambda h, p: ["127.0.0.1"]).json("GET", "/")
    assert server.requests == []


class Gateway:
    """A proxy that answers CONNECT and carries all bytes to `port` of this machine, whatever host was named."""

    def __init__(self, port: int) -> None:
        self.port, self.asked = port, list[str]()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://user:word@127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection:
            head = connection.recv(4000)
            if not head:
                return
            self.asked.append(head.decode())
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            with socket.create_connection(("127.0.0.1", self.port)) as server:
                back = threading.Thread(target=self._carry, args=(server, connection))
                back.start()
                self._carry(connection, server)
                back.join()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)

    def __enter__(self) -> Gateway:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            socket.create_connection(self._listener.getsockname()).close()  # ends a wait for somebody
        self._thread.join()
        self._listener.close()


def nowhere(host: str, port: int) -> list[str]:
    raise OSError("no such name here")


def test_the_proxy_of_the_environment_is_used_for_a_name_that_only_it_can_look_up(
    server: Secret, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Gateway(port_of(server)) as gateway:
        monkeypatch.setenv("https_proxy", gateway.url)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        web = Web("src", f"https://{NAME}", headers={"Authorization": "Bearer x1"}, resolver=nowhere)
        assert web.json("GET", "/a") == {"host": NAME, "token": "Bearer x1"}
        web.close()
    assert gateway.asked[0].startswith(f"CONNECT {NAME}:443 ")
    assert "Bearer" not in gateway.asked[0]
    assert "Basic dXNlcjp3b3Jk" in gateway.asked[0]


@pytest.mark.parametrize(
    ("url", "address"),
    [("https://169.254.169.254/latest", "169.254.169.254"), ("https://intern.example.org/", "10.0.0.5"),
     ("https://127.0.0.1/", "127.0.0.1"), ("https://example.org:8080/", "8.8.8.8")],
)  # fmt: skip
def test_no_proxy_is_asked_for_what_may_not_be_connected_to(
    url: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Gateway(9) as gateway:
        monkeypatch.setenv("https_proxy", gateway.url)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        with pytest.raises(RefusedError):
            Web("src", f"https://{NAME}", resolver=lambda host, port: [address]).get(url)
    assert gateway.asked == []


def test_a_server_of_ones_own_is_asked_without_a_proxy(server: Secret, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    base = f"https://{NAME}:{port_of(server)}"
    assert Web("src", base, own=True, resolver=lambda host, port: ["127.0.0.1"]).json("GET", "/a")
