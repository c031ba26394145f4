"""The membership part of an engine: heartbeats, fencing, takeover and catching up.

The store is authoritative. A process sends heartbeats under its process id; one that misses them
for too long is declared dead, and its instances are taken over by the others. If it was only
slow, its next write or heartbeat is fenced: it drops everything, and continues under a new id.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from tenuto.engine.effects.effects import Effects
from tenuto.engine.events.events import Events
from tenuto.engine.membership.takeover import Takeover
from tenuto.engine.shared import Shared
from tenuto.engine.turns.turns import Turns
from tenuto.store.errors import Fenced
from tenuto.store.parts.members import Pulse

log = logging.getLogger("tenuto.engine")

_HINTED_BEATS = 0.5
"""Seconds between heartbeats that hints cause: mailbox messages come with hints too."""
_SLICES = 0.02
"""Seconds between slices of the instances of dead processes."""
_SOONER = 3
"""By how much the next heartbeat comes sooner after one that did not reach the store."""


class Membership:
    """The process id under which this process owns instances, until the store declares it dead."""

    def __init__(
        self,
        shared: Shared,
        turns: Turns,
        events: Events,
        effects: Effects,
        *,
        refresh: Callable[[Pulse], Awaitable[None]],
    ) -> None:
        """`refresh` takes each heartbeat, with the marks of what any process has changed."""
        self.process_id = shared.ids.short()
        turns.enter(self.process_id)
        self._shared = shared
        self._turns = turns
        self._effects = effects
        self._refresh = refresh
        self._takeover = Takeover(
            store=shared.store,
            router=events.router,
            look_back=events.past,
            report=turns.report,
            has_room=lambda: not effects.unreadable.is_full,
            waiting=turns.promised,
            batch=shared.settings.bounds.recovery_batch,
        )
        self._entering = asyncio.Lock()
        self.is_catching_up = False
        """Whether events are still matched, and waits look back, that dead processes left."""
        self._unfinished = asyncio.Event()
        self._is_up_to_date = asyncio.Event()
        self._is_started = self._is_leaving = False
        self._stops = 0
        """What the store said last of the processes that have stopped."""
        self._looks = 0
        """How often unfinished work was looked for."""
        self._claimed = asyncio.Event()
        """Set when instances of dead processes were claimed that may not be taken up yet."""
        self._has_orphans = asyncio.Event()
        """Set when a process is dead, and its instances are not taken over yet."""
        self.heartbeat_hint = asyncio.Event()
        self._hinted_at = 0.0

    # -- loops

    def start_heartbeat(self) -> None:
        every = self._shared.store.beat_every.total_seconds()
        self._shared.loops.tick(
            "heartbeat", every, self.beat, hint=self.heartbeat_hint, again=every / _SOONER
        )

    async def start(self) -> int:
        """Take over the instances of dead processes; returns how many those were."""
        taken_over = await self.take_over()
        self._shared.loops.run("recovery", self._take_up, hint=self._claimed)
        self._shared.loops.run("catching up", self._catch_up, hint=self._unfinished)
        self._is_started = True
        return taken_over

    async def start_takeover(self) -> None:
        """Take over from processes that die from now on; beside the heartbeat, however long."""
        await self._shared.store.members.listen(self._hinted)
        self._shared.loops.run("takeover", self._inherit, hint=self._has_orphans, first=None)

    def _hinted(self) -> None:
        """Another process has left mailbox messages, or has stopped."""
        self._effects.mail_hint()
        self._effects.freed_elsewhere()
        if self._shared.clock.ticks() - self._hinted_at > _HINTED_BEATS:
            self._hinted_at = self._shared.clock.ticks()
            self.heartbeat_hint.set()

    # -- heartbeats

    async def beat(self) -> None:
        """Send a heartbeat, and learn from the answer whether another process is dead."""
        process_id = self.process_id
        try:
            heartbeat = await self._shared.store.members.beat()
        except Fenced:
            await self.fenced(process_id)
            return
        if heartbeat.at is not None:
            self._shared.clock.follow(heartbeat.at)
        if heartbeat.has_orphans:
            self._has_orphans.set()
        if self._is_started and heartbeat.stops != self._stops:
            # It may have left events that were being matched, and no instances to take over.
            self._stops = heartbeat.stops
            self.look_for_unfinished()
        await self._refresh(heartbeat)

    async def fenced(self, process_id: str) -> None:
        """The store has declared `process_id` dead: drop its instances, continue under a new id.

        Its attempts are stopped and their results do not count, for the log has them as lost.
        """
        async with self._entering:
            if process_id != self.process_id:
                return  # another lane has seen it too
            new_id = self._shared.ids.short()
            await self._shared.store.members.enter(new_id, self._shared.clock.now())
            self.process_id = new_id
            self._turns.let_all_go(new_id)
            self._takeover.let_all_go()
            lost = self._effects.let_all_go()
            log.warning(
                "process %s was silent for so long that it was replaced, with %d attempts; "
                "it goes on as %s",
                process_id,
                lost,
                new_id,
            )

    # -- takeover

    async def take_over(self) -> int:
        """Take over the instances of dead processes; returns how many those were."""
        while True:
            process_id = self.process_id
            self._has_orphans.clear()
            try:
                # What a process died of must not be decided on here like anything else.
                await self._turns.quarantine.look()
                taken_over = await self._takeover.take_over()
            except Fenced:
                # It was presumed dead between its last heartbeat and now.
                await self.fenced(process_id)
            else:
                if taken_over:
                    self._turns.take_small_turns()
                self.look_for_unfinished()
                return taken_over
            finally:
                # Also where the store failed midway: no other process takes up what was claimed.
                self._claimed.set()

    async def _take_up(self) -> float | None:
        if not self._takeover.take_up():
            return None
        self._turns.take_small_turns()
        return _SLICES

    async def _inherit(self) -> None:
        taken_over = await self.take_over()
        self._effects.inherited()
        if taken_over:
            log.info("took over %d instances of a process that is gone", taken_over)

    # -- catching up

    def look_for_unfinished(self) -> None:
        """Look for events not matched, and waits that did not look back, of dead processes."""
        if self._is_leaving:
            return
        self._looks += 1
        self._is_up_to_date.clear()
        self.is_catching_up = True
        self._unfinished.set()

    def leave_unfinished(self) -> None:
        """Leave what dead processes left to others, since this one stops."""
        self._is_leaving = True
        self._is_up_to_date.set()

    async def caught_up(self) -> None:
        """Wait until the events and waits of dead processes are done."""
        if self.is_catching_up:
            await self._is_up_to_date.wait()

    async def _catch_up(self) -> float | None:
        """Finish events and waits of dead processes, while this process is at work already."""
        if not self.is_catching_up:
            return None
        process_id, looks = self.process_id, self._looks
        try:
            await self._takeover.finish()
        except Fenced:
            await self.fenced(process_id)
            return 0.0
        if looks != self._looks:
            return 0.0
        self.is_catching_up = False
        self._is_up_to_date.set()
        return None
