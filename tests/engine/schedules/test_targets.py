"""Single tasks and callbacks: instances like any other, with the schedule's retries."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tenuto import Tenuto
from tenuto.engine.settings import Settings
from tenuto.model.durations import iso
from tenuto.model.json import Object
from tests.engine.schedules.clockwork import Clockwork
from tests.kit.hooks import Receiver, receiver

OPEN = Settings(private_webhooks=True, webhook_timeout=5.0)


def test_a_task_is_run_on_its_own() -> None:
    with Clockwork() as world:
        world.save(target={"taskId": "work"}, input={"at": "{{schedule.nominal}}"})
        world.skip(minutes=11)
        assert world.started() == [5, 10]
        assert [each.workflow for each in world.engine.instances] == ["task:work"] * 2
        assert world.inputs[0] == {"at": "2026-01-01T00:05:00.000Z"}
        assert world.row().workflow_id == "task:work"


@pytest_asyncio.fixture
async def hook() -> AsyncIterator[Receiver]:
    async with receiver() as made:
        yield made


@pytest_asyncio.fixture
async def app() -> AsyncIterator[Tenuto]:
    async with Tenuto(settings=OPEN) as made:
        yield made


async def triggered(app: Tenuto, hook: Receiver, **retry: Any) -> str:  # noqa: ANN401
    """Save a schedule with a callback, and start it; the instance."""
    document: Object = {
        "scheduleId": "sched-1",
        "type": "RECURRING",
        "cronExpression": "0 0 1 1 *",
        "callbackUrl": f"{hook.url}/called",
        "payload": {"order": 7, "at": "{{schedule.nominal}}"},
        "retryPolicy": retry,
    }
    await app.engine.schedules.save("default", document, by="ada")
    tick = await app.engine.schedules.trigger("default", "sched-1")
    assert tick.instance_id is not None
    return tick.instance_id


async def end_of(app: Tenuto, id: str) -> Any:  # noqa: ANN401
    """The result of an instance that may not have begun yet."""
    held = await app.engine.final_state(id)
    return held.state


@pytest.mark.asyncio
async def test_a_callback_is_posted_and_signed(app: Tenuto, hook: Receiver) -> None:
    id = await triggered(app, hook)
    await hook.until(lambda: bool(hook.received))
    [call] = hook.received
    assert call.path == "/called"
    assert call.value["scheduleId"] == "sched-1"
    assert call.value["payload"]["order"] == 7
    assert set(call.value) == {"scheduleId", "executionTime", "payload"}
    assert call.is_signed_with(await app.engine.schedules.callback_secret("default"))
    assert not call.is_signed_with(await app.engine.schedules.callback_secret("other"))
    state = await end_of(app, id)
    assert state.status.value == "COMPLETED"


@pytest.mark.asyncio
async def test_a_signed_callback_says_which_schedule_has_started_it(
    app: Tenuto, hook: Receiver
) -> None:
    document: Object = {
        "id": "mine",
        "cron": "0 0 1 1 *",
        "target": {"callbackUrl": f"{hook.url}/called"},
        "input": 1,
    }
    await app.engine.schedules.save("default", document, by="ada")
    tick = await app.engine.schedules.trigger("default", "mine")
    await hook.until(lambda: bool(hook.received))
    [call] = hook.received
    state = await end_of(app, str(tick.instance_id))
    assert call.value == {
        "scheduleId": "mine",
        "executionTime": iso(state.created_at),
        "payload": 1,
    }


@pytest.mark.asyncio
async def test_a_callback_is_sent_again_as_the_schedule_says(app: Tenuto, hook: Receiver) -> None:
    answers = iter([503, 429, 204])
    hook.answer = lambda _: next(answers)
    id = await triggered(app, hook, maxRetries=2, initialDelay=10, backoffMultiplier=1)
    await hook.until(lambda: len(hook.received) == 3)
    assert len({each.headers["idempotency-key"] for each in hook.received}) == 1
    assert (await end_of(app, id)).status.value == "COMPLETED"


@pytest.mark.asyncio
@pytest.mark.parametrize(("status", "requests"), [(400, 1), (302, 1), (500, 2), (408, 2)])
async def test_what_counts_as_refused_and_what_is_tried_again(
    app: Tenuto, hook: Receiver, status: int, requests: int
) -> None:
    hook.answer = lambda _: status
    id = await triggered(app, hook, maxRetries=1, initialDelay=10)
    await hook.until(lambda: len(hook.received) == requests)
    state = await end_of(app, id)
    assert state.status.value == "FAILED"
    assert state.last_error.code == "CALLBACK_REFUSED"
    assert len(hook.received) == requests


@pytest.mark.asyncio
async def test_lists_of_tasks_do_not_have_the_one_that_calls_back(app: Tenuto) -> None:
    assert "tenuto.callback" not in list(app.engine.registry)
    assert "tenuto.callback" in app.engine.registry
