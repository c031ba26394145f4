"""Claims of workers: grants tasks under leases, and lets claims wait until there is a task.

Tasks that are granted and never reach their worker are put back, so that they count neither as an
attempt nor as a loss.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from tenuto.engine.engine import Engine
from tenuto.engine.observer import Observer
from tenuto.engine.turns.draft import Draft
from tenuto.engine.turns.held import Held
from tenuto.executions.claim_queue import ClaimQueue, WaitingClaim
from tenuto.executions.claimed_tasks import Handed, tasks_of, timeouts_of
from tenuto.executions.lease_proof import LeaseProof
from tenuto.executions.recent_claims import ClaimKey, RecentClaims
from tenuto.executions.worker_recorder import WorkerRecorder
from tenuto.model.errors import ProcessStops, StoreUnavailable, TenutoError
from tenuto.model.executions import ClaimedTask
from tenuto.model.failure import Failure
from tenuto.model.inputs import TaskFailed
from tenuto.model.task_definition import TaskLimits
from tenuto.store.errors import CommitUnknown
from tenuto.store.parts.jobs import (
    Beat,
    Extension,
    Grant,
    Hindrance,
    Lease,
    LimitedClaim,
    LimitedTask,
    WorkerClaim,
)

log = logging.getLogger("tenuto.executions")

_A_MOMENT = 0.002
_STILL_WAITING = 25.0
"""Seconds after which a worker that waits is noted again, so that it counts as connected."""


class Claim(NamedTuple):
    """A claim of a worker."""

    claim: WorkerClaim
    key: ClaimKey | None
    """Identifies a repeat of it; None: it cannot be repeated."""
    with_outputs: bool


class _Granted(NamedTuple):
    """The result of one attempt to claim: the leases, and the tasks under them."""

    tasks: list[ClaimedTask]
    leases: list[Lease]


class Claims:
    """Grants the claims of workers of all tenants, for one engine."""

    def __init__(self, engine: Engine, proof: LeaseProof, workers: WorkerRecorder | None) -> None:
        """`workers` notes the workers that claim; None: the claims are not those of workers."""
        self._engine = engine
        self._workers = workers
        self._store = engine.store
        self._clock = engine.clock
        self._proof = proof
        self._is_closed = False
        self.queue = ClaimQueue()
        self.recent = RecentClaims()
        self._rates: set[tuple[str, str]] = set()
        """Tasks that are looked at again when their rate lets an attempt begin."""
        self._limited_first = False
        engine.effects.task_freed.append(self.queue.call)
        engine.effects.tasks_freed.append(self._call_limited)
        self._observer = Observer(engine, self._heard, self._poll)

    async def claim(self, claim: Claim, seconds: float) -> list[ClaimedTask]:
        """Tasks for a worker; waits so many seconds for the first of them."""
        until = self._clock.ticks() + seconds
        self._note(claim)
        if again := await self._granted_before(claim):
            return again
        if not seconds:
            # A claim that does not wait takes no place in the queue.
            return (await self._attempt(claim)).tasks
        waiting = self.queue.join(claim.claim)
        self._observer.start()
        try:
            return await self._wait(waiting, claim, until)
        finally:
            self.queue.leave(waiting)
            if not len(self.queue):
                self._observer.stop()

    async def put_back(self, tenant: str, tasks: Sequence[ClaimedTask]) -> None:
        """Undo the grant of tasks that have not begun.

        Tasks that were granted again, to a repeat of the claim, stay with their worker.
        """
        leases = await self._proof.leases(tenant, tasks)
        if unheard := self.recent.unheard(leases):
            await self._put_back(unheard)

    def close(self) -> None:
        """End all waiting claims without tasks; further claims do not wait."""
        self._is_closed = True
        self.queue.call_all()

    async def extend(self, beats: Sequence[Beat]) -> list[Extension | None]:
        """Extend leases; None for each that is over."""
        extended = await self._store.jobs.extend_for_workers(beats, self._clock.now())
        now = self._clock.ticks()
        for lease, _ in beats:
            if lease in extended:
                self.recent.extended(lease, now)
            else:
                self.recent.forget(lease)
        return [extended.get(beat.lease) for beat in beats]

    # -- waiting

    def _note(self, claim: Claim) -> None:
        if self._workers is not None:
            self._workers.claimed(claim.claim)

    async def _wait(self, waiting: WaitingClaim, claim: Claim, until: float) -> list[ClaimedTask]:
        noted = self._clock.ticks()
        while True:
            now = self._clock.ticks()
            if now - noted >= _STILL_WAITING:
                self._note(claim)
                noted = now
            left = until - now
            if not await self._clock.wait(waiting.called, min(max(left, 0.0), _STILL_WAITING)):
                if left <= _STILL_WAITING:
                    return []
                continue
            waiting.called.clear()
            waiting.has_looked = False
            found = await self._attempt(claim)
            if found.tasks or self._is_closed:
                return found.tasks
            # A claim that was granted nothing leaves no job to those behind it.
            waiting.has_looked = not found.leases

    def _heard(self, draft: Draft) -> None:
        for job in draft.jobs_offered:
            self.queue.call(job.tenant, job.task_id)

    async def _poll(self) -> None:
        """Jobs that other processes have offered bring no hint."""
        while True:
            await self._clock.sleep(self._engine.settings.jobs_every)
            self.queue.call_first()

    # -- granting

    async def _granted_before(self, claim: Claim) -> list[ClaimedTask]:
        """The tasks of an earlier claim with this key that are still the worker's, extended."""
        leases = () if claim.key is None else self.recent.repeated(claim.key)
        if not leases:
            return []
        found = zip(leases, await self.extend([Beat(lease) for lease in leases]), strict=True)
        grants = [Grant(lease, each.until) for lease, each in found if each is not None]
        return await self._tasks(claim, grants) if grants else []

    async def _attempt(self, claim: Claim) -> _Granted:
        """One attempt to claim; what it is granted is put back if the worker has disconnected."""
        attempt = self._engine.spawn(self._granted(claim))
        try:
            found = await asyncio.shield(attempt)
        except asyncio.CancelledError:
            if attempt.cancelled():
                raise ProcessStops("the engine has stopped") from None
            attempt.add_done_callback(partial(self._undo, claim.claim.tenant))
            raise
        if claim.key is not None and found.leases:
            # Remembered only now, when the grant is handed over: leases that are put back must not
            # be given to a repeat. Leases without a task are neither extended nor repeated.
            seconds = claim.claim.lease.total_seconds()
            self.recent.remember(claim.key, found.leases, seconds, self._clock.ticks())
        return found

    def _undo(self, tenant: str, attempt: asyncio.Task[_Granted]) -> None:
        if attempt.cancelled() or attempt.exception() is not None:
            return
        if tasks := attempt.result().tasks:
            with suppress(StoreUnavailable):
                _ = self._engine.spawn(self._put_back_tasks(tenant, tasks))

    async def _granted(self, claim: Claim) -> _Granted:
        # First the secret of the tokens: without it nothing could be handed over.
        await self._proof.tokens()
        now = self._clock.now()
        try:
            grants = await self._grants(claim.claim, now)
        except CommitUnknown as error:
            # Jobs that were claimed, if any, come back when their leases lapse.
            raise StoreUnavailable(f"it is not known what was claimed: {error}") from error
        if not grants:
            return _Granted([], [])
        self._engine.effects.jobs.foresee(
            (min(each.until for each in grants) - now).total_seconds()
        )
        return _Granted(await self._tasks(claim, grants, now), [each.lease for each in grants])

    async def _grants(self, claim: WorkerClaim, now: datetime) -> list[Grant]:
        """Jobs of tasks without limits, and of those with limits as many as these let."""
        limited = self._limited_of(claim)
        if not limited:
            return await self._store.jobs.claim_for_worker(claim, now)
        wanted = claim.task_ids
        others = claim._replace(but=tuple(limited))
        has_others = wanted is None or any(id not in limited for id in wanted)
        # Each kind goes first every second time.
        self._limited_first = is_first = not self._limited_first or not has_others
        grants: list[Grant] = []
        for kind in (is_first, not is_first):
            left = claim.limit - len(grants)
            if left and kind:
                grants += await self._limited_grants(claim._replace(limit=left), limited, now)
            elif left and has_others:
                try:
                    asked = others._replace(limit=left)
                    grants += await self._store.jobs.claim_for_worker(asked, now)
                except StoreUnavailable:
                    if not grants:
                        raise
        return grants

    async def _limited_grants(
        self, claim: WorkerClaim, limited: Mapping[str, TaskLimits], now: datetime
    ) -> list[Grant]:
        tasks = tuple(
            LimitedTask(claim.tenant, id, claim.limit, limited[id]) for id in sorted(limited)
        )
        asked = LimitedClaim(tasks, claim.limit, claim.lease, claim.worker_id)
        found = await self._store.jobs.claim_limited(asked, now)
        for each in found.hindered:
            if each.seconds is not None:
                self._call_later(each)
        return found.granted

    def _limited_of(self, claim: WorkerClaim) -> dict[str, TaskLimits]:
        """The tasks with limits that a claim wants."""
        limited = self._engine.policies.of(claim.tenant).limited
        if not limited:
            return {}
        wanted = claim.task_ids
        if wanted is not None:
            return {id: limited[id] for id in wanted if id in limited}
        known = self._engine.declared_tasks
        # A worker that takes all tasks takes none that is pushed.
        return {
            id: limits
            for id, limits in limited.items()
            if (row := known.row(claim.tenant, id)) is None or not row.is_pushed
        }

    def _call_later(self, hindrance: Hindrance) -> None:
        """Call a claim when the rate of a task lets another attempt begin."""
        pair = (hindrance.tenant, hindrance.task_id)
        if pair not in self._rates:
            self._rates.add(pair)

            def over() -> None:
                self._rates.discard(pair)
                for freed in self._engine.effects.task_freed:
                    freed(*pair)

            self._clock.call_later((hindrance.seconds or 0.0) + _A_MOMENT, over)

    def _call_limited(self) -> None:
        """Call the first claims for tasks with limits: some of these may begin."""
        policies = self._engine.policies
        self.queue.call_first(lambda tenant: bool(policies.of(tenant).limited))

    async def _tasks(
        self, claim: Claim, grants: Sequence[Grant], claimed_at: datetime | None = None
    ) -> list[ClaimedTask]:
        """The tasks of grants; those of a claim that was just made are timed from then on."""
        tokens = await self._proof.tokens()
        try:
            states = await self._states(grants)
            if claimed_at is not None:
                grants = await self._timed(states, grants, claimed_at)
        except StoreUnavailable:
            await self._put_back([each.lease for each in grants])
            raise
        handed: list[Handed] = []
        unreadable: list[Lease] = []
        for instance_id, of_instance in _by_instance(grants).items():
            found = states.get(instance_id)
            if isinstance(found, Held):
                sign = partial(tokens.of, claim.claim.tenant)
                policies = self._engine.policies.of(found.tenant)
                now = self._engine.clock.now()
                handed += tasks_of(
                    found,
                    policies,
                    of_instance,
                    sign,
                    now,
                    with_outputs=claim.with_outputs,
                    keeps_logs=self._engine.settings.task_logs,
                )
            elif found is not None:
                leases = [each.lease for each in of_instance]
                self._engine.effects.unreadable_jobs(leases, found)
                unreadable += leases
        if unreadable:
            await self._put_back(unreadable)
        if not any(each.order.secrets for each in handed):
            return [each.task for each in handed]
        try:
            return [
                task
                for each in handed
                if (task := await self._with_secrets(claim.claim.tenant, each)) is not None
            ]
        except StoreUnavailable:
            await self._put_back([each.lease for each in grants])
            raise

    async def _with_secrets(self, tenant: str, handed: Handed) -> ClaimedTask | None:
        """A task with the values of its secrets; None: it has failed, and is not handed over."""
        task, order, lease = handed
        if not order.secrets:
            return task
        filled = await self._engine.secrets.fill(tenant, order)
        if not isinstance(filled, Failure):
            return replace(task, input=filled.value)
        key = lease.key
        failed = TaskFailed(
            node=key.node, iteration=key.iteration, attempt=key.attempt, error=filled
        )
        with suppress(TenutoError):
            # If it is not recorded, the lease lapses and the attempt is handed out again.
            await self._engine.report(key.instance_id, failed, lease.token)
        return None

    async def _timed(
        self, states: Mapping[str, Held | TenutoError], grants: Sequence[Grant], now: datetime
    ) -> Sequence[Grant]:
        """The same grants; a time-out in working time counts from the claim."""
        timeouts: dict[Lease, timedelta] = {}
        for instance_id, of_instance in _by_instance(grants).items():
            if isinstance(held := states.get(instance_id), Held):
                policies = self._engine.policies.of(held.tenant)
                timeouts |= timeouts_of(held, policies, of_instance, now)
        if not timeouts:
            return grants
        try:
            until = await self._store.jobs.set_timeouts(timeouts, now)
        except CommitUnknown as error:
            raise StoreUnavailable(f"it is not known what was timed: {error}") from error
        if until:
            first = min(until.values()) - now
            self._engine.effects.jobs.foresee(first.total_seconds())
        return [Grant(lease, until.get(lease, before)) for lease, before in grants]

    async def _states(self, grants: Sequence[Grant]) -> dict[str, Held | TenutoError]:
        found: dict[str, Held | TenutoError] = {}
        missing: list[str] = []
        for instance_id, of_instance in _by_instance(grants).items():
            held = self._engine.turns.at_hand(instance_id)
            # A turn is durable before this process has heard so: one at hand may be behind.
            if held is None or not held.has_jobs(each.lease.key[1:] for each in of_instance):
                missing.append(instance_id)
            else:
                found[instance_id] = held
        return found | await self._engine.loader.load(missing) if missing else found

    async def _put_back_tasks(self, tenant: str, tasks: Sequence[ClaimedTask]) -> None:
        await self._put_back(await self._proof.leases(tenant, tasks))

    async def _put_back(self, leases: Sequence[Lease]) -> None:
        try:
            await self._store.jobs.put_back(leases)
            self._engine.effects.freed_elsewhere()
        except StoreUnavailable as error:
            log.warning("claims: %d tasks not put back, leases lapse: %s", len(leases), error)


def _by_instance(grants: Sequence[Grant]) -> dict[str, list[Grant]]:
    grouped: dict[str, list[Grant]] = {}
    for grant in grants:
        grouped.setdefault(grant.lease.key.instance_id, []).append(grant)
    return grouped
