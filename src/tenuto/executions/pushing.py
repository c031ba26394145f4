"""Sends tasks to the addresses that they are pushed to, within what each of them can bear.

What is sent is leased as it is to a worker: a process that dies takes nothing along. Addresses have
their own room, so that one that is slow keeps no other waiting; what they are not sent now stays a
job that nobody has begun.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import get_args

import msgspec

from tenuto.engine.engine import Engine
from tenuto.engine.turns.draft import Draft
from tenuto.executions.desk import ExecutionDesk
from tenuto.executions.push_call import BEAT_EVERY, Call, hold
from tenuto.executions.push_target import (
    BreakerState,
    TargetState,
    allowed,
    breaker_state,
    ended,
    shared,
    taken,
)
from tenuto.executions.push_wire import (
    Outcome,
    Ticket,
    callback_url,
    not_storable,
    request_of,
)
from tenuto.model.durations import epoch_ms
from tenuto.model.errors import (
    Conflict,
    InvalidInput,
    NotFound,
    Overloaded,
    StoreUnavailable,
    TenutoError,
)
from tenuto.model.executions import ClaimedTask, ReleasedTask, TaskReport
from tenuto.model.policy import BAD_WEATHER, DEFAULT_TIMEOUT
from tenuto.model.task_definition import TaskDefinition
from tenuto.ports import Caller
from tenuto.store.parts.tasks import TargetRow, TaskRow

log = logging.getLogger("tenuto.push")

LEASE = timedelta(seconds=15)
_READ_EVERY = 1.0
"""Seconds after which a changed declaration counts everywhere."""
_SOON = 0.2
"""Seconds until an address is looked at again that may have to be sent more."""
_FAREWELL = 3.0
"""Seconds in which a process that stops gives back what was not answered."""
_PATIENCE = 60.0
"""Seconds for which it is tried to tell other processes how an address answered."""
_UNTIL_CALLED = math.inf
_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 0.2
_RANDOM = 1 << 64
_PAGE = 1_000

_decode_task = msgspec.json.Decoder(TaskDefinition).decode
_decode_state = msgspec.json.Decoder(TargetState).decode

Key = tuple[str, str]
"""A tenant, and one of its tasks."""


class _Target:
    """What this process knows of one address."""

    def __init__(self, row: TaskRow, task: TaskDefinition) -> None:
        self.row = row
        self.task = task
        self.due = _UNTIL_CALLED
        """By `ticks`: when to look whether there is something for it."""
        self.under_way: dict[str, asyncio.Task[None]] = {}
        self.reserved = 0
        """Requests that are about to be sent: they take room already."""
        self.reserved_at = 0
        """When all processes were told of them, as it stands there."""
        self.known = TargetState()
        """What all processes knew when this one last looked."""

    @property
    def mine(self) -> int:
        """How much room this process takes."""
        return len(self.under_way) + self.reserved


class PushOffice:
    """One process's share of pushing."""

    def __init__(
        self, engine: Engine, desk: ExecutionDesk, caller: Caller, base: Callable[[], str]
    ) -> None:
        """`base`: where this service is reached by those who report later."""
        self._engine = engine
        self._store = engine.store
        self._clock = engine.clock
        self._desk = desk
        self._caller = caller
        self._base = base
        self._name = f"push-{engine.ids.short()}"
        self._targets: dict[Key, _Target] = {}
        self._sent: set[asyncio.Task[None]] = set()
        self._calls: set[Call] = set()
        """Those that were not answered yet."""
        self._is_finishing = False
        self._read_at = 0.0
        self._ask_at = 0.0
        """When to ask for jobs that other processes have offered, which bring no hint."""
        self.fault: BaseException | None = None
        """What ended pushing, though nobody had."""
        self._called = asyncio.Event()

    async def run(self) -> None:
        """Push until cancelled; what else ends it is its `fault`."""
        deaf = self._engine.listen(self._heard)
        loop = asyncio.get_running_loop()
        loops = [loop.create_task(self._run()), loop.create_task(self._keep())]
        try:
            [dead, *_], _ = await asyncio.wait(loops, return_when=asyncio.FIRST_COMPLETED)
            self.fault = dead.exception()
            log.critical("nothing is pushed any more", exc_info=self.fault)
        finally:
            deaf()
            for each in loops:
                each.cancel()
            await asyncio.gather(*loops, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            try:
                pause = await self.run_once()
            except TenutoError as error:
                log.warning("nothing is pushed: %s", error)
                pause = BAD_WEATHER
            await self._clock.wait(self._called, pause)
            self._called.clear()

    async def run_once(self) -> float:
        """Send what there is to be sent; in how many seconds to look again."""
        now = self._clock.ticks()
        if now >= self._read_at:
            await self._read()
            self._read_at = now + _READ_EVERY
        if now >= self._ask_at:
            await self._ask()
            self._ask_at = now + self._engine.settings.jobs_every
        refused: list[TenutoError] = []
        for key, target in list(self._targets.items()):
            if target.due > now:
                continue
            try:
                await self._serve(key, target)
            except TenutoError as error:
                # Whatever is wrong with one address, the others have their turn.
                target.due = self._clock.ticks() + BAD_WEATHER
                refused.append(error)
        if refused:
            log.warning("%d addresses are sent nothing now: %s", len(refused), refused[0])
        soonest = min((each.due for each in self._targets.values()), default=_UNTIL_CALLED)
        return max(min(soonest, self._read_at, self._ask_at) - self._clock.ticks(), 0.0)

    async def finish(self, seconds: float) -> None:
        """Let requests be answered that are under way; what is not is given back to others."""
        if self._sent:
            await asyncio.wait(self._sent, timeout=seconds)
        self._is_finishing = True
        for call in self._calls:
            call.give_back()
        if self._sent:
            _, left = await asyncio.wait(self._sent, timeout=_FAREWELL)
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
        await self._caller.close()

    def breakers(self) -> dict[str, int]:
        """How many addresses are in which state, as far as this process knows."""
        now = self._now()
        found = Counter(breaker_state(each.known, now) for each in self._targets.values())
        return {state: found[state] for state in get_args(BreakerState)}

    async def state(self, tenant: str, task_id: str) -> TargetState:
        """What all processes know of the address that a task is pushed to."""
        return (await self._known((tenant, task_id)))[0]

    def _heard(self, draft: Draft) -> None:
        for job in draft.jobs_offered:
            target = self._targets.get((job.tenant, job.task_id))
            if target is not None:
                self._call(target)

    def _call(self, target: _Target) -> None:
        target.due = 0.0
        self._called.set()

    async def _read(self) -> None:
        """Who is pushed to, as it is declared now."""
        after, found = ("", ""), dict[Key, TaskRow]()
        while page := await self._store.tasks.pushed(after=after, limit=_PAGE):
            found |= {(row.tenant, row.id): row for row in page}
            after = (page[-1].tenant, page[-1].id)
            if len(page) < _PAGE:
                break
        for key in self._targets.keys() - found.keys():
            del self._targets[key]
        for key, row in found.items():
            target = self._targets.get(key)
            if target is not None and target.row == row:
                continue
            task = _read_task(row)
            if task is None:
                self._targets.pop(key, None)
            elif target is None:
                self._targets[key] = _Target(row, task)
                self._ask_at = 0.0
            else:
                target.row, target.task, target.due = row, task, 0.0

    async def _ask(self) -> None:
        """Have those looked at for which there is something, and those that may answer again."""
        now = self._now()
        wanted = set(await self._store.tasks.pushed_with_jobs())
        for key, target in self._targets.items():
            is_of_interest = key in wanted or breaker_state(target.known, now) != "closed"
            if is_of_interest and target.due == _UNTIL_CALLED:
                target.due = 0.0

    # -- sending

    async def _serve(self, key: Key, target: _Target) -> None:
        tenant, task_id = key
        target.due = _UNTIL_CALLED  # from here on whoever calls is heard
        state, _ = await self._known(key)
        target.known = state
        room = allowed(state, target.task, self._name, target.mine, self._now())
        tasks: list[ClaimedTask] = []
        if room:
            tasks = await self._desk.claim(tenant, self._name, [task_id], most=room, lease=LEASE)
        if tasks:
            await self._send_reserved(key, target, tasks)
        if len(tasks) == room:
            target.due = min(target.due, self._clock.ticks() + _SOON)

    async def _send_reserved(self, key: Key, target: _Target, tasks: list[ClaimedTask]) -> None:
        """Send what there is room for, once all processes know that it is taken.

        Others may have taken some since this one looked: what is left over is put back.
        """
        sent = 0
        try:
            await self._change(key, partial(self._reserved, target, len(tasks)))
            sent = target.reserved
        finally:
            target.reserved = 0
            for task in tasks[:sent]:
                self._send(key, target, task, target.reserved_at)
            await self._desk.put_back(key[0], tasks[sent:])

    def _reserved(self, target: _Target, wanted: int, state: TargetState) -> TargetState:
        now, under_way = self._now(), len(target.under_way)
        count = min(wanted, allowed(state, target.task, self._name, under_way, now))
        target.reserved, target.reserved_at = count, now
        mine = under_way + count
        return taken(state, target.task, self._name, count=count, mine=mine, now=now)

    def _send(self, key: Key, target: _Target, task: ClaimedTask, sent_at: int) -> None:
        sending = asyncio.get_running_loop().create_task(
            self._push(key, target, task, sent_at), name=f"tenuto push {task.task_id}"
        )
        target.under_way[task.execution_id] = sending
        self._sent.add(sending)
        sending.add_done_callback(partial(self._over, target, task.execution_id))

    def _over(self, target: _Target, execution_id: str, sending: asyncio.Task[None]) -> None:
        target.under_way.pop(execution_id, None)
        self._sent.discard(sending)
        if not sending.cancelled() and (error := sending.exception()) is not None:
            log.warning("a task of %s comes back when its lease is over: %s", target.task.id, error)
        self._call(target)

    async def _push(self, key: Key, target: _Target, task: ClaimedTask, sent_at: int) -> None:
        declared = target.task
        ticket = Ticket(key[0], task.execution_id, task.lease_token)
        call = Call(
            ticket,
            asyncio.ensure_future(
                self._caller.call(
                    declared.url or "",
                    _headers(task),
                    request_of(task, callback_url(self._base(), ticket)),
                    seconds=task.timeout or DEFAULT_TIMEOUT.total_seconds(),
                    most=self._engine.settings.limits.output_bytes * 2,
                )
            ),
        )
        self._calls.add(call)
        if self._is_finishing:
            call.give_back()
        holding = asyncio.ensure_future(hold(self._desk, self._clock, ticket, call))
        try:
            outcome = await call.outcome()
            self._calls.discard(call)
            # The lease is held until the end is known, so that nobody pushes it a second time.
            try:
                await self._in_any_weather(partial(self._tell, ticket, outcome), holding)
            except TenutoError as error:
                log.warning("a task of %s comes back later: %s", task.task_id, error)
        finally:
            self._calls.discard(call)
            holding.cancel()
        target.under_way.pop(task.execution_id, None)
        count = partial(self._counted, target, declared, sent_at=sent_at, is_well=outcome.is_well)
        await self._in_any_weather(partial(self._change, key, count))

    async def _in_any_weather(
        self, action: Callable[[], Awaitable[None]], holding: asyncio.Future[None] | None = None
    ) -> None:
        """Do what has to be done once the address has answered, while that counts."""
        until = self._clock.ticks() + _PATIENCE
        while True:
            try:
                await action()
            except (StoreUnavailable, Overloaded) as error:
                is_in_vain = self._clock.ticks() > until if holding is None else holding.done()
                if is_in_vain:
                    raise
                log.warning("an answer is not recorded yet: %s", error)
                await self._clock.sleep(BAD_WEATHER)
            else:
                return

    async def _tell(self, ticket: Ticket, outcome: Outcome) -> None:
        if outcome.report is None:
            if outcome.is_well:
                with suppress(Conflict, NotFound):
                    await self._desk.hand_over(*ticket)
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
            [reported] = await self._desk.release(ticket.tenant, [report])
        else:
            [reported] = await self._desk.report(ticket.tenant, [report])
        return reported.error

    def _counted(
        self,
        target: _Target,
        declared: TaskDefinition,
        state: TargetState,
        *,
        sent_at: int,
        is_well: bool | None,
    ) -> TargetState:
        state = ended(state, declared, sent_at=sent_at, is_well=is_well, now=self._now())
        return self._said(target, state)

    # -- what all know

    async def _keep(self) -> None:
        """Say how much waits for an answer."""
        while True:
            await self._clock.sleep(BEAT_EVERY)
            for key, target in list(self._targets.items()):
                if not target.under_way:
                    continue
                try:
                    await self._change(key, partial(self._said, target))
                except TenutoError as error:
                    log.warning("what is pushed to %s is not told: %s", target.task.id, error)

    def _said(self, target: _Target, state: TargetState) -> TargetState:
        return shared(state, self._name, target.mine, self._now())

    def _now(self) -> int:
        return epoch_ms(self._clock.now())

    async def _known(self, key: Key) -> tuple[TargetState, int]:
        row = await self._store.tasks.target(*key)
        if row is None:
            return TargetState(), 0
        try:
            return _decode_state(row.state), row.version
        except msgspec.MsgspecError as error:
            message = f"what is known of the address of {key[1]} cannot be read: {error}"
            raise TenutoError(message) from error

    async def _change(self, key: Key, change: Callable[[TargetState], TargetState]) -> None:
        """Change what all processes know; whoever was first is read, and it is changed again."""
        tried = 0
        while key in self._targets:
            state, version = await self._known(key)
            new = change(state)
            if new == state:
                return
            row = TargetRow(version + 1, msgspec.json.encode(new))
            if await self._store.tasks.put_target(*key, row):
                return
            tried += 1
            await self._clock.sleep(self._pause(tried))

    def _pause(self, tried: int) -> float:
        """Longer each time, and by chance: those who met do not meet again."""
        most = min(_FIRST_PAUSE * 2.0 ** min(tried, 16), _LONGEST_PAUSE)
        return most * (0.5 + int(self._engine.ids.short(), 16) / _RANDOM / 2)


def _read_task(row: TaskRow) -> TaskDefinition | None:
    try:
        return _decode_task(row.document)
    except msgspec.MsgspecError as error:
        # A newer program may have written it, and pushes it.
        log.warning("the task %s is not pushed from here: %s", row.id, error)
        return None


def _headers(task: ClaimedTask) -> dict[str, str]:
    headers = {"content-type": "application/json", "idempotency-key": task.idempotency_key}
    if task.context.traceparent is not None:
        headers["traceparent"] = task.context.traceparent
    return headers
