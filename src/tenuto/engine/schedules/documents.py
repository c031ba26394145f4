"""Documents of stored schedules, read once for each revision."""

from __future__ import annotations

import logging
from collections import OrderedDict
from datetime import datetime

import msgspec
from msgspec import UNSET, Struct

from tenuto.expr import (
    ExpressionSyntaxError,
    Template,
    Undefined,
    compile_template,
    template_problems,
)
from tenuto.model.errors import Problem
from tenuto.model.json import JSON, Object
from tenuto.schedules import Schedule, tick_values
from tenuto.schedules.documents import stored_schedule
from tenuto.schedules.schedule import Overlap
from tenuto.store.parts.schedules import ScheduleKey, ScheduleRow

log = logging.getLogger("tenuto.schedules")

ROOTS = frozenset({"schedule"})
"""What templates in the input of a schedule see."""
_KEPT = 10_000


class Parsed(Struct, frozen=True, kw_only=True):
    """What the document of a schedule says."""

    schedule: Schedule | None
    problem: str | None = None
    """Why there is none."""
    input: Template | None = None
    """The input, where that has expressions."""

    def input_at(self, nominal: datetime) -> JSON:
        """The input of the tick of a nominal time; ExpressionError."""
        assert self.schedule is not None
        if self.input is None:
            return None if self.schedule.input is UNSET else self.schedule.input
        found = self.input.render({"schedule": tick_values(self.schedule, nominal)})
        return None if isinstance(found, Undefined) else found


class ScheduleDocuments:
    """The newest documents that were read."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], tuple[tuple[int, datetime], Parsed]]
        self._kept = OrderedDict()

    def overlap_of(self, key: ScheduleKey) -> Overlap | None:
        """What the last document of a schedule that was read says; None: none was."""
        kept = self._kept.get(key)
        return None if kept is None or kept[1].schedule is None else kept[1].schedule.overlap

    def of(self, row: ScheduleRow) -> Parsed:
        """What a schedule says; the same value until its revision changes."""
        mark = (row.revision, row.created_at)
        kept = self._kept.get(row.key)
        if kept is not None and kept[0] == mark:
            self._kept.move_to_end(row.key)
            return kept[1]
        parsed = parse(row)
        self._kept[row.key] = (mark, parsed)
        self._kept.move_to_end(row.key)
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return parsed


def document_of(row: ScheduleRow) -> Object:
    """The document of a schedule, as it is stored."""
    document: Object = msgspec.json.decode(row.content)
    return document


def schedule_of(row: ScheduleRow) -> Schedule | None:
    """The schedule of a row; None if its document cannot be read here."""
    return parse(row).schedule


def parse(row: ScheduleRow) -> Parsed:
    """Read a stored document; one that cannot be read is no reason to stop the others."""
    try:
        return _parse(row)
    except Exception as error:
        log.exception("schedule=%s cannot be read", row.id)
        return Parsed(schedule=None, problem=f"{type(error).__name__}: {error}"[:1_000])


def _parse(row: ScheduleRow) -> Parsed:
    read = stored_schedule(document_of(row))
    if read.schedule is None:
        errors = [each for each in read.problems if each.severity == "error"]
        return Parsed(schedule=None, problem="; ".join(each.message for each in errors)[:1_000])
    schedule = read.schedule
    if schedule.input is UNSET:
        return Parsed(schedule=schedule)
    try:
        template = compile_template(schedule.input, roots=ROOTS)
    except ExpressionSyntaxError as error:
        return Parsed(schedule=None, problem=f"its input: {error}")
    return Parsed(schedule=schedule, input=None if template.is_constant else template)


def input_problems(schedule: Schedule) -> list[Problem]:
    """The faults of expressions in the input of a schedule."""
    if schedule.input is UNSET:
        return []
    return [
        Problem(
            code="TEN-1031",
            path=f"$.input{path.removeprefix('$')}",
            message=str(fault),
            advice="Templates of the input see `schedule`: id, nominal, previous and next.",
        )
        for path, fault in template_problems(schedule.input, roots=ROOTS)
    ]
