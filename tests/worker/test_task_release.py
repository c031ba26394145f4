"""What a worker gives back is told until the server has heard, and what is said of it is so."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from tenuto.executions.broker import TaskBroker
from tenuto.model.executions import ReleasedTask, ReportAnswer
from tenuto.ports import SystemClock
from tenuto.worker.held_task import HeldTask
from tenuto.worker.http_broker_client import HttpBrokerClient
from tenuto.worker.task_release import release
from tests.executions.stage import LEASE, Stage, done, report
from tests.worker.local_broker import LocalBroker
from tests.worker.server import KEY, served
from tests.worker.test_over_http import started, working
from tests.worker.work import flow


async def held(stage: Stage, broker: TaskBroker, number: int) -> list[HeldTask]:
    tasks = await broker.claim("default", "w1", ["ship"], most=number, lease=LEASE)
    assert len(tasks) == number
    return [HeldTask(each, LEASE, stage.clock.ticks()) for each in tasks]


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.name == "tenuto.worker"]


def test_it_is_tried_again_while_there_is_time(caplog: pytest.LogCaptureFixture) -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        await stage.started(engine, flow())
        local = LocalBroker(broker)
        mine = await held(stage, broker, 1)
        local.is_away = True
        releasing = asyncio.create_task(release(local, stage.clock, mine, (), 3.0))
        await stage.clock.sleep(1)
        assert not releasing.done()
        local.is_away = False
        await releasing
        [again] = await broker.claim("default", "w2", ["ship"])
        assert again.attempt == 2
        assert lines(caplog) == ["released tasks=1"]

    Stage().play(story)


def test_what_the_server_says_of_each_is_read(caplog: pytest.LogCaptureFixture) -> None:
    class Stumbling(LocalBroker):
        """Takes one of them back, and not another, for a while."""

        told: list[int]

        async def release(
            self, tasks: Sequence[ReleasedTask], *, patience: float
        ) -> list[ReportAnswer]:
            self.told.append(len(tasks))
            if len(self.told) > 3:
                return await super().release(tasks, patience=patience)
            taken = await super().release(tasks[:-1], patience=patience)
            last = ReportAnswer(execution_id=tasks[-1].execution_id, status=503)
            return [*taken, last]

    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        for _ in range(3):
            await stage.started(engine, flow())
        local = Stumbling(broker)
        local.told = []
        mine = await held(stage, broker, 3)
        assert await report(broker, done(mine[0].task)) == [None]
        await release(local, stage.clock, mine, (), 3.0)
        assert local.told == [3, 1, 1, 1]
        assert lines(caplog) == [
            "released tasks=2",
            "not released, leases were over already tasks=1",
        ]

    Stage().play(story)


def test_nothing_is_said_to_be_given_back_that_is_not(caplog: pytest.LogCaptureFixture) -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        await stage.started(engine, flow())
        mine = await held(stage, broker, 1)
        local = LocalBroker(broker)
        local.is_away = True
        before = stage.clock.ticks()
        await release(local, stage.clock, mine, (), 3.0)
        assert 2 < stage.clock.ticks() - before < 4
        [line] = lines(caplog)
        assert line.startswith("not released, leases lapse tasks=1: ")
        assert line.endswith("the server is away")

    Stage().play(story)


@pytest.mark.asyncio
async def test_where_an_address_does_not_answer_the_next_is_told() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    clock = SystemClock()
    listener = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    async with working() as (engine, broker), served(broker) as url, listener:
        await started(engine)
        [task] = await broker.claim("default", "w1", ["ship"], lease=LEASE)
        http = HttpBrokerClient([f"http://127.0.0.1:{port}", url], key=KEY)
        await release(http, clock, [HeldTask(task, LEASE, clock.ticks())], (), 2.0)
        [again] = await broker.claim("default", "w2", ["ship"])
        assert again.attempt == 2
        await http.close()
