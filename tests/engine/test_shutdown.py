"""Stopping in good order: no new work, tasks get their grace, what is left starts again."""

from __future__ import annotations

import asyncio
import gc
import weakref
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tenuto import Settings, StoreUnavailable, Tenuto, TenutoError
from tenuto.engine import engine, outage
from tenuto.engine.turns import lane
from tenuto.engine.turns.sharing import Sharing
from tenuto.model.events import Event
from tenuto.model.json import JSON
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.parts.waits import LookedBack
from tenuto.store.sqlite.store import SqliteStore
from tests.core.drawing import child, draw
from tests.engine.situations import ONE_WAIT, Moody, steps
from tests.kit.turns import turns

pytestmark = pytest.mark.asyncio


def endless(url: str) -> tuple[Tenuto, asyncio.Event]:
    """An app whose task never ends by itself, and the news that it has begun."""
    app = Tenuto(url, settings=Settings(stop_grace=0.0))
    begun = asyncio.Event()

    @app.task
    async def work(input: object) -> None:
        begun.set()
        await asyncio.Event().wait()

    return app, begun


async def test_a_clean_stop_waits_for_running_tasks(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    may_end = asyncio.Event()
    app = Tenuto(url)

    @app.task
    async def work(input: object) -> object:
        await may_end.wait()
        return input

    await app.open()
    await app.deploy(steps("a"))
    instance = await app.start("flow", "done")
    closing = asyncio.ensure_future(app.close())
    await asyncio.sleep(0)
    may_end.set()
    await closing
    async with Tenuto(url) as again:
        assert await (await again.instance(instance.id)).result(10) == "done"


async def test_a_task_stopped_with_the_engine_starts_again_and_counts_no_loss(
    tmp_path: Path,
) -> None:
    """Clean stops do not count."""
    url = f"sqlite:///{tmp_path}/a.db"
    instance_id = ""
    for _ in range(7):
        app, begun = endless(url)
        await app.open()
        await app.deploy(steps("a"))
        if not instance_id:
            instance_id = (await app.start("flow", 1)).id
        await begun.wait()
        await app.close()
    app = Tenuto(url)

    @app.task(name="work")
    async def ends(input: object) -> str:
        return "ended"

    async with app:
        assert await (await app.instance(instance_id)).result(10) == "ended"
        history = await (await app.instance(instance_id)).history()
    codes = [
        item["payload"]["error"]["code"]  # type: ignore[index,call-overload]
        for item in history
        if item["eventType"] == "NODE_FAILED"
    ]
    assert codes == ["STOPPED"] * 7


async def test_a_closed_app_refuses_and_says_so() -> None:
    app = Tenuto()

    @app.task
    async def work(input: object) -> object:
        return input

    async with app:
        await app.deploy(steps("a"))
    for ask in (lambda: app.start("flow", 1), lambda: app.publish("some.event")):
        with pytest.raises(StoreUnavailable) as stopped:
            await ask()
        assert stopped.value.code == "TEN-4025"
    await app.close()


async def test_who_waits_for_a_result_is_told_when_the_engine_stops() -> None:
    app = Tenuto(settings=Settings(stop_grace=0.0))

    @app.task
    async def work(input: object) -> object:
        await asyncio.Event().wait()
        return input

    await app.open()
    await app.deploy(steps("a"))
    instance = await app.start("flow", 1)
    waiting = asyncio.ensure_future(instance.result())
    await asyncio.sleep(0)
    await app.close()
    with pytest.raises(StoreUnavailable):
        await waiting


async def test_who_asks_for_a_result_when_the_engine_has_stopped_is_told_so() -> None:
    async with Tenuto() as app:
        await app.deploy(ONE_WAIT)
        instance = await app.start("waiting", {"orderId": 1})
    async with asyncio.timeout(60):
        with pytest.raises(StoreUnavailable):
            await instance.result()


@pytest.mark.parametrize("mood", ["unknown", "away"])
async def test_nobody_waits_for_an_answer_of_an_engine_that_stopped(
    mood: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even when the store never said what became of a commit."""
    monkeypatch.setattr(engine, "_LAST_WRITES", 0.1)
    monkeypatch.setattr(lane, "_FIRST_PAUSE", 60.0)
    store = Moody()
    app = Tenuto(store)
    await app.open()
    await app.deploy(ONE_WAIT)
    store.moods = [mood] * 100
    store.tried.clear()
    asked = [
        asyncio.ensure_future(app.start("waiting", {"orderId": 1})),
        asyncio.ensure_future(app.publish("payment.received", {"orderId": 1})),
    ]
    await store.tried.wait()
    asked.append(asyncio.ensure_future(app.start("waiting", {"orderId": 2})))
    await turns()
    await app.close()
    async with asyncio.timeout(60):
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(outcome, StoreUnavailable) for outcome in outcomes)
    first = outcomes[0]
    assert isinstance(first, StoreUnavailable)
    assert (first.code == "TEN-4019") == (mood == "unknown"), "it may be written"


async def test_a_stop_that_is_cut_short_lets_go_of_the_store(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    app = Tenuto(url, settings=Settings(stop_grace=60.0))
    begun, may_end = asyncio.Event(), asyncio.Event()

    @app.task
    async def work() -> None:
        begun.set()
        await may_end.wait()

    await app.open()
    await app.deploy(steps("a"))
    await app.start("flow")
    await begun.wait()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await app.close()
    async with Tenuto(url, settings=Settings(unknown_tasks="wait")) as again:
        assert len(await again.instances()) == 1
    may_end.set()


async def test_nothing_waits_for_a_lane_that_is_gone() -> None:
    async with Tenuto() as app:
        intake = app.engine.turns.intakes[0]
        intake.abandon(TenutoError("gone"))
        event = Event(id="e", pattern="a.b", payload={}, received_at=app.engine.clock.now())
        for asked in (
            app.engine.events.router.publish(event),
            app.engine.events.router.match(1, event),
            app.start("flow"),
        ):
            with pytest.raises(TenutoError):
                await asked
        with pytest.raises(TenutoError):
            await intake.looked_back(LookedBack("i", "a", "", 1))


async def test_what_was_refused_is_not_done_after_all() -> None:
    """A lane outlives the loop beside it whose death everybody was told of."""
    async with Tenuto() as app:
        await app.deploy(ONE_WAIT)
        asked = asyncio.ensure_future(app.start("waiting", {"orderId": 1}))
        while app.engine.turns.intakes[0].is_empty and not asked.done():
            await turns(1)
        app.engine._loop_died("timekeeper", RuntimeError("gone"))
        with pytest.raises(TenutoError):
            await asked
        await turns()
        assert (await app.engine.store.instances.page(InstanceQuery())).items == []


async def test_a_refused_start_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error that a caller gets knows the turn that it comes from, and that the caller."""

    class Payload(dict[str, JSON]):
        """Can be watched."""

    monkeypatch.setattr(lane, "_FIRST_PAUSE", 0.0)
    # What is logged is kept for the report of a failing test, with the error.
    monkeypatch.setattr(outage.log, "disabled", True)
    store = Moody()
    async with Tenuto(store) as app:
        await app.deploy(ONE_WAIT)
        store.moods = ["away"]
        payload = Payload(orderId=1)
        watched = weakref.ref(payload)
        with pytest.raises(StoreUnavailable):
            await app.start("waiting", payload)
        del payload
        await turns()
        gc.collect()
        assert watched() is None


async def test_an_app_that_was_closed_is_not_opened_again() -> None:
    app = Tenuto()
    await app.open()
    await app.close()
    with pytest.raises(StoreUnavailable):
        await app.open()


async def test_a_stop_does_not_follow_a_family_that_grows(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Messages to further instances stay in the mailbox, for the next process."""
    url = f"sqlite:///{tmp_path}/a.db"
    seen = asyncio.Event()
    async with Tenuto(url) as app:
        app.engine.listen(lambda _: seen.set())
        await app.deploy(draw("a b", a=child("two"), b=child("two")) | {"id": "two"})
        seen.clear()
        await app.start("two", None)
        await seen.wait()
    assert "did not take everything" not in caplog.text
    store = SqliteStore(tmp_path / "a.db")
    await store.open("reader", datetime.now(UTC))
    left = await store.mailbox.claim(1_000)
    await store.close(datetime.now(UTC), clean=True)
    assert 0 < len(left) < 1_000


async def test_what_waits_is_written_in_large_turns_without_rests_when_the_engine_stops() -> None:
    sharing = Sharing()
    sharing.begin()
    sharing.rest({"storm"})
    sharing.end()
    assert (sharing.is_shared, dict(sharing.resting)) == (False, {})
    sharing.begin()
    assert not sharing.is_shared
