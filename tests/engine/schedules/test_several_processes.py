"""Two programs on one database fire the same schedules: each tick is started once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from functools import wraps
from itertools import pairwise
from typing import Any

import pytest
import pytest_asyncio

from tenuto import Tenuto
from tenuto.engine.definitions.large_documents import LARGE
from tenuto.engine.schedules import firing as engine_firing
from tenuto.engine.settings import Settings
from tenuto.model.json import Object
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.parts.schedules import ScheduleRow, Schedules
from tests.kit.postgres_database import fresh_database

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

FLOW: Object = {"id": "quick", "steps": [{"stepId": "a", "type": "TASK", "taskId": "work"}]}
SETTINGS = Settings(mail_every=0.2, watch_every=0.1)


@pytest_asyncio.fixture
async def url() -> str:
    return await fresh_database()


@pytest_asyncio.fixture
async def apps(url: str) -> AsyncIterator[tuple[Tenuto, Tenuto]]:
    async with AsyncExitStack() as stack:
        one, two = [await stack.enter_async_context(app_on(url)) for _ in range(2)]
        await one.deploy(FLOW)
        yield one, two


def app_on(url: str) -> Tenuto:
    app = Tenuto(url, settings=SETTINGS)

    @app.task
    async def work(input: Any = None) -> object:  # noqa: ANN401
        return input

    return app


def every_second(id: str, **fields: Any) -> Object:  # noqa: ANN401
    return {"id": id, "cron": "* * * * * *", "target": {"workflowId": "quick"}} | fields


async def instances(app: Tenuto) -> list[str]:
    query = InstanceQuery(limit=1_000)
    return [row.id for row in (await app.engine.store.instances.page(query)).items]


async def until_ticks(app: Tenuto, ids: list[str], count: int) -> Counter[object]:
    """Wait until each schedule has so many ticks; all started ones by schedule and time."""
    async with asyncio.timeout(120):
        while True:
            pages = [await app.engine.store.schedules.ticks("default", id, 500) for id in ids]
            if all(len(page) >= count for page in pages):
                return Counter((each.schedule_id, each.nominal) for page in pages for each in page)
            await app.engine.clock.sleep(0.1)


async def test_each_tick_is_started_once(apps: tuple[Tenuto, Tenuto]) -> None:
    one, two = apps
    ids = [f"s{number}" for number in range(20)]
    for number, id in enumerate(ids):
        document = every_second(id, overlap="allow", catchUp={"mode": "all"})
        await apps[number % 2].engine.schedules.save("default", document, by=None)
    ticks = await until_ticks(one, ids, 3)
    assert set(ticks.values()) == {1}
    for id in ids:
        await two.engine.schedules.pause("default", id, by=None)
    fired = [app.engine.schedules.meter.ticks["started"] for app in apps]
    listed = [await one.engine.store.schedules.ticks("default", id, 500) for id in ids]
    started = [tick for page in listed for tick in page if tick.outcome == "started"]
    assert sum(fired) == len(started), "none was fired by both"
    async with asyncio.timeout(60):
        while len(await instances(one)) < len(started):
            await one.engine.clock.sleep(0.05)
    assert sorted(await instances(one)) == sorted(str(each.instance_id) for each in started)
    for page in listed:
        times = sorted(tick.nominal for tick in page if tick.outcome == "started")
        gaps = {later - earlier for earlier, later in pairwise(times)}
        assert gaps <= {timedelta(seconds=1)}, "none is left out"


async def test_what_one_saves_the_other_fires_when_the_first_is_gone(
    url: str, apps: tuple[Tenuto, Tenuto]
) -> None:
    one, two = apps
    async with app_on(url) as third:
        await third.engine.schedules.save("default", every_second("s", overlap="allow"), by=None)
        await until_ticks(one, ["s"], 1)
    known = len(await one.engine.store.schedules.ticks("default", "s", 500))
    two.engine.schedules.hint()
    await until_ticks(one, ["s"], known + 2)


async def test_inputs_that_are_compiled_later_wait_for_no_claim(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pass takes more schedules than it has time to compile, and goes on with them at once."""
    due = Schedules.due

    @wraps(due)
    async def held_for_long(
        self: Schedules,
        now: datetime,
        limit: int,
        *,
        most_bytes: int,
        behind: ScheduleRow | None,
    ) -> list[ScheduleRow]:
        an_hour = timedelta(hours=1)
        return await due(self, now, limit, an_hour, most_bytes=most_bytes, behind=behind)

    monkeypatch.setattr(Schedules, "due", held_for_long)
    monkeypatch.setattr(engine_firing, "_COMPILED_FOR", 0.0)
    async with app_on(url) as app:
        await app.deploy(FLOW)
        schedules, moment = app.engine.schedules, app.engine.clock.now() + timedelta(seconds=2)
        ids = [f"s{number}" for number in range(3)]
        for id in ids:
            input: Object = {"text": "{{schedule.id}}", "more": "x" * LARGE}
            document: Object = {"id": id, "executeAt": moment.isoformat(), "input": input}
            target: Object = {"target": {"workflowId": "quick"}}
            await schedules.save("default", document | target, by=None)
        assert set((await until_ticks(app, ids, 1)).values()) == {1}


