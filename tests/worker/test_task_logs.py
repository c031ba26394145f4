"""A worker sends the lines of its tasks: with heartbeats while they run, and with the report."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace

from tenuto.engine.engine import Engine
from tenuto.model.errors import TaskError
from tenuto.model.executions import LOGS
from tenuto.model.inputs import TaskSucceeded
from tenuto.model.task_logs import LogChunk, LogLine
from tenuto.tasks.context import Context
from tenuto.worker.held_task import HeldTask
from tenuto.worker.reporter import Reporter
from tenuto.workspace.task_logs import LinesOf, page_of_lines
from tests.executions.stage import A_WHILE, LEASE, Stage
from tests.tasks.test_attempt_log import NOON, made
from tests.worker.bodies import spend
from tests.worker.local_broker import LocalBroker
from tests.worker.work import Work, flow, registry_of, status


async def texts(engine: Engine, id: str) -> list[object]:
    await engine.effects.task_logs.written()
    which = LinesOf("default", id)
    page = await page_of_lines(engine.store.seen_by("default"), which, 1_000, None)
    return [item["text"] for item in page.items]


def test_lines_come_with_heartbeats_and_with_the_report_each_once() -> None:
    async def body(_: Context) -> object:
        print("begun")
        await spend(LEASE.total_seconds() * 0.9)
        print("ended")
        return None

    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=body), lease=LEASE)
        id = await stage.started(work.engine, flow())
        await spend(LEASE.total_seconds() / 2)
        assert await texts(work.engine, id) == ["begun"]
        work.broker.loses_answers = True
        assert await status(work.engine, id) == "COMPLETED"
        await spend(5)
        assert await texts(work.engine, id) == ["begun", "ended"]
        await work.end()

    Stage().play(story)


def test_a_server_that_does_not_take_lines_is_sent_none() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        await stage.started(engine, flow())
        [task] = await broker.claim("default", "w1", ["ship"], wait=A_WHILE)
        log = made()
        log.write("stdout", "a\nb\n")
        chunk = log.chunk(log.end(), NOON)
        older = replace(task, reports=tuple(each for each in task.reports if each != LOGS))
        for taken, sent in ((task, chunk), (older, None)):
            held = HeldTask(taken, timedelta(seconds=30), 0.0)
            held.wrote(chunk)
            assert held.logs == sent
            if sent is not None:
                held.have_arrived(sent)
            assert held.logs is None

    Stage().play(story)


def test_a_result_counts_where_another_server_refuses_the_lines() -> None:
    runs = []

    async def body(ctx: Context) -> object:
        runs.append(ctx.attempt)
        ctx.heartbeat({"done": 1})
        print("begun")
        await spend(LEASE.total_seconds() * 1.5)
        print("ended")
        return None

    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=body), lease=LEASE)
        work.broker.knows_lines = False
        id = await stage.started(work.engine, flow())
        assert (await status(work.engine, id), runs) == ("COMPLETED", [1])
        # One heartbeat, and the report.
        assert work.broker.refused_lines == 2
        assert await texts(work.engine, id) == []
        await work.end()

    Stage().play(story)


def test_a_failure_counts_where_another_server_refuses_the_lines(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body(_: Context) -> object:
        print("begun")
        raise TaskError("no", "no", retryable=False)

    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=body), lease=LEASE)
        work.broker.knows_lines = False
        id = await stage.started(work.engine, flow())
        assert await status(work.engine, id) == "FAILED"
        assert work.broker.refused_lines == 1
        await work.end()

    Stage().play(story)
    assert "lines=1 attempts=1 tasks=ship" in caplog.text


def test_lines_that_cannot_be_written_cost_no_result() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        id = await stage.started(engine, flow())
        [task] = await broker.claim("default", "w1", ["ship"], wait=A_WHILE)
        held = HeldTask(task, timedelta(seconds=30), 0.0)
        held.wrote(LogChunk(lines=(LogLine(at=NOON, text="\udcff"),)))
        reporter = Reporter(LocalBroker(broker), stage.clock, lambda _: None)
        reporter.add(held, held.report(TaskSucceeded(node="a", attempt=1, output=None)))
        running = asyncio.create_task(reporter.run())
        assert await status(engine, id) == "COMPLETED"
        running.cancel()

    Stage().play(story)
