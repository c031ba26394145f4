"""One request to an address, and the lease that is held while it is not answered."""

from __future__ import annotations

import asyncio
import logging

from tenuto.executions.broker import TaskBroker
from tenuto.executions.push_wire import Outcome, Ticket, cancelled_outcome, given_back, outcome_of
from tenuto.model.errors import Conflict, NotFound, TenutoError
from tenuto.ports import Clock, Page

log = logging.getLogger("tenuto.push")

BEAT_EVERY = 5.0


class Call:
    """A request under way, which may be ended before it is answered."""

    def __init__(self, ticket: Ticket, calling: asyncio.Future[Page]) -> None:
        self._ticket = ticket
        self._calling = calling
        self._ended_as: Outcome | None = None

    def cancel(self) -> None:
        """The instance wants no more of it: the address sees that nobody listens."""
        self._end(cancelled_outcome(self._ticket))

    def give_back(self) -> None:
        """This process stops: others push it again."""
        self._end(given_back(self._ticket))

    def let_go(self) -> None:
        """Whatever is answered now does not count."""
        self._end(Outcome(None, is_well=None))

    def _end(self, outcome: Outcome) -> None:
        # Why it was ended first is why: it takes a moment to be over.
        if not self._calling.done() and self._ended_as is None:
            self._ended_as = outcome
            self._calling.cancel()

    async def outcome(self) -> Outcome:
        """What comes of it."""
        try:
            return outcome_of(await self._calling, self._ticket)
        except asyncio.CancelledError:
            if self._ended_as is None:
                raise
            return self._ended_as


async def hold(broker: TaskBroker, clock: Clock, ticket: Ticket, call: Call) -> None:
    """Say that it is being worked on; ends when that is over for others."""
    while True:
        await clock.sleep(BEAT_EVERY)
        try:
            beat = await broker.heartbeat(*ticket)
        except (Conflict, NotFound):
            call.let_go()
            return
        except TenutoError as error:
            log.warning("a lease was not extended: %s", error)
        else:
            if beat.cancelled:
                call.cancel()
