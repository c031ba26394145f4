"""Whoever watches an inbox learns that events came in, of their tenant alone."""

from __future__ import annotations

import asyncio

import pytest

from tenuto.live.inbox_watch import InboxFeed, InboxWatch
from tenuto.model.errors import StoreUnavailable
from tenuto.testing.wrapped_store import Call
from tests.kit.scripted_store import ScriptedStore
from tests.kit.turns import turns
from tests.live.situations import PATIENCE, app_on

pytestmark = pytest.mark.asyncio


class Watched(ScriptedStore):
    """Counts how often an inbox is looked at, and is away when told so."""

    reads = 0
    is_away = False

    async def on_inbox_latest(self, call: Call) -> object:
        self.reads += 1
        if self.is_away:
            raise StoreUnavailable("it is away")
        return await call()


async def told(feed: InboxFeed) -> str:
    async with asyncio.timeout(PATIENCE):
        async for event in feed:
            return event.id
    raise AssertionError


async def test_all_subscribers_of_an_inbox_learn_of_what_comes_after_they_came() -> None:
    store = Watched()
    async with app_on(store) as app:
        watch = InboxWatch(app.engine)
        await app.publish("before", {}, id="e0")
        async with watch.follow("default") as one, watch.follow("default") as other:
            await app.publish("after", {}, id="e1")
            assert [await told(one), await told(other)] == ["e1", "e1"]
        was = store.reads
        await app.publish("unseen", {}, id="e2")
        assert store.reads == was, "nobody watches"


async def test_an_outage_delays_what_is_told_and_loses_nothing() -> None:
    store = Watched()
    async with app_on(store) as app:
        watch = InboxWatch(app.engine)
        store.is_away = True
        async with watch.follow("default") as feed:
            await app.publish("paid", {}, id="e1")
            was = store.reads
            while store.reads < was + 2:
                await turns(1)
            store.is_away = False
            assert await told(feed) == "e1"
        await watch.close()
