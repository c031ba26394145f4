"""What cannot be told holds up its own instance, visibly, and nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tenuto import Tenuto
from tenuto.engine.outbox.drainer import PAGE
from tenuto.model.events import Event
from tenuto.model.json import Object
from tenuto.model.log import LogRow
from tenuto.store.errors import DataRefused
from tenuto.store.memory import MemoryDisk
from tenuto.store.memory.disk import pack, unpack
from tenuto.store.outbox_columns import ListenerColumns
from tenuto.store.parts.outbox import Posting
from tests.engine.notification_world import World, in_order, quiet
from tests.engine.situations import ONE_WAIT, steps

LISTENS: Object = {
    "id": "listens",
    "steps": [
        {
            "stepId": "w",
            "type": "EVENT_WAIT",
            "eventPattern": "workflow.completed",
            "eventCondition": "event.payload.correlationId === workflow.input.wanted",
        }
    ],
}


def make_unreadable(disk: MemoryDisk, instance_id: str, seq: int) -> Callable[[], None]:
    """As a newer program would have written it; what is returned makes it as it was."""
    before = disk.log[instance_id, seq]
    newer = unpack(LogRow, before)._replace(event_type="NODE_TELEPORTED")
    disk.log[instance_id, seq] = pack(newer)
    return lambda: disk.log.__setitem__((instance_id, seq), before)


def test_an_entry_of_a_newer_program_is_set_aside_while_all_else_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        await app.webhooks.add("https://example.com", "workflow.**")
        await app.deploy(ONE_WAIT)
        odd = await app.start("waiting", {"orderId": 1})
        await quiet(app, 1)
        before = len(world.hook.received)
        assert app.untold == {}
        async with app.engine.outbox._passing:
            await odd.pause()
            await odd.resume()
            end = world.disk.log_ends[odd.id]
            mend = make_unreadable(world.disk, odd.id, end)
        well = [await app.start("waiting", {"orderId": n}) for n in range(2, 5)]
        await quiet(app, 3600)
        heard = in_order(world.hook.received[before:])
        assert {each.id for each in well} <= heard.keys()
        assert end not in heard.get(odd.id, [])
        assert list(app.untold) == [odd.id]
        assert "NODE_TELEPORTED" in app.untold[odd.id]
        tries = sum("is parked" in record.message for record in caplog.records)
        assert 5 < tries < 40
        mend()
        await app.publish("payment.received", {"orderId": 1})
        await quiet(app, 600)
        assert app.untold == {}
        told = in_order(world.hook.received)[odd.id]
        assert told == sorted(told)
        assert told[-1] == world.disk.log_ends[odd.id]
        assert app.engine.fault is None

    world.life(work)
    assert world.disk.outbox == {}


def test_more_than_a_page_that_cannot_be_told_keeps_nothing_from_being_told() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        await app.deploy(steps("a"))
        await app.webhooks.add("https://example.com", "workflow.started")
        async with app.engine.outbox._passing:
            started = await asyncio.gather(*(app.start("flow", {"n": n}) for n in range(PAGE + 20)))
            for each in started:
                make_unreadable(world.disk, each.id, 2)
        await quiet(app, 1)
        assert len(app.untold) == PAGE + 20
        good = await app.start("flow")
        await quiet(app, 1)
        assert good.id in in_order(world.hook.received)
        assert good.id not in app.untold

    world.life(work)


def test_an_event_that_the_inbox_refuses_is_set_aside_and_the_others_go_in() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        await app.deploy(steps("a"))
        await app.deploy(LISTENS)
        waiting = {name: await app.start("listens", {"wanted": name}) for name in ("bad", "good")}
        await quiet(app, 1)
        publish = app.engine.events.router.publish
        is_mended = False

        async def refusing(event: Event) -> object:
            if event.correlation_id == "bad" and not is_mended:
                raise DataRefused("simulated")
            return await publish(event)

        app.engine.outbox.drainer._publish = refusing
        bad = await app.start("flow", correlation_id="bad")
        await app.start("flow", correlation_id="good")
        await quiet(app, 60)
        assert await waiting["good"].status() == "COMPLETED"
        assert list(app.untold) == [bad.id]
        assert app.engine.fault is None
        is_mended = True
        await quiet(app, 600)
        assert await waiting["bad"].status() == "COMPLETED"
        assert app.untold == {}

    world.life(work)


def test_what_the_store_does_not_put_on_its_way_is_found_by_halves() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        await app.webhooks.add("https://example.com", "paid.**")
        store = app.engine.store
        drained = store.outbox.drain

        async def refusing(numbers: list[int], postings: list[Posting]) -> None:
            if any(each.event_id == "bad" for each in postings):
                raise DataRefused("simulated")
            await drained(numbers, postings)

        store.outbox.drain = refusing  # type: ignore[method-assign,assignment]
        ids = [*(f"e{n}" for n in range(10)), "bad", *(f"e{n}" for n in range(10, 20))]
        await asyncio.gather(*(app.publish("paid.now", id=id) for id in ids))
        await quiet(app, 60)
        assert sorted(world.hook.ids) == sorted(id for id in ids if id != "bad")
        assert list(app.untold) == ["default:bad"]
        store.outbox.drain = drained  # type: ignore[method-assign]
        await quiet(app, 600)
        assert world.hook.ids[-1] == "bad"

    world.life(work)


def test_what_another_process_has_told_is_set_aside_no_longer() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        await app.webhooks.add("https://example.com", "workflow.started")
        await app.deploy(steps("a"))
        async with app.engine.outbox._passing:
            bad = await app.start("flow")
            make_unreadable(world.disk, bad.id, 2)
        await quiet(app, 1)
        assert list(app.untold) == [bad.id]
        world.disk.outbox.clear()
        await quiet(app, 600)
        assert app.untold == {}

    world.life(work)


def damage(disk: MemoryDisk, id: str) -> None:
    """Have what is kept of a listener end in the middle."""
    [(key, row)] = [(key, row) for key, row in disk.listeners.items() if key[2] == id]
    columns = unpack(ListenerColumns, row)
    disk.listeners[key] = pack(columns._replace(settings=columns.settings[:-3]))
    disk.listening += 1


def test_an_address_that_cannot_be_read_is_shown_as_such_and_the_others_are_told() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        odd = await app.webhooks.add("https://odd.example.com", "paid")
        well = await app.webhooks.add("https://example.com", "paid")
        notified = await app.subscriptions.add("https://odd.example.com", "paid", subscriber_id="s")
        damage(world.disk, odd.id)
        damage(world.disk, notified.id)
        await app.publish("paid", id="e1")
        await quiet(app, 10)
        assert app.engine.fault is None
        assert [each.path for each in world.hook.received] == ["https://example.com"]
        assert app.untold.keys() == {odd.id, notified.id}
        assert "cannot be read" in app.untold[odd.id]
        shown = {each.id: each for each in await app.webhooks.list()}
        assert [shown[id].state for id in (odd.id, well.id)] == ["unreadable", "active"]
        assert "cannot be read" in (shown[odd.id].last_error or "")
        assert [each.state for each in await app.subscriptions.list()] == ["unreadable"]
        assert (await app.webhooks.enable(odd.id)).state == "unreadable"
        await app.webhooks.remove(odd.id)
        await app.subscriptions.remove(notified.id)
        await app.publish("paid", id="e2")
        await quiet(app, 10)
        assert app.untold == {}

    world.life(work)
