"""Two processes on one database that push to the same address at the same time."""

from __future__ import annotations

import asyncio

import pytest

from tenuto import Settings, Tenuto
from tenuto.executions.broker import TaskBroker
from tenuto.executions.push_dispatcher import PushDispatcher
from tenuto.model.task_definition import TaskDefinition, TaskLimits
from tenuto.tasks.registry import Registry
from tests.executions.slow_address import Address
from tests.executions.test_push_dispatcher import FLOW
from tests.kit.postgres_database import fresh_database

pytestmark = pytest.mark.asyncio

QUICK = Settings(unknown_tasks="wait", jobs_every=0.05, watch_every=0.05, mail_every=0.2)
INSTANCES = 8


async def test_a_bulkhead_holds_exactly_for_processes_that_share_a_database() -> None:
    url, address = await fresh_database(), Address()
    async with (
        Tenuto(url, tasks=Registry(), settings=QUICK) as one,
        Tenuto(url, tasks=Registry(), settings=QUICK) as other,
    ):
        charge = TaskDefinition(
            id="charge", kind="push", url="https://example.com/", limits=TaskLimits(concurrency=2)
        )
        await one.workspace("default", "me").task_definitions.put(charge)
        await one.deploy(FLOW)
        started = await asyncio.gather(*(one.start("w", {}) for _ in range(INSTANCES)))
        pushing = [
            asyncio.create_task(
                PushDispatcher(
                    each.engine, TaskBroker(each.engine), address, lambda: "http://here"
                ).run()
            )
            for each in (one, other)
        ]
        await asyncio.gather(*(each.result(60) for each in started))
        for each in pushing:
            each.cancel()
        await asyncio.gather(*pushing, return_exceptions=True)
    assert (address.count, address.most_at_once) == (INSTANCES, 2)
