"""Calendars reach the decisions of every process, and steps are timed out on request."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack

import pytest

from tenuto import Conflict, Tenuto
from tenuto.engine.settings import Settings
from tenuto.model.json import Object
from tenuto.model.status import Status
from tenuto.model.tenants import DEFAULT_TENANT
from tests.kit.postgres_database import fresh_database

pytestmark = pytest.mark.asyncio

ALWAYS: Object = {
    "id": "office",
    "timezone": "UTC",
    "week": {day: ["00:00-24:00"] for day in ("mon", "tue", "wed", "thu", "fri", "sat", "sun")},
}
NAP: Object = {
    "id": "nap",
    "steps": [{"stepId": "nap", "type": "DELAY", "duration": "PT1H", "calendar": "office"}],
}


def calendars_of(app: Tenuto) -> list[str]:
    return list(app.engine.policies.of(DEFAULT_TENANT).calendars)


async def test_a_calendar_that_one_process_saves_counts_in_the_others() -> None:
    url = await fresh_database()
    async with AsyncExitStack() as stack:
        here, there = [await stack.enter_async_context(Tenuto(url)) for _ in range(2)]
        await here.deploy(NAP)
        early = await there.start("nap")
        assert await early.status() is Status.FAILED
        await here.engine.calendars.save(DEFAULT_TENANT, ALWAYS, by=None)
        assert calendars_of(here) == ["office"]
        async with asyncio.timeout(30):
            while calendars_of(there) != ["office"]:
                await there.engine.membership.beat()
        late = await there.start("nap")
        assert await late.status() is Status.RUNNING
        [entry] = [each for each in await late.history() if each["eventType"] == "TIMER_SET"]
        version = here.engine.policies.of(DEFAULT_TENANT).calendars["office"].version
        payload = entry["payload"]
        assert isinstance(payload, dict)
        assert payload["calendars"] == [{"id": "office", "version": version}]


async def test_policies_are_one_value_until_something_changes() -> None:
    async with Tenuto("memory://") as app:
        before = app.engine.policies.of(DEFAULT_TENANT)
        await app.engine.calendars.save(DEFAULT_TENANT, ALWAYS, by=None)
        after = app.engine.policies.of(DEFAULT_TENANT)
        assert app.engine.policies.of(DEFAULT_TENANT) is after
        assert (before.version, len(after.version.partition("-")[2])) == ("", 12)
        assert app.engine.policies.of("another") is before
        await app.engine.calendars.remove(DEFAULT_TENANT, "office", by=None)
        assert app.engine.policies.of(DEFAULT_TENANT) is before


async def test_an_unknown_calendar_is_a_warning_at_save(caplog: pytest.LogCaptureFixture) -> None:
    async with Tenuto("memory://") as app:
        with caplog.at_level(logging.WARNING, logger="tenuto.definitions"):
            await app.deploy(NAP)
            await app.engine.calendars.save(DEFAULT_TENANT, {**ALWAYS, "id": "offices"}, by=None)
            await app.deploy({**NAP, "name": "again"})
            await app.engine.calendars.save(DEFAULT_TENANT, ALWAYS, by=None)
            await app.deploy({**NAP, "name": "once more"})
    first, second = (record.getMessage() for record in caplog.records)
    assert "TEN-2726 $.steps[0].calendar: there is no calendar 'office'" in first
    assert "Did you mean `offices`?" in second


async def test_a_running_attempt_is_timed_out_once() -> None:
    step: Object = {
        "stepId": "work",
        "type": "TASK",
        "taskId": "work",
        "retry": {"maxAttempts": 2, "initialDelay": 0},
    }
    app = Tenuto("memory://", settings=Settings(watch_every=0.05))
    stopped: list[int] = []
    begun = asyncio.Event()

    @app.task
    async def work() -> str:
        if begun.is_set():
            return "done"
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(1)
        return "never"

    async with app:
        await app.deploy({"id": "w", "steps": [step]})
        run = await app.start("w")
        await begun.wait()
        await run.time_out_step("work", attempt=1)
        assert await run.result(timeout=20) == "done"
        assert stopped == [1]
        history = await run.history()
        [failed] = [each for each in history if each["eventType"] == "NODE_FAILED"]
        assert str(failed["errorMessage"]).startswith("the task was timed out on request of")
        with pytest.raises(Conflict) as refused:
            await run.time_out_step("work")
        assert refused.value.code == "TEN-3002"


async def test_an_open_wait_is_timed_out_once() -> None:
    wait: Object = {
        "stepId": "wait",
        "type": "EVENT_WAIT",
        "eventPattern": "paid",
        "transitions": {"timeout": "late"},
    }
    late: Object = {"stepId": "late", "type": "EVENT_WAIT", "eventPattern": "sorry"}
    async with Tenuto("memory://") as app:
        await app.deploy({"id": "w", "steps": [wait, late]})
        run = await app.start("w")
        assert await run.time_out_step("wait") is Status.WAITING_FOR_EVENT
        with pytest.raises(Conflict, match="wait is not open: it is COMPLETED; open: late"):
            await run.time_out_step("wait")
        await app.publish("paid", {})
        assert [each["stepId"] for each in await run.waits() if isinstance(each, dict)] == ["late"]
