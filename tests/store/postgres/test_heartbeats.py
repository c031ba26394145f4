"""A process that lives is heard, whatever its connection does, and in a rhythm that can be kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from functools import partial
from types import SimpleNamespace
from typing import cast

import pytest
import pytest_asyncio

from tenuto.model.errors import StoreUnavailable, TenutoError
from tenuto.store.parts.members import BEAT_EVERY
from tenuto.store.postgres import PostgresStore
from tenuto.store.postgres.members import leave
from tenuto.store.postgres.rhythm import DEAD_AFTER, Rhythm
from tenuto.store.postgres.session import Session
from tenuto.testing.virtual_clock import VirtualClock, Wall
from tenuto.testing.virtual_loop import VirtualLoop
from tests.kit.pgbouncer import pgbouncer, pgbouncer_program
from tests.kit.postgres_plugin import did_not_run
from tests.kit.tcp_proxy import TcpProxy, proxy_to
from tests.store.postgres.conftest import Opener
from tests.store.situations import NOON

QUICK = partial(
    PostgresStore, beat_every=timedelta(milliseconds=100), dead_after=timedelta(seconds=1)
)
MUCH_LONGER = 8
"""Seconds: more than any beat may take in that rhythm, less than a connection or a statement."""
BEAT = b"steady_since"


@pytest_asyncio.fixture
async def proxy(url: str) -> AsyncIterator[TcpProxy]:
    async with proxy_to(url) as made:
        yield made


async def unheard(store: PostgresStore) -> None:
    """A beat that is over in time, though nobody answers."""
    async with asyncio.timeout(MUCH_LONGER):
        with pytest.raises(StoreUnavailable) as refused:
            await store.members.beat()
    assert refused.value.advice


async def heard(store: PostgresStore) -> None:
    """On a slow machine a beat in that rhythm may need another go."""
    async with asyncio.timeout(MUCH_LONGER):
        while True:
            with suppress(StoreUnavailable):
                assert (await store.members.beat()).at is not None
                return


@pytest.mark.asyncio
async def test_a_beat_on_a_connection_that_has_gone_silent_is_followed_by_one_on_another(
    url: str, proxy: TcpProxy, opened: Opener
) -> None:
    """R11: "half-open": nobody says that the connection is gone."""
    store = await opened(proxy.url(url), make=QUICK)
    await heard(store)
    proxy.freeze()
    await unheard(store)
    await heard(store)


@pytest.mark.asyncio
async def test_a_beat_waits_no_longer_for_a_connection_than_for_an_answer(
    url: str, proxy: TcpProxy, opened: Opener
) -> None:
    store = await opened(proxy.url(url), make=QUICK)
    proxy.cut()
    proxy.lose_answers()
    await unheard(store)
    await unheard(store)
    proxy.mend()
    await heard(store)


@pytest.mark.asyncio
@pytest.mark.parametrize("unanswered", [b"BEGIN", BEAT, b"COMMIT;"])
async def test_a_beat_that_is_a_transaction_is_over_in_time_wherever_it_gets_stuck(
    url: str, proxy: TcpProxy, opened: Opener, unanswered: bytes
) -> None:
    """That is what is sent where there is a pooler in between."""
    store = await opened(proxy.url(url), make=QUICK)
    store._database.heartbeat.server.is_pooled = True
    proxy.lose_answers_after(unanswered)
    await unheard(store)
    proxy.mend()
    await heard(store)


@pytest.mark.asyncio
async def test_a_beat_through_a_pooler_that_has_gone_silent_is_over_in_time(
    url: str, opened: Opener, request: pytest.FixtureRequest
) -> None:
    program = pgbouncer_program()
    if program is None:
        did_not_run(request.node.nodeid, "PgBouncer is not installed (apt-get install pgbouncer)")
        return
    with pgbouncer(program, url, "") as pooled:
        async with proxy_to(pooled) as proxy:
            store = await opened(proxy.url(pooled), make=QUICK)
            await heard(store)
            for unanswered in (b"COMMIT;", b"BEGIN"):
                proxy.lose_answers_after(unanswered)
                await unheard(store)
                proxy.mend()
                await heard(store)
            store.abandon()


@pytest.mark.asyncio
@pytest.mark.parametrize("unanswered", [b"BEGIN", b"stopped_at", b"COMMIT;", b"pg_notify"])
async def test_who_stops_while_nobody_answers_waits_no_longer_than_for_a_beat(
    url: str, proxy: TcpProxy, opened: Opener, unanswered: bytes
) -> None:
    """Others find out by themselves that it is gone; that they were not told to is no matter."""
    store = await opened(proxy.url(url), make=QUICK)
    await store.turns.load(["i1"])
    proxy.lose_answers_after(unanswered)
    async with asyncio.timeout(MUCH_LONGER):
        if unanswered == b"pg_notify":
            await store.close(NOON, clean=True)
        else:
            with pytest.raises(StoreUnavailable, match="that this process stops"):
                await store.close(NOON, clean=True)
    assert not store.is_listening


@pytest.mark.parametrize(
    ("beat_every", "dead_after", "advised"),
    [
        (3, 8.9, "dead_after of 9 s"),
        (5, 9, "beat_every of 3 s"),
        (30, 9, "dead_after of 90 s"),
        (0, 9, "beat_every of 0.01 s"),
        (-1, 9, "beat_every of 0.01 s"),
        (0.1, 0.5, "dead_after of 1 s"),
        (3, -9, "dead_after of 1 s"),
    ],
)
def test_a_rhythm_that_buries_the_living_or_nobody_is_refused(
    beat_every: float, dead_after: float, advised: str
) -> None:
    with pytest.raises(TenutoError) as refused:
        PostgresStore(
            "postgresql://ada@db.example/orders",
            beat_every=timedelta(seconds=beat_every),
            dead_after=timedelta(seconds=dead_after),
        )
    assert refused.value.code == "TEN-4014"
    assert advised in refused.value.advice


def test_two_beats_that_nobody_hears_are_over_before_others_take_over() -> None:
    """The first after a whole pause, the second after a third of one, as the engine beats."""
    rhythm = Rhythm(BEAT_EVERY, DEAD_AFTER)
    beat_every = rhythm.beat_every.total_seconds()
    silence = beat_every + rhythm.patience + beat_every / 3 + rhythm.patience
    assert silence < rhythm.dead_after.total_seconds()


class Busy:
    """A session whose server takes its time."""

    def __init__(self, clock: VirtualClock, seconds: float) -> None:
        self.server = SimpleNamespace(shown="postgresql://db.example/orders")
        self.is_told = False
        self._clock = clock
        self._seconds = seconds

    async def transaction(self, work: object) -> None:
        await self._clock.sleep(self._seconds)
        self.is_told = True


@pytest.mark.parametrize(("seconds", "is_told"), [(5.0, True), (7.0, False)])
def test_a_server_that_is_slow_hears_that_a_process_stops_in_good_order(
    *, seconds: float, is_told: bool
) -> None:
    """For as long as the others believe that it lives, and no longer."""
    loop = VirtualLoop()
    session = Busy(VirtualClock(loop, Wall()), seconds)
    rhythm = Rhythm(BEAT_EVERY, DEAD_AFTER)
    leaving = leave(cast("Session", session), "p1", NOON, rhythm, clean=True)
    try:
        if is_told:
            loop.run_until_complete(leaving)
        else:
            with pytest.raises(StoreUnavailable, match="for 6 s that this process stops"):
                loop.run_until_complete(leaving)
    finally:
        loop.close()
    assert session.is_told is is_told
