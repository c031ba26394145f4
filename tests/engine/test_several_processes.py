"""Programs that share a database: each sees what another did, and waits for what another runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
import pytest_asyncio

from tenuto import Conflict, NotFound, Tenuto, WorkflowCancelled, WorkflowFailed
from tenuto.engine.settings import Settings
from tenuto.engine.turns.requests import Answer
from tenuto.model.errors import TaskError
from tenuto.model.json import Object
from tenuto.model.status import Status
from tenuto.store.parts.definitions import DefinitionRow
from tenuto.workspace.starting import Starting
from tests.cli.waiting import until, waits_for_event
from tests.kit.postgres_database import fresh_database

pytestmark = pytest.mark.asyncio

GREET: Object = {"id": "greet", "steps": [{"stepId": "greet", "type": "TASK", "taskId": "greet"}]}
LOUD: Object = {
    "id": "greet",
    "steps": [{"stepId": "greet", "type": "TASK", "taskId": "greet", "input": "ALL"}],
}
WAIT: Object = {
    "id": "wait",
    "steps": [
        {
            "stepId": "wait",
            "type": "EVENT_WAIT",
            "eventPattern": "named",
            "transitions": {"default": "greet"},
        },
        {
            "stepId": "greet",
            "type": "TASK",
            "taskId": "greet",
            "input": "{{steps.wait.output.payload}}",
        },
    ],
}


@pytest_asyncio.fixture
async def apps() -> AsyncIterator[tuple[Tenuto, Tenuto]]:
    """Two programs with the same tasks on one database."""
    url = await fresh_database()
    async with AsyncExitStack() as stack:
        made = [await stack.enter_async_context(_app(url)) for _ in range(2)]
        yield made[0], made[1]


def _app(url: str) -> Tenuto:
    app = Tenuto(url, settings=Settings(watch_every=0.05, mail_every=0.2))

    @app.task
    async def greet(name: object) -> str:
        if name == "nobody":
            raise TaskError("NOBODY", "there is nobody", retryable=False)
        return f"Hello, {name}!"

    return app


async def test_a_result_is_waited_for_where_another_process_runs_it(
    apps: tuple[Tenuto, Tenuto],
) -> None:
    here, there = apps
    await here.deploy(GREET)
    started = await here.start("greet", "Ada")
    seen = await there.instance(started.id)
    assert await seen.result(timeout=20) == "Hello, Ada!"
    assert await seen.status() is Status.COMPLETED
    assert await seen.details() == await started.details()
    assert await seen.history() == await started.history()
    failing = await here.start("greet", "nobody")
    with pytest.raises(WorkflowFailed, match="NOBODY"):
        await (await there.instance(failing.id)).result(timeout=20)


async def test_state_events_and_commands_reach_what_another_process_has(
    apps: tuple[Tenuto, Tenuto],
) -> None:
    here, there = apps
    await here.deploy(WAIT)
    first, second = [await here.start("wait", {}) for _ in range(2)]
    for each in (first, second):
        await until(here, each, waits_for_event)
    from_there = await there.instance(first.id)
    assert await from_there.state() == await first.state()
    assert await from_there.context() == await first.context()
    other = await there.instance(second.id)
    assert await other.pause() is Status.PAUSED
    assert await second.status() is Status.PAUSED
    assert await other.resume() is Status.WAITING_FOR_EVENT
    assert await other.cancel("enough") is Status.CANCELLED
    with pytest.raises(WorkflowCancelled, match="enough"):
        await second.result(timeout=20)
    assert (await there.publish("named", "Ada")).resumed == 1
    assert await first.result(timeout=20) == "Hello, Ada!"
    assert await from_there.result(timeout=20) == "Hello, Ada!"


async def test_the_newest_version_is_started_whoever_deployed_it(
    apps: tuple[Tenuto, Tenuto],
) -> None:
    here, there = apps
    assert await here.deploy(GREET) == 1
    assert await (await here.start("greet", "Ada")).result(timeout=20) == "Hello, Ada!"
    assert await there.deploy(LOUD) == 2
    assert await (await here.start("greet", "Ada")).result(timeout=20) == "Hello, ALL!"
    again = await here.start("greet", "Ada", version=1)
    assert await again.result(timeout=20) == "Hello, Ada!"


async def test_starts_at_once_ask_once_which_version_is_the_newest(
    apps: tuple[Tenuto, Tenuto], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, _ = apps
    await here.deploy(GREET)
    plain, asked = here.engine.store.definitions.get, list[str]()

    async def counted(tenant: str, id: str, version: int | None = None) -> DefinitionRow | None:
        asked.append(id)
        return await plain(tenant, id, version)

    monkeypatch.setattr(here.engine.store.definitions, "get", counted)
    await asyncio.gather(*(here.start("greet", "Ada") for _ in range(50)))
    assert len(asked) <= 2


async def test_a_store_of_one_process_is_not_asked_which_version_is_the_newest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Tenuto() as app:
        await app.deploy({"id": "nap", "steps": [{"stepId": "a", "type": "DELAY", "duration": 0}]})

        async def asked(*_: object) -> DefinitionRow | None:
            raise AssertionError("it knows what it saved")

        monkeypatch.setattr(app.engine.store.definitions, "get", asked)
        await (await app.start("nap")).result(timeout=20)


async def test_a_removal_finds_what_another_program_starts_just_then(
    apps: tuple[Tenuto, Tenuto], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The start was durable before the removal, which therefore sees it, without waiting."""
    one, other = apps
    await one.deploy(WAIT)
    hide, begun = other.engine.plans.hide, []

    async def hide_after_a_start(tenant: str, id: str) -> DefinitionRow:
        begun.append(await one.start("wait"))
        return await hide(tenant, id)

    monkeypatch.setattr(other.engine.plans, "hide", hide_after_a_start)
    with pytest.raises(Conflict, match="have not ended"):
        await other.workspace("default", "ann").remove_definition("wait")
    assert await one.deploy(WAIT) == 3, "it is there again"
    [instance] = begun
    assert not (await instance.status()).is_final


async def test_a_start_that_comes_after_a_removal_is_refused_and_leaves_nothing(
    apps: tuple[Tenuto, Tenuto], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although it had read the definition before that was removed."""
    one, other = apps
    await one.deploy(WAIT)
    start = Starting._start

    async def late_start(self: Starting, *of_what: Any) -> Answer:  # noqa: ANN401
        await other.workspace("default", "ann").remove_definition("wait")
        return await start(self, *of_what)

    monkeypatch.setattr(Starting, "_start", late_start)
    with pytest.raises(NotFound, match="there is no workflow wait"):
        await one.start("wait")
    assert await one.instances() == []
