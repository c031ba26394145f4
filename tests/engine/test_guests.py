"""A guest of a store publishes events, and leaves all that follows to those who work there."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio

from tenuto import Tenuto
from tenuto.engine.settings import Settings
from tenuto.model.errors import TenutoError
from tenuto.model.json import Object
from tenuto.model.status import Status
from tenuto.store.parts.members import Orphan, Pulse
from tenuto.store.postgres import PostgresStore
from tests.cli.waiting import until, waits_for_event
from tests.kit.postgres_database import fresh_database

pytestmark = pytest.mark.asyncio

GUEST = Settings(is_guest=True)
PAID: Object = {
    "id": "paid",
    "steps": [
        {
            "stepId": "wait",
            "type": "EVENT_WAIT",
            "eventPattern": "paid",
            "transitions": {"default": "ship"},
        },
        {"stepId": "ship", "type": "TASK", "taskId": "ship"},
    ],
}
LONG: Object = {"id": "long", "steps": [{"stepId": "hang", "type": "TASK", "taskId": "hang"}]}


@pytest_asyncio.fixture(params=["sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'store.db'}"
    return await fresh_database()


def worker(store: str, mail_every: float = 0.1) -> Tenuto:
    app = Tenuto(store, settings=Settings(stop_grace=0.1, mail_every=mail_every))

    @app.task
    async def ship() -> str:
        return "shipped"

    @app.task
    async def hang() -> None:
        await asyncio.Event().wait()

    return app


async def one_that_waits(app: Tenuto) -> str:
    await app.deploy(PAID)
    instance = await app.start("paid", {})
    await until(app, instance, waits_for_event)
    return instance.id


async def test_what_a_guest_sets_going_begins_once_with_whoever_works_next(store: str) -> None:
    async with worker(store) as app:
        id = await one_that_waits(app)
    async with Tenuto(store, settings=GUEST) as guest:
        assert (await guest.publish("paid", {}, id="e-1")).resumed == 1
        assert (await guest.publish("paid", {}, id="e-1")).duplicate
    async with worker(store) as app:
        instance = await app.instance(id)
        assert await instance.result(timeout=20) == "shipped"
        attempts = [
            each["attempt"] for each in await instance.history() if each["nodeId"] == "ship"
        ]
    assert set(attempts) == {1}, "no attempt was lost with the guest"


async def test_a_guest_takes_over_nothing_and_runs_nothing(store: str) -> None:
    async with worker(store) as app:
        await app.deploy(LONG)
        hanging = await app.start("long", {})
        left_by = app.engine.process_id
    async with Tenuto(store, settings=GUEST) as guest:
        before = await guest.engine.store.turns.load([hanging.id])
        await guest.publish("paid", {})
    async with Tenuto(store, settings=GUEST) as guest:
        after = await guest.engine.store.turns.load([hanging.id])
    assert after == before
    assert after[hanging.id].owner == left_by


async def test_a_guest_that_stays_says_that_it_lives_and_inherits_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = PostgresStore(await fresh_database(), beat_every=timedelta(milliseconds=10))
    guest = Tenuto(store, settings=GUEST)
    beats, has_beaten_twice = list[Pulse](), asyncio.Event()
    plain = guest.engine.store.members.beat

    async def beat() -> Pulse:
        beats.append((await plain())._replace(has_orphans=True))
        if len(beats) > 1:
            has_beaten_twice.set()
        return beats[-1]

    async def claim(limit: int) -> list[Orphan]:
        raise AssertionError("a guest claims nothing")

    monkeypatch.setattr(guest.engine.store.members, "beat", beat)
    monkeypatch.setattr(guest.engine.store.members, "claim_orphans", claim)
    async with guest, asyncio.timeout(20):
        await has_beaten_twice.wait()
    assert guest.engine.fault is None


async def test_what_a_guest_sets_going_begins_at_once_while_it_stays() -> None:
    store = await fresh_database()
    async with worker(store, mail_every=600) as app, Tenuto(store, settings=GUEST) as guest:
        id = await one_that_waits(app)
        assert (await guest.publish("paid", {})).resumed == 1
        assert await (await guest.instance(id)).result(timeout=20) == "shipped"
        [delivery] = await app.engine.store.inbox.deliveries_to(id)
        assert delivery.outcome == "resumed"


async def test_a_guest_takes_no_mail_and_no_timers(store: str) -> None:
    async with worker(store) as app:
        id = await one_that_waits(app)
    async with Tenuto(store, settings=GUEST) as guest:
        await guest.publish("paid", {})
    async with Tenuto(store, settings=GUEST) as guest:
        assert await (await guest.instance(id)).status() is Status.WAITING_FOR_EVENT
        assert [each.instance_id for each in await guest.engine.store.mailbox.claim(10)] == [id]


async def test_a_guest_starts_and_commands_nothing(store: str) -> None:
    async with worker(store) as app:
        id = await one_that_waits(app)
    async with Tenuto(store, settings=GUEST, tasks=app.tasks) as guest:
        with pytest.raises(TenutoError, match="only publish events"):
            await guest.start("paid", {})
        with pytest.raises(TenutoError, match="only publish events"):
            await (await guest.instance(id)).cancel()
