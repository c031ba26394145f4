"""The task broker: external workers claim tasks here, send heartbeats, and report.

A lease belongs to a worker and to no process of the service: it stays valid when the process that
granted it stops, and any process can extend it or take a report under it.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import NamedTuple, cast

from tenuto.engine.batcher import Batcher
from tenuto.engine.engine import Engine
from tenuto.engine.turns.requests import Answer
from tenuto.executions.claims import Claim, Claims
from tenuto.executions.lease_proof import LeaseProof, lease_over
from tenuto.executions.recent_claims import ClaimKey, RecentClaims
from tenuto.executions.repeated_reports import recorded
from tenuto.executions.report_parser import details_json, outcome_of
from tenuto.executions.tokens import Purpose, execution_id, has_secrets
from tenuto.executions.worker_recorder import WorkerRecorder
from tenuto.model.entries import CompensationFailed, NodeFailed
from tenuto.model.errors import StoreUnavailable, TenutoError
from tenuto.model.executions import (
    PUSHED,
    UNNAMED,
    ClaimedTask,
    Heartbeat,
    ReleasedTask,
    TaskReport,
)
from tenuto.model.failure import Failure
from tenuto.model.inputs import AttemptLost, TaskFailed, TaskSucceeded
from tenuto.model.json import JSON
from tenuto.model.task_logs import LogChunk
from tenuto.store.parts.jobs import Beat, Extension, Lease, WorkerClaim


class Reported(NamedTuple):
    """The result of a report; without an error it was accepted, now or earlier."""

    execution_id: str
    error: TenutoError | None = None
    failure: Failure | None = None
    """Why the attempt failed although its task had succeeded."""


class TaskBroker:
    """Hands out the tasks of one engine to workers of all tenants, or to their addresses."""

    def __init__(self, engine: Engine, purpose: Purpose = "pull") -> None:
        """`purpose`: what its lease tokens are for; it takes no others."""
        self._engine = engine
        self._store = engine.store
        self._clock = engine.clock
        self._proof = LeaseProof(engine, purpose)
        # Tasks that are pushed are claimed by processes of the service.
        recorder = WorkerRecorder(engine.store, engine.clock, engine.spawn)
        self._workers = recorder if purpose == "pull" else None
        self._unnamed = UNNAMED if purpose == "pull" else PUSHED
        self._claims = Claims(engine, self._proof, self._workers)
        self._beats: Batcher[Beat, Extension | None] = Batcher(self._claims.extend)

    @property
    def waiting(self) -> int:
        """The number of claims that wait for a task."""
        return len(self._claims.queue)

    @property
    def recent_claims(self) -> RecentClaims:
        """Claims that may be repeated."""
        return self._claims.recent

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
        """Grant a worker at most `most` tasks; if there are none, wait up to `wait` for the first.

        Without `task_ids` the worker gets any task that no engine runs in process. The answer to a
        claim may get lost: a second claim of the worker with the same `request_id` returns those
        tasks of the first that the worker still holds. `with_outputs` adds the outputs of earlier
        steps.
        """
        names = None if task_ids is None else tuple(dict.fromkeys(task_ids))
        key = None if request_id is None else ClaimKey(tenant, worker_id, request_id)
        claim = Claim(WorkerClaim(tenant, worker_id, names, most, lease), key, with_outputs)
        return await self._claims.claim(claim, wait.total_seconds())

    async def put_back(self, tenant: str, tasks: Sequence[ClaimedTask]) -> None:
        """Undo the grant of tasks that have not begun.

        Tasks that were granted again, to a repeat of the claim, stay with their worker.
        """
        await self._claims.put_back(tenant, tasks)

    def close(self) -> None:
        """End all waiting claims without tasks; further claims do not wait."""
        self._claims.close()

    # -- heartbeats

    async def heartbeat(
        self,
        tenant: str,
        execution_id: str,
        lease_token: str,
        details: object = None,
        logs: LogChunk | None = None,
    ) -> Heartbeat:
        """Extend a lease; Conflict when it is over. `logs` are lines of the attempt so far."""
        lease = await self._proof.proven(tenant, execution_id, lease_token)
        await self._learn(tenant, [lease_token])
        secrets = self._engine.secrets
        text = details_json(secrets.shown(tenant, cast("JSON", details)))
        self._keep(lease, None if logs is None else secrets.lines(tenant, logs))
        extension = await self._beats.ask(Beat(lease, text))
        if extension is None:
            raise lease_over(execution_id)
        if self._workers is not None:
            self._workers.beat(tenant, extension.worker_id)
        return Heartbeat(cancelled=extension.is_cancelled, lease_until=extension.until)

    async def hand_over(self, tenant: str, execution_id: str, lease_token: str) -> bool:
        """Extend a lease until the attempt's time-out; False if the lease is over."""
        lease = await self._proof.proven(tenant, execution_id, lease_token)
        return bool(await self._store.jobs.hand_over([lease], self._clock.now()))

    async def is_ours(self, tenant: str, execution_id: str, lease_token: str) -> bool:
        """Whether this store has issued the lease token for the execution."""
        return await self._proof.lease(tenant, execution_id, lease_token) is not None

    # -- reports

    async def report(self, tenant: str, reports: Sequence[TaskReport]) -> list[Reported]:
        """Record the outcomes of attempts, all together; a result for each, in their order."""
        leases = [
            await self._proof.lease(tenant, each.execution_id, each.lease_token) for each in reports
        ]
        await self._learn(tenant, [each.lease_token for each in reports])
        # Before texts are cut: a part of a secret is found less well.
        reports = [self._engine.secrets.report(tenant, each) for each in reports]
        outcomes = [
            await self._outcome(tenant, lease, each)
            for lease, each in zip(leases, reports, strict=True)
        ]
        sent = [
            self._send(lease, each, outcome)
            for lease, each, outcome in zip(leases, reports, outcomes, strict=True)
        ]
        return [
            await self._result(tenant, report, each)
            for report, each in zip(reports, sent, strict=True)
        ]

    async def _learn(self, tenant: str, tokens: Sequence[str]) -> None:
        """Know the secrets that attempts were given: another process may have filled them in."""
        if any(map(has_secrets, tokens)):
            await self._engine.secrets.learn(tenant)

    async def _outcome(
        self, tenant: str, lease: Lease | None, report: TaskReport
    ) -> TaskSucceeded | TaskFailed | TenutoError | None:
        """The outcome in a report, read beside the loop where its output is large."""
        if lease is None:
            return None
        limit = self._engine.settings.limits.output_bytes
        read = partial(outcome_of, lease.key, report, limit, self._unnamed)
        try:
            return await self._engine.plans.values.check(report.output, read, tenant=tenant)
        except TenutoError as error:
            return error

    def _send(
        self,
        lease: Lease | None,
        report: TaskReport,
        outcome: TaskSucceeded | TaskFailed | TenutoError | None,
    ) -> _Sent | TenutoError | None:
        """Send a report to the engine; None if there is no such lease."""
        if lease is None or outcome is None:
            return None
        # Also of an attempt whose outcome does not count any more: they are its lines.
        self._keep(lease, report.logs)
        if isinstance(outcome, TenutoError):
            return outcome
        try:
            future = self._engine.report(lease.key.instance_id, outcome, lease.token)
        except TenutoError as error:
            return error
        return _Sent(lease, outcome, future)

    def _keep(self, lease: Lease, logs: LogChunk | None) -> None:
        if logs is not None and self._engine.settings.task_logs:
            self._engine.effects.task_logs.keep(lease.key, logs)

    async def _result(
        self, tenant: str, report: TaskReport, sent: _Sent | TenutoError | None
    ) -> Reported:
        id = report.execution_id
        if isinstance(sent, TenutoError):
            return Reported(id, sent)
        try:
            if sent is None:
                raise await self._proof.refusal(tenant, id)
            answer = await sent.future
            # The lease is over, whether the report counts or came too late.
            self.recent_claims.forget(sent.lease)
            if answer.rejection is None:
                return Reported(id, failure=answer.failure or _failure(report, sent.outcome))
            # The report may have been accepted before, and only the answer got lost.
            entry = await recorded(self._store, sent.lease.key, sent.outcome)
            if isinstance(entry, NodeFailed | CompensationFailed):
                return Reported(id, failure=entry.error if report.error is None else None)
            if entry is not None:
                return Reported(id)
        except TenutoError as error:
            return Reported(id, error)
        return Reported(id, lease_over(execution_id(sent.lease.key), answer.rejection.message))

    async def release(self, tenant: str, tasks: Sequence[ReleasedTask]) -> list[Reported]:
        """Take back the tasks of a worker that stops; a result for each, in their order.

        A task that has begun becomes another attempt, which counts neither as a failure nor as a
        loss.
        """
        ended: list[Future[Answer] | TenutoError | None] = []
        fresh: list[Lease] = []
        for task in tasks:
            try:
                lease = await self._proof.proven(tenant, task.execution_id, task.lease_token)
                self.recent_claims.forget(lease)
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
            self._claims.queue.call_first(lambda each: each == tenant)
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


def _failure(report: TaskReport, outcome: TaskSucceeded | TaskFailed) -> Failure | None:
    """Why a result cannot be taken: it is too large."""
    return outcome.error if report.error is None and isinstance(outcome, TaskFailed) else None


class _Sent(NamedTuple):
    """A report that was sent to the engine."""

    lease: Lease
    outcome: TaskSucceeded | TaskFailed
    future: Future[Answer]


async def _released(
    task: ReleasedTask, ended: Future[Answer] | TenutoError | None
) -> TenutoError | None:
    if ended is None or isinstance(ended, TenutoError):
        return ended
    try:
        answer = await ended
    except TenutoError as error:
        return error
    if answer.rejection is None:
        return None
    return lease_over(task.execution_id, answer.rejection.message)
