"""Says that this process lives, and acts when it, or another, was taken for dead."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from tenuto.engine.recovery import Recovery
from tenuto.ports import Clock, Ids
from tenuto.store.protocol import Fenced, Store

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
        inherited: Callable[[], None],
        let_all_go: Callable[[str], int],
    ) -> None:
        """`inherited`: others left rows as well. `let_all_go`: own nothing, under a new name."""
        self.process_id = ids.short()
        self._store = store
        self._clock = clock
        self._ids = ids
        self._recovery = recovery
        self._inherited = inherited
        self._let_all_go = let_all_go
        self._entering = asyncio.Lock()
        self._is_behind = False
        """Whether a take-over broke off: the dead are buried, and what they began is not done."""

    async def beat(self) -> int:
        """Say that this process lives; returns how many instances it took over from the dead."""
        process_id = self.process_id
        try:
            pulse = await self._store.beat()
        except Fenced:
            await self.fenced(process_id)
            return 0
        if pulse.at is not None:
            self._clock.follow(pulse.at)
        if not (pulse.has_orphans or self._is_behind):
            return 0
        taken_over = await self.take_over()
        self._inherited()
        log.info("took over %d instances of a process that is gone", taken_over)
        return taken_over

    async def take_over(self) -> int:
        """Go on with what others have left; returns how many instances that were."""
        self._is_behind = True
        while True:
            process_id = self.process_id
            try:
                taken_over = await self._recovery.run()
                self._is_behind = False
                return taken_over
            except Fenced:
                # It stood still between its last beat and now.
                await self.fenced(process_id)

    async def fenced(self, process_id: str) -> None:
        """The store has buried `process_id`: what it owned is others', and it goes on as another.

        Its attempts are stopped and their results count for nothing, for the log has them as lost.
        """
        async with self._entering:
            if process_id != self.process_id:
                return  # another lane has seen it too
            new_id = self._ids.short()
            await self._store.enter(new_id, self._clock.now())
            self.process_id = new_id
            lost = self._let_all_go(new_id)
            log.warning(
                "process %s was silent for so long that it was replaced, with %d attempts; "
                "it goes on as %s",
                process_id,
                lost,
                new_id,
            )
