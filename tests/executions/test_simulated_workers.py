"""Workers that die, come back late, repeat themselves and obey, on engines that come and go.

1. Every instance ends, and every step of it is completed once.
2. An attempt is handed out once; the next only after the end of the one before is in the log.
3. What is accepted is in the log; what comes after its lease changes nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from tenuto.executions.desk import ExecutionDesk
from tenuto.model.errors import TenutoError
from tenuto.model.executions import ClaimedTask
from tests.executions.stage import A_WHILE, FLOW, LEASE, Stage, done, failed

INSTANCES = 6


class Simulation:
    """One seed: two engines, of which one is replaced now and then, and a few workers."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.stage = Stage()
        self.desks: list[ExecutionDesk] = []
        self.handed_out: list[ClaimedTask] = []
        self.accepted: list[ClaimedTask] = []
        self.counts: Counter[str] = Counter()

    async def worker(self, name: str) -> None:
        while True:
            try:
                tasks = await self.desk.claim(
                    "default",
                    name,
                    most=self.random.randint(1, 3),
                    wait=A_WHILE,
                    lease=LEASE,
                )
            except TenutoError:
                await self.stage.clock.sleep(0.5)
                continue
            self.handed_out += tasks
            for task in tasks:
                await self._work(task)

    async def _work(self, task: ClaimedTask) -> None:
        fate = self.random.choice(("done", "done", "done", "fails", "dies", "late", "long"))
        self.counts[fate] += 1
        if fate == "dies":
            return
        if fate == "late":
            await self.stage.clock.sleep(LEASE.total_seconds() + 10)
        if fate == "long":
            for _ in range(3):
                await self.stage.clock.sleep(15)
                await self._beat(task)
        report = failed(task, "BUSY") if fate == "fails" and task.attempt < 3 else done(task, 1)
        for _ in range(self.random.randint(1, 2)):
            [answer] = await self.desk.report("default", [report])
            if answer.error is None and task not in self.accepted:
                self.accepted.append(task)
            self.counts["accepted" if answer.error is None else answer.error.code] += 1

    async def _beat(self, task: ClaimedTask) -> None:
        try:
            await self.desk.heartbeat("default", task.execution_id, task.lease_token)
        except TenutoError as error:
            self.counts[error.code] += 1

    @property
    def desk(self) -> ExecutionDesk:
        return self.random.choice(self.desks)

    async def run(self) -> None:
        stage = self.stage
        steady, first = await stage.opened(shared=True)
        self.desks = [first]
        other, second = await stage.opened(shared=True)
        self.desks.append(second)
        workers = [asyncio.create_task(self.worker(f"w{number}")) for number in range(4)]
        ids = []
        for number in range(INSTANCES):
            ids.append(await stage.started(steady if number % 2 else other, FLOW))
            await stage.clock.sleep(self.random.uniform(0, 10))
        self.desks = [first]
        await other.close()
        other, second = await stage.opened(shared=True)
        self.desks = [first, second]
        for id in ids:
            held = await steady.final_state(id)
            assert held.state.status == "COMPLETED", held.state.last_error
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        for id in ids:
            self._judge(id, await stage.log(steady, id))
        await steady.close()
        await other.close()

    def _judge(self, id: str, log: list[tuple[str, str | None, int]]) -> None:
        ended = {
            (node, attempt) for kind, node, attempt in log if kind in _ENDS and node is not None
        }
        for step in ("a", "b"):
            completed = [entry for entry in log if entry[:2] == ("NODE_COMPLETED", step)]
            assert len(completed) == 1, log
            attempts = [
                task.attempt
                for task in self.handed_out
                if (task.instance_id, task.step_id) == (id, step)
            ]
            assert sorted(attempts) == list(dict.fromkeys(sorted(attempts))), attempts
            for attempt in attempts:
                assert attempt == 1 or (step, attempt - 1) in ended, log
        for task in self.accepted:
            assert task.instance_id != id or (task.step_id, task.attempt) in ended, log


_ENDS = ("NODE_COMPLETED", "NODE_FAILED")


def played(seed: int) -> Counter[str]:
    simulation = Simulation(seed)
    simulation.stage.play(lambda _: simulation.run())
    return simulation.counts


def test_every_promise_is_kept_to_workers_that_come_and_go() -> None:
    counts: Counter[str] = Counter()
    for seed in range(10):
        counts += played(seed)
    assert counts["TEN-3012"] > 10, "vacuous: hardly anybody came too late"
    assert counts["dies"] > 10, "vacuous: hardly anybody died"


@pytest.mark.soak
def test_promises_to_workers_under_many_seeds(seeds: Iterator[int]) -> None:
    for seed in seeds:
        played(seed)
