"""Rows with a moment that no date in UTC is, as older programs let in: nothing stops over one."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from tenuto import Status, Tenuto, WorkflowCancelled
from tenuto.engine.settings import Settings
from tenuto.model.durations import EARLIEST, LATEST, epoch_ms, from_epoch_ms, iso
from tenuto.model.events import Event
from tenuto.model.inputs import PauseAsked, Started
from tenuto.model.json import Object
from tests.kit.postgres_database import fresh_database

TOO_LATE = datetime.fromisoformat("9999-12-31T23:59:59-14:00")
TOO_EARLY = datetime.fromisoformat("0001-01-01T00:00:00+14:00")

WAIT: Object = {"id": "wait", "steps": [{"stepId": "w", "type": "EVENT_WAIT", "eventPattern": "a"}]}
NAP: Object = {"id": "nap", "steps": [{"stepId": "n", "type": "DELAY", "duration": "PT0.01S"}]}


async def far_start(app: Tenuto, deadline: datetime) -> str:
    plan = (await app.engine.plans.get("default", "wait")).plan
    started = Started(definition_id="wait", definition_version=1, input=None, deadline=deadline)
    return (await app.engine.start(plan, started)).instance_id


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
async def test_a_row_with_a_far_moment_stops_nothing(kind: str, tmp_path: Path) -> None:
    url = await fresh_database() if kind == "postgres" else f"sqlite:///{tmp_path / 's.db'}"
    place = None if kind == "memory" else url
    settings = Settings(watch_every=0.05)
    async with Tenuto(place, settings=settings) as app:
        await app.deploy(WAIT)
        await app.deploy(NAP)
        store = app.engine.store
        late, early = await far_start(app, TOO_LATE), await far_start(app, TOO_EARLY)
        paused = await app.start("wait")
        await app.engine.ask(paused.id, PauseAsked(by="x", until=TOO_LATE))
        added = await app.subscriptions.add("https://example.com", "a.b", subscriber_id="x")
        [listener] = [each for each in await store.listeners.of(None) if each.id == added.id]
        await store.listeners.put(replace(listener, expires_at=TOO_LATE))
        event = Event(
            id="e",
            pattern="b",
            payload=None,
            received_at=app.engine.clock.now(),
            timestamp=TOO_LATE,
        )
        await app.engine.publish(event)
        if kind == "memory":
            await goes_on(app, late, early, paused.id)
    if kind == "memory":
        return
    async with Tenuto(url, settings=settings) as app:
        await goes_on(app, late, early, paused.id)


async def goes_on(app: Tenuto, late: str, early: str, paused: str) -> None:
    """The loops work, everything is shown, and what has such a moment can be ended."""
    assert await (await app.start("nap")).result(20) is None
    assert len(await app.instances(limit=10)) == 4
    [subscription] = await app.subscriptions.list()
    assert subscription.expiration_time is not None
    for id in (late, early, paused):
        instance = await app.instance(id)
        await instance.details()
        await instance.history()
        await instance.explain()
    assert (await app.event("e"))["timestamp"] == iso(LATEST)
    for id in (late, paused):
        assert await (await app.instance(id)).cancel() is Status.CANCELLED
    with pytest.raises(WorkflowCancelled):
        # Its deadline was over before it began.
        await (await app.instance(early)).result(20)
    assert app.engine.fault is None


def test_every_number_in_a_row_is_a_moment() -> None:
    for far in (TOO_LATE, LATEST):
        assert from_epoch_ms(epoch_ms(far)) == LATEST
        assert iso(far) == "9999-12-31T23:59:59.999Z"
    for far in (TOO_EARLY, EARLIEST):
        assert from_epoch_ms(epoch_ms(far)) == EARLIEST
        assert iso(far) == "0001-01-01T00:00:00.000Z"
    assert from_epoch_ms(10**30) == LATEST
    assert from_epoch_ms(-(10**30)) == EARLIEST
