"""Addresses that do not answer take no room from those that do; nothing is read once for each."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from tenuto import Tenuto
from tenuto.engine.bounds import Bounds
from tenuto.engine.outbox.drainer import PAGE
from tests.engine.notification_world import QUIET, World, quiet
from tests.engine.situations import steps
from tests.kit.hooks import Received


def test_silent_addresses_leave_room_for_those_that_answer() -> None:
    world = World()
    narrow = replace(QUIET, bounds=Bounds(webhooks=6, failing_webhooks=2))

    async def work(app: Tenuto) -> None:
        world.hook.answer = lambda each: None if "silent" in each.path else 200
        for n in range(20):
            await app.webhooks.add(f"https://silent{n}.example.com", "paid")
        await app.webhooks.add("https://example.com", "paid")
        clock = app.engine.clock
        begun = clock.ticks()
        late: list[float] = []
        for n in range(10):
            sent = clock.ticks()
            await app.publish("paid", id=f"e{n}")
            while not any(each.id == f"e{n}" for each in answered(world)):
                await clock.sleep(0.1)
                assert clock.ticks() - sent < 30
            late.append(clock.ticks() - sent)
        assert max(late[1:]) < 1
        assert late[0] < 10
        # They are tried again all the same, by and by.
        await clock.sleep(600)
        assert clock.ticks() - begun > 600
        tried = {each.path for each in world.hook.received if "silent" in each.path}
        assert len(tried) == 20

    world.life(work, narrow)


def answered(world: World) -> list[Received]:
    return [each for each in world.hook.received if "silent" not in each.path]


def test_who_failed_before_is_known_to_the_next_process() -> None:
    world = World()

    async def fail(app: Tenuto) -> None:
        world.hook.answer = lambda _: 500
        await app.webhooks.add("https://example.com", "paid")
        await app.publish("paid", id="e1")
        await quiet(app, 1)

    async def look(app: Tenuto) -> None:
        await quiet(app, 1)
        deliverer = app.engine.outbox._deliverer
        assert deliverer is not None
        [listener] = await app.engine.store.listeners.of("default")
        assert listener.id in deliverer._failures

    world.life(fail)
    world.life(look)


def test_what_is_known_of_an_address_goes_with_it() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        world.hook.answer = lambda _: 500
        gone = await app.webhooks.add("https://gone.example.com", "paid")
        kept = await app.webhooks.add("https://kept.example.com", "paid")
        await app.publish("paid", id="e1")
        await quiet(app, 1)
        deliverer = app.engine.outbox._deliverer
        assert deliverer is not None
        assert deliverer._failures.keys() == {gone.id, kept.id}
        await app.webhooks.remove(gone.id)
        app.engine.outbox.hint()
        await quiet(app, 1)
        assert deliverer._failures.keys() == {kept.id}

    world.life(work)


def test_listeners_are_read_once_however_much_there_is_to_tell() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        store = app.engine.store
        reads: list[str] = []
        for name in (
            "listeners.of",
            "instances.entries",
            "instances.entries_at",
            "outbox.stretches",
        ):
            part, verb = name.split(".")
            known = getattr(getattr(store, part), verb)

            async def counted(*args: object, _name: str = name, _known: object = known) -> object:
                reads.append(_name)
                return await _known(*args)  # type: ignore[operator]

            setattr(getattr(store, part), verb, counted)
        await app.deploy(steps("a"))
        await app.webhooks.add("https://example.com", "workflow.completed")
        await quiet(app, 1)
        reads.clear()
        app.engine.outbox.drainer._page = PAGE
        async with app.engine.outbox._passing:
            await asyncio.gather(*(app.start("flow", {"n": n}) for n in range(40)))
            await quiet(app, 1)
            reads.clear()
        app.engine.outbox.hint()
        await quiet(app, 60)
        assert len(world.hook.received) == 40
        assert reads.count("listeners.of") == 0
        assert reads.count("instances.entries") == 0
        assert reads.count("instances.entries_at") == 0
        assert reads.count("outbox.stretches") == 1

    world.life(work)
