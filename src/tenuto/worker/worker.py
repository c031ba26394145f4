"""Pulls tasks from a server and runs them, as an engine in the same process would."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Coroutine
from contextlib import suppress
from datetime import timedelta

from tenuto.model.errors import Overloaded, StoreUnavailable, TenutoError
from tenuto.model.inputs import TaskFailed, TaskSucceeded
from tenuto.model.policy import Limits
from tenuto.ports import Clock
from tenuto.tasks.attempt import Key
from tenuto.tasks.registry import Registry
from tenuto.tasks.runner import Runner
from tenuto.worker.broker_client import BrokerClient
from tenuto.worker.held_task import HeldTask
from tenuto.worker.lease_keeper import LeaseKeeper
from tenuto.worker.reporter import Reporter
from tenuto.worker.task_release import release

log = logging.getLogger("tenuto.worker")

MOST_CLAIMED = 50
"""So many tasks are asked for at once, unless somebody says otherwise."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_CLAIMS_AT_ONCE = 2
"""While there is plenty, one is asked for while another is answered."""
_REFUSED_FOR = 60.0
"""Seconds after which a worker goes that was let in before, and is refused since."""
_FAREWELL = 3.0
"""Seconds that there are, whatever the grace, to tell of what has ended, and to give back."""
_HURRY = 1.0
"""Seconds for both where somebody is in a hurry."""
_A_WHILE = timedelta(seconds=20)
_LEASE = timedelta(seconds=30)
_LIMITS = Limits(output_bytes=31_000_000)
"""What fits into a request. How large a result may be the server knows, and says."""


class Worker:
    """One process's share of the work."""

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
    ) -> None:
        """So many tasks run at once, so many more are at hand, so many are claimed at once."""
        self._broker = broker
        self._registry = registry
        self._id = worker_id
        self._clock = clock
        self._concurrency = concurrency
        self._room = concurrency + prefetch
        self._batch = batch
        self._lease = lease
        self._wait = wait
        self._runner = Runner(registry, clock, self._ended, limits=_LIMITS, max_threads=concurrency)
        self._held: dict[Key, HeldTask] = {}
        """All that is claimed and not reported."""
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
        """Another worker of this name, before or beside it, makes other claims."""
        self._claims = [0] * _CLAIMS_AT_ONCE
        """How many were answered: one whose answer got lost is made again under its number."""
        self._asked_for = 0
        """How many tasks claims under way may bring."""
        self._is_plenty = asyncio.Event()
        """Set while claims bring as many tasks as they ask for."""
        self._is_stopping = asyncio.Event()
        self._is_hurried = False
        self._has_room = asyncio.Event()
        self._may_leave = asyncio.Event()
        """Set while nothing is in hand, or once nobody waits for that."""
        self._may_leave.set()
        self._failure: Exception | None = None
        """What ended the work, if nobody did."""

    @property
    def in_hand(self) -> int:
        """How many tasks are claimed and not reported."""
        return len(self._held)

    @property
    def is_stopping(self) -> bool:
        """Whether it takes on nothing more."""
        return self._is_stopping.is_set()

    def stop(self) -> None:
        """Take on nothing more, and end `run` once what is in hand is done, or its grace over."""
        self._is_stopping.set()

    def hurry(self) -> None:
        """Stop, and wait for nothing that is in hand: it is given back."""
        self._is_hurried = True
        self._is_stopping.set()
        self._may_leave.set()
        self._reporter.give_up()

    async def run(self, grace: float = 10.0) -> None:
        """Work until told to stop; then what runs has `grace` seconds to end.

        What is not done by then is given back: it becomes another attempt, which counts neither as
        a failure nor as a loss. Whatever else ends the work ends it in the same order.
        """
        loop = asyncio.get_running_loop()
        beside = [loop.create_task(self._leases.run()), loop.create_task(self._reporter.run())]
        for task in beside:
            task.add_done_callback(self._stop_if_dead)
        try:
            claiming = [self._claim_until_stopped(number) for number in range(_CLAIMS_AT_ONCE)]
            await asyncio.gather(*claiming)
            await self._leave(grace)
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
        if self._failure is not None:
            raise self._failure

    def _stop_if_dead(self, task: asyncio.Task[None]) -> None:
        """A worker that cannot hold leases, or report, has no business claiming."""
        if task.cancelled():
            return
        error = task.exception()
        log.critical("the worker stops: it cannot go on", exc_info=error)
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
        await self._reporter.finish(_HURRY if self._is_hurried else max(left, _FAREWELL))
        if self._held:
            # A server that has not heard of results is not waited for as long again.
            spent = self._clock.ticks() - told_at
            seconds = _HURRY if self._is_hurried else max(_FAREWELL - spent, _HURRY)
            await release(self._broker, self._clock, self._held.values(), fresh, seconds)
            self._held.clear()

    # -- claims

    async def _claim_until_stopped(self, number: int) -> None:
        """The first of them always claims, others while there is plenty."""
        try:
            await self._go_on_claiming(number)
        except Exception as error:  # noqa: BLE001 - raised once all is in order
            self._failure = error
            self.stop()

    async def _go_on_claiming(self, number: int) -> None:
        stopping = asyncio.get_running_loop().create_task(self._is_stopping.wait())
        pause = _FIRST_PAUSE
        refused_at: float | None = None
        try:
            while not self._is_stopping.is_set():
                try:
                    await self._until_stopped(self._claim(number), stopping)
                    pause, refused_at = _FIRST_PAUSE, None
                except TenutoError as error:
                    if not isinstance(error, StoreUnavailable | Overloaded):
                        now = self._clock.ticks()
                        refused_at = now if refused_at is None else refused_at
                        # Nobody would notice a worker that waits for ever to be let in; one that
                        # was may meet a proxy without a server behind it, or a key too early.
                        if not any(self._claims) or now - refused_at >= _REFUSED_FOR:
                            raise
                    log.warning("no tasks can be claimed: %s", error)
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
            # Whoever hands them out puts back what nobody hears of.
            claiming.cancel()
            with suppress(asyncio.CancelledError):
                await claiming
        elif (error := claiming.exception()) is not None:
            raise error

    async def _claim(self, number: int) -> None:
        if number:
            await self._is_plenty.wait()
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
            held = HeldTask(task, self._lease, now)
            self._held[held.key] = held
            self._ready.append(held)
        if tasks:
            self._may_leave.clear()
            self._leases.look()
            self._begin()

    def _may_ask_for_outputs(self) -> bool:
        """Whether there is a function that could: nobody else is sent what steps gave."""
        functions = map(self._registry.get, self._registry)
        return any(each is not None and each.binding.takes_context for each in functions)

    def _begin(self) -> None:
        while self._ready and self._runner.in_flight < self._concurrency:
            held = self._ready.popleft()
            if self._held.get(held.key) is held:
                self._runner.start(held.key[0], held.order, held.facts)

    # -- ends

    def _ended(self, instance_id: str, report: TaskSucceeded | TaskFailed) -> None:
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
        """Nothing that is done under its lease counts any more."""
        if self._held.get(held.key) is not held:
            return  # its end was reported meanwhile
        log.warning("the lease on %s is lost", held.task.step_id)
        self._let_go(held)
        self._reporter.drop(held)
        self._runner.stop(*held.key)
