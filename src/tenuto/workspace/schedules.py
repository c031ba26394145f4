"""The schedules of one tenant over an engine: saved, paused, triggered, backfilled."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Literal

from tenuto.definition.slug import slug
from tenuto.engine.engine import Engine
from tenuto.model.checks import aware, calculable, refuse_bad_text
from tenuto.model.errors import Conflict, InvalidInput, Problem
from tenuto.model.json import JSON, Object
from tenuto.schedules import Schedule, WorkflowTarget
from tenuto.store.parts.instances import InstanceQuery
from tenuto.workspace.bulk import BulkOperations
from tenuto.workspace.calendars import Calendars
from tenuto.workspace.definitions import candidate_ids
from tenuto.workspace.instance_lists import instance_rows
from tenuto.workspace.schedule_values import SavedSchedule, TickRecord
from tenuto.workspace.stored_schedules import StoredSchedules, shown, tick_record
from tenuto.workspace.values import BulkOperation

_FIRST_LOOK, _LAST_LOOK = 0.005, 2.0
"""Seconds between looks for an instance that is about to be started."""


class Schedules(StoredSchedules):
    """What is started at certain times: workflows, tasks and callbacks of one tenant."""

    def __init__(
        self,
        engine: Engine,
        tenant: str,
        actor: str,
        calendars: Calendars,
        bulk: BulkOperations,
    ) -> None:
        super().__init__(engine, tenant, calendars)
        self._engine = engine
        self._actor = actor
        self._bulk = bulk

    async def save(self, document: JSON, *, only_after: int | None = None) -> SavedSchedule:
        """Save a schedule, new or not; without an id it is a new one. InvalidInput.

        With `only_after` it is saved only while that is its version; Conflict.
        """
        if _id_of(document) is None and isinstance(document, dict):
            return await self.create(document)
        await self._search(document)
        saved = await self._engine.schedules.save_checked(
            self._tenant, document, by=self._actor, only_after=only_after
        )
        return shown(saved.row, saved.warnings)

    async def create(self, document: JSON) -> SavedSchedule:
        """Save a new schedule; Conflict where its id is taken.

        One without an id gets a free one, made of its name or of what it starts.
        """
        if _id_of(document) is not None or not isinstance(document, dict):
            await self._search(document)
            saved = await self._engine.schedules.save_checked(
                self._tenant, document, by=self._actor, is_new=True
            )
            return shown(saved.row, saved.warnings)
        base = slug(document, _target_name(document))
        for id in candidate_ids(base, self._source.ids):
            if await self._seen.schedules.get(self._tenant, id) is None:
                with suppress(Conflict):
                    return await self.create({"id": id, **document})
        raise Conflict(f"there is a schedule {base} already", code="TEN-3081")

    async def pause(self, id: str, note: str | None = None) -> SavedSchedule:
        """Pass over its ticks until it is resumed; NotFound."""
        refuse_bad_text(note=note)
        await self.row(id)
        schedules = self._engine.schedules
        return shown(await schedules.pause(self._tenant, id, by=self._actor, note=note))

    async def resume(self, id: str) -> SavedSchedule:
        """Start its ticks again, from now on; NotFound."""
        await self.row(id)
        return shown(await self._engine.schedules.resume(self._tenant, id, by=self._actor))

    async def trigger(self, id: str, at: datetime | None = None) -> TickRecord:
        """Start its target now, as the tick of the nominal time `at`, by default now; NotFound.

        A nominal time that was started already is not started again.
        """
        await self.row(id)
        if at is not None:
            calculable(at, "at")
        tick = await self._engine.schedules.trigger(self._tenant, id, by=self._actor, at=at)
        if tick.outcome == "started" and tick.instance_id is not None:
            await self._until_there(tick.instance_id)
            tick = await self._seen.schedules.tick(self._tenant, id, tick.nominal) or tick
        return tick_record(tick)

    async def _until_there(self, instance_id: str) -> None:
        """Wait until an instance exists, whose start is durable; not for long."""
        clock = self._source.clock
        seconds = _FIRST_LOOK
        while seconds < _LAST_LOOK:
            query = InstanceQuery(ids=(instance_id,), limit=1)
            if (await instance_rows(self._source, self._tenant, query)).items:
                return
            await clock.sleep(seconds)
            seconds *= 2

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

        At most `concurrency` of its instances run at the same time. With `dry_run` the ticks of the
        range are only counted, those included that were started. InvalidInput above 100,000.
        """
        await self.row(id)
        calculable(start, "from")
        aware(end, "to")
        now = self._source.clock.now()
        if end < start:
            raise _refused("$.to", "it is before `from`", "Name the earlier moment first.")
        if start > now:
            raise _refused("$.from", "it is in the future", "The schedule starts these itself.")
        return await self._bulk.start_backfill(
            id,
            start,
            min(end, now),
            concurrency=concurrency,
            overlap=overlap,
            dry_run=dry_run,
            key=key,
        )

    async def remove(self, id: str) -> None:
        """Remove it; instances that it has started go on. NotFound."""
        await self.row(id)
        await self._engine.schedules.remove(self._tenant, id)

    async def _all_problems(self, document: JSON, schedule: Schedule) -> tuple[Problem, ...]:
        # For other targets a workflow of one step would be saved, and this only looks.
        if not isinstance(schedule.target, WorkflowTarget):
            return ()
        return (await self._engine.schedules.check(self._tenant, document)).problems

    async def _search(self, document: JSON) -> None:
        """Find the first start of a document aside, if it names a calendar; it is then known."""
        if isinstance(document, dict) and document.get("calendar") is not None:
            now = self._source.clock.now()
            await self._read(document, await self._calendars.known(), now)


def _id_of(document: JSON) -> JSON:
    given = document if isinstance(document, dict) else {}
    return given.get("id", given.get("scheduleId"))


def _target_name(document: Object) -> str:
    """A name for a schedule that has none, after what it starts."""
    target = document.get("target")
    given = target if isinstance(target, dict) else {}
    named = given.get("workflowId") or given.get("taskId") or given.get("id") or "schedule"
    return slug({"name": named}, "schedule")


def _refused(path: str, message: str, advice: str) -> InvalidInput:
    problem = Problem(code="TEN-2732", path=path, message=message, advice=advice)
    return InvalidInput("there is nothing to backfill", [problem])
