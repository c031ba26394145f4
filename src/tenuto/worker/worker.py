"""Pulls tasks from a server and runs them, as an engine in the same process would."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Coroutine
from contextlib import suppress
from datetime import timedelta

from tenuto.model.errors import Conflict, NotFound, Overloaded, StoreUnavailable, TenutoError
from tenuto.model.executions import ReportAnswer, TaskReport
from tenuto.model.failure import NOT_STORABLE, Failure
from tenuto.model.inputs import TaskFailed, TaskSucceeded
from tenuto.model.policy import Limits
from tenuto.ports import Clock
from tenuto.tasks.attempt import Key
from tenuto.tasks.registry import Registry
from tenuto.tasks.runner import Runner
from tenuto.worker.desk import Desk
from tenuto.worker.held_task import HeldTask

log = logging.getLogger("tenuto.worker")

MOST_CLAIMED = 50
"""So many tasks are asked for at once, unless somebody says otherwise."""
MOST_REPORTED = 200
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_UNPROCESSABLE = 422
_DONE = (200, 404, 409)
"""Statuses after which nothing more is to be said about a task."""
_A_WHILE = timedelta(seconds=20)
_LEASE = timedelta(seconds=30)
_SELDOM = 3600.0


class Worker:
    """One process's share of the work."""

    def __init__(  # noqa: PLR0913 - one for each thing that can be chosen
        self,
        desk: Desk,
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
        self._desk = desk
        self._registry = registry
        self._id = worker_id
        self._clock = clock
        self._concurrency = concurrency
        self._room = concurrency + prefetch
        self._batch = batch
        self._lease = lease
        self._wait = wait
        self._runner = Runner(registry, clock, self._ended, limits=Limits())
        self._held: dict[Key, HeldTask] = {}
        """All that is claimed and not reported."""
        self._ready: deque[HeldTask] = deque()
        """Those that have not begun."""
        self._reports: deque[tuple[HeldTask, TaskReport]] = deque()
        self._born = clock.now().isoformat()
        """Another worker of this name, before or beside it, makes other claims."""
        self._claims = 0
        """How many were answered: one whose answer got lost is made again under its number."""
        self._is_stopping = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_reports = asyncio.Event()
        self._has_tasks = asyncio.Event()
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    @property
    def in_hand(self) -> int:
        """How many tasks are claimed and not reported."""
        return len(self._held)

    def stop(self) -> None:
        """Take on nothing more, and end `run` once what is in hand is done, or its grace over."""
        self._is_stopping.set()

    async def run(self, grace: float = 10.0) -> None:
        """Work until told to stop; then what runs has `grace` seconds to end."""
        loop = asyncio.get_running_loop()
        keeping = loop.create_task(self._keep())
        reporting = loop.create_task(self._report_all())
        try:
            await self._claim_until_stopped()
            await self._clock.wait(self._is_empty, grace)
            left = await self._runner.drain(0.0)
            if left or self._ready:
                log.warning("%d tasks are left to others", left + len(self._ready))
            await self._last_words()
        finally:
            for task in (keeping, reporting):
                task.cancel()
            await asyncio.gather(keeping, reporting, return_exceptions=True)

    # -- claims

    async def _claim_until_stopped(self) -> None:
        stopping = asyncio.get_running_loop().create_task(self._is_stopping.wait())
        pause = _FIRST_PAUSE
        try:
            while not self._is_stopping.is_set():
                try:
                    await self._until_stopped(self._claim(), stopping)
                    pause = _FIRST_PAUSE
                except (StoreUnavailable, Overloaded) as error:
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

    async def _claim(self) -> None:
        room = self._room - len(self._held)
        if room <= 0:
            self._has_room.clear()
            await self._has_room.wait()
            return
        tasks = await self._desk.claim(
            self._id,
            tuple(self._registry),
            most=min(room, self._batch),
            wait=self._wait,
            lease=self._lease,
            request_id=f"{self._born}-{self._claims}",
            with_outputs=self._may_ask_for_outputs(),
        )
        self._claims += 1
        now = self._clock.ticks()
        for task in tasks:
            held = HeldTask(task, self._lease, now)
            self._held[held.key] = held
            self._ready.append(held)
        if tasks:
            self._is_empty.clear()
            self._has_tasks.set()
            self._begin()

    def _may_ask_for_outputs(self) -> bool:
        """Whether there is a function that could: nobody else is sent what steps gave."""
        functions = map(self._registry.get, self._registry)
        return any(each is not None and each.binding.takes_context for each in functions)

    def _begin(self) -> None:
        while self._ready and self._runner.in_flight < self._concurrency:
            held = self._ready.popleft()
            if held.key in self._held:
                self._runner.start(held.key[0], held.order, held.facts)

    # -- ends

    def _ended(self, instance_id: str, report: TaskSucceeded | TaskFailed) -> None:
        held = self._held.get((instance_id, report.node, report.iteration, report.attempt))
        if held is not None:
            self._reports.append((held, held.report(report)))
            self._has_reports.set()
        self._begin()

    async def _report_all(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            await self._has_reports.wait()
            try:
                await self._report_once()
                pause = _FIRST_PAUSE
            except (StoreUnavailable, Overloaded) as error:
                log.warning("%d results wait for the server: %s", len(self._reports), error)
                await self._clock.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)

    async def _report_once(self) -> None:
        """Tell of what has ended, many at once; what was not heard is told again."""
        self._drop_what_is_over()
        batch = [self._reports.popleft() for _ in range(min(len(self._reports), MOST_REPORTED))]
        if not self._reports:
            self._has_reports.clear()
        if not batch:
            return
        try:
            answers = await self._desk.report([report for _, report in batch])
        except (StoreUnavailable, Overloaded):
            self._again(batch)
            raise
        except TenutoError as error:
            log.warning("%d results were refused: %s", len(batch), error)
            for held, _ in batch:
                self._let_go(held)
            return
        unheard = [
            pair
            for pair, answer in zip(batch, answers, strict=True)
            if not self._settled(*pair, answer)
        ]
        if unheard:
            self._again(unheard)
            raise StoreUnavailable(f"{len(unheard)} results were not taken")

    def _settled(self, held: HeldTask, report: TaskReport, answer: ReportAnswer) -> bool:
        if answer.status == _UNPROCESSABLE and report.error is None:
            message = f"the result was refused: {answer.error}"
            failure = Failure(code=NOT_STORABLE, message=message, retryable=False)
            place = held.order
            refused = TaskFailed(
                node=place.node, iteration=place.iteration, attempt=place.attempt, error=failure
            )
            self._reports.append((held, held.report(refused)))
            self._has_reports.set()
            return True
        if answer.status not in _DONE and answer.status != _UNPROCESSABLE:
            return False
        if answer.status != _DONE[0]:
            log.warning("the result of %s does not count: %s", held.task.step_id, answer.error)
        self._let_go(held)
        return True

    def _again(self, batch: list[tuple[HeldTask, TaskReport]]) -> None:
        self._reports.extendleft(reversed(batch))
        self._has_reports.set()

    def _drop_what_is_over(self) -> None:
        """Whoever would take these results has given them up."""
        now = self._clock.ticks()
        kept = [(held, report) for held, report in self._reports if held.over_at > now]
        if len(kept) < len(self._reports):
            for held, _ in self._reports:
                if held.over_at <= now:
                    log.warning("the result of %s came to nobody in time", held.task.step_id)
                    self._let_go(held)
            self._reports = deque(kept)

    async def _last_words(self) -> None:
        while self._reports:
            try:
                await self._report_once()
            except (StoreUnavailable, Overloaded):
                await self._clock.sleep(_FIRST_PAUSE)

    def _let_go(self, held: HeldTask) -> None:
        self._held.pop(held.key, None)
        self._has_room.set()
        if not self._held:
            self._is_empty.set()

    # -- leases

    async def _keep(self) -> None:
        """Say of everything in hand that it is being worked on, before its lease is over."""
        while True:
            now = self._clock.ticks()
            due = [held for held in self._held.values() if held.beat_at <= now]
            if due:
                await asyncio.gather(*map(self._beat, due))
                continue
            soonest = min((held.beat_at for held in self._held.values()), default=now + _SELDOM)
            self._has_tasks.clear()
            await self._clock.wait(self._has_tasks, soonest - now)

    async def _beat(self, held: HeldTask) -> None:
        task = held.task
        held.put_off(self._clock.ticks())
        try:
            beat = await self._desk.heartbeat(
                task.execution_id, task.lease_token, self._runner.last_heartbeat(held.key)
            )
        except (Conflict, NotFound):
            self._lost(held)
        except TenutoError as error:
            log.warning("the lease on %s was not extended: %s", task.step_id, error)
            if held.over_at <= self._clock.ticks():
                self._lost(held)
        else:
            held.extended(self._clock.ticks())
            if beat.cancelled and not held.is_called_off:
                held.is_called_off = True
                self._runner.stop(*held.key)

    def _lost(self, held: HeldTask) -> None:
        """Nothing that is done under its lease counts any more."""
        if self._held.get(held.key) is not held:
            return  # its end was reported meanwhile
        log.warning("the lease on %s is lost", held.task.step_id)
        self._let_go(held)
        self._reports = deque(pair for pair in self._reports if pair[0] is not held)
        self._runner.stop(*held.key)
