"""Pushes tasks to their addresses, within the limits of each address.

A pushed task is leased like one that a worker claims: a process that dies loses nothing. Each
address has limits of its own, so that a slow one delays no other; tasks beyond its limits stay jobs
that have not begun.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import get_args

import msgspec

from tenuto.engine.engine import Engine
from tenuto.engine.loops import Loops
from tenuto.engine.outage import Outage
from tenuto.engine.turns.draft import Draft
from tenuto.executions.broker import TaskBroker
from tenuto.executions.push_request import HEARTBEAT_EVERY, PushSender
from tenuto.model.durations import epoch_ms
from tenuto.model.errors import TenutoError
from tenuto.model.executions import ClaimedTask
from tenuto.model.policy import OUTAGE_RETRY_SECONDS
from tenuto.model.task_definition import TaskDefinition
from tenuto.ports import Caller
from tenuto.store.parts.tasks import TaskRow
from tenuto.targets.state import (
    BreakerState,
    TargetState,
    allowed,
    breaker_state,
    ended,
    shared,
    taken,
)
from tenuto.targets.states import TargetKey, TargetStates

log = logging.getLogger("tenuto.push")

LEASE = timedelta(seconds=15)
_READ_EVERY = 1.0
"""Seconds after which a changed declaration is in effect in every process."""
_SOON = 0.2
"""Seconds until an address is served again that may have more tasks."""
_RELEASE_SECONDS = 3.0
"""Seconds in which a process that stops gives back unanswered tasks."""
_MOST_AT_ONCE = 100
"""Tasks that are claimed together."""
_UNTIL_CALLED = math.inf
_PAGE = 1_000

_decode_task = msgspec.json.Decoder(TaskDefinition).decode


class _Target:
    """What this process knows of one address."""

    def __init__(self, row: TaskRow, task: TaskDefinition) -> None:
        self.row = row
        self.task = task
        self.due = _UNTIL_CALLED
        """By `ticks`: when to serve it."""
        self.under_way: dict[str, asyncio.Task[None]] = {}
        self.reserved = 0
        """Requests that are about to be sent: they count already."""
        self.reserved_at = 0
        """When they were reserved in the shared state."""
        self.known = TargetState()
        """The shared state, as this process last read it."""

    @property
    def mine(self) -> int:
        """Requests of this process that count towards the address's limits."""
        return len(self.under_way) + self.reserved


