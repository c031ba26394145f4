"""Schedules of a workspace."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, Protocol

from tenuto.model.json import JSON
from tenuto.workspace.schedule_values import (
    ANY_SCHEDULE,
    PreviewedTick,
    SavedSchedule,
    ScheduleFilter,
    SchedulePreview,
    TickRecord,
)
from tenuto.workspace.values import BulkOperation, Page


class Schedules(Protocol):
    """What is started at certain times: workflows, tasks and callbacks."""

    async def save(self, document: JSON, *, only_after: int | None = None) -> SavedSchedule:
        """Save a schedule, new or not; without an id it is a new one. InvalidInput.

        With `only_after` it is saved only while that is its version; Conflict.
        """
        ...

    async def get(self, id: str) -> SavedSchedule:
        """A schedule, and how it stands; NotFound."""
        ...

    async def page(
        self,
        which: ScheduleFilter = ANY_SCHEDULE,
        *,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[SavedSchedule]:
        """A page of schedules, ordered by id."""
        ...

    async def pause(self, id: str, note: str | None = None) -> SavedSchedule:
        """Pass over its ticks until it is resumed; NotFound."""
        ...

    async def resume(self, id: str) -> SavedSchedule:
        """Start its ticks again, from now on; NotFound."""
        ...

    async def trigger(self, id: str, at: datetime | None = None) -> TickRecord:
        """Start its target now, as the tick of the nominal time `at`, by default now; NotFound."""
        ...

    async def backfill(
        self,
        id: str,
        start: datetime,
        end: datetime,
        *,
        concurrency: int = 10,
        overlap: Literal["allow", "skip", "queue", "cancel-running"] = "allow",
        dry_run: bool = False,
        key: str | None = None,
    ) -> BulkOperation:
        """Start the ticks from `start` to `end` that were not started; NotFound.

        At most `concurrency` of its instances run at the same time. With `dry_run` the ticks are
        only counted.
        """
        ...

    async def preview(
        self, id: str, *, count: int = 10, after: datetime | None = None
    ) -> list[PreviewedTick]:
        """Its next ticks after a moment, by default now; NotFound."""
        ...

    async def preview_document(
        self, document: JSON, *, count: int = 10, after: datetime | None = None
    ) -> SchedulePreview:
        """The next ticks of a schedule that is not saved, and all its problems."""
        ...

    async def ticks(self, id: str, limit: int = 100) -> list[TickRecord]:
        """What became of its ticks, newest first; NotFound."""
        ...

    async def tick_page(
        self, id: str, *, limit: int = 100, cursor: str | None = None
    ) -> Page[TickRecord]:
        """A page of its ticks, newest first; NotFound."""
        ...

    async def remove(self, id: str) -> None:
        """Remove it; instances that it has started go on. NotFound."""
        ...

    async def list(
        self,
        *,
        status: str | None = None,
        workflow: str | None = None,
        calendar: str | None = None,
        limit: int = 100,
    ) -> list[SavedSchedule]:
        """Schedules, ordered by id."""
        ...
