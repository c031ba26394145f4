"""The shipped engine in memory, on a clock that only the test moves.

Every verb does at once all that can be done at that moment; time passes in `skip`, `until` and
`finished` alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

from msgspec.structs import replace

from tenuto.app import Tenuto
from tenuto.definition import parse_document
from tenuto.engine.settings import Settings
from tenuto.model.checks import aware
from tenuto.model.errors import TenutoError
from tenuto.model.json import JSON, Given, as_json
from tenuto.model.tenants import DEFAULT_TENANT
from tenuto.python_form.workflow import WorkflowFunction
from tenuto.store.memory import MemoryDisk
from tenuto.tasks.registry import Registry
from tenuto.tasks.retry import Length, read_length
from tenuto.testing.calls import Call
from tenuto.testing.driving import Scripted
from tenuto.testing.failure_file import FOLDER, kept
from tenuto.testing.fault_plan import Fault
from tenuto.testing.instance import Instance
from tenuto.testing.lives import Lives
from tenuto.testing.orders import orders
from tenuto.testing.process import World
from tenuto.testing.seeded_ids import SeededIds
from tenuto.testing.stubs import Stub
from tenuto.testing.task_mocks import Named, TaskMocks
from tenuto.testing.unrest import Unrest
from tenuto.testing.virtual_clock import BEGIN, Wall
from tenuto.workspace.schedule_values import SavedSchedule, TickRecord
from tenuto.workspace.values import Published

__tracebackhide__ = True
"""pytest hides the frames of this module in tracebacks."""

Definition: TypeAlias = Path | Mapping[str, JSON] | WorkflowFunction[..., Any]
Workflow: TypeAlias = str | Definition
"""A workflow function, a definition as a dict or as a file, or the id of a deployed one."""
When: TypeAlias = Literal["before", "after", "unanswered"]

_AN_HOUR, _A_DAY = 3_600.0, 86_400.0
_MOST_TICKS = 20_000

_NO_TIME = timedelta(0)
_FAULTS = {
    "before": Fault.CRASH_BEFORE,
    "after": Fault.CRASH_AFTER,
    "unanswered": Fault.ACK_LOST,
}


class Engine:
    """The engine of one test."""

    def __init__(
        self,
        *,
        tasks: Registry | None = None,
        settings: Settings | None = None,
        at: datetime = BEGIN,
        seed: int = 0,
        calendars: Sequence[Mapping[str, JSON]] = (),
    ) -> None:
        """`tasks` is where tasks are looked up (`app.tasks`), else those of `@task` are known.

        `at` is what the clock says in the beginning; the ids follow from the `seed`. `calendars`
        are documents of calendars, as `calendar` takes them.
        """
        given = settings or Settings()
        begin = (aware(at, "at") or BEGIN).astimezone(UTC)
        self.tasks = tasks if isinstance(tasks, TaskMocks) else TaskMocks(behind=tasks)
        self.task = self.tasks.task
        """Declares a task for this test alone, such as one that only workers have."""
        self.world = World(
            disk=MemoryDisk(),
            wall=Wall(begin),
            ids=SeededIds(Random(seed)),
            tasks=self.tasks,
            unrest=Unrest(),
            # No other process writes to the disk or sets the clock: the engine need not poll.
            settings=replace(
                given,
                mail_every=_AN_HOUR,
                jobs_every=_AN_HOUR,
                project_every=2 * _AN_HOUR,  # it looks twice in that time
                outbox_every=_AN_HOUR,
                prune_every=_A_DAY,
                longest_nap=_A_DAY,
                # Virtual time does not wait for threads.
                bounds=replace(given.bounds, large_document=sys.maxsize),
            ),
        )
        self.lives = Lives(self.world)
        self.tasks.now = lambda: self.lives.now
        self.shown: Engine = self
        """The engine that a failing test shows: this one, or the last one that it made."""
        self._at, self._seed = begin, seed
        self._deployed: list[Definition] = []
        self._schedules: list[Mapping[str, JSON]] = []
        self._ids_by_key: dict[str, str] = {}
        self._calendars: list[Mapping[str, JSON]] = []
        self._secrets: dict[str, tuple[str, Sequence[str] | None]] = {}
        for each in calendars:
            self.calendar(each)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        else:
            error.add_note(kept(self, "test", Path(FOLDER), already=str(error)))
            self.lives.end()

    def close(self) -> None:
        """Stop everything; raise if a planned crash never happened."""
        self.lives.end()
        self._refuse_missed_crash()

    # -- what a test sets up

    def stub(self, task: Named, *outcomes: object, takes: Length = _NO_TIME) -> None:
        """Let a task do something else: give a value, raise an exception, or call a function.

        Several outcomes are had one after the other, and the last one stays; none is None. It
        takes `takes`, on the clock of the test.
        """
        self.tasks.stub(task, outcomes, read_length("takes", takes))

    def stub_step(self, step: str, *outcomes: object, takes: Length = _NO_TIME) -> None:
        """Let a javascript, http or dataQuery step do something else, as `stub` does for a task.

        A function gets the input of the step: the `input` of code, the request of http, the
        arguments of a query. Code without `allowHosts` and without a stub runs for real; the
        other steps fail without one (`NOT_STUBBED`).
        """
        self.tasks.built_in.stubs[step] = Stub(outcomes, read_length("takes", takes))

    def deploy(self, definition: Definition) -> int:
        """Save a definition and return its version."""
        self._deployed.append(definition)
        version = self.lives.ask(lambda app: app.deploy(definition))
        assert version is not None
        return version

    def schedule(self, document: Mapping[str, JSON]) -> SavedSchedule:
        """Save a schedule: what it starts is started as time passes."""
        saved = self.lives.ask(lambda app: app.schedules.save(dict(document)))
        assert saved is not None
        self._schedules.append(document)
        return saved

    def secret(self, name: str, value: str, *, destinations: Sequence[str] | None = None) -> None:
        """Store a secret: attempts of steps that name it get its value."""
        self._secrets[name] = value, destinations
        self.lives.ask(lambda app: app.secrets.put(name, value, destinations=destinations))

    def calendar(self, document: Mapping[str, JSON]) -> int:
        """Save a calendar and return its version: durations beside its id count its working time.

        What has begun keeps the version that it began with.
        """
        self._calendars.append(document)
        given = as_json(dict(document))

        async def save(app: Tenuto) -> int:
            row = await app.engine.calendars.save(DEFAULT_TENANT, given, by=None)
            return row.version

        version = self.lives.ask(save)
        assert version is not None
        return version

    # -- what happens to workflows

    def start(
        self,
        workflow: Workflow,
        input: Given = None,
        *,
        key: str | None = None,
        correlation_id: str | None = None,
        priority: int = 0,
        deadline: datetime | None = None,
        instance_id: str | None = None,
        version: int | None = None,
    ) -> Instance:
        """Start an instance, and let it go as far as it goes at this moment."""
        if isinstance(workflow, Mapping | Path):
            self.deploy(workflow)
            workflow = _id_of(workflow)
        chosen = instance_id or self._id_for(key)
        name = workflow

        async def start(app: Tenuto) -> str:
            if key is None and self.lives.reader.exists(chosen):
                return chosen
            started = await app.start(
                name,
                as_json(input),
                key=key,
                correlation_id=correlation_id,
                priority=priority,
                deadline=deadline,
                instance_id=chosen,
                version=version,
            )
            return started.id

        return Instance(self, self.lives.ask(start) or chosen)

    def _id_for(self, key: str | None) -> str:
        """The id of a start that has none of its own: the same again under the same key."""
        fresh = self.world.ids.instance_id(self.now)
        return fresh if key is None else self._ids_by_key.setdefault(key, fresh)

    def publish(
        self,
        pattern: str,
        payload: Given = None,
        *,
        id: str | None = None,
        correlation_id: str | None = None,
    ) -> Published | None:
        """Publish an event; None when the engine crashed before it had answered."""
        name, given = id or self.world.ids.short(), as_json(payload)
        return self.lives.ask(
            lambda app: app.publish(pattern, given, id=name, correlation_id=correlation_id)
        )

    def skip(
        self,
        length: Length = _NO_TIME,
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
    ) -> None:
        """Let time pass: `skip("P3D")`, `skip(days=3)`. Timers fire in order on the way.

        Time also passes when the engine crashes meanwhile: it is down for the rest.
        """
        units = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        self.lives.skip(read_length("skip", length) + read_length("skip", units))

    # -- crashes

    def crash_once(self, at: int | Named = 1, when: When = "after") -> None:
        """Let the process die once: at the n-th durable write from now on, or in a task.

        `before`: what was to be written is lost; a task has not done anything. `after`: it is
        written, and nothing that follows from it has begun; a task has done its work, and its
        result is not recorded. `unanswered`: it is written, but the store's answer is lost.
        """
        if when not in _FAULTS or (isinstance(at, int) and at < 1):
            raise TenutoError(
                f"crash_once(at={at!r}, when={when!r}) means nothing",
                code="TEN-2206",
                advice='Write 1 or more, or a task; and "before", "after" or "unanswered".',
            )
        if isinstance(at, int):
            self.world.unrest.strike(self.writes + at, _FAULTS[when])
        elif when == "unanswered":
            raise TenutoError(
                "a task is not answered: only a durable write can be unanswered",
                code="TEN-2206",
                advice='Write "before" or "after".',
            )
        else:
            self.tasks.crash_in(at, when)

    def recover(self) -> None:
        """Start the next process, which takes over; one that still lives is killed first."""
        self._refuse_missed_crash()
        self.lives.recover()

    @property
    def crashed(self) -> str | None:
        """Where the process died, until it is recovered."""
        return self.lives.crashed

    # -- many worlds

    def orders(
        self,
        workflow: Workflow,
        input: Given = None,
        *,
        events: Sequence[Scripted] = (),
        most: int = 1_000,
        seed: int = 0,
    ) -> Iterator[Instance]:
        """Run a workflow once for each order in which the results of parallel tasks can arrive.

        All orders while no more than five results are ever under way at once, and `most` orders
        drawn with the seed where there are more. Each is a world of its own with this one's stubs.
        """
        return orders(self, workflow, input, events=events, most=most, seed=seed)

    def twin(self) -> Engine:
        """A new world with the same tasks, stubs and definitions, in which nothing has happened."""
        twin = Engine(
            tasks=self.tasks.twin(),
            settings=self.world.settings,
            at=self._at,
            seed=self._seed,
            calendars=self._calendars,
        )
        for name, (value, destinations) in self._secrets.items():
            twin.secret(name, value, destinations=destinations)
        for definition in self._deployed:
            twin.deploy(definition)
        for document in self._schedules:
            twin.schedule(document)
        self.shown = twin
        return twin

    # -- what a test looks at

    @property
    def now(self) -> datetime:
        """The moment on the clock of the test."""
        return self.lives.now

    @property
    def writes(self) -> int:
        """How many durable writes there were."""
        return self.world.unrest.writes

    @property
    def instances(self) -> list[Instance]:
        """Every instance, the oldest first."""
        return [Instance(self, id) for id in self.lives.reader.ids()]

    def ticks(self, schedule: str) -> list[TickRecord]:
        """What became of the ticks of a schedule, the oldest first."""
        found = self.lives.ask(lambda app: app.schedules.ticks(schedule, limit=_MOST_TICKS))
        assert found is not None
        return [*reversed(found)]

    def calls(self, task: Named | None = None) -> list[Call]:
        """Every run of a task, or of all of them, in order."""
        if task is None:
            return list(self.tasks.calls)
        name = self.tasks.name_of(task)
        return [call for call in self.tasks.calls if call.task == name]

    def _refuse_missed_crash(self) -> None:
        in_task, at_writes = self.tasks.crash_ahead, self.world.unrest.ahead
        if self.crashed is None and (in_task is not None or at_writes):
            missed = in_task or f"at durable write {at_writes[0]}"
            raise TenutoError(
                f"the crash {missed} never came: there were {self.writes} durable writes",
                code="TEN-2204",
                advice="Ask for an earlier one, or let the workflow go on before recovering.",
            )


def _id_of(definition: Path | Mapping[str, JSON]) -> str:
    document: object = definition
    if isinstance(definition, Path):
        document = parse_document(definition.read_bytes(), str(definition))
    assert isinstance(document, Mapping)
    return str(document["id"])
