"""Claims tasks of a server and runs them, as an engine in the same process would."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import timedelta

from tenuto.model.errors import Overloaded, StoreUnavailable, TenutoError
from tenuto.model.inputs import TaskFailed, TaskSucceeded
from tenuto.model.policy import NO_POLICY, Limits
from tenuto.model.task_logs import LogChunk
from tenuto.ports import Clock
from tenuto.tasks.attempt import Key
from tenuto.tasks.capture import CAPTURE
from tenuto.tasks.registry import Registry
from tenuto.tasks.runner import Runner
from tenuto.worker.broker_client import BrokerClient
from tenuto.worker.held_task import HeldTask
from tenuto.worker.lease_keeper import LeaseKeeper
from tenuto.worker.registration import register
from tenuto.worker.reporter import Reporter
from tenuto.worker.task_release import release

log = logging.getLogger("tenuto.worker")

MOST_CLAIMED = 50
"""Tasks in one claim, by default."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_CLAIMS_AT_ONCE = 2
"""Concurrent claims while there are plenty of tasks."""
_REFUSED_FOR = 60.0
"""Seconds after which a worker stops whose credential was accepted before, and is refused."""
_LAST_SECONDS = 3.0
"""Seconds, whatever the grace, for the last reports and releases."""
_HURRY = 1.0
"""Seconds for both after a second signal."""
_A_WHILE = timedelta(seconds=20)
_LEASE = timedelta(seconds=30)
_LIMITS = Limits(output_bytes=31_000_000)
"""What fits into a request; the server enforces its own limit of results."""


