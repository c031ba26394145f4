"""Workers and a server over HTTP: the same as in one process, whatever the network does."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web

from tenuto.engine.engine import Engine
from tenuto.engine.settings import Settings
from tenuto.executions.broker import TaskBroker
from tenuto.model.errors import Conflict, Forbidden, NotFound, StoreUnavailable
from tenuto.model.inputs import Started
from tenuto.ports import SystemClock, SystemIds
from tenuto.store.memory import MemoryStore
from tenuto.tasks.context import Context
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.registry import Registry
from tenuto.worker import HttpBrokerClient, Worker
from tests.executions.stage import FLOW, done
from tests.worker.server import KEY, served

pytestmark = pytest.mark.asyncio

LEASE = timedelta(seconds=30)
AT_MOST = 30.0


@asynccontextmanager
async def working() -> AsyncIterator[tuple[Engine, TaskBroker]]:
    engine = Engine(
        MemoryStore(),
        registry=Registry(),
        clock=SystemClock(),
        ids=SystemIds(),
        settings=Settings(unknown_tasks="wait"),
    )
    await engine.open()
    try:
        yield engine, TaskBroker(engine)
    finally:
        await engine.close()


async def started(engine: Engine) -> str:
    deployed = await engine.plans.save("default", FLOW)
    begun = Started(definition_id="w", definition_version=1, input={"x": 1})
    return (await engine.start(deployed.plan, begun)).instance_id


async def test_a_worker_does_a_workflow_over_http() -> None:
    async def run(ctx: Context) -> object:
        return {"by": ctx.step_id}

    registry = Registry()
    for name in ("ship", "bill"):
        registry.add(TaskFunction(run, name=name))
    async with working() as (engine, broker), served(broker) as url:
        http = HttpBrokerClient(url, key=KEY)
        worker = Worker(http, registry, worker_id="w1", clock=SystemClock(), concurrency=8)
        running = asyncio.create_task(worker.run())
        ids = [await started(engine) for _ in range(5)]
        async with asyncio.timeout(AT_MOST):
            for id in ids:
                assert (await engine.final_state(id)).state.status == "COMPLETED"
            worker.stop()
            await running
        await http.close()


async def test_each_verb_says_what_the_contract_says() -> None:
    async with working() as (engine, broker), served(broker) as url:
        http = HttpBrokerClient(f"{url}/", key=KEY)
        assert await http.claim("w1", ["ship"], most=5, wait=timedelta(), lease=LEASE) == []
        await started(engine)
        [task] = await http.claim("w1", ["ship"], most=5, wait=timedelta(), lease=LEASE)
        assert (task.step_id, task.input, task.attempt) == ("a", {"x": 1}, 1)
        beat = await http.heartbeat(task.execution_id, task.lease_token, {"page": 1})
        assert not beat.cancelled
        with pytest.raises(Conflict) as stale:
            await http.heartbeat(task.execution_id, "1.0")
        assert stale.value.code == "TEN-3012"
        with pytest.raises(NotFound):
            await http.heartbeat("a/../b", task.lease_token)
        answers = await http.report([done(task, 1), done(task, 2), done(task, 1)])
        assert [answer.status for answer in answers] == [200, 409, 200]
        await http.close()


async def test_who_may_not_and_who_is_not_there_are_told_apart() -> None:
    async with working() as (_, broker), served(broker) as url:
        stranger = HttpBrokerClient(url, key="wrong")
        with pytest.raises(Forbidden):
            await stranger.claim("w1", ["ship"], most=1, wait=timedelta(), lease=LEASE)
        # Nobody would notice a worker that waits for ever to be let in.
        worker = Worker(stranger, Registry(), worker_id="w1", clock=SystemClock())
        with pytest.raises(Forbidden):
            await worker.run()
        await stranger.close()
    nobody = HttpBrokerClient(url, key=KEY)
    with pytest.raises(StoreUnavailable):
        await nobody.claim("w1", ["ship"], most=1, wait=timedelta(), lease=LEASE)
    await nobody.close()


@pytest.mark.parametrize(
    ("status", "body"), [(200, b"[]"), (200, b"<html>"), (503, b""), (500, b'{"code":"TEN-4000"}')]
)
async def test_an_answer_that_is_none_leaves_open_what_was_done(status: int, body: bytes) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status, body=body)

    app = web.Application()
    app.router.add_post("/{any:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    http = HttpBrokerClient(f"http://{host}:{port}")
    with pytest.raises(StoreUnavailable):
        await http.claim("w1", ["ship"], most=1, wait=timedelta(), lease=LEASE)
    with pytest.raises(StoreUnavailable):
        await http.heartbeat("x", "1.0")
    await http.close()
    await runner.cleanup()


def process(url: str) -> subprocess.Popen[bytes]:
    program = Path(__file__).parent / "worker_program.py"
    command = [sys.executable, str(program), url, KEY]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


@pytest.mark.slow
async def test_tasks_of_a_worker_that_was_killed_return_after_the_lease() -> None:
    async with working() as (engine, broker), served(broker) as url, asyncio.timeout(AT_MOST):
        id = await started(engine)
        worker = process(url)
        try:
            assert worker.stdout is not None
            begun = await asyncio.to_thread(worker.stdout.readline)
            assert begun.split() == [id.encode(), b"1"]
        finally:
            worker.send_signal(signal.SIGKILL)
            worker.communicate()
        [task] = await broker.claim("default", "w2", ["ship"], wait=timedelta(seconds=20))
        assert (task.instance_id, task.attempt) == (id, 2)
        assert [each.error for each in await broker.report("default", [done(task)])] == [None]
        lost = [
            row
            for row in await engine.store.instances.entries(id)
            if row.event_type == "NODE_FAILED"
        ]
        assert [b"LOST" in (row.payload or b"") for row in lost] == [True]


@pytest.mark.slow
async def test_a_worker_that_is_told_to_stop_ends_what_it_has_begun() -> None:
    async with working() as (engine, broker), served(broker) as url, asyncio.timeout(AT_MOST):
        id = await started(engine)
        worker = process(url)
        assert worker.stdout is not None
        await asyncio.to_thread(worker.stdout.readline)
        worker.send_signal(signal.SIGTERM)
        await asyncio.to_thread(worker.communicate, b"\n")
        assert worker.returncode == 0
        completed = [
            row.node_id
            for row in await engine.store.instances.entries(id)
            if row.event_type == "NODE_COMPLETED"
        ]
        assert completed == ["a"]