async def test_a_queue_goes_on_where_another_process_saw_the_end(
    apps: tuple[Tenuto, Tenuto],
) -> None:
    one, two = apps
    document = every_second("q", overlap="queue", input={"n": 1})
    await one.engine.schedules.save("default", document, by=None)
    await until_ticks(two, ["q"], 4)
    ticks = await two.engine.store.schedules.ticks("default", "q", 500)
    assert {each.outcome for each in ticks} <= {"started", "queued"}


async def test_a_queue_is_looked_at_less_and_less_while_nothing_changes(
    apps: tuple[Tenuto, Tenuto],
) -> None:
    one, two = apps
    await one.deploy(
        {"id": "long", "steps": [{"stepId": "a", "type": "EVENT_WAIT", "eventPattern": "go.on"}]}
    )
    document: Object = {"id": "q", "cron": "0 0 1 1 *", "target": {"workflowId": "long"}}
    schedules = one.engine.schedules
    await schedules.save("default", document, by=None)
    first = await schedules.trigger("default", "q")
    nominal = first.nominal - timedelta(days=1)
    waiting = await two.engine.schedules.backfill_tick("default", "q", nominal, overlap="queue")
    assert waiting.outcome == "queued"
    firing = schedules.firing
    waits: list[float] = []
    for _ in range(8):
        row, now = await schedules.get("default", "q"), one.engine.clock.now()
        fire = await firing.one(row, None, now)
        assert fire.row.next_at is not None
        waits.append((fire.row.next_at - now).total_seconds())
    assert waits == sorted(waits)
    assert waits[-1] == SETTINGS.longest_nap
    # The process that cancels it sees its end, and the one that waited is started.
    async with asyncio.timeout(60):
        while first.instance_id not in await instances(one):
            await one.engine.clock.sleep(0.05)
    await one.at(str(first.instance_id)).cancel()
    async with asyncio.timeout(120):
        while True:
            tick = await two.engine.store.schedules.tick("default", "q", nominal)
            if tick is not None and tick.outcome == "started":
                break
            await two.engine.clock.sleep(0.1)


async def test_a_calendar_that_one_changes_is_known_to_the_other(
    apps: tuple[Tenuto, Tenuto],
) -> None:
    one, two = apps
    week: Object = {day: ["09:00-17:00"] for day in ("mon", "tue", "wed", "thu", "fri")}
    office: Object = {"id": "office", "timezone": "UTC", "week": week}
    saved = await one.engine.calendars.save("default", office, by="ada")
    assert saved.version == 1
    async with asyncio.timeout(30):
        while "office" not in await two.engine.calendars.resolved("default"):
            await two.engine.clock.sleep(0.1)
    found = await asyncio.gather(
        *(
            app.engine.calendars.save("default", office | {"name": str(number)}, by="ada")
            for number, app in enumerate(apps * 4)
        )
    )
    assert min(each.version for each in found) >= 2
    newest = await one.engine.calendars.get("default", "office")
    assert newest.version == max(each.version for each in found)


async def test_a_calendar_that_one_changes_moves_the_ticks_that_the_other_fires(
    apps: tuple[Tenuto, Tenuto],
) -> None:
    one, two = apps
    days = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
    week: Object = {day: ["00:00-23:59"] for day in days}
    office: Object = {"id": "office", "timezone": "UTC", "week": week}
    await one.engine.calendars.save("default", office, by="ada")
    document = every_second("s", cron="0 10 * * *", calendar="office")
    saved = await one.engine.schedules.save("default", document, by=None)
    assert saved.next_tick is not None
    off: Object = {"date": saved.next_tick.date().isoformat(), "hours": [], "name": "off"}
    await two.engine.calendars.save("default", office | {"dates": [off]}, by="ada")
    later = saved.next_tick + timedelta(days=1)
    async with asyncio.timeout(30):
        while (await one.engine.schedules.get("default", "s")).next_tick != later:
            await one.engine.clock.sleep(0.1)


async def test_eight_that_save_the_same_schedule_at_once_make_one(
    apps: tuple[Tenuto, Tenuto],
) -> None:
    saves = [
        app.engine.schedules.save("default", every_second("same"), by=None) for app in apps * 4
    ]
    rows = await asyncio.gather(*saves)
    assert {row.revision for row in rows} == {1}
