"""The processes of a sandbox: who gets which, who waits, and when one is replaced.

A process serves one tenant for as long as it lives, so that nothing of one tenant is ever in the
memory of a process that runs code of another. Spare processes have no tenant yet.
"""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from msgspec import Struct

from tenuto.ports import Clock, Timer
from tenuto.sandbox.bounds import PoolBounds
from tenuto.sandbox.confined_process import ConfinedProcess, start_process
from tenuto.sandbox.messages import Confinement, Ready
from tenuto.tasks.child_process import ChildDied, ChildProcess

_START_SECONDS = 30.0
_PAUSE_SECONDS = 1.0
"""Between a process that did not start and the next one."""
_MOST_FAILURES = 5
"""So many in a row, and calls no longer wait for another."""


class NotStarted(Exception):
    """No process can be started."""


class _Waiter(Struct, frozen=True, eq=False):
    """A call that waits for a process."""

    tenant: str
    turn: asyncio.Future[ConfinedProcess]


class Pool:
    """Hands out processes. Its state is changed in the event loop alone."""

    def __init__(self, clock: Clock, bounds: PoolBounds, confinement: Confinement) -> None:
        self._clock = clock
        self._bounds = bounds
        self._confinement = confinement
        # One thread, which lives as long as the processes that it starts: they end with it.
        self._starter = ThreadPoolExecutor(1, "tenuto-javascript")
        self._starting: set[asyncio.Task[None]] = set()
        self._unready: set[ConfinedProcess] = set()
        self._spares: list[ConfinedProcess] = []
        self._idle: list[ConfinedProcess] = []
        """The longest idle first."""
        self._busy: set[ConfinedProcess] = set()
        self._going: set[asyncio.Future[str]] = set()
        self._waiting: dict[str, deque[_Waiter]] = {}
        """By tenant; the tenant whose turn it is comes first."""
        self._sweep: Timer | None = None
        self._again: Timer | None = None
        self._failures = 0
        """Processes in a row that did not start."""
        self._is_closed = False
        self._may_raise = True
        """Whether the service may raise a priority, as far as is known."""
        self.ready: Ready | None = None
        self.started = 0
        self.replaced = 0

    @property
    def busy(self) -> int:
        return len(self._busy)

    @property
    def idle(self) -> int:
        return len(self._idle)

    @property
    def spare(self) -> int:
        return len(self._spares)

    @property
    def waiting(self) -> int:
        return sum(map(len, self._waiting.values()))

    @property
    def pids(self) -> tuple[int, ...]:
        """The ids of all processes."""
        return tuple(each.pid for each in (*self._spares, *self._idle, *self._busy))

    def fill(self) -> None:
        """Start what is missing of the spare processes, and of those that calls wait for."""
        if self._is_closed:
            return
        wanted = self._bounds.spares + min(self._eligible(), self._room())
        while len(self._spares) + len(self._starting) < wanted:
            task = asyncio.get_running_loop().create_task(self._start())
            self._starting.add(task)
            task.add_done_callback(self._starting.discard)

    async def lease(self, tenant: str) -> ConfinedProcess:
        """A process for one call of a tenant; NotStarted."""
        if self._is_closed:
            raise NotStarted("the sandbox is closed")
        if tenant not in self._waiting and self._held(tenant) < self._bounds.of_tenant:
            process = self._at_once(tenant)
            if process is not None:
                return process
        waiter = _Waiter(tenant, asyncio.get_running_loop().create_future())
        self._waiting.setdefault(tenant, deque()).append(waiter)
        self._hand_out()
        try:
            return await waiter.turn
        except asyncio.CancelledError:
            if waiter.turn.done() and not waiter.turn.cancelled() and not waiter.turn.exception():
                self.give_back(waiter.turn.result(), is_usable=True)
            else:
                self._forget(waiter)
            raise

    def watch(self, process: ConfinedProcess) -> None:
        """It runs code: where that computes for long, it goes after that of others."""
        process.watch(self._clock, may_rise=self._may_raise)

    def give_back(self, process: ConfinedProcess, *, is_usable: bool) -> None:
        """A call has ended; a process that cannot be used for another is killed."""
        self._busy.discard(process)
        process.expect(0, None)
        process.calls += 1
        is_used_up = process.calls >= self._bounds.calls
        if not process.go_as_before():
            self._may_raise = False
            self.replaced += 1
            is_used_up = True
        if not is_usable or process.is_ending or is_used_up or self._is_closed:
            self._end(process)
        else:
            self._idle.append(process)
        self._hand_out()
        self._sweep_later()

    async def close(self) -> None:
        """Kill every process, and wait until they are gone."""
        self._is_closed = True
        for queue in self._waiting.values():
            for waiter in queue:
                if not waiter.turn.done():
                    waiter.turn.set_exception(NotStarted("the sandbox is closed"))
        self._waiting.clear()
        for process in (*self._unready, *self._spares, *self._idle, *self._busy):
            self._end(process)
        self._spares.clear()
        self._idle.clear()
        if self._sweep is not None:
            self._sweep.cancel()
        if self._again is not None:
            self._again.cancel()
        while self._starting or self._going:
            ending: list[asyncio.Future[Any]] = [*self._starting, *self._going]
            await asyncio.wait(ending)
        self._starter.shutdown(wait=False)

    def _at_once(self, tenant: str) -> ConfinedProcess | None:
        """A process that the tenant can have now."""
        for process in reversed(self._idle):
            if process.tenant == tenant and not process.is_ending:
                self._idle.remove(process)
                return self._given(process, tenant)
        spare = next((each for each in self._spares if not each.is_ending), None)
        if spare is None:
            return None
        if self._room() <= 0:
            goes = self._makes_room()
            if goes is None:
                return None
            self._idle.remove(goes)
            self._end(goes)
            self.replaced += 1
        self._spares.remove(spare)
        self._given(spare, tenant)
        self.fill()
        return spare

    def _given(self, process: ConfinedProcess, tenant: str) -> ConfinedProcess:
        if process.tenant is None:
            process.since = self._clock.ticks()
        assert process.tenant in {None, tenant}
        process.tenant = tenant
        self._busy.add(process)
        return process

    def _hand_out(self) -> None:
        """Give processes to those who wait, tenant by tenant."""
        skipped = 0
        while self._waiting and skipped < len(self._waiting):
            tenant = next(iter(self._waiting))
            queue = self._waiting.pop(tenant)
            while queue and queue[0].turn.done():
                # It was cancelled, and has not left the queue by itself yet.
                queue.popleft()
            if not queue:
                continue
            process = None
            if self._held(tenant) < self._bounds.of_tenant:
                process = self._at_once(tenant)
            if process is None:
                skipped += 1
                self._waiting[tenant] = queue
                continue
            skipped = 0
            waiter = queue.popleft()
            if queue:
                self._waiting[tenant] = queue
            waiter.turn.set_result(process)
        self.fill()

    def _makes_room(self) -> ConfinedProcess | None:
        """The idle process that goes for another tenant: the longest idle, if it may go.

        While its own tenant waits too, it stays for its slice of time: a new one costs more than
        many calls.
        """
        now = self._clock.ticks()
        for process in self._idle:
            has_had_its_time = now - process.since >= self._bounds.slice
            if process.tenant not in self._waiting or has_had_its_time:
                return process
        return None

    def _eligible(self) -> int:
        """Calls that wait and may have a process of their own."""
        count = 0
        for tenant, queue in self._waiting.items():
            count += min(len(queue), max(self._bounds.of_tenant - self._held(tenant), 0))
        return count

    def _room(self) -> int:
        return self._bounds.processes - len(self._busy) - len(self._idle)

    def _held(self, tenant: str) -> int:
        return sum(each.tenant == tenant for each in self._busy)

    def _forget(self, waiter: _Waiter) -> None:
        queue = self._waiting.get(waiter.tenant)
        if queue is not None and waiter in queue:
            queue.remove(waiter)
            if not queue:
                del self._waiting[waiter.tenant]

    async def _start(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            child = await loop.run_in_executor(self._starter, self._started)
        except (ChildDied, OSError, ImportError) as error:
            self._not_started(str(error))
            return
        process = ConfinedProcess(child, self._starter)
        self.started += 1
        if self._is_closed:
            process.kill()
        self._unready.add(process)
        late = self._clock.call_later(_START_SECONDS, process.kill)
        try:
            either: list[asyncio.Future[Any]] = [process.ready, process.ended]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            late.cancel()
            self._unready.discard(process)
        if not process.ready.done():
            self._not_started(f"a process of the sandbox does not start: {process.ended.result()}")
            return
        self.ready = process.ready.result()
        self._failures = 0
        if self._is_closed:
            self._end(process)
            return
        process.ended.add_done_callback(lambda _: self._lost(process))
        self._spares.append(process)
        # It is no longer starting, and may be given away.
        task = asyncio.current_task()
        assert task is not None
        self._starting.discard(task)
        self._hand_out()

    def _started(self) -> ChildProcess:
        return start_process(self._confinement)

    def _not_started(self, reason: str) -> None:
        """Try again while there are other processes; else the waiting calls fail."""
        self._failures += 1
        others = len(self._busy) + len(self._idle) + len(self._spares) + len(self._starting) - 1
        if others <= 0 or self._failures >= _MOST_FAILURES:
            self._refuse(reason)
        elif self._waiting and self._again is None and not self._is_closed:
            self._again = self._clock.call_later(_PAUSE_SECONDS, self._try_again)

    def _try_again(self) -> None:
        self._again = None
        self._hand_out()

    def _refuse(self, reason: str) -> None:
        """The waiting calls fail; the next call tries again."""
        for queue in self._waiting.values():
            for waiter in queue:
                if not waiter.turn.done():
                    waiter.turn.set_exception(NotStarted(reason))
        self._waiting.clear()

    def _end(self, process: ConfinedProcess) -> None:
        process.kill()
        if not process.ended.done():
            self._going.add(process.ended)
            process.ended.add_done_callback(self._going.discard)

    def _lost(self, process: ConfinedProcess) -> None:
        """It has ended: a busy one is given back by its call."""
        for each in (self._spares, self._idle):
            if process in each:
                each.remove(process)
                self.fill()

    def _sweep_later(self) -> None:
        if self._sweep is None and self._idle and not self._is_closed:
            self._sweep = self._clock.call_later(self._bounds.idle, self._sweep_now)

    def _sweep_now(self) -> None:
        """End the processes that had nothing to do since the last time."""
        self._sweep = None
        for process in list(self._idle):
            if process.calls == process.swept:
                self._idle.remove(process)
                self._end(process)
            else:
                process.swept = process.calls
        self._sweep_later()
