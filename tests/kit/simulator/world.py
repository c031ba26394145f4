"""A whole run: one process after the other on one disk, until every instance has ended."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from random import Random

from tenuto.testing.seeded_ids import SeededIds
from tenuto.testing.virtual_clock import Wall
from tests.kit.checker import Run
from tests.kit.simulator.client import Client
from tests.kit.simulator.collect import collect
from tests.kit.simulator.ledgers import Ledgers
from tests.kit.simulator.outside import Outside
from tests.kit.simulator.places import InMemory, Place
from tests.kit.simulator.process import Process
from tests.kit.simulator.scenario import Scenario
from tests.kit.simulator.wire import Report
from tests.kit.workload import Behaviours

MOST_PROCESSES = 100


@dataclass(slots=True)
class Finished:
    """A run that has come to rest."""

    run: Run
    rests: list[Run]
    """The same run as it was when all that was planned had been done, before anybody helped."""
    processes: int
    steps: int
    ledgers: Ledgers
    others: list[Run] = field(default_factory=list)
    """The run as other tenants than `default` see it."""


class World:
    """What outlives processes: disk, ledgers, clients, the clock on the wall."""

    def __init__(self, scenario: Scenario, place: Place | None = None) -> None:
        self._scenario = scenario
        self._place = place or InMemory()
        self._ledgers = Ledgers()
        self._wall = Wall()
        self._ids = SeededIds(Random(f"ids {scenario.seed}"))
        self._stray: list[Report] = []
        self._rests: list[Run] = []
        self._of_children = scenario.behaviours_of_children()
        self._outside = Outside(
            scenario.ears, self._ledgers.heard, Random(f"outside {scenario.seed}")
        )
        random = Random(f"clients {scenario.seed}")
        self._clients = [
            Client(job, self._ids.instance_id(self._wall.read(0.0)), self._ledgers, random)
            for job in scenario.jobs
        ]

    def run(self) -> Finished:
        """Let it happen."""
        passed, steps, processes = 0.0, 0, 0
        while True:
            processes += 1
            process = Process(
                self._scenario,
                self._place,
                self._ledgers,
                outside=self._outside,
                wall=self._wall,
                ids=self._ids,
                started_at=passed,
                number=processes,
                at_rest=self._rests.append,
            )
            ended_well = process.run(self._clients, self._stray, self._behaviours_of)
            passed, steps = process.loop.time(), steps + process.loop.steps
            if ended_well and all(client.has_ended for client in self._clients):
                break
            assert processes < MOST_PROCESSES, "it crashes for ever"
            passed += 0.1
        mine, *others = [self._collect(passed, tenant) for tenant in self._scenario.tenants]
        return Finished(mine, self._rests, processes, steps, self._ledgers, others)

    def _collect(self, passed: float, tenant: str) -> Run:
        now = self._wall.read(passed)
        reading = collect(
            self._place,
            self._scenario.documents,
            self._ledgers,
            now=now,
            ears=self._scenario.ears,
            tenant=tenant,
            most_descendants=self._scenario.most_descendants,
        )
        return asyncio.run(reading)

    def _behaviours_of(self, instance_id: str) -> Behaviours:
        for client in self._clients:
            if instance_id in (client.instance_id, client.earlier_id, client.rerun_id):
                return client.job.behaviours
        key = self._place.keys().get(instance_id)
        if key is None:
            return self._of_children[self._place.definitions()[instance_id]]
        return next(client.job.behaviours for client in self._clients if client.job.key == key)
