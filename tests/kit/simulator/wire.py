"""The way of reports to the engine: they come twice, late, out of order, or from the dead."""

from __future__ import annotations

from random import Random
from typing import TypeAlias

from tenuto.model.inputs import TaskFailed, TaskSucceeded
from tenuto.tasks.runner import Report as Deliver
from tenuto.testing.fault_plan import Fault, FaultPlan
from tenuto.testing.virtual_loop import VirtualLoop
from tests.kit.simulator.ledgers import Ledgers

Report: TypeAlias = tuple[str, TaskSucceeded | TaskFailed]


class Wire:
    """One process's wire; `stray` holds what is delivered to a later process."""

    def __init__(
        self,
        loop: VirtualLoop,
        fault_plan: FaultPlan,
        ledgers: Ledgers,
        random: Random,
        stray: list[Report],
    ) -> None:
        self._loop = loop
        self._fault_plan = fault_plan
        self._ledgers = ledgers
        self._random = random
        self._stray = stray
        self._ends: list[Deliver] = []

    def to(self, end: Deliver) -> Deliver:
        """The way to an engine, whose own end of it is `end`."""
        self._ends.append(end)
        return self

    def __call__(self, instance_id: str, report: TaskSucceeded | TaskFailed) -> None:
        fault = self._fault_plan.on_report()
        if fault is not None:
            self._ledgers.fault(fault, self._loop.time())
        if fault is Fault.REORDER:
            self._later((instance_id, report))
            return
        self._deliver((instance_id, report))
        if fault is Fault.DUPLICATE:
            self._later((instance_id, report))
        if fault is Fault.STRAY:
            self._stray.append((instance_id, report))

    def deliver_stray(self) -> None:
        """Deliver what processes before this one had sent."""
        while self._stray:
            self._later(self._stray.pop())

    def _later(self, report: Report) -> None:
        seconds = self._random.choice((0.0, 0.002, 0.5, 4.0))
        self._loop.call_later(seconds, self._deliver, report)

    def _deliver(self, report: Report) -> None:
        for end in self._ends:
            end(*report)
