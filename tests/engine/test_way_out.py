"""Where requests may go: to public addresses, however an address is written."""

from __future__ import annotations

import asyncio
import socket

import pytest

from tenuto.egress import address_problem, private_problem, url_problem
from tenuto.egress.http import HttpSender
from tests.kit.hooks import receiver


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/",
        "http://example.com:8080/a/b?c=d",
        "https://xn--bcher-kva.example/hook",
        "https://[2606:4700:4700::1111]/x",
        "https://93.184.216.34/",
    ],
)
def test_a_plain_public_url_is_taken(url: str) -> None:
    assert url_problem(url) is None
    assert private_problem(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "//example.com",
        "ftp://example.com",
        "file:///etc/passwd",
        "gopher://example.com",
        "unix:/run/docker.sock",
        "javascript:alert(1)",
        "https://",
        "https:///path",
        "https://user@example.com/",
        "https://user:word@example.com/",
        "https://example.com@127.0.0.1/",
        "https://example.com/#top",
        "https://example.com:99999/",
        "https://example.com:0/",
        "https://exa mple.com/",
        "https://example.com/\r\nx: y",
        "https://example.com\\@127.0.0.1/",
        "https://[::1/",
        f"https://example.com/{'x' * 2000}",
    ],
)
def test_a_url_that_is_not_plain_is_refused(url: str) -> None:
    assert url_problem(url) is not None


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.255.0.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1"),
        *("169.254.169.254", "100.64.0.1", "198.18.0.1", "192.0.2.1", "224.0.0.1"),
        *("fec0::1", "3fff::1", "5f00::1", "::ffff:0:127.0.0.1"),
        "64:ff9b:1:a9fe:a9:fe00:808:808",
        *("255.255.255.255", "240.0.0.1", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1"),
        *("fd00:ec2::254", "ff02::1", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1"),
        *("64:ff9b::7f00:1", "64:ff9b::a00:1", "2002:7f00:1::", "2002:a00:1::", "::127.0.0.1"),
        "64:ff9b:1::a00:1",
    ],
)
def test_no_address_of_a_private_network_is_public(address: str) -> None:
    assert address_problem(address) is not None


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_a_public_address_is_taken(address: str) -> None:
    assert address_problem(address) is None


@pytest.mark.parametrize(
    "host", ["localhost", "a.localhost", "metadata.google.internal", "x.local"]
)
def test_names_of_no_public_network_are_refused(host: str) -> None:
    assert private_problem(f"http://{host}/") is not None
    assert private_problem(f"http://{host}./") is not None


@pytest.mark.asyncio
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f000001", "127.1"])
async def test_what_counts_is_the_address_that_is_connected_to(host: str) -> None:
    """A name, or an odd way to write a number, may lead to this machine."""
    async with receiver() as hook:
        port = hook.url.rpartition(":")[2]
        sender = HttpSender()
        reply = await sender.post(f"http://{host}:{port}/", {}, b"{}", 10)
        assert reply.status is None
        assert hook.received == []
        await sender.close()
        allowed = HttpSender(may_be_private=True)
        assert (await allowed.post(f"http://127.0.0.1:{port}/", {}, b"{}", 10)).status == 200
        await allowed.close()


@pytest.mark.asyncio
async def test_nobody_there_is_an_answer_too() -> None:
    async with receiver() as hook:
        url = hook.url
    sender = HttpSender(may_be_private=True)
    reply = await sender.post(url, {}, b"{}", 10)
    assert reply.status is None
    assert "cannot connect" in (reply.error or "")
    await sender.close()


@pytest.mark.asyncio
async def test_the_address_that_was_checked_is_the_one_that_is_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A name that leads elsewhere the second time is not asked for again in between."""
    answers = ["93.184.216.34", "127.0.0.1"]
    asked: list[str] = []
    connected: list[str] = []

    def resolve(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        asked.append(host)
        where = (answers[min(len(asked), 2) - 1], port)
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", where)]

    async def connect(_: socket.socket, address: tuple[str, int]) -> None:
        connected.append(address[0])
        raise ConnectionRefusedError

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(loop, "sock_connect", connect)
    sender = HttpSender()
    try:
        first = await sender.post("http://rebound.example/", {}, b"", 5)
        assert (asked, connected) == (["rebound.example"], ["93.184.216.34"])
        assert first.status is None
        second = await sender.post("http://rebound.example/", {}, b"", 5)
        assert second.status is None
        assert len(asked) == 2
        assert connected == ["93.184.216.34"]
    finally:
        await sender.close()
