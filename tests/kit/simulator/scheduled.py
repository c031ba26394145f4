"""Schedules in the simulator: engines on one disk that fire them through faults, for weeks."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from random import Random

from tenuto.engine.bounds import Bounds
from tenuto.engine.engine import Engine
from tenuto.engine.settings import Settings
from tenuto.model.errors import StoreUnavailable
from tenuto.model.json import Object
from tenuto.schedules import Dst
from tenuto.store.parts.instances import InstanceQuery, InstanceRow
from tenuto.store.parts.schedules import TickPlace
from tenuto.store.protocol import Store
from tenuto.tasks.registry import Registry
from tenuto.testing.fault_plan import FaultPlan
from tenuto.testing.faulty_store import FaultyStore
from tenuto.testing.seeded_ids import SeededIds
from tenuto.testing.virtual_clock import BEGIN, VirtualClock, Wall
from tenuto.testing.virtual_loop import Crashed, VirtualLoop
from tests.kit.checker.ticks import Begun, Broken, Plan, Tick, broken
from tests.kit.simulator.fault_plan import RandomFaults
from tests.kit.simulator.places import InMemory
from tests.schedules.minutes import Oracle, Shown, shown

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe")
RARE = ("0 9 * * MON", "30 2 1,15 * *", "0 0 1 * *", "0 3 1 */3 *")
"""For a year."""
CRONS = ("0 9 * * *", "30 2 * * *", "0 */6 * * *", "15 8 * * MON-FRI", "0 0 1 * *", "*/20 3 * * *")
OVERLAPS = ("allow", "skip", "queue")
CATCH_UPS = ("all", "all", "one", "none")
LENGTHS = ("PT0.1S", "PT2M", "PT50M", "PT7H")
"""How long an instance takes."""
MOST_PROCESSES = 200
_AFTER_THE_END = timedelta(days=3)
"""So long after the last tick everything has ended."""


def flow(length: str) -> Object:
    steps: list[object] = [{"stepId": "a", "type": "DELAY", "duration": length}]
    return {"id": f"wait-{length}", "steps": steps}  # type: ignore[dict-item]


@dataclass(slots=True)
class Planned:
    """A schedule of a run."""

    id: str
    document: Object
    cron: str
    zone: str
    overlap: str
    catch_up: str

    def plan(self, since: datetime, until: datetime) -> Plan:
        nominal = [
            each
            for each in Oracle(self.cron).nominal(_clock(self.zone, until), Dst())
            if since < each <= until
        ]
        return Plan(self.id, nominal, self.overlap, self.catch_up)


@lru_cache(maxsize=8)
def _clock(zone: str, until: datetime) -> Sequence[Shown]:
    return shown(zone, BEGIN, until + timedelta(minutes=1))


@dataclass(slots=True)
class Outcome:
    """A run that has ended."""

    violations: list[Broken]
    started: int
    ticks: int
    processes: int


class _Faults(RandomFaults):
    """A process lives for days, in which little happens."""

    def _next_crash_step(self) -> int:
        return self._random.randrange(20, 12_000)


@dataclass(slots=True)
class Task:
    """What a process does."""

    planned: Sequence[Planned]
    saved: set[str]
    """The schedules that were saved so far."""
    until: float
    """When it is stopped."""
    end: float
    """When no more faults happen."""
    faults: FaultPlan


@dataclass(slots=True)
class ScheduledWorld:
    """Disk, wall clock, and what is planned."""

    seed: int
    schedules: int = 20
    days: float = 14
    engines: int = 2
    faults: int = 30
    fault_plan: FaultPlan | None = None
    crons: Sequence[str] = CRONS
    overlaps: Sequence[str] = OVERLAPS
    catch_ups: Sequence[str] = CATCH_UPS
    place: InMemory = field(default_factory=lambda: InMemory(shared=True))
    wall: Wall = field(default_factory=Wall)

    def planned(self) -> list[Planned]:
        random = Random(f"schedules {self.seed}")
        found: list[Planned] = []
        lengths = {"allow": 4, "skip": 4, "queue": 3}
        for number in range(self.schedules):
            zone, cron = random.choice(ZONES), random.choice(self.crons)
            overlap, catch_up = random.choice(self.overlaps), random.choice(self.catch_ups)
            document: Object = {
                "id": f"s{number}",
                "cron": cron,
                "timezone": zone,
                "overlap": overlap,
                "catchUp": {"mode": catch_up, "window": "P400D"},
                # A queue is emptied before the next day.
                "target": {"workflowId": f"wait-{random.choice(LENGTHS[: lengths[overlap]])}"},
            }
            found.append(Planned(f"s{number}", document, cron, zone, overlap, catch_up))
        return found

    def run(self) -> Outcome:
        """Let it happen, process by process."""
        planned = self.planned()
        faults = self.fault_plan or _Faults(
            Random(f"faults {self.seed}"), faults=self.faults, rate=0.02
        )
        ids = SeededIds(Random(f"ids {self.seed}"))
        random = Random(f"world {self.seed}")
        passed, processes = 0.0, 0
        saved: set[str] = set()
        end = timedelta(days=self.days).total_seconds()
        while passed < end + _AFTER_THE_END.total_seconds():
            processes += 1
            assert processes < MOST_PROCESSES, "it crashes for ever"
            loop = VirtualLoop(Random(f"loop {self.seed} {processes}"), started_at=passed)
            loop.before_step = lambda step, loop=loop: (
                loop.crash("between") if faults.is_crash(step) else None
            )
            clock = VirtualClock(loop, self.wall)
            stores = [FaultyStore(self.place.store(), loop, faults) for _ in range(self.engines)]
            engines = [_engine(store, clock, ids) for store in stores]
            life = random.uniform(0.5, max(1.0, self.days / 4)) * 86_400
            main = self._main(engines, clock, Task(planned, saved, passed + life, end, faults))
            try:
                loop.run_until_complete(main)
            except (Crashed, StoreUnavailable):
                pass
            finally:
                for store in stores:
                    store.kill()
                loop.discard_tasks()
            passed = loop.time() + random.choice((0.1, 5.0, 3_600.0, 90_000.0))
        until = BEGIN + timedelta(days=self.days)
        return asyncio.run(_judged(self.place.reader(), planned, until, processes))

    async def _main(self, engines: Sequence[Engine], clock: VirtualClock, task: Task) -> None:
        random = Random(f"main {self.seed} {task.until}")
        for engine in engines:
            await engine.open()
        for length in LENGTHS:
            await engines[0].plans.save("default", flow(length))
        for each in task.planned:
            if each.id not in task.saved:
                await engines[0].schedules.save("default", each.document, by=None)
                task.saved.add(each.id)
        while clock.ticks() < task.until:
            if clock.ticks() > task.end:
                task.faults.settle()
                await clock.sleep(_AFTER_THE_END.total_seconds())
                break
            await clock.sleep(random.uniform(600.0, 86_400.0))
            chance = random.random()
            if chance < 0.1 and len(engines) > 1:
                self.place.presume_dead(random.choice(engines).process_id)
            elif chance < 0.2:
                self.wall.set(random.choice((-600.0, -60.0, -1.0, 1.0, 60.0)))
            for engine in engines:
                assert engine.fault is None, engine.fault
        for engine in engines:
            with suppress(StoreUnavailable):
                await engine.close()


async def _judged(
    store: Store, planned: Sequence[Planned], until: datetime, processes: int
) -> Outcome:
    instances = await _instances(store)
    outcome = Outcome([], 0, 0, processes)
    for each in planned:
        row = await store.schedules.get("default", each.id)
        assert row is not None, each.id
        # What is due after the end is not judged: it may be anything by now.
        plan = each.plan(row.created_at, until)
        ticks = [tick for tick in await _ticks(store, each.id) if tick.nominal <= until]
        keys = {f"schedule:{each.id}:{_iso(moment)}": moment for moment in plan.nominal}
        begun = [
            Begun(row.id, keys[key], row.created_at, row.completed_at)
            for key in keys
            for row in instances.get(key, ())
        ]
        outcome.violations += broken(plan, ticks, begun)
        outcome.started += len(begun)
        outcome.ticks += len(plan.nominal)
    return outcome


async def _instances(store: Store) -> dict[str, list[InstanceRow]]:
    """Instances by the tick that their logs name: not by the keys, which might hide a second."""
    found: dict[str, list[InstanceRow]] = {}
    after: str | None = None
    while True:
        page = await store.instances.page(InstanceQuery(limit=1_000, after=after))
        for row in page.items:
            [first] = await store.instances.entries(row.id, limit=1)
            cause = _cause(first.payload or b"")
            if cause is not None:
                found.setdefault(cause, []).append(row)
        after = page.next_after
        if after is None:
            return found


def _cause(payload: bytes) -> str | None:
    schedule = json.loads(payload).get("schedule")
    if schedule is None:
        return None
    moment = datetime.fromisoformat(schedule["nominal"])
    return f"schedule:{schedule['id']}:{_iso(moment)}"


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")


async def _ticks(store: Store, id: str) -> list[Tick]:
    found: list[Tick] = []
    below: TickPlace | None = None
    while page := await store.schedules.ticks("default", id, 500, below=below):
        found += [
            Tick(
                each.nominal,
                each.last,
                each.count,
                each.outcome,
                each.instance_id,
                each.recorded_at,
                each.is_open,
            )
            for each in page
        ]
        below = TickPlace(page[-1].nominal, page[-1].is_range)
    return found


def _engine(store: Store, clock: VirtualClock, ids: SeededIds) -> Engine:
    store.beat_every = timedelta(hours=1)
    return Engine(
        store,
        registry=Registry(),
        clock=clock,
        ids=ids,
        settings=Settings(
            mail_every=1_800.0,
            jobs_every=86_400.0,
            timers_every=1_800.0,
            project_every=86_400.0,
            outbox_every=86_400.0,
            watch_every=3_600.0,
            prune_every=864_000.0,
            longest_nap=7_200.0,
            queued_every=600.0,
            bounds=Bounds(large_document=sys.maxsize, schedule_ticks=100_000),
        ),
    )
