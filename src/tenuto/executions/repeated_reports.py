"""Recognises the repeat of a report that was accepted before, by the instance's log."""

from __future__ import annotations

from tenuto.model.entries import (
    CompensationCompleted,
    CompensationFailed,
    Entry,
    EventType,
    HeldResult,
    NodeCancelled,
    NodeCompleted,
    NodeFailed,
    TimerSet,
)
from tenuto.model.failure import (
    CANCELLED,
    EXPRESSION_ERROR,
    INVALID_OUTPUT,
    TOO_LARGE,
    UNKNOWN_HANDLE,
)
from tenuto.model.graph import DEFAULT
from tenuto.model.inputs import TaskFailed, TaskSucceeded
from tenuto.model.log import from_row
from tenuto.store.parts.jobs import JobKey
from tenuto.store.protocol import Store

_PAGE = 200
_BEGINNINGS = (EventType.NODE_DISPATCHED, EventType.COMPENSATION_DISPATCHED)
_MADE_OF_A_RESULT = (UNKNOWN_HANDLE, EXPRESSION_ERROR, INVALID_OUTPUT, TOO_LARGE)
"""Failures of attempts whose tasks had succeeded."""


async def recorded(store: Store, key: JobKey, report: TaskSucceeded | TaskFailed) -> Entry | None:
    """The entry of this outcome of this attempt, if the log of the instance has it.

    It is read backwards from its end, where most repeats are found, to the start of the attempt.
    """
    newest = (await store.instances.newest_seqs([key.instance_id])).get(key.instance_id, 0)
    while newest > 0:
        after = max(newest - _PAGE, 0)
        rows = await store.instances.entries(key.instance_id, after=after, limit=newest - after)
        of_attempt = [row for row in rows if (row.node_id, row.iteration, row.attempt) == key[1:]]
        for row in of_attempt:
            entry = from_row(row)
            if _is_outcome(entry, report):
                return entry
        if any(row.event_type in _BEGINNINGS for row in of_attempt):
            return None
        newest = after
    return None


def _is_outcome(entry: Entry, report: TaskSucceeded | TaskFailed) -> bool:
    match entry:
        case NodeCompleted(status="success", reused_from=None):
            return isinstance(report, TaskSucceeded) and _is_result(entry, report)
        case TimerSet(held=HeldResult() as held):
            result = held.output, held.handle or DEFAULT
            return isinstance(report, TaskSucceeded) and result == (report.output, report.handle)
        case CompensationCompleted():
            return isinstance(report, TaskSucceeded) and entry.output == report.output
        case NodeFailed() | CompensationFailed():
            if isinstance(report, TaskFailed):
                return entry.error == report.error
            return entry.error.code in _MADE_OF_A_RESULT and _failed_for(entry, report)
        case NodeCancelled():
            return isinstance(report, TaskFailed) and report.error.code == CANCELLED
        case _:
            return False


def _failed_for(entry: NodeFailed | CompensationFailed, report: TaskSucceeded) -> bool:
    """Whether the attempt failed for this result, and not for another one."""
    if entry.error.code == UNKNOWN_HANDLE and repr(report.handle) not in entry.error.message:
        return False
    # The log keeps the output of a step, unless it was too large; that of a compensation it does
    # not keep.
    return isinstance(entry, CompensationFailed) or (
        entry.error.was_done and entry.output == report.output
    )


def _is_result(entry: NodeCompleted, report: TaskSucceeded) -> bool:
    if entry.output != report.output:
        return False
    # One that names no handle may have been routed by its conditions.
    return report.handle == DEFAULT or entry.handles == (report.handle,)