class Worker:
    """Runs tasks in one process."""

    def __init__(  # noqa: PLR0913 - one for each thing that can be chosen
        self,
        broker: BrokerClient,
        registry: Registry,
        *,
        worker_id: str,
        clock: Clock,
        concurrency: int = 10,
        prefetch: int = 0,
        batch: int = MOST_CLAIMED,
        lease: timedelta = _LEASE,
        wait: timedelta = _A_WHILE,
        on_failure: Callable[[str, TaskFailed], None] | None = None,
    ) -> None:
        """`concurrency` tasks run at once, `prefetch` more wait, `batch` are claimed at once.

        `on_failure` is called with the instance and the failure of each attempt that failed here.
        """
        self._on_failure = on_failure
        self._broker = broker
        self._registry = registry
        self._id = worker_id
        self._clock = clock
        self._concurrency = concurrency
        self._room = concurrency + prefetch
        self._batch = batch
        self._lease = lease
        self._wait = wait
        self._runner = Runner(
            registry,
            clock,
            self._ended,
            limits=_LIMITS,
            max_threads=concurrency,
            lines=self._wrote,
        )
        self._held: dict[Key, HeldTask] = {}
        """Tasks that are claimed and not reported."""
        self._ready: deque[HeldTask] = deque()
        """Those that have not begun."""
        self._reporter = Reporter(broker, clock, self._let_go)
        self._leases = LeaseKeeper(
            broker,
            clock,
            self._held,
            details=self._runner.last_heartbeat,
            lost=self._lost,
            cancelled=lambda held: self._runner.stop(*held.key),
        )
        self._born = clock.now().isoformat()
        """Makes its claims differ from those of another worker of this name."""
        self._claims = [0] * _CLAIMS_AT_ONCE
        """Answered claims: one whose answer got lost is repeated under its number."""
        self._asked_for = 0
        """Tasks that claims under way may bring."""
        self._is_plenty = asyncio.Event()
        """Set while claims bring as many tasks as they ask for."""
        self._is_registered = False
        """Whether the server knows the policies of the tasks."""
        self._is_stopping = asyncio.Event()
        self._is_hurried = False
        self._has_room = asyncio.Event()
        self._may_leave = asyncio.Event()
        """Set while no task is claimed, or once that is not waited for."""
        self._may_leave.set()
        self._failure: Exception | None = None
        """The exception that ended the work."""

    @property
    def in_hand(self) -> int:
        """The number of tasks that are claimed and not reported."""
        return len(self._held)

    @property
    def is_stopping(self) -> bool:
        """Whether it claims no more tasks."""
        return self._is_stopping.is_set()

    def stop(self) -> None:
        """Claim no more tasks, and end `run` once all are done, or the grace is over."""
        self._is_stopping.set()

    def hurry(self) -> None:
        """Stop now: all unfinished tasks are given back."""
        self._is_hurried = True
        self._is_stopping.set()
        self._may_leave.set()
        self._reporter.give_up()

    async def run(self, grace: float = 10.0) -> None:
        """Work until `stop`; then running tasks have `grace` seconds to end.

        Tasks that are not done by then are given back: they become another attempt, which counts
        neither as a failure nor as a loss. An exception ends the work in the same order.
        """
        loop = asyncio.get_running_loop()
        beside = [loop.create_task(self._leases.run()), loop.create_task(self._reporter.run())]
        for task in beside:
            task.add_done_callback(self._stop_if_dead)
        CAPTURE.begin()
        try:
            claiming = [self._claim_until_stopped(number) for number in range(_CLAIMS_AT_ONCE)]
            await asyncio.gather(*claiming)
            await self._leave(grace)
        finally:
            CAPTURE.end()
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
        if self._failure is not None:
            raise self._failure

    def _stop_if_dead(self, task: asyncio.Task[None]) -> None:
        """A worker that cannot extend leases or report must not claim."""
        if task.cancelled():
            return
        error = task.exception()
        log.critical("worker=%s stops: a loop died", self._id, exc_info=error)
        self._failure = error if isinstance(error, Exception) else None
        self.stop()

    async def _leave(self, grace: float) -> None:
        began = self._clock.ticks()
        if not self._is_hurried:
            await self._clock.wait(self._may_leave, grace)
        ready = {held.key for held in self._ready}
        fresh = {key for key in self._held if key in ready or self._runner.is_queued(key)}
        await self._runner.drain(0.0)
        told_at = self._clock.ticks()
        left = grace - (told_at - began)
        await self._reporter.finish(_HURRY if self._is_hurried else max(left, _LAST_SECONDS))
        if self._held:
            # The time for reports and releases is shared.
            spent = self._clock.ticks() - told_at
            seconds = _HURRY if self._is_hurried else max(_LAST_SECONDS - spent, _HURRY)
            await release(self._broker, self._clock, self._held.values(), fresh, seconds)
            self._held.clear()

    # -- claims

    async def _claim_until_stopped(self, number: int) -> None:
        """The first loop always claims, the others while there are plenty of tasks."""
        try:
            await self._go_on_claiming(number)
        except Exception as error:  # noqa: BLE001 - raised once the work has ended in order
            self._failure = error
            self.stop()

    async def _go_on_claiming(self, number: int) -> None:
        stopping = asyncio.get_running_loop().create_task(self._is_stopping.wait())
        pause = _FIRST_PAUSE
        refused_at: float | None = None
        told: str | None = None
        try:
            while not self._is_stopping.is_set():
                try:
                    await self._until_stopped(self._claim(number), stopping)
                    if told is not None:
                        log.info("claims again worker=%s", self._id)
                    pause, refused_at, told = _FIRST_PAUSE, None, None
                except TenutoError as error:
                    if not isinstance(error, StoreUnavailable | Overloaded):
                        now = self._clock.ticks()
                        refused_at = now if refused_at is None else refused_at
                        # A worker that was never accepted must fail loudly; one that was may meet
                        # a proxy without a server behind it, or a key that is not valid yet.
                        if not any(self._claims) or now - refused_at >= _REFUSED_FOR:
                            raise
                    if str(error) != told:
                        # Once for each cause, however long it lasts.
                        told = str(error)
                        log.warning(
                            "claim failed worker=%s: %s; it is tried again until it succeeds",
                            self._id,
                            error,
                        )
                    await self._clock.wait(self._is_stopping, pause)
                    pause = min(pause * 2, _LONGEST_PAUSE)
        finally:
            stopping.cancel()

    async def _until_stopped(
        self, claim: Coroutine[None, None, None], stopping: asyncio.Task[bool]
    ) -> None:
        claiming = asyncio.get_running_loop().create_task(claim)
        await asyncio.wait((claiming, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not claiming.done():
            # The broker puts back tasks whose answer is not taken.
            claiming.cancel()
            with suppress(asyncio.CancelledError):
                await claiming
        elif (error := claiming.exception()) is not None:
            raise error

    async def _claim(self, number: int) -> None:
        if number:
            await self._is_plenty.wait()
        elif not self._is_registered:
            await register(self._broker, self._id, self._registry)
            self._is_registered = True
        most = min(self._room - len(self._held) - self._asked_for, self._batch)
        if most <= 0:
            self._has_room.clear()
            await self._has_room.wait()
            return
        self._asked_for += most
        try:
            tasks = await self._broker.claim(
                self._id,
                tuple(self._registry),
                most=most,
                wait=self._wait,
                lease=self._lease,
                request_id=f"{self._born}-{number}-{self._claims[number]}",
                with_outputs=self._may_ask_for_outputs(),
            )
        finally:
            self._asked_for -= most
            self._has_room.set()
        self._claims[number] += 1
        if len(tasks) == most:
            self._is_plenty.set()
        else:
            self._is_plenty.clear()
        now = self._clock.ticks()
        for task in tasks:
            function = self._registry.get(task.task_id)
            policy = NO_POLICY if function is None else function.policy
            held = HeldTask(task, self._lease, now, policy, self._id)
            self._held[held.key] = held
            self._ready.append(held)
        if tasks:
            self._may_leave.clear()
            self._leases.wake()
            self._begin()

    def _may_ask_for_outputs(self) -> bool:
        """Whether a function takes the context: only then are outputs of earlier steps sent."""
        functions = map(self._registry.get, self._registry)
        return any(each is not None and each.binding.takes_context for each in functions)

    def _begin(self) -> None:
        over_bounds: list[HeldTask] = []
        while self._ready and self._runner.in_flight < self._concurrency:
            held = self._ready.popleft()
            if self._held.get(held.key) is not held:
                continue
            if self._runner.room(held.order.task_id) == 0:
                # It takes no place from other tasks.
                over_bounds.append(held)
                continue
            self._runner.start(held.key[0], held.order, held.facts)
        self._ready.extendleft(reversed(over_bounds))

    # -- ends

    def _wrote(self, key: Key, chunk: LogChunk) -> None:
        held = self._held.get(key)
        if held is not None:
            held.wrote(chunk)

    def _ended(self, instance_id: str, report: TaskSucceeded | TaskFailed) -> None:
        if self._on_failure is not None and isinstance(report, TaskFailed):
            self._on_failure(instance_id, report)
        held = self._held.get((instance_id, report.node, report.iteration, report.attempt))
        if held is not None:
            self._reporter.add(held, held.report(report))
        self._begin()

    def _let_go(self, held: HeldTask) -> None:
        if self._held.get(held.key) is held:
            del self._held[held.key]
        self._has_room.set()
        if not self._held:
            self._may_leave.set()

    def _lost(self, held: HeldTask) -> None:
        """The lease is lost: the result does not count any more."""
        if self._held.get(held.key) is not held:
            return  # It was reported meanwhile.
        log.warning("lease lost %s", held.log_keys)
        self._let_go(held)
        self._reporter.drop(held)
        self._runner.stop(*held.key)
