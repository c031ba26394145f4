"""A process that starts with its clock set back: events reach waits as if nobody had touched it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from tenuto import InstanceRef, Tenuto
from tenuto.engine.events.event_router import StoredEvent
from tenuto.model.json import Object
from tenuto.ports import SystemClock
from tenuto.store.memory import MemoryDisk, MemoryStore
from tests.engine.situations import ONE_WAIT, at_rest, until_waiting
from tests.kit.turns import turns

pytestmark = pytest.mark.asyncio

SECOND, HOUR, YEAR = timedelta(seconds=1), timedelta(hours=1), timedelta(days=365)


def ahead(by: timedelta) -> SystemClock:
    return SystemClock(lambda: datetime.now(UTC) + by)


def tenuto(disk: MemoryDisk, by: timedelta = timedelta()) -> Tenuto:
    """A process whose clock is so far ahead of what it is set back to."""
    return Tenuto(MemoryStore(disk), clock=ahead(by))


def one_wait(lookback: str) -> Object:
    return {
        "id": "waiting",
        "steps": [
            {
                "stepId": "wait",
                "type": "EVENT_WAIT",
                "eventPattern": "payment.received",
                "lookback": lookback,
            }
        ],
    }


def two_waits(*, second: Object | None = None) -> Object:
    return {
        "id": "two",
        "steps": [
            {
                "stepId": "first",
                "type": "EVENT_WAIT",
                "eventPattern": "order.packed",
                "transitions": {"default": "second"},
            },
            {
                "stepId": "second",
                "type": "EVENT_WAIT",
                "eventPattern": "payment.received",
                **(second or {}),
            },
        ],
    }


async def output_of(instance: InstanceRef) -> Object:
    output = await instance.result(10)
    assert isinstance(output, dict)
    return output


@pytest.mark.parametrize("by", [SECOND, HOUR, YEAR], ids=["a second", "an hour", "a year"])
@pytest.mark.parametrize("lookback", ["PT1S", "PT0S"])
async def test_an_event_reaches_a_wait_that_was_open_before(by: timedelta, lookback: str) -> None:
    disk = MemoryDisk()
    async with tenuto(disk, by) as app:
        await app.deploy(one_wait(lookback))
        started = await app.start("waiting", {"orderId": 1})
        await until_waiting(app, 1)
    async with tenuto(disk) as app:
        published = await app.publish("payment.received", {"orderId": 1}, id="e")
        assert published.resumed == 1
        assert (await output_of(await app.instance(started.id)))["eventId"] == "e"


async def test_an_event_that_was_stored_but_not_matched_reaches_the_wait_after_all() -> None:
    disk = MemoryDisk()
    async with tenuto(disk, HOUR) as app:
        await app.deploy(ONE_WAIT)
        started = await app.start("waiting", {"orderId": 1})
        await until_waiting(app, 1)
    async with tenuto(disk) as app:
        # Its process dies when the event is in the inbox and nobody has been told.
        is_stored = asyncio.Event()

        async def hang(events: Sequence[StoredEvent]) -> None:
            is_stored.set()
            await asyncio.get_running_loop().create_future()
            raise AssertionError(events)

        app.engine.events.router.match_together = hang  # type: ignore[method-assign]
        publishing = asyncio.ensure_future(app.publish("payment.received", {"orderId": 1}, id="e"))
        await is_stored.wait()
        dying = asyncio.ensure_future(app.close())
        await turns(1)
        dying.cancel()
        await asyncio.wait([dying])
    with pytest.raises(Exception, match="stopped"):
        await publishing
    async with tenuto(disk, -HOUR) as app:
        assert (await output_of(await app.instance(started.id)))["eventId"] == "e"


async def test_a_wait_looks_back_at_what_came_after_the_clock_was_set_back() -> None:
    disk = MemoryDisk()
    async with tenuto(disk, HOUR) as app:
        await app.deploy(two_waits())
        started = await app.start("two")
        await until_waiting(app, 1, "first")
    async with tenuto(disk) as app:
        await app.publish("payment.received", {}, id="early")
        await app.publish("payment.received", {}, id="late")
        await app.publish("order.packed", {})
        assert (await output_of(await app.instance(started.id)))["eventId"] == "early"


async def test_what_came_before_an_instance_is_not_for_it() -> None:
    disk = MemoryDisk()
    async with tenuto(disk, HOUR) as app:
        await app.deploy(ONE_WAIT)
        await app.publish("payment.received", {"orderId": 1}, id="old")
    async with tenuto(disk) as app:
        started = await app.start("waiting", {"orderId": 1})
        await until_waiting(app, 1)
        await at_rest(app)
        await app.publish("payment.received", {"orderId": 1}, id="new")
        assert (await output_of(started))["eventId"] == "new"


async def test_what_came_before_a_wait_that_does_not_look_back_is_not_for_it() -> None:
    disk = MemoryDisk()
    async with tenuto(disk, HOUR) as app:
        await app.deploy(two_waits(second={"lookback": "PT0S"}))
        started = await app.start("two")
        await until_waiting(app, 1, "first")
        await app.publish("payment.received", {}, id="old")
    async with tenuto(disk) as app:
        await app.publish("order.packed", {})
        await until_waiting(app, 1, "second")
        await at_rest(app)
        await app.publish("payment.received", {}, id="new")
        assert (await output_of(await app.instance(started.id)))["eventId"] == "new"


async def test_the_log_of_an_instance_never_goes_back_in_time() -> None:
    disk = MemoryDisk()
    async with tenuto(disk, HOUR) as app:
        await app.deploy(ONE_WAIT)
        started = await app.start("waiting", {"orderId": 1})
        await until_waiting(app, 1)
    async with tenuto(disk) as app:
        await app.publish("payment.received", {"orderId": 1})
        instance = await app.instance(started.id)
        await instance.result(10)
        history = await instance.history()
        moments = [datetime.fromisoformat(str(entry["at"])) for entry in history]
    assert moments == sorted(moments)
