"""What Tenuto tells of one workflow is an event that another can wait for, on every store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tenuto import Status, Tenuto
from tenuto.model.json import Object
from tests.engine.situations import at_rest, steps
from tests.kit.postgres_database import fresh_database

pytestmark = pytest.mark.asyncio

FOLLOWER: Object = {
    "id": "follower",
    "steps": [
        {
            "stepId": "wait",
            "type": "EVENT_WAIT",
            "eventPattern": "workflow.completed",
            "eventCondition": "event.payload.correlationId === workflow.input.order",
            "eventPayloadMapping": {"given": "output", "status": "status"},
        }
    ],
}


@pytest_asyncio.fixture(params=["memory", "sqlite", "postgres"])
async def app(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Tenuto]:
    urls = {"memory": None, "sqlite": f"sqlite:///{tmp_path}/tenuto.db"}
    url = await fresh_database() if request.param == "postgres" else urls[request.param]
    async with Tenuto(url) as made:

        @made.task
        async def work(input: object) -> object:
            return {"done": input}

        yield made


async def test_a_workflow_waits_for_another_to_complete(app: Tenuto) -> None:
    await app.deploy(FOLLOWER)
    await app.deploy(steps("a", "b"))
    follower = await app.start("follower", {"order": "o1"})
    await app.start("flow", {"n": 2}, correlation_id="o2")
    leader = await app.start("flow", {"n": 1}, correlation_id="o1")
    result: Any = await follower.result(timeout=30)
    assert result["payload"]["instanceId"] == leader.id
    assert result["payload"]["workflowId"] == "flow"
    assert result["payload"]["version"] == 1
    assert result["payload"]["status"] == "COMPLETED"
    assert result["payload"]["output"] == {"done": {"n": 1}}
    assert result["correlationId"] == "o1"
    state: Any = await follower.state()
    assert state["variables"]["status"] == "COMPLETED"


async def test_a_wait_that_opens_later_finds_it_too(app: Tenuto) -> None:
    await app.deploy(FOLLOWER)
    await app.deploy(steps("a"))
    follower = await app.start("follower", {"order": "o1"}, correlation_id="f")
    await app.start("flow", {}, correlation_id="o1")
    assert isinstance(await follower.result(timeout=30), dict)
    await at_rest(app)
    # Its own end was told too, and was for nobody.
    assert (await follower.status()) is Status.COMPLETED


async def test_many_followers_each_hear_their_own(app: Tenuto) -> None:
    await app.deploy(FOLLOWER)
    await app.deploy(steps("a"))
    followers = await asyncio.gather(
        *(app.start("follower", {"order": f"o{n}"}) for n in range(20))
    )
    leaders = await asyncio.gather(
        *(app.start("flow", {"n": n}, correlation_id=f"o{n}") for n in range(20))
    )
    results: list[Any] = await asyncio.gather(*(each.result(timeout=60) for each in followers))
    heard = [result["payload"]["instanceId"] for result in results]
    assert heard == [leader.id for leader in leaders]
