"""One life of the engine under test, in a loop of its own, until it crashes or is ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from datetime import datetime
from typing import Any, TypeVar

from msgspec import Struct

from tenuto.app import Tenuto
from tenuto.engine.settings import Settings
from tenuto.engine.turns.draft import Draft
from tenuto.model.errors import TenutoError
from tenuto.model.inputs import TaskFailed, TaskSucceeded
from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.tasks.runner import Report
from tenuto.testing.fault_plan import Fault
from tenuto.testing.faulty_store import FaultyStore
from tenuto.testing.kit_codec import KIT_CODEC
from tenuto.testing.seeded_ids import SeededIds
from tenuto.testing.task_mocks import TaskMocks
from tenuto.testing.turn_notes import note
from tenuto.testing.unrest import Unrest
from tenuto.testing.unsent import Unsent
from tenuto.testing.virtual_clock import VirtualClock, Wall
from tenuto.testing.virtual_loop import VirtualLoop
from tenuto.testing.wrapped_store import Call

__tracebackhide__ = True
"""pytest hides the frames of this module in tracebacks."""

T = TypeVar("T")

_LATE = 60.0
"""The delay in seconds of a result that is to arrive after others."""
_A_MOMENT = 0.001
"""The delay in seconds of results after earlier requests: the resolution of the clock."""


class NotedStore(FaultyStore):
    """Notes a description of each durable write, before a fault can hit it."""

    def __init__(self, inner: MemoryStore, loop: VirtualLoop, unrest: Unrest) -> None:
        super().__init__(inner, loop, unrest)
        self._unrest = unrest

    def _fault_on(self, call: Call) -> Fault | None:
        if call.turn is not None:
            self._unrest.notes[self._unrest.writes + 1] = note(call.turn)
        return super()._fault_on(call)


class World(Struct, kw_only=True):
    """The state that outlives a process."""

    disk: MemoryDisk
    wall: Wall
    ids: SeededIds
    tasks: TaskMocks
    unrest: Unrest
    settings: Settings
    passed: float = 0.0
    """Seconds that have passed by the end of the last process."""

    def now(self) -> datetime:
        return self.wall.read(self.passed)


class Process:
    """The shipped engine over a disk that outlives it."""

    def __init__(self, world: World, written: Callable[[Draft], None]) -> None:
        """`written` is called with everything that has become durable."""
        self._world = world
        self._written = written
        self.loop = VirtualLoop(started_at=world.passed)
        self.clock = VirtualClock(self.loop, world.wall)
        self._store = NotedStore(MemoryStore(world.disk), self.loop, world.unrest)
        self.app = Tenuto(
            self._store,
            settings=world.settings,
            clock=self.clock,
            ids=world.ids,
            tasks=world.tasks,
            sender=Unsent(),
            executors=world.tasks.built_in.executors,
            encryption=KIT_CODEC,
        )
        self._is_watched = False
        self._before_results: set[asyncio.Task[Any]] = set()
        self._is_holding = False
        self._held: list[tuple[str, TaskSucceeded | TaskFailed]] = []
        """Results that are on their way while something else goes first."""
        self.app.engine.runner.report_through(self._way)
        self.app.engine.listen(self._changed)

    def open(self) -> None:
        # Without the app's watchdog, which is for loops that are never at rest.
        self.run(self.app.engine.open())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Let time pass until `work` is done; Crashed when the process does not live to see it."""
        return self._loud(lambda: self.loop.run_until_complete(work))

    def settle(self) -> None:
        """Do all that can be done at this moment."""
        self.pass_until(self.loop.time())

    def pass_until(self, moment: float) -> None:
        """Let time pass until a moment, with all that happens on the way."""
        self._loud(lambda: self.loop.rest(moment))

    def step(self, moment: float) -> bool:
        """Go on to the next durable change, at most until a moment; whether there was one."""
        self._is_watched = True
        try:
            return not self._loud(lambda: self.loop.rest(moment))
        finally:
            self._is_watched = False

    def do(self, work: Coroutine[Any, Any, object]) -> None:
        """Start work without waiting for its result."""
        self.loop.create_task(work).add_done_callback(_forget)

    def do_before_results(self, work: Coroutine[Any, Any, object]) -> None:
        """Begin something that is done, on the clock too, before the next result arrives."""
        self._is_holding = True
        task = self.loop.create_task(work)
        self._before_results.add(task)
        task.add_done_callback(self._done_before_results)

    def kill(self) -> None:
        """Nothing of it runs any more, and nothing that it left reaches the disk."""
        self._world.passed = self.loop.time()
        self._store.kill()
        self.loop.discard_tasks()
        self._world.tasks.lose_running()

    def _done_before_results(self, task: asyncio.Task[Any]) -> None:
        _forget(task)
        self._before_results.discard(task)
        if not self._before_results:
            self.loop.call_later(_A_MOMENT, self._let_results_in)

    def _let_results_in(self) -> None:
        if self._before_results:
            return
        self._is_holding = False
        held, self._held = self._held, []
        for instance_id, report in held:
            self._arrived(instance_id, report)

    def _way(self, deliver: Report) -> Report:
        self._deliver = deliver
        return self._reported

    def _reported(self, instance_id: str, report: TaskSucceeded | TaskFailed) -> None:
        if self._is_holding:
            self._held.append((instance_id, report))
        else:
            self._arrived(instance_id, report)

    def _arrived(self, instance_id: str, report: TaskSucceeded | TaskFailed) -> None:
        fault = self._world.unrest.on_report()
        if fault is Fault.REORDER:
            self.loop.call_later(_LATE, self._deliver, instance_id, report)
            return
        self._deliver(instance_id, report)
        if fault is Fault.DUPLICATE:
            self.loop.call_soon(self._deliver, instance_id, report)

    def _changed(self, draft: Draft) -> None:
        self._written(draft)
        if self._is_watched:
            self.loop.stop()

    def _loud(self, run: Callable[[], T]) -> T:
        result = _outside_of_loops(run)
        fault = self.app.engine.fault
        if fault is not None:
            raise TenutoError(f"the engine broke: {fault!r}") from fault
        return result


def _outside_of_loops(function: Callable[[], T]) -> T:
    """Call a function that runs a loop, also from a test that is itself in one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        is_inside = False
    else:
        is_inside = True
    if not is_inside:
        # Not in the handler: what it raises would seem to come of there being no loop.
        return function()
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(copy_context().run, function).result()


def _forget(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()
