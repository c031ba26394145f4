"""Documents of stored schedules, read once for each revision.

The expressions of an input may take a second: they are compiled when a tick is first started, and
beside the loop where they are long.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from datetime import datetime
from functools import partial
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from tenuto.engine.definitions.large_documents import LARGE, LargeDocuments
from tenuto.expr import (
    Template,
    Undefined,
    compile_template,
    template_problems,
)
from tenuto.model.errors import Problem
from tenuto.model.json import JSON, Object
from tenuto.schedules import Schedule, tick_values
from tenuto.schedules.documents import stored_schedule, write_schedule
from tenuto.schedules.schedule import Overlap
from tenuto.store.parts.schedules import ScheduleKey, ScheduleRow

log = logging.getLogger("tenuto.schedules")

ROOTS = frozenset({"schedule"})
"""What templates in the input of a schedule see."""
COST = 10
"""An expression takes so many times as long as other text of a document."""
_KEPT = 10_000
_KEPT_BYTES = 50_000_000
"""About the most bytes of documents that are kept."""
_EXPRESSION_BYTES = 1_000_000
"""The most bytes of expressions that are kept compiled: up to two hundred times as many."""
INPUT_ADVICE = "Templates of the input see `schedule`: id, nominal, previous and next."
_Mark: TypeAlias = tuple[int, datetime]
"""What another document of a schedule has changed."""


class Parsed(Struct, frozen=True, kw_only=True):
    """What the document of a schedule says."""

    schedule: Schedule | None
    problem: str | None = None
    """Why there is none."""


class TickInput(Struct, frozen=True, kw_only=True):
    """The input of the ticks of a schedule."""

    schedule: Schedule
    template: Template | None = None
    """The input, where that has expressions."""
    size: int = 0
    """The characters of its expressions, each text counted once."""

    def at(self, nominal: datetime) -> JSON:
        """The input of the tick of a nominal time; ExpressionError."""
        if self.template is None:
            return None if self.schedule.input is UNSET else self.schedule.input
        found = self.template.render({"schedule": tick_values(self.schedule, nominal)})
        return None if isinstance(found, Undefined) else found

    @property
    def cost(self) -> int:
        """About what it takes to make the input of a tick, in bytes of a document."""
        return COST * self.size


class _Kept(NamedTuple):
    """A document that was read."""

    mark: _Mark
    parsed: Parsed
    size: int


class ScheduleDocuments:
    """The newest documents that were read."""

    def __init__(self, values: LargeDocuments) -> None:
        """`values`: the thread in which long expressions are compiled."""
        self._values = values
        self._kept: OrderedDict[ScheduleKey, _Kept] = OrderedDict()
        self._bytes = 0
        self._inputs: OrderedDict[ScheduleKey, tuple[_Mark, TickInput]] = OrderedDict()
        """Those with expressions, compiled."""
        self._expression_bytes = 0

    def overlap_of(self, key: ScheduleKey) -> Overlap | None:
        """What the last document of a schedule that was read says; None: none was."""
        kept = self._kept.get(key)
        schedule = None if kept is None else kept.parsed.schedule
        return None if schedule is None else schedule.overlap

    def of(self, row: ScheduleRow) -> Parsed:
        """What a schedule says; the same value until its revision changes."""
        mark = _mark(row)
        kept = self._kept.get(row.key)
        if kept is not None and kept.mark == mark:
            self._kept.move_to_end(row.key)
            return kept.parsed
        if kept is not None:
            self._bytes -= self._kept.pop(row.key).size
        parsed = parse(row)
        self._kept[row.key] = _Kept(mark, parsed, len(row.content))
        self._bytes += len(row.content)
        while len(self._kept) > _KEPT or (self._bytes > _KEPT_BYTES and len(self._kept) > 1):
            self._bytes -= self._kept.popitem(last=False)[1].size
        return parsed

    def has_input(self, row: ScheduleRow) -> bool:
        """Whether the input of its ticks is at hand, or takes milliseconds to compile."""
        kept = self._inputs.get(row.key)
        if kept is not None and kept[0] == _mark(row):
            return True
        return COST * len(row.content) < LARGE or b"{{" not in row.content

    async def input_of(self, row: ScheduleRow, schedule: Schedule) -> TickInput:
        """The compiled input of what `row` says; ExpressionSyntaxError."""
        if b"{{" not in row.content:
            return TickInput(schedule=schedule)
        mark = _mark(row)
        kept = self._inputs.get(row.key)
        if kept is not None and kept[0] == mark:
            self._inputs.move_to_end(row.key)
            return kept[1]
        made = await self._values.read(
            COST * len(row.content),
            partial(compiled, schedule),
            tenant=row.tenant,
            may_refuse=False,
        )
        before = self._inputs.pop(row.key, None)
        self._expression_bytes += made.size - (0 if before is None else before[1].size)
        self._inputs[row.key] = (mark, made)
        while len(self._inputs) > _KEPT or (
            self._expression_bytes > _EXPRESSION_BYTES and len(self._inputs) > 1
        ):
            self._expression_bytes -= self._inputs.popitem(last=False)[1][1].size
        return made


def _mark(row: ScheduleRow) -> _Mark:
    return (row.revision, row.created_at)


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
        return _parse(document_of(row))
    except Exception as error:
        log.exception("schedule=%s cannot be read", row.id)
        return Parsed(schedule=None, problem=f"{type(error).__name__}: {error}"[:1_000])


def parse_again(schedule: Schedule) -> Parsed:
    """What a schedule will say once it is stored."""
    return _parse(write_schedule(schedule))


def _parse(document: Object) -> Parsed:
    # Its input was looked through when it was saved, which takes long where it is large.
    input = document.pop("input", UNSET)
    read = stored_schedule(document)
    if read.schedule is None:
        errors = [each for each in read.problems if each.severity == "error"]
        return Parsed(schedule=None, problem="; ".join(each.message for each in errors)[:1_000])
    return Parsed(schedule=replace(read.schedule, input=input))


def compiled(schedule: Schedule) -> TickInput:
    """The input of a schedule with its expressions compiled; ExpressionSyntaxError."""
    if schedule.input is UNSET:
        return TickInput(schedule=schedule)
    template = compile_template(schedule.input, roots=ROOTS)
    if template.is_constant:
        return TickInput(schedule=schedule)
    return TickInput(schedule=schedule, template=template, size=_size(schedule.input))


def _size(input: JSON) -> int:
    """The characters of the texts that may have expressions, each text once."""
    texts: set[str] = set()
    pending: list[JSON] = [input]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            if "{{" in value:
                texts.add(value)
        elif isinstance(value, dict):
            pending += value.values()
        elif isinstance(value, list):
            pending += value
    return sum(map(len, texts))


def input_problems(schedule: Schedule) -> list[Problem]:
    """The faults of expressions in the input of a schedule."""
    if schedule.input is UNSET:
        return []
    return [
        Problem(
            code="TEN-1031",
            path=f"$.input{path.removeprefix('$')}",
            message=str(fault),
            advice=INPUT_ADVICE,
        )
        for path, fault in template_problems(schedule.input, roots=ROOTS)
    ]
