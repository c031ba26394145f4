"""What a server answers with, as far as the client reads it; fields that are newer are ignored."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct, field

from tenuto.client.refusals import Refused, error_of
from tenuto.model.errors import TenutoError
from tenuto.model.status import Status, read_status
from tenuto.workspace.values import Published, Summary


class StartResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of one start: an instance, or why there is none."""

    instance_id: str = ""
    status_name: str | None = field(default=None, name="status")
    output: Any = None
    last_error: Any = None
    cancellation: Any = None
    error: Refused | None = None

    @property
    def status(self) -> Status | None:
        """Also one that only newer servers have."""
        return None if self.status_name is None else read_status(self.status_name)


class BatchResult(Struct, frozen=True, kw_only=True):
    """What became of several starts, in their order."""

    results: list[StartResult]


class StatusAnswer(Struct, frozen=True, kw_only=True, rename="camel"):
    """The status of an instance now."""

    instance_id: str
    status_name: str = field(name="status")

    @property
    def status(self) -> Status:
        """Also one that only newer servers have."""
        return read_status(self.status_name)


class EventAnswer(Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of one event, or why it was refused; of an array of events `results` alone."""

    results: list[EventAnswer] | None = None

    event_id: str = ""
    duplicate: bool = False
    resumed: int = 0
    cancelled: int = 0
    started: int = 0
    targets: tuple[dict[str, Any], ...] | None = None
    near_misses: tuple[dict[str, Any], ...] = ()
    hint: str | None = None
    error: Refused | None = None

    def result(self) -> Published | TenutoError:
        """The same, as the app gives it."""
        if self.error is not None:
            return error_of(self.error)
        return Published(
            event_id=self.event_id,
            duplicate=self.duplicate,
            resumed=self.resumed,
            cancelled=self.cancelled,
            started=self.started,
            is_dry=self.targets is not None,
            targets=self.targets or (),
            near_misses=self.near_misses,
            hint=self.hint,
        )


def results_of(answers: EventAnswer | list[EventAnswer]) -> list[Published | TenutoError]:
    """The results of an array of events; a server of an older version answers with an array."""
    results = answers if isinstance(answers, list) else answers.results
    assert results is not None
    return [each.result() for each in results]


class InstanceItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """An instance as lists show it."""

    id: str
    workflow_definition_id: str
    definition_version: int
    status: str
    correlation_id: str | None
    current_steps: tuple[str, ...]
    priority: int
    deadline: datetime | None
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    tenant: str
    root_id: str
    output: Any = None
    last_error: Any = None
    cancellation: Any = None
    parent_id: str | None = None
    rerun_of: str | None = None
    schedule: Any = None

    def summary(self) -> Summary:
        """The same, as the app's lists show it."""
        return Summary(
            id=self.id,
            workflow=self.workflow_definition_id,
            version=self.definition_version,
            status=read_status(self.status),
            created_at=self.created_at,
            updated_at=self.updated_at,
            current_steps=self.current_steps,
            correlation_id=self.correlation_id,
            last_error=self.last_error,
            output=self.output,
            cancellation=self.cancellation,
            priority=self.priority,
            deadline=self.deadline,
            started_at=self.started_at,
            completed_at=self.completed_at,
            parent_id=self.parent_id,
            root_id=self.root_id,
            rerun_of=self.rerun_of,
            schedule=self.schedule,
            tenant=self.tenant,
        )
