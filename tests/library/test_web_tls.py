"""The guarded client over TLS: a certificate is checked for the name that was asked, not for the address behind it."""

from __future__ import annotations

import datetime
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from servers.rest import Request, Rest
from vademecum.errors import SourceError
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
