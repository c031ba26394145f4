"""A connection that cannot be encrypted as asked for says why, and what to do."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from tenuto.model.errors import StoreUnavailable
from tenuto.store.postgres import PostgresStore
from tenuto.store.postgres.address import read_address
from tenuto.store.postgres.faults import translated_connect
from tests.store.postgres.conftest import refusal

URL = "postgresql://ada@db.example/orders?sslmode=verify-full"

CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBgDCCASWgAwIBAgIUXR+ewMUzKy4QTDmRMTc8oXlhgm8wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJYXV0aG9yaXR5MCAXDTI2MTExNjA5MzczM1oYDzIxMjYxMDIz
MDkzNzMzWjAUMRIwEAYDVQQDDAlhdXRob3JpdHkwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARjvAKgEhyAqXHyuHlJPzhqv9uVDjTttLt5t4/AYHCDogn1sEABXGaN
ijuJNMq4wyJGf8ZrV8zT7e9YPbOu2sSoo1MwUTAdBgNVHQ4EFgQUDhYkP/F+A0su
6NYyE+U8SBEJ9TowHwYDVR0jBBgwFoAUDhYkP/F+A0su6NYyE+U8SBEJ9TowDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNJADBGAiEAq9/+z1fduaidLABkciA2
NdGosufM+kaE2JWj0T0RfAoCIQC2V6UfBboKCAOuDYaFJipzpYsn3jGtojj7fLg1
mBUDrQ==
-----END CERTIFICATE-----
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder in which nobody has put certificates."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.asyncio
@pytest.mark.usefixtures("home")
async def test_a_server_without_tls_is_named(url: str) -> None:
    refused = await refusal(PostgresStore(f"{url}?sslmode=require"))
    assert refused.code == "TEN-4017"
    assert "does not speak TLS, and sslmode=require asks for it" in refused.message
    assert "ssl = on" in refused.advice


@pytest.mark.asyncio
@pytest.mark.parametrize("mode", ["verify-ca", "verify-full"])
async def test_that_nobody_says_whom_to_trust_is_said(url: str, mode: str, home: Path) -> None:
    refused = await refusal(PostgresStore(f"{url}?sslmode={mode}"))
    assert refused.code == "TEN-4017"
    assert f"sslmode={mode} asks for a known authority" in refused.message
    assert "sslrootcert=FILE" in refused.advice
    assert str(home) not in str(refused)


@pytest.mark.asyncio
async def test_a_file_of_authorities_that_is_none_is_named(url: str, home: Path) -> None:
    (home / "root.crt").write_text("not a certificate")
    refused = await refusal(
        PostgresStore(f"{url}?sslmode=verify-full&sslrootcert={home / 'root.crt'}")
    )
    assert refused.code == "TEN-4017"
    assert f"{home / 'root.crt'}" in refused.message
    assert "(no certificate is in it)" in refused.message
    assert "sslrootcert" in refused.advice
    refused = await refusal(PostgresStore(f"{url}?sslmode=verify-full&sslrootcert=nowhere.crt"))
    assert refused.code == "TEN-4017"
    assert "nowhere.crt" in refused.message


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("options", "named", "why"),
    [
        ("sslmode=verify-full&sslrootcert={folder}", "sslrootcert", "(Is a directory)"),
        ("sslmode=require&sslrootcert={folder}", "sslrootcert", "(Is a directory)"),
        ("sslmode=require&sslcert={folder}&sslkey={key}", "sslcert", "(Is a directory)"),
        ("sslcert={folder}", "sslcert", "(Is a directory)"),
        ("sslcert={key}&sslkey={key}", "sslcert", "(no certificate is in it)"),
        ("sslcert={certificate}&sslkey={round}", "sslkey", "(Too many levels of symbolic links)"),
        ("sslcert={certificate}&sslkey={nowhere}", "sslkey", "(No such file or directory)"),
        ("sslcert={certificate}&sslkey={key}", "sslkey", "(no key is in it"),
    ],
)
async def test_a_file_that_cannot_be_used_is_named(
    url: str, home: Path, options: str, named: str, why: str
) -> None:
    files = {name: home / name for name in ("folder", "key", "certificate", "round", "nowhere")}
    files["folder"].mkdir()
    files["round"].symlink_to(files["round"])
    files["certificate"].write_text(CERTIFICATE)
    files["key"].write_text("not a key")
    refused = await refusal(PostgresStore(f"{url}?{options.format(**files)}"))
    assert refused.code == "TEN-4017"
    file = options.format(**files).partition(f"{named}=")[2].partition("&")[0]
    assert f"the file {file}, which" in refused.message
    assert f"names as {named}, cannot be used {why}" in refused.message
    assert f"Correct {named} in the URL" in refused.advice


def test_a_file_that_may_not_be_read_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "key").write_text("")

    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    address = read_address(f"{URL}&sslkey={home / 'key'}")
    refused = translated_connect(PermissionError(13, "Permission denied"), address)
    assert f"the file {home / 'key'}, which" in str(refused)
    assert "names as sslkey, cannot be used (Permission denied)" in str(refused)


def test_a_key_of_another_certificate_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = ssl.SSLError(116, "key values mismatch")
    other.reason = "KEY_VALUES_MISMATCH"

    def refuse(*_: object) -> None:
        raise other

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", refuse)
    file = home / "certificate"
    file.write_text(CERTIFICATE)
    address = read_address(f"{URL}&sslcert={file}&sslkey={file}")
    assert "(it is not the key of the certificate that" in str(translated_connect(other, address))


@pytest.mark.asyncio
async def test_files_that_are_in_order_are_not_blamed(url: str, home: Path) -> None:
    (home / "root.crt").write_text(CERTIFICATE)
    refused = await refusal(
        PostgresStore(f"{url}?sslmode=verify-full&sslrootcert={home / 'root.crt'}")
    )
    assert "does not speak TLS" in refused.message


@pytest.mark.parametrize(
    ("number", "said", "meant", "advised"),
    [
        (18, "self-signed certificate", "of an authority that is not known", "sslrootcert=FILE"),
        (20, "unable to get local issuer", "of an authority that is not known", "sslrootcert=FILE"),
        (62, "Hostname mismatch", "for another name", "as the certificate names it"),
        (64, "IP address mismatch", "for another name", "as the certificate names it"),
        (10, "certificate has expired", "has expired", "a new one"),
        (23, "certificate revoked", "not to be trusted", "sslrootcert=FILE"),
    ],
)
def test_a_certificate_that_is_not_to_be_trusted_is_told_apart(
    number: int, said: str, meant: str, advised: str
) -> None:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_code, error.verify_message = number, said
    refused = translated_connect(error, read_address(URL))
    assert isinstance(refused, StoreUnavailable)
    assert refused.code == "TEN-4017"
    assert meant in refused.message
    assert advised in refused.advice
