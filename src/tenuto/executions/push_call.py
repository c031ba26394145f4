"""One request to an address, and the lease that is held while it is not answered."""

from __future__ import annotations

import asyncio
import logging

from tenuto.executions.desk import ExecutionDesk
from tenuto.executions.push_wire import Outcome, Ticket, called_off, outcome_of
from tenuto.model.errors import Conflict, NotFound, TenutoError
from tenuto.ports import Clock, Page

log = logging.getLogger("tenuto.push")

BEAT_EVERY = 5.0


class Call:
    """A request under way, which may be called off."""

    def __init__(self, calling: asyncio.Future[Page]) -> None:
        self._calling = calling
        self._is_called_off = False

    def call_off(self) -> None:
        """The instance wants no more of it: the address sees that nobody listens."""
        if not self._calling.done():
            self._is_called_off = True
            self._calling.cancel()

    def let_go(self) -> None:
        """Whatever is answered now does not count."""
        self._calling.cancel()

    async def outcome(self, ticket: Ticket) -> Outcome:
        """What comes of it."""
        try:
            return outcome_of(await self._calling, ticket)
        except asyncio.CancelledError:
            if self._is_called_off:
                return called_off(ticket)
            raise


async def hold(desk: ExecutionDesk, clock: Clock, ticket: Ticket, call: Call) -> None:
    """Say that it is being worked on; ends when that is over for others."""
    while True:
        await clock.sleep(BEAT_EVERY)
        try:
            beat = await desk.heartbeat(*ticket)
        except (Conflict, NotFound):
            call.let_go()
            return
        except TenutoError as error:
            log.warning("a lease was not extended: %s", error)
        else:
            if beat.cancelled:
                call.call_off()
