"""What a tenant is told of a failed request: no address, and nothing that tells names apart."""

from __future__ import annotations

import errno
import inspect
import re
import socket
import ssl
from collections.abc import Iterator
from unittest.mock import Mock

import aiohttp
import pytest
from aiohttp import client_exceptions
from aiohttp.client_reqrep import ConnectionKey

from tenuto.egress import http
from tenuto.egress.http import HttpSender, told

INNER = "10.11.12.13"
URL = "http://vault.corp.example/hook"


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses of every name; an unknown name has none."""
    known: list[str] = []

    def look_up(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        if not known:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [
            (
                socket.AF_INET6 if ":" in each else socket.AF_INET,
                socket.SOCK_STREAM,
                socket.IPPROTO_TCP,
                "",
                (each, port, 0, 0) if ":" in each else (each, port),
            )
            for each in known
        ]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return known


async def failure(url: str = URL) -> dict[str, str]:
    """What each kind of request says."""
    sender = HttpSender()
    posted = await sender.post(url, {}, b"{}", 5)
    called = await sender.call(url, {}, b"{}", seconds=5, most=100)
    fetched = await sender.get(url.replace("http:", "https:"), seconds=5, most=100)
    await sender.close()
    return {"post": posted.error or "", "call": called.error or "", "get": fetched.error or ""}


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "inner", [[INNER], ["fd00:ec2::254"], ["168.63.129.16"], [INNER, "fe80::1"], ["127.0.0.1"]]
)
async def test_a_name_of_an_inner_network_is_not_told_from_an_unknown_one(
    answers: list[str], inner: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    unknown = await failure()
    answers += inner
    with caplog.at_level("WARNING", "tenuto.egress"):
        assert await failure() == unknown
    assert not any(address in text for address in inner for text in unknown.values())
    assert inner[0] in caplog.text, "the operator is told"


def _errors() -> Iterator[Exception]:
    """An error of each class that a request can end with, with an inner address in its text."""
    key = ConnectionKey("vault.corp.example", 443, True, True, None, None, None)
    refused = OSError(errno.ECONNREFUSED, f"Connect call failed ('{INNER}', 443)")
    connecting = [
        refused,
        http._Refused(f"{INNER} is not an address of the public network"),
        OSError(f"Multiple exceptions: {INNER}"),
        socket.gaierror(socket.EAI_NONAME, f"{INNER}"),
        ssl.SSLError(1, f"{INNER}"),
        ssl.SSLCertVerificationError(1, f"{INNER}"),
    ]
    for name, kind in inspect.getmembers(client_exceptions, inspect.isclass):
        if not issubclass(kind, aiohttp.ClientError):
            continue
        if issubclass(kind, aiohttp.ClientConnectorError):
            if kind is not client_exceptions.UnixClientConnectorError:
                yield from (kind(key, each) for each in connecting)
        elif issubclass(kind, client_exceptions.ContentTypeError | aiohttp.ClientResponseError):
            yield kind(Mock(real_url=INNER), (), message=INNER)
        elif kind is aiohttp.ServerFingerprintMismatch:
            yield kind(b"a", b"b", INNER, 443)
        else:
            assert isinstance(name, str)
            yield kind(f"{INNER} said so")
    yield OSError(f"{INNER} said so")
    yield ValueError(f"{INNER} said so")


def test_no_error_of_a_request_has_an_address_in_what_a_tenant_is_told() -> None:
    texts = {told(each) for each in _errors()}
    assert len(texts) > 10
    for text in texts:
        assert re.search(r"\d+\.\d+|said so|::", text) is None, text
        assert "vault" not in text


@pytest.mark.asyncio
async def test_a_refused_address_in_the_url_itself_is_named_as_such() -> None:
    said = await failure("http://192.0.0.192/")
    assert said["post"] == "cannot connect: the address is not one of the public network"
