"""Workers that die, come back late, repeat themselves and obey, on engines that come and go.

1. Every instance ends, and every step of it is completed once, unless it is poison: lost by five
   workers in a row.
2. An attempt is handed out once; the next only after the end of the one before is in the log.
3. What is accepted is in the log; what comes after its lease changes nothing.
4. Only what a worker held, and did not report in time, is lost.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from tenuto.executions.broker import TaskBroker
from tenuto.model.entries import Entry, NodeCompleted, NodeFailed
from tenuto.model.errors import TenutoError
from tenuto.model.executions import ClaimedTask
from tenuto.model.failure import LOST, POISON, LastError
from tenuto.model.log import from_row
from tenuto.model.policy import LOSSES_UNTIL_POISON
from tests.executions.stage import A_WHILE, FLOW, LEASE, Stage, done, failed

INSTANCES = 6


class Simulation:
    """One seed: two engines, of which one is replaced now and then, and a few workers."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.stage = Stage()
        self.desks: list[TaskBroker] = []
        self.handed_out: list[ClaimedTask] = []
        self.accepted: list[ClaimedTask] = []
        self.ends: dict[str, tuple[str, LastError | None]] = {}
        self.counts: Counter[str] = Counter()

    async def worker(self, name: str) -> None:
        while True:
            try:
                tasks = await self.broker.claim(
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
            [answer] = await self.broker.report("default", [report])
            if answer.error is None and task not in self.accepted:
                self.accepted.append(task)
            self.counts["accepted" if answer.error is None else answer.error.code] += 1

    async def _beat(self, task: ClaimedTask) -> None:
        try:
            await self.broker.heartbeat("default", task.execution_id, task.lease_token)
        except TenutoError as error:
            self.counts[error.code] += 1

    @property
    def broker(self) -> TaskBroker:
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
            self.ends[id] = held.state.status, held.state.last_error
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        for id in ids:
            log = [from_row(row) for row in await steady.store.instances.entries(id)]
            self._judge(id, log)
        await steady.close()
        await other.close()

    def _judge(self, id: str, log: list[Entry]) -> None:
        poisoned = self._poisoned(id, log)
        for step in ("a", "b"):
            ended = _ended(log, step)
            held = [task for task in self.handed_out if _is_of(task, id, step)]
            attempts = [task.attempt for task in held]
            assert len(attempts) == len(set(attempts)), attempts
            assert all(attempt == 1 or attempt - 1 in ended for attempt in attempts), log
            accepted = {task.attempt for task in self.accepted if _is_of(task, id, step)}
            assert accepted <= ended.keys(), log
            lost = {attempt for attempt, code in ended.items() if code in (LOST, POISON)}
            assert lost <= set(attempts) - accepted, log
            completed = [code for code in ended.values() if code is None]
            assert len(completed) == (0 if poisoned in ("a", step) else 1), log

    def _poisoned(self, id: str, log: list[Entry]) -> str | None:
        """The step that failed because five workers in a row have lost it."""
        status, error = self.ends[id]
        if status == "COMPLETED":
            return None
        assert error is not None
        assert error.step_id is not None
        assert error.code == POISON, error
        ended = _ended(log, error.step_id)
        last = range(error.attempt - LOSSES_UNTIL_POISON + 1, error.attempt)
        assert [ended.get(attempt) for attempt in last] == [LOST] * len(last), log
        assert ended[error.attempt] == POISON, log
        self.counts[POISON] += 1
        return error.step_id


def _is_of(task: ClaimedTask, id: str, step: str) -> bool:
    return (task.instance_id, task.step_id) == (id, step)


def _ended(log: list[Entry], step: str) -> dict[int, str | None]:
    """By attempt: why it failed; None for the one that completed."""
    ended: dict[int, str | None] = {}
    for entry in log:
        match entry:
            case NodeCompleted(node=node) if node == step:
                assert ended.setdefault(entry.attempt, None) is None, log
            case NodeFailed(node=node) if node == step:
                assert entry.attempt not in ended, log
                ended[entry.attempt] = entry.error.code
    return ended


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


def test_only_what_five_workers_in_a_row_have_lost_is_poison() -> None:
    assert played(8)[POISON] == 1


@pytest.mark.soak
def test_promises_to_workers_under_many_seeds(seeds: Iterator[int]) -> None:
    for seed in seeds:
        played(seed)
