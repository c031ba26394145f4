"""What a server answers with, as far as the client reads it; what is newer is passed over."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Generic, TypeVar

from msgspec import Struct

from tenuto.client.refusals import Refused
from tenuto.model.status import Status
from tenuto.workspace.values import Summary

T = TypeVar("T")


class Page(Struct, Generic[T], frozen=True, kw_only=True, rename="camel"):
    """A part of a list, and how to go on with it."""

    items: list[T]
    next_cursor: str | None = None


class SavedWorkflow(Struct, frozen=True, kw_only=True):
    """A definition that is saved."""

    id: str
    version: int


class Version(Struct, frozen=True, kw_only=True, rename="camel"):
    """A version of a definition, as its author wrote it."""

    id: str
    version: int
    created_at: datetime
    definition: Any


class StartResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of one start: an instance, or why there is none."""

    instance_id: str | None = None
    status: Status | None = None
    error: Refused | None = None


class InstanceItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """An instance as lists show it."""

    id: str
    workflow_definition_id: str
    definition_version: int
    status: Status
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

    def summary(self) -> Summary:
        """The same, as the app's lists show it."""
        return Summary(
            id=self.id,
            workflow=self.workflow_definition_id,
            version=self.definition_version,
            status=self.status,
            created_at=self.created_at,
            updated_at=self.updated_at,
            current_steps=self.current_steps,
            correlation_id=self.correlation_id,
            last_error=self.last_error,
        )
