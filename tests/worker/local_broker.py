"""A broker in the same process, as workers see it over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import msgspec

from tenuto.executions.broker import Reported, TaskBroker
from tenuto.model.errors import (
    Conflict,
    InvalidInput,
    NotFound,
    Overloaded,
    StoreUnavailable,
    TenutoError,
)
from tenuto.model.executions import (
    ClaimedTask,
    Heartbeat,
    ReleasedTask,
    ReportAnswer,
    TaskReport,
)
from tenuto.model.task_definition import WorkerTask
from tenuto.model.task_logs import LogChunk
from tenuto.worker.broker_client import NotTaken, RegisteredTask, TooLarge
from tenuto.workspace.task_definitions import TaskDefinitions

STATUSES: dict[type[TenutoError], int] = {
    NotFound: 404,
    Conflict: 409,
    InvalidInput: 422,
    Overloaded: 429,
    StoreUnavailable: 503,
}


def status_of(error: TenutoError | None) -> int:
    return 200 if error is None else STATUSES.get(type(error), 500)


def _answers(reported: Sequence[Reported]) -> list[ReportAnswer]:
    return [
        ReportAnswer(
            execution_id=each.execution_id,
            status=status_of(each.error),
            error=None if each.error is None else {"code": each.error.code},
        )
        for each in reported
    ]


class LocalBroker:
    """Whether it can be reached is for tests to say."""

    def __init__(self, broker: TaskBroker, tenant: str = "default") -> None:
        self.broker = broker
        self.is_away = False
        self.loses_answers = False
        self.loses_claims = False
        self.batches: list[int] = []
        self.refuses: TenutoError | None = None
        """What everything is answered with."""
        self.most_bytes: int | None = None
        """How large a request with reports may be."""
        self.knows_lines = True
        """False: a server of a version before, which refuses what it does not know."""
        self.refused_lines = 0
        self.hangs_for: set[str] = set()
        """Steps whose heartbeats are never answered."""
        self._steps: dict[str, str] = {}
        self._tenant = tenant

    async def register(self, worker_id: str, tasks: Sequence[WorkerTask]) -> list[RegisteredTask]:
        self._reach()
        declared = TaskDefinitions(self.broker._engine, self._tenant)
        found = await declared.register(worker_id, tasks)
        return [RegisteredTask(task_id=each.task_id, others=each.others) for each in found]

    async def claim(
        self,
        worker_id: str,
        task_ids: Sequence[str],
        *,
        most: int,
        wait: timedelta,
        lease: timedelta,
        request_id: str | None = None,
        with_outputs: bool = False,
    ) -> list[ClaimedTask]:
        self._reach()
        claimed = await self.broker.claim(
            self._tenant,
            worker_id,
            task_ids,
            most=most,
            wait=wait,
            lease=lease,
            request_id=request_id,
            with_outputs=with_outputs,
        )
        self._steps |= {each.execution_id: each.step_id for each in claimed}
        if claimed and self.loses_claims:
            self.loses_claims = False
            raise StoreUnavailable("the answer got lost")
        return claimed

    async def heartbeat(
        self,
        execution_id: str,
        lease_token: str,
        details: object = None,
        logs: LogChunk | None = None,
    ) -> Heartbeat:
        self._reach()
        if self._steps[execution_id] in self.hangs_for:
            await asyncio.Event().wait()
        self._refuse_lines(logs)
        msgspec.json.encode(details)
        return await self.broker.heartbeat(self._tenant, execution_id, lease_token, details, logs)

    async def report(self, reports: Sequence[TaskReport]) -> list[ReportAnswer]:
        self._reach()
        if self.most_bytes is not None and len(msgspec.json.encode(reports)) > self.most_bytes:
            raise TooLarge("too much at once")
        for each in reports:
            self._refuse_lines(each.logs)
        self.batches.append(len(reports))
        answers = _answers(await self.broker.report(self._tenant, reports))
        if self.loses_answers:
            self.loses_answers = False
            raise StoreUnavailable("the answer got lost")
        return answers

    async def release(
        self, tasks: Sequence[ReleasedTask], *, patience: float
    ) -> list[ReportAnswer]:
        self._reach()
        return _answers(await self.broker.release(self._tenant, tasks))

    async def close(self) -> None: ...

    def _refuse_lines(self, logs: LogChunk | None) -> None:
        if logs is not None and not self.knows_lines:
            self.refused_lines += 1
            raise NotTaken("there is no field `logs` here")

    def _reach(self) -> None:
        if self.is_away:
            raise StoreUnavailable("the server is away")
        if self.refuses is not None:
            raise self.refuses
