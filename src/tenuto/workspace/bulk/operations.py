"""The bulk operations of one tenant: started, followed, cancelled."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from msgspec.structs import replace

from tenuto.model.checks import aware, converted, refuse_bad_ids, refuse_bad_text, within
from tenuto.model.errors import InvalidInput, Problem
from tenuto.store.parts.bulk import BulkPlace, BulkRow
from tenuto.workspace.bulk.request import BulkAsked, Overlap, Which
from tenuto.workspace.bulk.runner import MOST_COUNTED, BulkRunner, no_operation, read_row
from tenuto.workspace.portions import Portions, size_of_parts
from tenuto.workspace.values import (
    BulkFailure,
    BulkOperation,
    BulkTarget,
    DeadLetterFilter,
    InstanceFilter,
)

MOST_AT_ONCE = 100
"""The most instances of a backfill that run at the same time."""


class BulkOperations:
    """Actions over many instances or dead letters of one tenant: durable, with progress."""

    __slots__ = ("_actor", "_runner", "_tenant")

    def __init__(self, runner: BulkRunner, tenant: str, actor: str) -> None:
        self._runner = runner
        self._tenant = tenant
        self._actor = actor

    async def start(
        self,
        action: Literal["cancel", "pause", "resume", "retry"],
        which: InstanceFilter,
        *,
        reason: str | None = None,
        should_compensate: bool = True,
        dry_run: bool = False,
        key: str | None = None,
    ) -> BulkOperation:
        """Act on all instances that the filter finds; with `dry_run` only count them.

        Without a status, the filter selects the instances to which the action can apply. At most
        one operation is started under a `key`. InvalidInput for an empty filter.
        """
        _refuse_other_filters(which)
        given = {
            "target": "instances-by-family" if _is_by_family(which) else "instances",
            "action": action,
            "which": {
                "ids": which.ids,
                "statuses": which.status,
                "workflow_id": which.workflow,
                "correlation_id": which.correlation_id,
                "current_step": which.current_step,
                "created_from": which.created_from,
                "created_before": which.created_before,
                "waiting_for": which.waiting_for,
                "roots": which.roots,
                "parent_id": which.parent_id,
            },
            "by": self._actor,
            "reason": reason,
            "should_compensate": should_compensate,
        }
        return await self._start(given, key, is_dry=dry_run)

    async def start_on_dead_letters(
        self,
        action: Literal["retry", "discard"],
        which: DeadLetterFilter,
        *,
        dry_run: bool = False,
        key: str | None = None,
    ) -> BulkOperation:
        """Act on all dead letters that the filter finds; with `dry_run` only count them."""
        given = {
            "target": "dead-letters-by-cause" if which.is_by_cause else "dead-letters",
            "action": action,
            "which": {
                "ids": which.ids,
                "kind": which.kind,
                "task_id": which.task_id,
                "workflow_id": which.workflow,
                "step_id": which.step_id,
                "code": which.code,
                "instance_id": which.instance_id,
                "created_from": which.created_from,
                "created_before": which.created_before,
            },
            "by": self._actor,
        }
        return await self._start(given, key, is_dry=dry_run)

    async def start_backfill(
        self,
        schedule_id: str,
        start: datetime,
        end: datetime,
        *,
        concurrency: int,
        overlap: Overlap,
        dry_run: bool = False,
        key: str | None = None,
    ) -> BulkOperation:
        """Start the ticks of a schedule from `start` to `end`; with `dry_run` only count them.

        InvalidInput where there are more than `MOST_COUNTED`.
        """
        within(concurrency, "concurrency", 1, MOST_AT_ONCE)
        given = {
            "target": "ticks",
            "action": "backfill",
            "which": {"schedule_id": schedule_id, "nominal_from": start, "nominal_to": end},
            "by": self._actor,
            "concurrency": concurrency,
            "overlap": overlap,
        }
        return await self._start(given, key, is_dry=dry_run)

    async def get(self, id: str) -> BulkOperation:
        """A bulk operation and its progress; NotFound."""
        return _found(await self._runner.get(self._tenant, id))

    async def cancel(self, id: str) -> BulkOperation:
        """Stop a bulk operation; finished items are not reverted. NotFound."""
        return _found(await self._runner.cancel(self._tenant, id, self._actor))

    async def list(
        self, limit: int = 100, *, below: BulkPlace | None = None, only_backfills: bool = False
    ) -> list[BulkOperation]:
        """Bulk operations, newest first; all of them, or backfills of schedules alone."""
        found: list[BulkOperation] = []
        while (wanted := limit - len(found)) > 0:
            more, below = await self.page(wanted, below=below, only_backfills=only_backfills)
            found += more
            if below is None:
                break
        return found

    async def page(
        self, limit: int, *, below: BulkPlace | None = None, only_backfills: bool = False
    ) -> tuple[Sequence[BulkOperation], BulkPlace | None]:
        """The same, until so many or their requests are large; and the place to go on from."""
        found: list[BulkOperation] = []
        portions = Portions()
        while wanted := portions.next(limit, len(found)):
            rows = await self._runner.page(self._tenant, wanted, below)
            portions.add(size_of_parts(row.content, row.progress) for row in rows)
            shown = [each for row in rows if (each := _operation(row)) is not None]
            found += [each for each in shown if each.target == "ticks" or not only_backfills]
            if len(rows) < wanted:
                return found, None
            below = BulkPlace(rows[-1].created_at, rows[-1].id)
        return found, below

    async def _start(self, given: object, key: str | None, *, is_dry: bool) -> BulkOperation:
        asked = converted(given, BulkAsked, "no such bulk operation can be started")
        refuse_bad_text(reason=asked.reason)
        aware(asked.which.created_from, "createdFrom")
        aware(asked.which.created_before, "createdBefore")
        if replace(asked.which, roots=False) == Which():
            problem = Problem(
                code="TEN-2614",
                path="$.filter",
                message="the filter says nothing, so that it would find everything",
                advice="Say at least one thing: a status, a workflow, ids.",
            )
            raise InvalidInput("an action over everything is not taken", [problem])
        count = 0
        if asked.is_backfill:
            ticks = await self._runner.count_ticks(self._tenant, asked, MOST_COUNTED + 1)
            count = ticks.found
            if count > MOST_COUNTED:
                raise _too_large(f"there are more than {MOST_COUNTED:,} ticks in this range")
            if not ticks.is_all:
                raise _too_large("the range is too long to count its ticks")
        elif is_dry:
            count = await self._runner.count(self._tenant, asked)
        if is_dry:
            return BulkOperation(
                target=_target(asked),
                action=asked.action,
                status="dry-run",
                matched=count,
                done=0,
                failed=0,
                failures=(),
                requested_by=asked.by,
            )
        refuse_bad_ids(key=key)
        return _found(await self._runner.ask(self._tenant, asked, key))


def _too_large(message: str) -> InvalidInput:
    problem = Problem(
        code="TEN-2733",
        path="$.to",
        message=message,
        advice="Name a shorter range, and then the next one.",
    )
    return InvalidInput("the backfill is too large", [problem])


def _found(row: BulkRow) -> BulkOperation:
    shown = _operation(row)
    if shown is None:
        raise no_operation(row.id)
    return shown


def _operation(row: BulkRow) -> BulkOperation | None:
    """The operation of a row; None where it cannot be read, and is left out."""
    read = read_row(row)
    if read is None:
        return None
    asked, progress = read
    return BulkOperation(
        id=row.id,
        target=_target(asked),
        action=asked.action,
        status=progress.status,
        matched=progress.matched,
        done=progress.done,
        failed=progress.failed,
        failures=tuple(
            BulkFailure(id=each.id, code=each.code, message=each.message)
            for each in progress.failures
        ),
        created_at=row.created_at,
        ended_at=progress.ended_at,
        requested_by=asked.by,
        stopped_by=None if progress.status == "done" else asked.stopped_by,
    )


def _target(asked: BulkAsked) -> BulkTarget:
    if asked.is_backfill:
        return "ticks"
    return "instances" if asked.is_on_instances else "dead-letters"


def _is_by_family(which: InstanceFilter) -> bool:
    """Whether it says something that older programs would not compare."""
    return which.roots or which.waiting_for is not None or which.parent_id is not None


def _refuse_other_filters(which: InstanceFilter) -> None:
    """The action itself changes the time of change: a list by it has no stable order.

    At most one instance has a key: that one is named by its id. A text is in no index.
    """
    names = ("updated_from", "updated_before", "key", "text")
    problems = [
        Problem(
            code="TEN-2031",
            path=f"$.filter.{name}",
            message="bulk operations do not filter by it",
            advice="List the instances by it, and name their ids.",
        )
        for name in names
        if getattr(which, name)
    ]
    if problems:
        raise InvalidInput("no such bulk operation can be started", problems)
