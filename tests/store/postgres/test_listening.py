"""Hints are heard by whom they are for; a connection that dies is replaced, nothing is missed."""

from __future__ import annotations

import asyncio
import logging

import pytest

from tenuto.model.errors import StoreUnavailable
from tenuto.store.postgres import PostgresStore, hint_listener as listener
from tenuto.store.postgres.driver import Connection
from tenuto.store.postgres.hint_listener import EVERYBODY, LONGEST_PAYLOAD, payload_for
from tenuto.store.postgres.server import Server
from tests.kit.postgres_database import connected
from tests.kit.tcp_proxy import proxy_to
from tests.kit.turns import turns
from tests.store.postgres.conftest import Opener


class Ear:
    """Counts what is heard."""

    def __init__(self) -> None:
        self.count = 0
        self._heard = asyncio.Event()

    def __call__(self) -> None:
        self.count += 1
        self._heard.set()

    async def hears(self) -> None:
        await self._heard.wait()
        self._heard.clear()


async def listening(opened: Opener, url: str, process_id: str) -> tuple[PostgresStore, Ear]:
    store, ear = await opened(url, process_id), Ear()
    await store.members.listen(ear)
    assert store.is_listening
    return store, ear


@pytest.mark.asyncio
async def test_a_hint_is_heard_by_whom_it_is_for(url: str, opened: Opener) -> None:
    first, first_ear = await listening(opened, url, "p1")
    second, second_ear = await listening(opened, url, "p2")
    await first.members.hint(["p2"])
    await second_ear.hears()
    await second.members.hint(["p1", "p3"])
    await first_ear.hears()
    await first.members.hint([])
    await asyncio.gather(first_ear.hears(), second_ear.hears())
    # Hints come in their order: what was for others has come by, and was not heard.
    assert (first_ear.count, second_ear.count) == (2, 2)


@pytest.mark.asyncio
async def test_who_goes_on_under_another_name_hears_that_name(url: str, opened: Opener) -> None:
    store, ear = await listening(opened, url, "p1")
    await store.members.enter("p2", (await store.members.beat()).at)  # type: ignore[arg-type]
    await store.members.hint(["p1"])
    await store.members.hint(["p2"])
    await ear.hears()
    assert ear.count == 1


@pytest.mark.asyncio
async def test_another_schema_is_another_channel(url: str, opened: Opener) -> None:
    store, ear = await listening(opened, url, "p1")
    beside = await opened(url, "p1", schema="beside")
    await beside.members.hint([])
    await store.members.hint([])
    await ear.hears()
    assert ear.count == 1


@pytest.mark.asyncio
async def test_a_listener_that_is_killed_comes_back_and_looks_once(
    url: str, opened: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    """A2: "pg_terminate_backend on the listener"; A22: "Each listener reconnect leaked a slot"."""
    caplog.set_level(logging.INFO)
    store, ear = await listening(opened, url, "p1")
    for _ in range(5):
        async with connected(url) as connection:
            await connection.fetch(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE query LIKE 'LISTEN%' AND datname = current_database()"
            )
        await ear.hears()
        assert store.is_listening
        await store.members.hint(["p1"])
        await ear.hears()
    assert ear.count == 10
    assert "the connection that hears hints broke" in caplog.text
    async with connected(url) as connection:
        [(count,)] = await connection.fetch(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE query LIKE 'LISTEN%' AND datname = current_database()"
        )
    assert count == 1


@pytest.mark.asyncio
async def test_while_there_is_no_server_it_is_known_that_nothing_is_heard(
    url: str, opened: Opener
) -> None:
    async with proxy_to(url) as proxy:
        store, ear = await listening(opened, proxy.url(url), "p1")
        proxy.refuse()
        proxy.cut()
        while store.is_listening:
            await turns(1)
        proxy.mend()
        await ear.hears()
        store.abandon()
        assert not store.is_listening


@pytest.mark.asyncio
async def test_a_url_for_listening_that_leads_to_another_database_is_seen(
    url: str, bare_url: str, opened: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    store = await opened(url, "p1", listen_url=bare_url)
    await store.members.listen(Ear())
    assert not store.is_listening
    assert "TEN-4018" in caplog.text
    assert bare_url in caplog.text
    assert "TENUTO_LISTEN_URL" in caplog.text
    caplog.clear()
    await PostgresStore(bare_url).migrate()
    another = await opened(url, "p2", listen_url=bare_url)
    await another.members.listen(Ear())
    assert not another.is_listening
    assert "TEN-4018" in caplog.text
    same = await opened(url, "p3", listen_url=url)
    await same.members.listen(Ear())
    assert same.is_listening


def test_a_url_for_listening_that_cannot_be_read_is_told_from_that_of_the_store() -> None:
    with pytest.raises(StoreUnavailable, match="TENUTO_LISTEN_URL") as refused:
        PostgresStore("postgresql://ada@db/orders", listen_url="db:5432")
    assert refused.value.code == "TEN-4008"


@pytest.mark.asyncio
async def test_that_nothing_is_heard_is_said_once(
    url: str, opened: Opener, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "_FIRST_PAUSE", 0.001)
    monkeypatch.setattr(listener, "_LONGEST_PAUSE", 0.001)
    caplog.set_level(logging.INFO)
    tries = 0

    async def away(server: Server) -> Connection:
        nonlocal tries
        tries += 1
        if tries > 5:
            monkeypatch.undo()
        return await connect(server)

    async with proxy_to(url) as proxy:
        store, ear = await listening(opened, proxy.url(url), "p1")
        connect = Server.connect
        monkeypatch.setattr(Server, "connect", away)
        proxy.refuse()
        proxy.cut()
        while tries <= 5:
            await turns(1)
        proxy.mend()
        await ear.hears()
        assert store.is_listening
        store.abandon()
    said = [each for each in caplog.records if "hints are not heard" in each.message]
    assert [each.levelname for each in said] == ["INFO"]


@pytest.mark.asyncio
async def test_whoever_closes_hears_no_more(url: str, opened: Opener) -> None:
    store, ear = await listening(opened, url, "p1")
    other = await opened(url, "p2")
    await store.close((await other.members.beat()).at, clean=True)  # type: ignore[arg-type]
    await other.members.hint([])
    async with connected(url) as connection:
        assert not await connection.fetch(
            "SELECT 1 FROM pg_stat_activity"
            " WHERE query LIKE 'LISTEN%' AND datname = current_database()"
        )
    assert ear.count == 0


@pytest.mark.asyncio
async def test_a_hint_for_too_many_is_for_everybody(url: str, opened: Opener) -> None:
    """A23: "Payloads of 7,990-8,010 bytes, multi-byte characters"."""
    store, ear = await listening(opened, url, "p1")
    await store.members.hint([f"ž{number:04}" for number in range(2000)])
    await ear.hears()
    for length in range(LONGEST_PAYLOAD - 10, LONGEST_PAYLOAD + 10):
        payload = payload_for(["x" * length])
        assert payload == (EVERYBODY if length > LONGEST_PAYLOAD else "x" * length)
        await store.members.hint(["x" * length])
    assert payload_for(["é" * 4000]) == EVERYBODY
