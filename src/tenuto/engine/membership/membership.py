"""Says that this process lives, and acts when it, or another, was taken for dead."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from tenuto.engine.membership.takeover import Recovery
from tenuto.engine.outage import Outage
from tenuto.model.errors import StoreUnavailable
from tenuto.model.policy import BAD_WEATHER
from tenuto.ports import Clock, Ids
from tenuto.store.errors import Fenced
from tenuto.store.parts.tasks import TasksMark
from tenuto.store.protocol import Store

log = logging.getLogger("tenuto.engine")


class Heart:
    """The name under which this process owns instances, for as long as the others believe it."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        ids: Ids,
        recovery: Recovery,
        outage: Outage,
        inherited: Callable[[], None],
        tasks_are: Callable[[TasksMark | None], Awaitable[None]],
        let_all_go: Callable[[str], int],
    ) -> None:
        """`inherited`: others left rows as well. `let_all_go`: own nothing, under a new name.

        `tasks_are` hears with each beat whether tasks were declared elsewhere.
        """
        self.process_id = ids.short()
        self._store = store
        self._clock = clock
        self._ids = ids
        self._recovery = recovery
        self._outage = outage
        self._inherited = inherited
        self._tasks_are = tasks_are
        self._let_all_go = let_all_go
        self._entering = asyncio.Lock()
        self._is_behind = asyncio.Event()
        """Set while there may be events and waits that others began to bring together."""
        self._is_up_to_date = asyncio.Event()
        self._taken_over = 0
        self._has_orphans = asyncio.Event()
        """Set when somebody is gone, until what was left is all taken over: also when taking over
        broke off, for then the dead are buried and what they began is not done."""

    async def beat(self) -> None:
        """Say that this process lives; whoever inherits hears when another does not."""
        process_id = self.process_id
        try:
            pulse = await self._store.members.beat()
        except Fenced:
            await self.fenced(process_id)
            return
        if pulse.at is not None:
            self._clock.follow(pulse.at)
        if pulse.has_orphans:
            self._has_orphans.set()
        await self._tasks_are(pulse.tasks)

    async def inherit(self) -> None:
        """Whenever somebody is gone, go on with what was left; a loop beside the beats.

        However much it is, the others go on hearing that this process lives.
        """
        while True:
            await self._has_orphans.wait()
            try:
                taken_over = await self.take_over()
            except StoreUnavailable as error:
                self._outage.noticed("taking over", error)
                await self._clock.sleep(BAD_WEATHER)
                continue
            self._outage.worked("taking over")
            self._inherited()
            if taken_over:
                log.info("took over %d instances of a process that is gone", taken_over)

    async def take_over(self) -> int:
        """Go on with what others have left; returns how many instances that were."""
        while True:
            process_id = self.process_id
            self._has_orphans.clear()
            try:
                taken_over = await self._recovery.take_over()
            except StoreUnavailable:
                self._has_orphans.set()
                raise
            except Fenced:
                # It stood still between its last beat and now.
                await self.fenced(process_id)
            else:
                self.look_for_unfinished()
                return taken_over

    @property
    def is_catching_up(self) -> bool:
        """Whether events and waits that others left are still being brought together."""
        return self._is_behind.is_set()

    def look_for_unfinished(self) -> None:
        """Others may have stored events, or opened waits, and not lived to look for each other."""
        self._taken_over += 1
        self._is_up_to_date.clear()
        self._is_behind.set()

    async def caught_up(self) -> None:
        """Wait until what others left of events and waits is done."""
        if self._is_behind.is_set():
            await self._is_up_to_date.wait()

    async def catch_up(self) -> None:
        """Finish what others began with events and waits; a loop that holds up nobody.

        Thousands of events are matched while the process is at work already: those who wait for
        them would have had to wait anyway, the others need not.
        """
        while True:
            await self._is_behind.wait()
            process_id, taken_over = self.process_id, self._taken_over
            try:
                await self._recovery.finish()
            except StoreUnavailable as error:
                self._outage.noticed("catching up", error)
                await self._clock.sleep(BAD_WEATHER)
            except Fenced:
                await self.fenced(process_id)
            else:
                self._outage.worked("catching up")
                if taken_over == self._taken_over:
                    self._is_behind.clear()
                    self._is_up_to_date.set()

    async def fenced(self, process_id: str) -> None:
        """The store has buried `process_id`: what it owned is others', and it goes on as another.

        Its attempts are stopped and their results count for nothing, for the log has them as lost.
        """
        async with self._entering:
            if process_id != self.process_id:
                return  # another lane has seen it too
            new_id = self._ids.short()
            await self._store.members.enter(new_id, self._clock.now())
            self.process_id = new_id
            lost = self._let_all_go(new_id)
            log.warning(
                "process %s was silent for so long that it was replaced, with %d attempts; "
                "it goes on as %s",
                process_id,
                lost,
                new_id,
            )
