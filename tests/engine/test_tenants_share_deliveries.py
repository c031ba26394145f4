"""The webhooks of one tenant are bounded, and never keep those of another waiting."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from tenuto import Overloaded, Settings, Tenuto
from tenuto.engine.bounds import Bounds
from tenuto.model.errors import OVER_QUOTA
from tenuto.model.quotas import Quotas
from tenuto.testing.wrapped_store import Call
from tests.engine.notification_world import QUIET, World
from tests.kit.hooks import Pretended, Received
from tests.kit.scripted_store import ScriptedStore

NARROW = replace(QUIET, bounds=Bounds(webhooks=8, failing_webhooks=4))


def test_a_tenant_with_many_deliveries_holds_up_no_other() -> None:
    """Each of its requests takes a second, and there are far more of them than slots."""
    world = World()

    async def work(app: Tenuto) -> None:
        clock = app.engine.clock
        world.hook.seconds = lambda each: 1.0 if "busy" in each.path else 0.0
        busy, small = app.workspace("busy", "owner"), app.workspace("small", "owner")
        for n in range(40):
            await busy.webhooks.add(f"https://busy{n}.example.com", "paid")
        await small.webhooks.add("https://small.example.com", "paid")
        for n in range(30):
            await busy.publish("paid", id=f"b{n}")
        for n in range(10):
            sent = clock.ticks()
            await small.publish("paid", id=f"s{n}")
            while not any(each.id == f"s{n}" for each in world.hook.received):
                await clock.sleep(0.1)
            assert clock.ticks() - sent < 0.5, "it waits for none of the others' answers"
            assert await app.engine.store.listeners.backlogs("busy"), "the other has more"

    world.life(work, NARROW)


def test_a_tenant_alone_has_all_slots() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        world.hook.seconds = lambda _: 1.0
        for n in range(16):
            await app.webhooks.add(f"https://h{n}.example.com", "paid")
        await app.publish("paid", id="e")
        await app.engine.clock.sleep(0.5)
        assert len(world.hook.received) == 8

    world.life(work, NARROW)


def test_the_requests_of_a_tenant_begin_one_after_the_other() -> None:
    """Each takes the loop a while, in which other tenants wait."""
    world = World()
    begun: list[int] = []
    passes = 0

    async def work(app: Tenuto) -> None:
        loop = asyncio.get_running_loop()

        def count() -> None:
            nonlocal passes
            passes += 1
            loop.call_soon(count)

        def answer(_: Received) -> int:
            begun.append(passes)
            return 200

        world.hook.answer = answer
        for n in range(8):
            await app.webhooks.add(f"https://h{n}.example.com", "paid")
        count()
        for n in range(5):
            await app.publish("paid", id=f"e{n}")
        await world.hook.until(lambda: len(begun) == 40)

    world.life(work, NARROW)
    assert len(set(begun)) == 40


class Recording(ScriptedStore):
    """Counts the transactions that record deliveries, at once."""

    def __init__(self) -> None:
        super().__init__()
        self.at_once = 0
        self.most_at_once = 0
        self.recorded = 0

    async def on_outbox_settle(self, call: Call) -> object:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        try:
            return await call()
        finally:
            self.at_once -= 1
            self.recorded += 1


@pytest.mark.asyncio
async def test_deliveries_are_recorded_one_transaction_at_a_time() -> None:
    """The turns of all instances wait for each of them."""
    store, hook = Recording(), Pretended()
    async with Tenuto(store, sender=hook) as app:
        for n in range(20):
            await app.webhooks.add(f"https://h{n}.example.com", "paid")
        await app.publish("paid", id="e")
        await hook.until(lambda: len(hook.received) == 20)
    assert store.recorded == 20
    assert store.most_at_once == 1


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", ["webhooks", "subscriptions"])
async def test_a_tenant_has_so_many_of_a_kind_and_no_more(kind: str) -> None:
    settings = Settings(quotas=Quotas(webhooks=3, subscriptions=3))
    async with Tenuto(settings=settings) as app:

        async def add(tenant: str) -> str:
            space, url = app.workspace(tenant, "owner"), "https://example.com/n"
            if kind == "webhooks":
                return (await space.webhooks.add(url, "paid")).id
            return (await space.subscriptions.add(url, "paid", subscriber_id="s")).id

        # At once: none is counted without those that are being added.
        made = await asyncio.gather(*(add("a") for _ in range(20)), return_exceptions=True)
        refused = [each for each in made if isinstance(each, Overloaded)]
        kept = [each for each in made if isinstance(each, str)]
        assert (len(kept), len(refused)) == (3, 17)
        assert refused[0].code == OVER_QUOTA
        assert f"3 {kind}" in refused[0].message
        await add("b")
        await getattr(app.workspace("a", "owner"), kind).remove(kept[0])
        await add("a")


def test_the_default_quota_is_a_hundred() -> None:
    assert (Quotas().webhooks, Quotas().subscriptions) == (100, 100)
