"""Names are looked up so that those that nobody answers for hold up themselves alone."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import Iterator

import pytest

from tenuto.egress.http import HttpSender
from tenuto.egress.lookups import MOST_DOUBTFUL, PATIENCE, LookUps

pytestmark = pytest.mark.asyncio

Found = list[tuple[object, ...]]


class NameServer:
    """Knows one address, and says nothing about names that are dead until it is let go."""

    def __init__(self) -> None:
        self.asked = Counter[str]()
        self.address = "93.184.216.34"
        self.is_back = threading.Event()

    def look_up(self, host: str, port: int, **_: object) -> Found:
        self.asked[host] += 1
        if host.startswith("dead"):
            self.is_back.wait(60)
            raise socket.gaierror(socket.EAI_AGAIN, "no answer")
        where = (self.address, port)
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", where)]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[NameServer]:
    made = NameServer()
    monkeypatch.setattr(socket, "getaddrinfo", made.look_up)
    yield made
    made.is_back.set()


async def answered(looks: LookUps, server: NameServer) -> None:
    """Let every look-up end: a thread of a busy machine may not even have begun with its own."""
    server.is_back.set()
    while looks.running:
        await asyncio.wait(looks.running)


async def test_dead_names_hold_up_no_other(server: NameServer) -> None:
    looks = LookUps(patience=0.05)
    dead = [f"dead{n}.example" for n in range(24)]
    first = await asyncio.gather(*(looks.resolve(each) for each in dead), return_exceptions=True)
    assert all(isinstance(each, OSError) for each in first)
    looks._patience = PATIENCE  # a busy machine may take its time with what is alive
    [found] = await looks.resolve("live.example", 80)
    assert (found["host"], found["port"]) == ("93.184.216.34", 80)
    await looks.close()


async def test_a_name_is_looked_up_once_at_a_time_and_fails_at_once_meanwhile(
    server: NameServer,
) -> None:
    looks = LookUps(patience=0.05)
    asking = (looks.resolve("dead.example") for _ in range(5))
    await asyncio.gather(*asking, return_exceptions=True)
    with pytest.raises(OSError, match="has not answered for dead"):
        await looks.resolve("dead.example")
    await answered(looks, server)
    assert server.asked["dead.example"] == 1
    await looks.close()


async def test_names_that_were_dead_before_get_some_of_the_threads_only(server: NameServer) -> None:
    looks = LookUps(patience=0.05)
    dead = [f"dead{n}.example" for n in range(24)]
    await asyncio.gather(*(looks.resolve(each) for each in dead), return_exceptions=True)
    await answered(looks, server)
    server.is_back.clear()
    server.asked.clear()
    again = await asyncio.gather(*(looks.resolve(each) for each in dead), return_exceptions=True)
    assert sum("too many names" in str(each) for each in again) == 24 - MOST_DOUBTFUL
    await answered(looks, server)
    assert server.asked.total() == MOST_DOUBTFUL
    await looks.close()


async def test_an_answer_is_used_again_unless_nothing_may_be_sent_there(server: NameServer) -> None:
    looks = LookUps()
    for _ in range(3):
        await looks.resolve("live.example", 80)
    assert server.asked["live.example"] == 1
    server.address = "127.0.0.1"
    for _ in range(3):
        with pytest.raises(OSError, match="no public address"):
            await looks.resolve("inner.example", 80)
    assert server.asked["inner.example"] == 3
    await looks.close()


async def test_where_nobody_was_the_name_is_looked_up_again(
    server: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def connect(*_: object) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", connect)
    sender = HttpSender()
    for _ in range(2):
        assert (await sender.post("http://live.example/", {}, b"", 5)).status is None
    assert server.asked["live.example"] == 2
    await sender.close()
