"""One request to a push address, from sending it until its outcome is recorded.

The lease is extended while the address has not answered, and until the outcome is recorded, so that
no other process pushes the task a second time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from tenuto.engine.outbox.signatures import signed_headers
from tenuto.executions.broker import TaskBroker
from tenuto.executions.push_wire import (
    Outcome,
    Ticket,
    callback_url,
    cancelled_outcome,
    given_back,
    not_storable,
    outcome_of,
    request_of,
)
from tenuto.model.errors import (
    Conflict,
    InvalidInput,
    NotFound,
    Overloaded,
    StoreUnavailable,
    TenutoError,
)
from tenuto.model.executions import ClaimedTask, ReleasedTask, TaskReport
from tenuto.model.policy import DEFAULT_TIMEOUT, OUTAGE_RETRY_SECONDS
from tenuto.model.task_definition import TaskDefinition
from tenuto.ports import Caller, Clock, Page

log = logging.getLogger("tenuto.push")

HEARTBEAT_EVERY = 5.0
"""Seconds between heartbeats of a lease, and of a process's share of an address."""
_PATIENCE = 60.0
"""Seconds for which a write is repeated that no lease bounds."""


class PendingRequest:
    """A request that is not answered yet, and may be ended before it is."""

    def __init__(self, ticket: Ticket, calling: asyncio.Future[Page]) -> None:
        self._ticket = ticket
        self._calling = calling
        self._ended_as: Outcome | None = None

    def cancel(self) -> None:
        """The instance has cancelled the task: the address sees the connection closed."""
        self._end(cancelled_outcome(self._ticket))

    def give_back(self) -> None:
        """This process stops: another one pushes the task again."""
        self._end(given_back(self._ticket))

    def drop(self) -> None:
        """The lease is over: no answer counts any more."""
        self._end(Outcome(None, is_well=None))

    def _end(self, outcome: Outcome) -> None:
        # The first reason counts: ending takes a moment.
        if not self._calling.done() and self._ended_as is None:
            self._ended_as = outcome
            self._calling.cancel()

    async def outcome(self) -> Outcome:
        """The outcome of the answer, or of the reason why it was ended."""
        try:
            return outcome_of(await self._calling, self._ticket)
        except asyncio.CancelledError:
            if self._ended_as is None:
                raise
            return self._ended_as


class PushSender:
    """Sends requests and records their outcomes."""

    def __init__(
        self,
        broker: TaskBroker,
        clock: Clock,
        caller: Caller,
        base: Callable[[], str],
        most_bytes: int,
    ) -> None:
        """`base` is the URL for callbacks; an answer has at most `most_bytes`."""
        self._broker = broker
        self._clock = clock
        self._caller = caller
        self._base = base
        self._most_bytes = most_bytes
        self._pending: set[PendingRequest] = set()
        self._is_finishing = False

    async def send(self, tenant: str, task: ClaimedTask, declared: TaskDefinition) -> Outcome:
        """Post a task to its address, signed, and record the outcome under its lease."""
        ticket = Ticket(tenant, task.execution_id, task.lease_token)
        body = request_of(task, callback_url(self._base(), ticket))
        headers = _headers(task)
        if declared.secret is not None:
            signed = signed_headers(declared.secret, task.execution_id, self._clock.now(), body)
            headers.update(signed)
        calling = self._caller.call(
            declared.url or "",
            headers,
            body,
            tenant=tenant,
            seconds=task.timeout or DEFAULT_TIMEOUT.total_seconds(),
            most=self._most_bytes,
        )
        began = self._clock.ticks()
        request = PendingRequest(ticket, asyncio.ensure_future(calling))
        self._pending.add(request)
        if self._is_finishing:
            request.give_back()
        heartbeats = asyncio.ensure_future(self._heartbeats(ticket, request))
        try:
            outcome = _timed(await request.outcome(), self._clock.ticks() - began)
            self._pending.discard(request)
            try:
                await self.retried(partial(self._record, ticket, outcome), heartbeats)
            except TenutoError as error:
                log.warning(
                    "push: outcome not recorded, the lease lapses task=%s instance=%s: %s",
                    task.task_id,
                    task.instance_id,
                    error,
                )
        finally:
            self._pending.discard(request)
            heartbeats.cancel()
        return outcome

    def give_back_all(self) -> None:
        """The process stops: give back every task that is not answered, also those to come."""
        self._is_finishing = True
        for request in self._pending:
            request.give_back()

    async def close(self) -> None:
        await self._caller.close()

    async def retried(
        self, write: Callable[[], Awaitable[None]], lease: asyncio.Future[None] | None = None
    ) -> None:
        """Repeat a write while the store is away: as long as the lease holds, else for a minute."""
        until = self._clock.ticks() + _PATIENCE
        while True:
            try:
                await write()
            except (StoreUnavailable, Overloaded) as error:
                is_over = self._clock.ticks() > until if lease is None else lease.done()
                if is_over:
                    raise
                log.warning("push: outcome not recorded yet: %s", error)
                await self._clock.sleep(OUTAGE_RETRY_SECONDS)
            else:
                return

    async def _record(self, ticket: Ticket, outcome: Outcome) -> None:
        if outcome.report is None:
            if outcome.is_well:
                with suppress(Conflict, NotFound):
                    await self._broker.hand_over(*ticket)
            return
        error = await self._reported(ticket, outcome.report)
        if isinstance(error, InvalidInput):
            error = await self._reported(ticket, not_storable(ticket, error))
        if error is not None and not isinstance(error, Conflict | NotFound):
            raise error

    async def _reported(
        self, ticket: Ticket, report: TaskReport | ReleasedTask
    ) -> TenutoError | None:
        if isinstance(report, ReleasedTask):
            [reported] = await self._broker.release(ticket.tenant, [report])
        else:
            [reported] = await self._broker.report(ticket.tenant, [report])
        return reported.error

    async def _heartbeats(self, ticket: Ticket, request: PendingRequest) -> None:
        """Extend the lease; returns when it is over."""
        while True:
            await self._clock.sleep(HEARTBEAT_EVERY)
            try:
                beat = await self._broker.heartbeat(*ticket)
            except (Conflict, NotFound):
                request.drop()
                return
            except TenutoError as error:
                log.warning("push: lease not extended execution=%s: %s", ticket.execution_id, error)
            else:
                if beat.cancelled:
                    request.cancel()


def _timed(outcome: Outcome, seconds: float) -> Outcome:
    """The outcome with how long the request took, where the answer does not say better."""
    report = outcome.report
    if not isinstance(report, TaskReport) or report.execution_time is not None:
        return outcome
    return outcome._replace(report=replace(report, execution_time=seconds * 1000))


def _headers(task: ClaimedTask) -> dict[str, str]:
    headers = {"content-type": "application/json", "idempotency-key": task.idempotency_key}
    if task.context.traceparent is not None:
        headers["traceparent"] = task.context.traceparent
    return headers
