"""One process from its start to its end, in a loop of its own, with the shipped engine in it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from random import Random

from tenuto.engine.bounds import Bounds
from tenuto.engine.engine import Engine
from tenuto.engine.settings import Settings
from tenuto.engine.turns.draft import Draft
from tenuto.engine.turns.drafter import Decide
from tenuto.model.errors import Conflict, StoreUnavailable
from tenuto.model.inputs import RetryAsked
from tenuto.model.policy import Limits
from tenuto.model.task_definition import TaskDefinition
from tenuto.model.tenants import DEFAULT_TENANT
from tenuto.store.parts.instances import InstanceQuery
from tenuto.testing.fault_plan import Fault
from tenuto.testing.seeded_ids import SeededIds
from tenuto.testing.virtual_clock import BEGIN, VirtualClock, Wall
from tenuto.testing.virtual_loop import Crashed, VirtualLoop
from tenuto.workspace.limits import Limits as WorkspaceLimits
from tenuto.workspace.task_definitions import TaskDefinitions
from tests.kit.checker import Run
from tests.kit.simulator import ears
from tests.kit.simulator.client import Client
from tests.kit.simulator.collect import collect
from tests.kit.simulator.ledgers import Ledgers
from tests.kit.simulator.outside import Outside
from tests.kit.simulator.places import Place
from tests.kit.simulator.poison import Poison
from tests.kit.simulator.rest import Rest
from tests.kit.simulator.scenario import Jump, Scenario
from tests.kit.simulator.store import WitnessedStore
from tests.kit.simulator.tasks import ScriptedTasks
from tests.kit.simulator.wire import Report, Wire
from tests.kit.workload import TASKS, Behaviours
from tests.kit.workload.business import Calendars

_BEAT_EVERY = timedelta(seconds=5)
_UNTIL_REST = 250.0
"""Seconds after which whatever could still move has moved: longer than any nap or back-off."""

_PATIENCE_OUTSIDE = 900.0
"""Seconds after which an address that takes nothing is disabled."""
_UNTIL_OTHERS_ENDED = 100.0
"""Seconds within which what is not held up by anything has ended."""
_MOST_LOOKS = 60
"""Minutes until what has not been told is given up."""


class EngineFault(Exception):
    """A background loop of the engine died, though only planned faults had occurred."""


class Process:
    """Lives until it crashes, is stopped, or every client has seen its instance end."""

    def __init__(
        self,
        scenario: Scenario,
        place: Place,
        ledgers: Ledgers,
        *,
        outside: Outside,
        wall: Wall,
        ids: SeededIds,
        started_at: float,
        number: int,
        at_rest: Callable[[Run], None],
    ) -> None:
        self.loop = VirtualLoop(Random(f"loop {scenario.seed} {number}"), started_at=started_at)
        self.loop.before_step = self._before_step
        self._scenario = scenario
        self._place = place
        self._at_rest = at_rest
        self._ledgers = ledgers
        self._outside = outside
        self._wall = wall
        self.clock = VirtualClock(self.loop, wall)
        self._ids = ids
        self._random = Random(f"process {scenario.seed} {number}")
        self._stores = [
            WitnessedStore(place.store(), self.loop, scenario.fault_plan, ledgers)
            for _ in range(scenario.engines)
        ]

    def run(
        self,
        clients: Sequence[Client],
        stray: list[Report],
        behaviours_of: Callable[[str], Behaviours],
    ) -> bool:
        """Whether it ended in good order."""
        if self._scenario.poison is not None:
            self._scenario.poison.begun()
        wire = Wire(self.loop, self._scenario.fault_plan, self._ledgers, self._random, stray)
        asyncio.set_event_loop(None)
        try:
            self.loop.run_until_complete(self._main(clients, wire, behaviours_of))
        except (Crashed, StoreUnavailable):
            self._ledgers.process_ended("lost")
            return False
        except BaseException as error:
            error.add_note(self.loop.dump())
            raise
        else:
            self._ledgers.process_ended("stopped")
            return True
        finally:
            for store in self._stores:
                store.kill()
            self.loop.discard_tasks()

    async def _main(
        self, clients: Sequence[Client], wire: Wire, behaviours_of: Callable[[str], Behaviours]
    ) -> None:
        engines = [
            self._engine(number, store, wire, behaviours_of)
            for number, store in enumerate(self._stores)
        ]
        for engine in engines:
            await engine.open()
        await self._deploy(engines[0])
        wire.deliver_stray()
        left = [client for client in clients if not client.has_ended]
        asked = engines[: self._scenario.asked]
        rest = Rest(len(left), self._rested)
        playing = [
            asyncio.create_task(client.play(asked, self.clock, rest), name=f"client {number}")
            for number, client in enumerate(left)
        ]
        jumping = asyncio.create_task(self._jump(), name="clock")
        presuming = asyncio.create_task(self._presume_dead(engines), name="presume dead")
        declaring = (
            # A task that does nothing would take turns all the same, and shift those of a seed.
            [asyncio.create_task(self._declare(engines[0]), name="declare")]
            if self._scenario.declarations
            else []
        )
        if self._scenario.limits:
            declaring.append(asyncio.create_task(self._limit(engines[0]), name="limits"))
        if self._scenario.poison is not None and not self._scenario.poison.is_released:
            mending = self._mend(self._scenario.poison, engines)
            declaring.append(asyncio.create_task(mending, name="mend"))
        stopping = asyncio.create_task(self._until_stopped(), name="stop")
        watching = asyncio.create_task(self._watch(engines), name="watch")
        everything = asyncio.create_task(_all(playing), name="clients")
        ends = (everything, stopping, watching)
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if watching.done():
            watching.result()
        if everything.done():
            everything.result()
        is_over = everything.done()
        others = (*playing, *ends, jumping, presuming, *declaring)
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        if len(engines) > 1:
            # What one left in the mailbox for the other is taken at the next look.
            await self.clock.sleep(2 * self._scenario.knobs.mail_every + 1.0)
        if self._scenario.ears and is_over:
            await self._until_told()
        for engine in engines:
            await engine.close()

    def _engine(
        self,
        number: int,
        store: WitnessedStore,
        wire: Wire,
        behaviours_of: Callable[[str], Behaviours],
    ) -> Engine:
        divided = self._scenario.is_divided
        names = TASKS[number :: self._scenario.engines] if divided else TASKS
        tasks = ScriptedTasks(self.clock, self._ledgers, behaviours_of)
        knobs = self._scenario.knobs
        store.beat_every = _BEAT_EVERY
        engine = Engine(
            store,
            registry=tasks.registry(names, self._scenario.task_limits),
            clock=self.clock,
            ids=self._ids,
            settings=Settings(
                mail_every=knobs.mail_every,
                jobs_every=2.0 if divided else knobs.mail_every,
                unknown_tasks="wait" if divided else "fail",
                project_every=knobs.project_every,
                longest_nap=600.0,
                timers_every=60.0,
                outbox_every=60.0,
                watch_every=20.0,
                disable_webhooks_after=_PATIENCE_OUTSIDE,
                limits=Limits(max_descendants=knobs.descendants),
                bounds=Bounds(
                    large_document=sys.maxsize,  # virtual time does not wait for threads
                    snapshot_every=knobs.snapshot_every,
                    turn_rows=knobs.most_rows,
                    turn_requests=knobs.most_rows,
                    look_back_page=knobs.page,
                    decision_entries=knobs.decision_entries,
                    recovery_batch=knobs.page,
                    timer_batch=knobs.page,
                ),
            ),
            # Where nobody listens there is nobody to send to, and nothing is looked for.
            sender=self._outside if self._scenario.ears else None,
            decide=self._decide,
            notes=self._scenario.poison,
            executors=tasks.executors(),
        )
        engine.policies.calendars = Calendars()
        engine.listen(_in_order())
        engine.runner.report_through(wire.to)
        return engine

    @property
    def _decide(self) -> Decide:
        poison, decide = self._scenario.poison, self._scenario.decide
        return decide if poison is None else poison.planted(decide, self.loop)

    async def _mend(self, poison: Poison, engines: Sequence[Engine]) -> None:
        """Once the poisonous instance is alone in not having ended, mend it and release it."""
        if poison.at_start:
            return  # there is no instance that could be released
        while not (held := engines[0].quarantine.held):
            await self.clock.sleep(5.0)
        assert len(held) == 1, f"innocent ones are quarantined: {held}"
        await self.clock.sleep(_UNTIL_OTHERS_ENDED)
        rows = (await self._place.reader().instances.page(InstanceQuery(limit=100))).items
        left = {row.id for row in rows if not row.status.is_final}
        assert left == held.keys(), f"others stand still too: {left - held.keys()}"
        poison.is_mended = True
        while not poison.is_released:
            with suppress(StoreUnavailable):
                await engines[-1].ask(next(iter(left)), RetryAsked(by="operator"))
                poison.is_released = True

    async def _deploy(self, engine: Engine) -> None:
        # First of all, so that nothing happens that they are not owed.
        await ears.put(engine.store, self._scenario.ears, began=BEGIN, now=self.clock.now())
        for tenant in self._scenario.tenants:
            for document in self._scenario.documents.values():
                await engine.plans.save(tenant, document)

    async def _rested(self) -> None:
        """Everything planned was done: inject no more faults, wait, and check the results."""
        self._scenario.fault_plan.settle()
        await self.clock.sleep(_UNTIL_REST)
        for tenant in self._scenario.tenants:
            self._at_rest(
                await collect(
                    self._place,
                    self._scenario.documents,
                    self._ledgers,
                    now=self.clock.now(),
                    ears=self._scenario.ears,
                    tenant=tenant,
                    most_descendants=self._scenario.most_descendants,
                )
            )

    async def _until_told(self) -> None:
        """Until all that is on its way has arrived, or its address was disabled."""
        for _ in range(_MOST_LOOKS):
            if not {"outbox", "webhook_deliveries"}.intersection(
                table for table, _ in self._place.owed()
            ):
                return
            await self.clock.sleep(60.0)

    async def _jump(self) -> None:
        while self._scenario.jumps:
            jump: Jump = self._scenario.jumps[0]
            await self.clock.sleep(max(0.0, jump.at - self.clock.ticks()))
            self._scenario.jumps.pop(0)
            self._wall.set(jump.seconds)
            forward = jump.seconds > 0
            self._ledgers.fault(
                Fault.CLOCK_FORWARD if forward else Fault.CLOCK_BACK, self.loop.time()
            )

    async def _presume_dead(self, engines: Sequence[Engine]) -> None:
        while self._scenario.burials:
            await self.clock.sleep(max(0.0, self._scenario.burials[0] - self.clock.ticks()))
            self._scenario.burials.pop(0)
            self._place.presume_dead(self._random.choice(engines).process_id)
            self._ledgers.fault(Fault.PRESUMED_DEAD, self.loop.time())

    async def _declare(self, engine: Engine) -> None:
        while self._scenario.declarations:
            due = self._scenario.declarations[0]
            await self.clock.sleep(max(0.0, due.at - self.clock.ticks()))
            task = TaskDefinition(id=due.task, kind="pull", retry={"maxAttempts": due.attempts})
            with suppress(StoreUnavailable):
                await TaskDefinitions(engine, DEFAULT_TENANT).put(task)
                self._scenario.declarations.pop(0)

    async def _limit(self, engine: Engine) -> None:
        while self._scenario.limits:
            due = self._scenario.limits[0]
            await self.clock.sleep(max(0.0, due.at - self.clock.ticks()))
            document = {**due.limits[""], **due.limits[DEFAULT_TENANT]}
            change = self._ledgers.limit(due.limits)
            try:
                await WorkspaceLimits(engine, DEFAULT_TENANT, "operator").set(document)
            except (StoreUnavailable, Conflict):  # or it was stored, and the answer is lost
                await self.clock.sleep(1.0)
                continue
            change["done"] = len(self._ledgers.commits)
            self._scenario.limits.pop(0)

    async def _until_stopped(self) -> None:
        stops = self._scenario.stops
        if not stops:
            await self.loop.create_future()
        await self.clock.sleep(max(0.0, stops[0] - self.clock.ticks()))
        stops.pop(0)
        self._ledgers.fault(Fault.CLEAN_STOP, self.loop.time())

    async def _watch(self, engines: Sequence[Engine]) -> None:
        while True:
            await self.clock.sleep(60.0)
            for engine in engines:
                if engine.fault is not None:
                    raise EngineFault(repr(engine.fault)) from engine.fault

    def _before_step(self, step: int) -> None:
        if self._scenario.fault_plan.is_crash(step):
            self._ledgers.fault(Fault.CRASH_BETWEEN, self.loop.time())
            self.loop.crash(Fault.CRASH_BETWEEN)


async def _all(tasks: Sequence[asyncio.Task[None]]) -> None:
    await asyncio.gather(*tasks)


def _in_order() -> Callable[[Draft], None]:
    """Listens to an engine: what it tells of an instance is in the order of its log."""
    heard: dict[str, int] = {}

    def hear(draft: Draft) -> None:
        assert draft.state.version >= heard.get(draft.instance_id, 0), draft.instance_id
        heard[draft.instance_id] = draft.state.version

    return hear
