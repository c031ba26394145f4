"""Where workers outside claim tasks, say that they are at work, and report.

A lease is theirs and no process's: it runs on when the process that granted it goes, and any
process extends it or takes a report under it. What is granted and never handed over is put back, so
that nobody loses what they have not begun.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio import Future
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import NamedTuple

from tenuto.engine.batcher import Batcher
from tenuto.engine.engine import Engine
from tenuto.engine.turns.draft import Draft
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.requests import Answer
from tenuto.executions.claims_made import ClaimKey, ClaimsMade
from tenuto.executions.handing_out import tasks_of
from tenuto.executions.line import Line, Waiting
from tenuto.executions.reading import details_json, outcome_of
from tenuto.executions.repeats import is_recorded
from tenuto.executions.tokens import KEPT_AS, Tokens, execution_id, key_of
from tenuto.model.errors import Conflict, NotFound, StoreUnavailable, TenutoError
from tenuto.model.executions import ClaimedTask, Heartbeat, ReleasedTask, TaskReport
from tenuto.model.inputs import AttemptLost, TaskFailed, TaskSucceeded
from tenuto.store.errors import CommitUnknown
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.parts.jobs import Beat, Extension, Grant, Lease, WorkerClaim

log = logging.getLogger("tenuto.executions")

LEASE_OVER = "TEN-3012"


class Reported(NamedTuple):
    """What became of a report: accepted, now or before, unless there is an error."""

    execution_id: str
    error: TenutoError | None = None


class ExecutionDesk:
    """What one engine does for workers of all tenants."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._store = engine.store
        self._clock = engine.clock
        self._line = Line()
        self._deaf: Callable[[], None] | None = None
        """How to stop listening to the engine; None while nobody waits."""
        self._rounds: asyncio.Task[None] | None = None
        self._tokens: Tokens | None = None
        self._is_closed = False
        self.claims_made = ClaimsMade()
        self._beats: Batcher[Beat, Extension | None] = Batcher(self._extend)

    @property
    def waiting(self) -> int:
        """How many workers wait for something to do."""
        return len(self._line)

    # -- claims

    async def claim(
        self,
        tenant: str,
        worker_id: str,
        task_ids: Sequence[str] | None = None,
        *,
        most: int = 1,
        wait: timedelta = timedelta(),
        lease: timedelta = timedelta(seconds=30),
        request_id: str | None = None,
        with_outputs: bool = False,
    ) -> list[ClaimedTask]:
        """Tasks for a worker, `most` at most; waits for the first of them, if it has to.

        Without `task_ids` they are of any task that nobody has in process. A claim with the
        `request_id` of an earlier one of the worker gives back what that was granted, as far as it
        is still the worker's: its answer may have got lost. `with_outputs` brings what steps gave.
        """
        names = None if task_ids is None else tuple(dict.fromkeys(task_ids))
        until = self._clock.ticks() + wait.total_seconds()
        key = None if request_id is None else ClaimKey(tenant, worker_id, request_id)
        wanted = _Wanted(WorkerClaim(tenant, worker_id, names, most, lease), key, with_outputs)
        if again := await self._granted_before(wanted):
            return again
        if not wait:
            # Whoever does not wait takes no place from those who do.
            return await self._look(wanted)
        waiting = self._line.join(wanted.claim)
        self._listen()
        try:
            return await self._wait(waiting, wanted, until)
        finally:
            self._line.leave(waiting)
            self._stop_listening()

    async def put_back(self, tenant: str, tasks: Sequence[ClaimedTask]) -> None:
        """Have tasks that were claimed and not begun as if they had not been.

        But for those that were handed out again, to a claim that repeats the one that brought them.
        """
        if leases := self.claims_made.unheard(self._leases(tenant, tasks)):
            await self._put_back(leases)

    def close(self) -> None:
        """Send those who wait away with nothing; whoever comes now does not wait."""
        self._is_closed = True
        self._line.call_all()

    async def _granted_before(self, wanted: _Wanted) -> list[ClaimedTask]:
        """What an earlier claim of this id brought and the worker still has, for another while."""
        leases = () if wanted.key is None else self.claims_made.repeated(wanted.key)
        if not leases:
            return []
        found = zip(leases, await self._extend([Beat(lease) for lease in leases]), strict=True)
        grants = [Grant(lease, each.until) for lease, each in found if each is not None]
        return await self._handed_out(wanted, grants) if grants else []

    async def _wait(self, waiting: Waiting, wanted: _Wanted, until: float) -> list[ClaimedTask]:
        while True:
            left = until - self._clock.ticks()
            if not await self._clock.wait(waiting.called, max(left, 0.0)):
                return []
            waiting.called.clear()
            tasks = await self._look(wanted)
            if tasks or self._is_closed:
                return tasks

    async def _look(self, wanted: _Wanted) -> list[ClaimedTask]:
        """One look; what it is granted is put back where nobody hears of it any more."""
        look = self._engine.spawn(self._granted(wanted))
        try:
            found = await asyncio.shield(look)
        except asyncio.CancelledError:
            if look.cancelled():
                raise StoreUnavailable("the engine has stopped") from None
            look.add_done_callback(partial(self._not_heard, wanted.claim.tenant))
            raise
        if wanted.key is not None and found.leases:
            # Only now, when it is heard: what is put back is handed to nobody who asks again. Of
            # what is not among the tasks, nothing is extended or handed out then.
            seconds = wanted.claim.lease.total_seconds()
            self.claims_made.remember(wanted.key, found.leases, seconds, self._clock.ticks())
        return found.tasks

    def _not_heard(self, tenant: str, look: asyncio.Task[_Found]) -> None:
        if look.cancelled() or look.exception() is not None:
            return
        if leases := self._leases(tenant, look.result().tasks):
            with suppress(StoreUnavailable):
                _ = self._engine.spawn(self._put_back(leases))

    def _leases(self, tenant: str, tasks: Sequence[ClaimedTask]) -> list[Lease]:
        found = (self._lease(tenant, task.execution_id, task.lease_token) for task in tasks)
        return [lease for lease in found if lease is not None]

    async def _granted(self, wanted: _Wanted) -> _Found:
        await self._signing()
        now = self._clock.now()
        try:
            grants = await self._store.jobs.claim_for_worker(wanted.claim, now)
        except CommitUnknown as error:
            # What it brought, if anything, comes back when its leases lapse.
            raise StoreUnavailable(f"it is not known what was claimed: {error}") from error
        if not grants:
            return _Found([], [])
        self._engine.effects.jobs.foresee(
            (min(each.until for each in grants) - now).total_seconds()
        )
        return _Found(await self._handed_out(wanted, grants), [each.lease for each in grants])

    async def _handed_out(self, wanted: _Wanted, grants: Sequence[Grant]) -> list[ClaimedTask]:
        tokens = await self._signing()
        try:
            states = await self._states(grants)
        except StoreUnavailable:
            await self._put_back([each.lease for each in grants])
            raise
        tasks: list[ClaimedTask] = []
        unread: list[Lease] = []
        for instance_id, of_instance in _by_instance(grants).items():
            found = states.get(instance_id)
            if isinstance(found, Held):
                sign = partial(tokens.of, wanted.claim.tenant)
                policies = self._engine.declared_tasks.of(found.tenant)
                tasks += tasks_of(
                    found, policies, of_instance, sign, with_outputs=wanted.with_outputs
                )
            elif found is not None:
                unread += [each.lease for each in of_instance]
                self._engine.effects.unreadable_jobs(unread[-len(of_instance) :], found)
        if unread:
            await self._put_back(unread)
        return tasks

    async def _states(self, grants: Sequence[Grant]) -> dict[str, Held | TenutoError]:
        found: dict[str, Held | TenutoError] = {}
        missing: list[str] = []
        for instance_id in _by_instance(grants):
            held = self._engine.turns.at_hand(instance_id)
            if held is None:
                missing.append(instance_id)
            else:
                found[instance_id] = held
        return found | await self._engine.loader.load(missing) if missing else found

    async def _put_back(self, leases: Sequence[Lease]) -> None:
        try:
            await self._store.jobs.put_back(leases)
        except StoreUnavailable as error:
            log.warning("%d tasks come back when their leases lapse: %s", len(leases), error)

    # -- those who wait

    def _listen(self) -> None:
        if self._deaf is None:
            self._deaf = self._engine.listen(self._heard)
            self._rounds = asyncio.get_running_loop().create_task(self._look_around())

    def _stop_listening(self) -> None:
        if not len(self._line) and self._deaf is not None:
            self._deaf()
            self._deaf = None
            if self._rounds is not None:
                self._rounds.cancel()

    def _heard(self, draft: Draft) -> None:
        for job in draft.jobs_offered:
            self._line.call(job.tenant, job.task_id)

    async def _look_around(self) -> None:
        """Jobs that other processes have offered bring no hint."""
        while True:
            await self._clock.sleep(self._engine.settings.jobs_every)
            self._line.call_first()

    # -- heartbeats

    async def heartbeat(
        self, tenant: str, execution_id: str, lease_token: str, details: object = None
    ) -> Heartbeat:
        """Extend a lease; Conflict when it is over."""
        text = details_json(details)
        lease = await self._proven(tenant, execution_id, lease_token)
        extension = await self._beats.ask(Beat(lease, text))
        if extension is None:
            raise _over(execution_id)
        return Heartbeat(cancelled=extension.is_called_off, lease_until=extension.until)

    async def _extend(self, beats: Sequence[Beat]) -> list[Extension | None]:
        extended = await self._store.jobs.extend_for_workers(beats, self._clock.now())
        now = self._clock.ticks()
        for lease, _ in beats:
            if lease in extended:
                self.claims_made.extended(lease, now)
            else:
                self.claims_made.forget(lease)
        return [extended.get(beat.lease) for beat in beats]

    # -- reports

    async def report(self, tenant: str, reports: Sequence[TaskReport]) -> list[Reported]:
        """Record how attempts ended, all together; what became of each, in their order."""
        await self._signing()
        sent = [
            self._sent(self._lease(tenant, each.execution_id, each.lease_token), each)
            for each in reports
        ]
        return [
            Reported(report.execution_id, await self._outcome(tenant, report, each))
            for report, each in zip(reports, sent, strict=True)
        ]

    def _sent(self, lease: Lease | None, report: TaskReport) -> _Sent | TenutoError | None:
        """A report on its way; None: there is no such lease."""
        if lease is None:
            return None
        try:
            limit = self._engine.settings.limits.output_bytes
            outcome = outcome_of(lease.key, report, limit)
            future = self._engine.report(lease.key.instance_id, outcome, lease.token)
        except TenutoError as error:
            return error
        return _Sent(lease, outcome, future)

    async def _outcome(
        self, tenant: str, report: TaskReport, sent: _Sent | TenutoError | None
    ) -> TenutoError | None:
        if isinstance(sent, TenutoError):
            return sent
        try:
            if sent is None:
                raise await self._disproved(tenant, report.execution_id)
            answer = await sent.future
            # Whether it counts or came too late: it is nobody's any more.
            self.claims_made.forget(sent.lease)
            if answer.rejection is None:
                return None
            # It may have been accepted before, and only the answer got lost.
            if await is_recorded(self._store, sent.lease.key, sent.outcome):
                return None
        except TenutoError as error:
            return error
        return _over(execution_id(sent.lease.key), answer.rejection.message)

    async def release(self, tenant: str, tasks: Sequence[ReleasedTask]) -> list[Reported]:
        """Take back what a worker gives back; what became of each, in their order.

        What has begun becomes another attempt, which counts neither as a failure nor as a loss.
        """
        ended: list[Future[Answer] | TenutoError | None] = []
        fresh: list[Lease] = []
        for task in tasks:
            try:
                lease = await self._proven(tenant, task.execution_id, task.lease_token)
                self.claims_made.forget(lease)
                ended.append(self._stopped(lease) if task.has_begun else None)
            except TenutoError as error:
                ended.append(error)
            else:
                if not task.has_begun:
                    fresh.append(lease)
        not_put_back: TenutoError | None = None
        if fresh:
            try:
                await self._store.jobs.put_back(fresh)
            except StoreUnavailable as error:
                not_put_back = error
            self._line.call_first()
        return [
            Reported(task.execution_id, await _released(task, each or not_put_back))
            for task, each in zip(tasks, ended, strict=True)
        ]

    def _stopped(self, lease: Lease) -> Future[Answer]:
        key = lease.key
        stopped = AttemptLost(
            node=key.node, iteration=key.iteration, attempt=key.attempt, clean=True
        )
        return self._engine.report(key.instance_id, stopped, lease.token)

    async def hand_over(self, tenant: str, execution_id: str, lease_token: str) -> bool:
        """Let a lease go on until the attempt's time-out; False: it is over."""
        lease = await self._proven(tenant, execution_id, lease_token)
        return bool(await self._store.jobs.hand_over([lease], self._clock.now()))

    # -- proof

    async def is_ours(self, tenant: str, execution_id: str, lease_token: str) -> bool:
        """Whether this is a token that was given out for that execution, once."""
        await self._signing()
        return self._lease(tenant, execution_id, lease_token) is not None

    async def _proven(self, tenant: str, id: str, token: str) -> Lease:
        """The lease that was granted, once; NotFound for what is not the tenant's at all."""
        await self._signing()
        lease = self._lease(tenant, id, token)
        if lease is None:
            raise await self._disproved(tenant, id)
        return lease

    async def _disproved(self, tenant: str, id: str) -> TenutoError:
        """What to say to somebody whose token is none of ours."""
        key = key_of(id)
        if key is not None:
            # Its row is enough: whoever guesses has nothing large read.
            asked = InstanceQuery(ids=(key.instance_id,), tenant=tenant, limit=1)
            if (await self._store.seen_by(tenant).instances.page(asked)).items:
                return _over(id)
        return NotFound(f"there is no execution {id}")

    def _lease(self, tenant: str, id: str, token: str) -> Lease | None:
        key = key_of(id)
        if key is None or self._tokens is None:
            return None
        return self._tokens.lease(tenant, key, token)

    async def _signing(self) -> Tokens:
        if self._tokens is None:
            ids = self._engine.ids
            proposed = "".join(ids.short() for _ in range(4)).encode()
            self._tokens = Tokens(await self._store.access.keep_secret(KEPT_AS, proposed))
        return self._tokens