class PushDispatcher:
    """Pushes the tasks of one process."""

    def __init__(
        self, engine: Engine, broker: TaskBroker, caller: Caller, base: Callable[[], str]
    ) -> None:
        """`base`: the URL of this service, for callbacks."""
        self._engine = engine
        self._store = engine.store
        self._clock = engine.clock
        self._broker = broker
        self._states = TargetStates(engine.store, engine.clock, engine.ids)
        most_bytes = engine.settings.limits.output_bytes * 2
        self._sender = PushSender(broker, engine.clock, caller, base, most_bytes)
        self._name = f"push-{engine.ids.short()}"
        self._targets: dict[TargetKey, _Target] = {}
        self._sent: set[asyncio.Task[None]] = set()
        self._read_at = 0.0
        self._poll_at = 0.0
        """When to look for jobs of other processes, which bring no hint."""
        self.fault: BaseException | None = None
        """The exception that ended a loop."""
        self._died = asyncio.Event()
        self._called = asyncio.Event()

    async def run(self) -> None:
        """Push until cancelled; an exception that ends it is its `fault`."""
        stop_listening = self._engine.listen(self._heard)
        effects = self._engine.effects
        effects.task_freed.append(self._freed)
        effects.tasks_freed.append(self._look_at_limited)
        loops = Loops(self._clock, Outage(self._clock), self._loop_died)
        loops.start("push", self._run())
        loops.start("push heartbeats", self._heartbeats())
        try:
            await self._died.wait()
        finally:
            stop_listening()
            effects.task_freed.remove(self._freed)
            effects.tasks_freed.remove(self._look_at_limited)
            await loops.stop()

    def _loop_died(self, _: str, error: BaseException) -> None:
        self.fault = error
        self._died.set()

    async def _run(self) -> None:
        while True:
            try:
                pause = await self.run_once()
            except TenutoError as error:
                log.warning("push: nothing sent: %s", error)
                pause = OUTAGE_RETRY_SECONDS
            await self._clock.wait(self._called, pause)
            self._called.clear()

    async def run_once(self) -> float:
        """Serve the addresses that are due; returns the seconds until the next one is."""
        now = self._clock.ticks()
        if now >= self._read_at:
            await self._read_declarations()
            self._read_at = now + _READ_EVERY
        if now >= self._poll_at:
            await self._poll()
            self._poll_at = now + self._engine.settings.jobs_every
        refused: list[TenutoError] = []
        for key, target in list(self._targets.items()):
            if target.due > now:
                continue
            try:
                await self._serve(key, target)
            except TenutoError as error:
                # A problem with one address delays no other.
                target.due = self._clock.ticks() + OUTAGE_RETRY_SECONDS
                refused.append(error)
        if refused:
            log.warning("push: %d addresses not served: %s", len(refused), refused[0])
        soonest = min((each.due for each in self._targets.values()), default=_UNTIL_CALLED)
        return max(min(soonest, self._read_at, self._poll_at) - self._clock.ticks(), 0.0)

    async def finish(self, seconds: float) -> None:
        """Wait for requests that are under way; unanswered tasks are given back after that."""
        if self._sent:
            await asyncio.wait(self._sent, timeout=seconds)
        self._sender.give_back_all()
        if self._sent:
            _, left = await asyncio.wait(self._sent, timeout=_RELEASE_SECONDS)
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
        await self._sender.close()

    def breakers(self) -> dict[str, int]:
        """The number of addresses in each breaker state, as far as this process knows."""
        now = self._now()
        found = Counter(breaker_state(each.known, now) for each in self._targets.values())
        return {state: found[state] for state in get_args(BreakerState)}

    def open_breakers(self, tenant: str) -> dict[str, TargetState]:
        """The tasks of a tenant that are not pushed now, by id, as far as this process knows."""
        now = self._now()
        return {
            task_id: target.known
            for (owner, task_id), target in self._targets.items()
            if owner == tenant and breaker_state(target.known, now) != "closed"
        }

    async def state(self, tenant: str, task_id: str) -> TargetState:
        """The shared state of the address that a task is pushed to."""
        return await self._states.read((tenant, task_id))

    def _heard(self, draft: Draft) -> None:
        for job in draft.jobs_offered:
            target = self._targets.get((job.tenant, job.task_id))
            if target is not None:
                self._call(target)

    def _freed(self, tenant: str, task_id: str) -> None:
        """Another attempt of a task with limits may begin."""
        target = self._targets.get((tenant, task_id))
        if target is not None:
            self._call(target)

    def _look_at_limited(self) -> None:
        for target in self._targets.values():
            if target.task.limits:
                self._call(target)

    def _call(self, target: _Target) -> None:
        target.due = 0.0
        self._called.set()

    async def _read_declarations(self) -> None:
        """Read the pushed tasks as they are declared now."""
        after, found = ("", ""), dict[TargetKey, TaskRow]()
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
                self._poll_at = 0.0
            else:
                target.row, target.task, target.due = row, task, 0.0

    async def _poll(self) -> None:
        """Serve addresses that have jobs, and those whose breaker may close again."""
        now = self._now()
        wanted = set(await self._store.jobs.tasks_to_push())
        for key, target in self._targets.items():
            is_of_interest = key in wanted or breaker_state(target.known, now) != "closed"
            if is_of_interest and target.due == _UNTIL_CALLED:
                target.due = 0.0

    # -- sending

    async def _serve(self, key: TargetKey, target: _Target) -> None:
        tenant, task_id = key
        target.due = _UNTIL_CALLED  # A hint from here on makes it due again.
        target.known = state = await self._states.read(key)
        room = allowed(state, target.task, self._name, target.mine, self._now())
        room = min(room, _MOST_AT_ONCE)
        tasks: list[ClaimedTask] = []
        if room:
            tasks = await self._broker.claim(tenant, self._name, [task_id], most=room, lease=LEASE)
        if tasks:
            await self._send_reserved(key, target, tasks)
        if len(tasks) == room:
            target.due = min(target.due, self._clock.ticks() + _SOON)

    async def _send_reserved(
        self, key: TargetKey, target: _Target, tasks: list[ClaimedTask]
    ) -> None:
        """Reserve requests in the shared state, and send as many tasks as were reserved.

        Other processes may have reserved some since the claim: the tasks left over are put back.
        """
        sent = 0
        try:
            await self._change(key, partial(self._reserved, target, len(tasks)))
            sent = target.reserved
        finally:
            target.reserved = 0
            for task in tasks[:sent]:
                self._send(key, target, task, target.reserved_at)
            await self._broker.put_back(key[0], tasks[sent:])

    def _reserved(self, target: _Target, wanted: int, state: TargetState) -> TargetState:
        now, under_way = self._now(), len(target.under_way)
        count = min(wanted, allowed(state, target.task, self._name, under_way, now))
        target.reserved, target.reserved_at = count, now
        mine = under_way + count
        return taken(state, target.task, self._name, count=count, mine=mine, now=now)

    def _send(self, key: TargetKey, target: _Target, task: ClaimedTask, sent_at: int) -> None:
        sending = asyncio.get_running_loop().create_task(
            self._push(key, target, task, sent_at), name=f"tenuto push {task.task_id}"
        )
        target.under_way[task.execution_id] = sending
        self._sent.add(sending)
        sending.add_done_callback(partial(self._sending_ended, target, task.execution_id))

    def _sending_ended(
        self, target: _Target, execution_id: str, sending: asyncio.Task[None]
    ) -> None:
        target.under_way.pop(execution_id, None)
        self._sent.discard(sending)
        if not sending.cancelled() and (error := sending.exception()) is not None:
            log.warning(
                "push: request failed, the lease lapses task=%s execution=%s: %s",
                target.task.id,
                execution_id,
                error,
            )
        self._call(target)

    async def _push(self, key: TargetKey, target: _Target, task: ClaimedTask, sent_at: int) -> None:
        declared = target.task
        outcome = await self._sender.send(key[0], task, declared)
        target.under_way.pop(task.execution_id, None)
        count = partial(self._counted, target, declared, sent_at=sent_at, is_well=outcome.is_well)
        await self._sender.retried(partial(self._change, key, count))

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
        return self._shared(target, state)

    # -- the shared state

    async def _heartbeats(self) -> None:
        """Renew this process's share of each address that it waits for."""
        while True:
            await self._clock.sleep(HEARTBEAT_EVERY)
            for key, target in list(self._targets.items()):
                if not target.under_way:
                    continue
                try:
                    await self._change(key, partial(self._shared, target))
                except TenutoError as error:
                    log.warning("push: share not renewed task=%s: %s", target.task.id, error)

    def _shared(self, target: _Target, state: TargetState) -> TargetState:
        return shared(state, self._name, target.mine, self._now())

    def _now(self) -> int:
        return epoch_ms(self._clock.now())

    async def _change(self, key: TargetKey, change: Callable[[TargetState], TargetState]) -> None:
        await self._states.change(key, change, lambda: key in self._targets)


def _read_task(row: TaskRow) -> TaskDefinition | None:
    try:
        return _decode_task(row.document)
    except msgspec.MsgspecError as error:
        # A newer version may have written it, and pushes it.
        log.warning("push: declaration not read task=%s: %s", row.id, error)
        return None
