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
    assert "sslrootcert" in refused.advice
    refused = await refusal(PostgresStore(f"{url}?sslmode=verify-full&sslrootcert=nowhere.crt"))
    assert refused.code == "TEN-4017"
    assert "nowhere.crt" in refused.message


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
