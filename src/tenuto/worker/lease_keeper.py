"""Extends the leases of a worker's tasks by heartbeats.

Each lease is extended on its own: a heartbeat that hangs or fails delays no other, and is replaced
by another one before its lease is over.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from tenuto.model.errors import Conflict, NotFound, TenutoError
from tenuto.model.executions import Heartbeat
from tenuto.ports import Clock
from tenuto.tasks.attempt import Key
from tenuto.tasks.failures import details_of
from tenuto.worker.broker_client import BrokerClient, NotTaken
from tenuto.worker.held_task import HeldTask

log = logging.getLogger("tenuto.worker")

_SELDOM = 3600.0


class LeaseKeeper:
    """Sends the heartbeats of all claimed tasks."""

    def __init__(
        self,
        broker: BrokerClient,
        clock: Clock,
        held: Mapping[Key, HeldTask],
        *,
        details: Callable[[Key], object],
        lost: Callable[[HeldTask], None],
        cancelled: Callable[[HeldTask], None],
    ) -> None:
        """`details`: the last progress details of a task."""
        self._broker = broker
        self._clock = clock
        self._held = held
        self._details = details
        self._lost = lost
        self._called_off = cancelled
        self._beats: dict[HeldTask, asyncio.Task[None]] = {}
        self._has_changed = asyncio.Event()

    def wake(self) -> None:
        """A heartbeat is due earlier than before."""
        self._has_changed.set()

    async def run(self) -> None:
        """Extend leases until cancelled."""
        try:
            while True:
                self._has_changed.clear()
                pause = self._run_once()
                await self._clock.wait(self._has_changed, pause)
        finally:
            for beat in self._beats.values():
                beat.cancel()
            await asyncio.gather(*self._beats.values(), return_exceptions=True)

    def _run_once(self) -> float:
        """Send the heartbeats that are due; returns the seconds until the next one is."""
        now = self._clock.ticks()
        soonest = now + _SELDOM
        for held in list(self._held.values()):
            if held.over_at <= now and held in self._beats:
                self._beats[held].cancel()
                self._lost(held)
                continue
            if held.beat_at <= now:
                self._begin(held, now)
            soonest = min(soonest, held.beat_at)
            if held in self._beats:
                soonest = min(soonest, held.over_at)
        return soonest - now

    def _begin(self, held: HeldTask, now: float) -> None:
        unanswered = self._beats.get(held)
        if unanswered is not None:
            unanswered.cancel()
        held.asked(now)
        beat = asyncio.get_running_loop().create_task(self._beat(held))
        self._beats[held] = beat
        beat.add_done_callback(lambda ended: self._ended(held, ended))

    def _ended(self, held: HeldTask, beat: asyncio.Task[None]) -> None:
        if self._beats.get(held) is beat:
            del self._beats[held]
        if not beat.cancelled() and (error := beat.exception()) is not None:
            # A bug that concerns one task must not cost the others their leases.
            log.error("heartbeat failed %s", held.log_keys, exc_info=error)
            self._soon(held)

    async def _beat(self, held: HeldTask) -> None:
        try:
            beat = await self._said(held)
        except (Conflict, NotFound):
            self._lost(held)
        except TenutoError as error:
            log.warning("lease not extended %s: %s", held.log_keys, error)
            if held.over_at <= self._clock.ticks():
                self._lost(held)
            else:
                self._soon(held)
        else:
            held.extended(self._clock.ticks())
            if beat.cancelled and not held.is_cancelled:
                held.is_cancelled = True
                self._called_off(held)

    async def _said(self, held: HeldTask) -> Heartbeat:
        task = held.task
        details = details_of(self._details(held.key))
        logs = held.logs if held.beats_with_lines else None
        try:
            beat = await self._broker.heartbeat(task.execution_id, task.lease_token, details, logs)
        except NotTaken as error:
            if logs is not None:
                # A server of a version before does not know them.
                log.warning("heartbeat with lines refused %s: %s", held.log_keys, error)
                held.beats_with_lines = False
                return await self._said(held)
            if details is None:
                raise
            log.warning("heartbeat details refused %s: %s", held.log_keys, error)
            return await self._broker.heartbeat(task.execution_id, task.lease_token)
        if logs is not None:
            held.have_arrived(logs)
        return beat

    def _soon(self, held: HeldTask) -> None:
        held.put_off(self._clock.ticks())
        self.wake()