class _Wanted(NamedTuple):
    """What a worker asks for, and by which name it may ask again."""

    claim: WorkerClaim
    key: ClaimKey | None
    with_outputs: bool


class _Found(NamedTuple):
    """What a look brought: the leases, and what there is to do under them."""

    tasks: list[ClaimedTask]
    leases: list[Lease]


class _Sent(NamedTuple):
    """A report on its way."""

    lease: Lease
    outcome: TaskSucceeded | TaskFailed
    future: asyncio.Future[Answer]


async def _released(
    task: ReleasedTask, ended: Future[Answer] | TenutoError | None
) -> TenutoError | None:
    if ended is None or isinstance(ended, TenutoError):
        return ended
    try:
        answer = await ended
    except TenutoError as error:
        return error
    return None if answer.rejection is None else _over(task.execution_id, answer.rejection.message)


def _by_instance(grants: Sequence[Grant]) -> dict[str, list[Grant]]:
    grouped: dict[str, list[Grant]] = {}
    for grant in grants:
        grouped.setdefault(grant.lease.key.instance_id, []).append(grant)
    return grouped


def _over(id: str, why: str = "") -> Conflict:
    reason = f": {why}" if why else ""
    return Conflict(
        f"the lease on execution {id} is over{reason}",
        code=LEASE_OVER,
        advice="Stop working on it, and claim again.",
    )
