"""Documents of stored schedules, read once for each revision.

The expressions of an input may take a second: they are compiled when a tick is first started, and
beside the loop where they are long.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from datetime import datetime
from functools import partial
from typing import Generic, NamedTuple, TypeAlias, TypeVar

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
"""About the most bytes of documents that are kept read, and as many of those with expressions."""
_EXPRESSION = 50
"""An expression that is compiled takes so many times as much memory as other text, or more."""
INPUT_ADVICE = "Templates of the input see `schedule`: id, nominal, previous and next."
Made = TypeVar("Made")
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


class _Kept(NamedTuple, Generic[Made]):
    """What was made of a document."""

    mark: _Mark
    made: Made
    size: int


class _Newest(Generic[Made]):
    """What was made of the documents that were used last, up to a number of them and of bytes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[ScheduleKey, _Kept[Made]] = OrderedDict()
        self._bytes = 0

    def last(self, key: ScheduleKey) -> Made | None:
        """What was made of any document of a schedule."""
        kept = self._kept.get(key)
        return None if kept is None else kept.made

    def of(self, row: ScheduleRow) -> Made | None:
        """What was made of this document."""
        kept = self._kept.get(row.key)
        if kept is None or kept.mark != _mark(row):
            return None
        self._kept.move_to_end(row.key)
        return kept.made

    def keep(self, row: ScheduleRow, made: Made, size: int) -> None:
        """Keep it instead of what was made of an earlier document of the schedule."""
        before = self._kept.pop(row.key, None)
        self._bytes += size - (0 if before is None else before.size)
        self._kept[row.key] = _Kept(_mark(row), made, size)
        while len(self._kept) > _KEPT or (self._bytes > _KEPT_BYTES and len(self._kept) > 1):
            self._bytes -= self._kept.popitem(last=False)[1].size


class ScheduleDocuments:
    """The newest documents that were read."""

    def __init__(self, values: LargeDocuments) -> None:
        """`values`: the thread in which long expressions are compiled."""
        self._values = values
        self._parsed: _Newest[Parsed] = _Newest()
        self._inputs: _Newest[TickInput] = _Newest()
        """Those with expressions, compiled."""

    def overlap_of(self, key: ScheduleKey) -> Overlap | None:
        """What the last document of a schedule that was read says; None: none was."""
        parsed = self._parsed.last(key)
        return None if parsed is None or parsed.schedule is None else parsed.schedule.overlap

    def of(self, row: ScheduleRow) -> Parsed:
        """What a schedule says; the same value until its revision changes."""
        parsed = self._parsed.of(row)
        if parsed is None:
            parsed = parse(row)
            self._parsed.keep(row, parsed, len(row.content))
        return parsed

    def has_input(self, row: ScheduleRow) -> bool:
        """Whether the input of its ticks is at hand, or takes milliseconds to compile."""
        is_quick = COST * len(row.content) < LARGE or b"{{" not in row.content
        return is_quick or self._inputs.of(row) is not None

    async def input_of(self, row: ScheduleRow, schedule: Schedule) -> TickInput:
        """The compiled input of what `row` says; ExpressionSyntaxError."""
        if b"{{" not in row.content:
            return TickInput(schedule=schedule)
        made = self._inputs.of(row)
        if made is None:
            made = await self._values.read(
                COST * len(row.content),
                partial(compiled, schedule),
                tenant=row.tenant,
                may_refuse=False,
            )
            # It has all of the document, beside its expressions.
            self._inputs.keep(row, made, len(row.content) + _EXPRESSION * made.size)
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
