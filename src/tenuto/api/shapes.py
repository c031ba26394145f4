"""Shapes of bodies, queries and answers, and those that several operations share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Annotated, Any, TypeAlias, TypeVar, dataclass_transform

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, StructMeta, UnsetType

from tenuto.model.checks import moment_problem
from tenuto.model.durations import iso
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tenuto.store.parts.instances import InstanceRow

T = TypeVar("T")
StructT = TypeVar("StructT", bound=Struct)

MOST_ITEMS = 1_000

Version: TypeAlias = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Priority: TypeAlias = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Moment: TypeAlias = Annotated[datetime, Meta(tz=True)]
Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=600)]
_MOMENTS = (Moment, Moment | None)
BatchOf: TypeAlias = Annotated[list[T], Meta(max_length=MOST_ITEMS)]


class ShapeMeta(StructMeta):
    """Makes every shape frozen and keyword-only, so that no declaration has to repeat it."""

    def __new__(
        mcls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        **config: Any,  # noqa: ANN401 - options of msgspec
    ) -> ShapeMeta:
        config = {"frozen": True, "kw_only": True, **config}
        return super().__new__(mcls, name, bases, namespace, **config)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Shape(Struct, metaclass=ShapeMeta, frozen=True, kw_only=True, rename="camel"):
    """A JSON object of the API: frozen, keyword-only, with camelCase names."""


class Received(Shape, forbid_unknown_fields=True):
    """Input from a client; an unknown field is refused."""

    def __post_init__(self) -> None:
        """ValueError for a time that cannot be stored, which no type expresses."""
        for name, spelled in _moments_in(type(self)):
            value = getattr(self, name)
            if value is not None and (wrong := moment_problem(value)) is not None:
                raise ValueError(f"`{spelled}` cannot be kept: {wrong}")


class Body(Received):
    """The body of a request."""


class Query(Received):
    """Query parameters."""


def items_in(body: object) -> int:
    """How many starts, events or reports a body holds: it is a list of them, or has one."""
    if isinstance(body, list):
        return len(body)
    if not isinstance(body, Struct):
        return 1
    fields = (getattr(body, name) for name in body.__struct_fields__)
    lists = (value for value in fields if isinstance(value, list | tuple))
    return max((len(each) for each in lists if each and isinstance(each[0], Struct)), default=1)


class Answer(Shape):
    """The body of an answer."""


class InstanceItem(Answer):
    """An instance as lists show it."""

    id: str
    workflow_definition_id: str
    definition_version: int
    status: Status
    correlation_id: str | None
    current_steps: tuple[str, ...]
    priority: int
    deadline: str | None
    created_at: str
    updated_at: str
    started_at: str | None
    completed_at: str | None
    output: JSON
    last_error: JSON
    cancellation: JSON
    root_id: str
    tenant: str
    parent_id: str | UnsetType = UNSET
    rerun_of: str | UnsetType = UNSET
    schedule: dict[str, JSON] | UnsetType = UNSET
    """`{id, nominal}`: the tick of a schedule that started it."""
    version: int | UnsetType = UNSET
    """This and the next ones with `full`: the whole instance."""
    input: JSON | UnsetType = UNSET
    state: dict[str, JSON] | UnsetType = UNSET
    compensation_state: JSON | UnsetType = UNSET


class InstanceView(Answer):
    """A whole instance."""

    id: str
    workflow_definition_id: str
    definition_version: int
    status: Status
    state: dict[str, JSON]
    input: JSON
    output: JSON
    version: int
    correlation_id: str | None
    last_error: JSON
    cancellation: JSON
    compensation_state: JSON
    root_id: str
    tenant: str
    priority: int
    deadline: str | None
    created_at: str
    updated_at: str
    started_at: str | None
    completed_at: str | None
    parent_id: str | UnsetType = UNSET
    rerun_of: str | UnsetType = UNSET
    schedule: dict[str, JSON] | UnsetType = UNSET
    """`{id, nominal}`: the tick of a schedule that started it."""


class StatusAnswer(Answer):
    """The current status of an instance."""

    instance_id: str
    status: Status


@cache
def _moments_in(sent: type[Struct]) -> list[tuple[str, str]]:
    """The fields that are times, each with its name in JSON."""
    fields = msgspec.structs.fields(sent)
    return [(each.name, each.encode_name) for each in fields if each.type in _MOMENTS]


def instance_item(row: InstanceRow, schedule: Object | None = None) -> InstanceItem:
    """A row of the list; stored JSON is passed on without decoding.

    `schedule`: the tick that started it.
    """
    return InstanceItem(
        id=row.id,
        workflow_definition_id=row.definition_id,
        definition_version=row.definition_version,
        status=row.status,
        correlation_id=row.correlation_id,
        current_steps=row.current_steps,
        priority=row.priority,
        deadline=moment(row.deadline),
        created_at=iso(row.created_at),
        updated_at=iso(row.updated_at),
        started_at=moment(row.started_at),
        completed_at=moment(row.completed_at),
        output=raw(row.output),
        last_error=raw(row.last_error),
        cancellation=raw(row.cancellation),
        root_id=row.root_id or row.id,
        tenant=row.tenant,
        parent_id=row.parent_id if row.parent_id is not None else UNSET,
        rerun_of=row.rerun_of if row.rerun_of is not None else UNSET,
        schedule=schedule if schedule is not None else UNSET,
    )


def shaped(kind: type[StructT], record: object, **others: object) -> StructT:
    """A shape with the fields of a record that have the same names, and `others`.

    Times become text, as JSON has them.
    """
    for name in kind.__struct_fields__:
        if name not in others:
            value = getattr(record, name)
            others[name] = iso(value) if isinstance(value, datetime) else value
    return kind(**others)


def moment(moment: datetime | None) -> str | None:
    """A moment in JSON."""
    return iso(moment) if moment is not None else None


def decoded(stored: bytes | None) -> JSON:
    """Stored JSON, decoded."""
    value: JSON = msgspec.json.decode(stored) if stored else None
    return value


def raw(stored: bytes | None) -> JSON:
    """Stored JSON, which is passed on without decoding."""
    return Raw(stored) if stored else None  # type: ignore[return-value]


def split(text: str | None, wanted: Callable[[str], T], path: str) -> list[T]:
    """The values of a parameter that takes several, separated by commas."""
    if text is None:
        return []
    try:
        return [wanted(each.strip()) for each in text.split(",") if each.strip()]
    except ValueError as error:
        problem = Problem(
            code="TEN-2031", path=path, message=str(error), advice="Correct the value."
        )
        raise InvalidInput("the query is not what this operation takes", [problem]) from None
