"""Lines that tasks logged and printed, as users see them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

import msgspec

from tenuto.core import Plan
from tenuto.definition.report import did_you_mean
from tenuto.model.durations import epoch_ms, iso
from tenuto.model.errors import NotFound
from tenuto.model.json import Object
from tenuto.model.task_logs import LogLine, Number
from tenuto.store.parts.task_logs import TaskLogPlace, TaskLogRow
from tenuto.store.protocol import Parts
from tenuto.workspace.cursors import write_cursor
from tenuto.workspace.values import Page

_AT_ONCE = 20
"""Chunks that are read at once; one has at most 64,000 bytes."""
_MOST_BYTES = 2_000_000
"""A page ends with the chunk that reaches this size."""
_NAMED = 20
"""The most steps that a message lists."""

_decode = msgspec.json.Decoder(tuple[LogLine, ...]).decode


class LinesOf(NamedTuple):
    """Which lines of an instance."""

    tenant: str
    instance_id: str
    step: str | None = None
    iteration: str | None = None
    attempt: int | None = None


class LinesCursor(NamedTuple):
    """Where a page begins: a chunk, and so many lines of it that were shown before."""

    place: TaskLogPlace
    shown: Number = 0


async def page_of_lines(
    seen: Parts, which: LinesOf, limit: int, begin: LinesCursor | None
) -> Page[Object]:
    """Lines in the order in which they were written; those of an attempt in their own."""
    items: list[Object] = []
    size = 0
    while True:
        rows = await _rows(seen, which, begin)
        for row in rows:
            place = _place(row)
            shown = begin.shown if begin is not None and begin.place == place else 0
            lines = _decode(row.lines)
            room = limit - len(items) if size < _MOST_BYTES else 0
            end = min(shown + room, len(lines))
            items += [line_view(row, number, lines[number]) for number in range(shown, end)]
            begin = LinesCursor(place, end)
            if end < len(lines):
                return Page(items=items, next_cursor=write_cursor(begin))
            size += row.size
        if len(rows) < _AT_ONCE:
            return Page(items=items, next_cursor=None)


async def all_lines(page: Callable[[str | None], Awaitable[Page[Object]]]) -> list[Object]:
    """The lines of all pages."""
    items: list[Object] = []
    cursor: str | None = None
    while True:
        found = await page(cursor)
        items += found.items
        cursor = found.next_cursor
        if cursor is None:
            return items


def line_view(row: TaskLogRow, index: int, line: LogLine) -> Object:
    """A line in JSON: with a stream, or with a level and a logger."""
    view: Object = {
        "stepId": row.step,
        "iteration": row.iteration,
        "attempt": row.attempt,
        "number": row.first + index,
        "at": iso(line.at),
        "text": line.text,
    }
    if line.stream is not None:
        view["stream"] = line.stream
    if line.level is not None:
        # The console of code has no logger, and a worker may send a text alone.
        named = {"level": line.level, "logger": line.logger}
        view |= {name: value for name, value in named.items() if value is not None}
    if line.dropped:
        view["dropped"] = line.dropped
    return view


def refuse_unknown_step(plan: Plan, step: str) -> None:
    """NotFound unless the workflow has this step, or this compensation."""
    if step in plan.nodes or step in plan.undo_steps:
        return
    names = [*plan.nodes, *plan.undo_steps]
    known = f"The workflow has {', '.join(names[:_NAMED])}."
    raise NotFound(
        f"{plan.definition.id} has no step {step!r}", advice=did_you_mean(step, names, known)
    )


async def _rows(seen: Parts, which: LinesOf, begin: LinesCursor | None) -> Sequence[TaskLogRow]:
    return await seen.task_logs.page(
        which.tenant,
        which.instance_id,
        _AT_ONCE,
        step=which.step,
        iteration=which.iteration,
        attempt=which.attempt,
        since=None if begin is None else begin.place,
    )


def _place(row: TaskLogRow) -> TaskLogPlace:
    assert row.at is not None  # it was read
    return TaskLogPlace(epoch_ms(row.at), row.step, row.iteration, row.attempt, row.first)
