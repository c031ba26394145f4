"""The types of a task's parameters are what it can be called with, and no less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, TypedDict

import pytest
from msgspec import Meta, Struct
from pydantic import BaseModel

from tenuto.model.json import JSON
from tenuto.tasks.context import Context
from tenuto.tasks.function import TaskFunction


@dataclass
class Line:
    sku: str
    count: int = 1


@dataclass
class Order:
    id: str
    lines: list[Line] = field(default_factory=list)


class Payment(Struct):
    amount: float
    at: datetime | None = None


class Closed(Struct, forbid_unknown_fields=True):
    amount: float


class Address(TypedDict, total=False):
    street: str


class Kind(Enum):
    SMALL = "small"


class Model(BaseModel):
    number: int


def whole(_: Any) -> None: ...  # noqa: ANN401 - its type is the case's


def parts(ctx: Context, id: str, amount: float, note: str = "") -> None: ...


def optional(id: str = "", amount: float = 0) -> None: ...


def others(id: str, **rest: object) -> None: ...


def names(id, amount) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001 - untyped


def mixed(id, amount: float) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001 - partly


def checks(takes: object, given: JSON) -> bool:
    """Whether an input fits a type of the one parameter, or a function."""
    if callable(takes) and getattr(takes, "__module__", "") == __name__ and takes in FUNCTIONS:
        check = TaskFunction(takes).check_input
    else:

        def typed(value: Any) -> None: ...  # noqa: ANN401 - its type is the case's

        typed.__annotations__["value"] = takes
        check = TaskFunction(typed).check_input
    return check is None or check(given).failure is None


FUNCTIONS = (parts, optional, others, names, mixed)


@pytest.mark.parametrize(
    ("takes", "fits", "misfits"),
    [
        (int, [1, 1.0, -5], ["1", None, True, 1.5, []]),
        (float, [1, 1.5], ["1", None]),
        (str, ["", "1"], [1, None, {}]),
        (bool, [True], [1, "true"]),
        (dict, [{}, {"a": 1}], [[], None]),
        (list, [[], [1, "a"]], [{}, "ab"]),
        (list[int], [[], [1]], [["a"], [None], 1]),
        (set[int], [[1, 1]], [["a"], 1]),
        (tuple[int, str], [[1, "a"]], [[1], ["a", 1]]),
        (Sequence[int], [[1]], [["a"]]),
        (Mapping[str, int], [{"a": 1}], [{"a": "b"}]),
        (dict[int, str], [{"1": "a"}], [{"1": 1}]),
        (int | None, [1, None], ["a"]),
        (int | str, [1, "a"], [None, []]),
        (Literal["a", "b"], ["a"], ["c", 1]),
        (Annotated[int, Meta(ge=1)], [1], [0]),
        (Kind, ["small"], ["large"]),
        (Decimal, ["1.5", 1.5], [[]]),
        (datetime, ["2026-01-01T00:00:00Z"], ["tomorrow", 1]),
        (Order, [{"id": "a", "more": 1}, {"id": "a", "lines": [{"sku": "b"}]}], [{}, {"id": 1}]),
        (Order | None, [None, {"id": "a"}], [{}, 1]),
        (list[Order], [[{"id": "a"}]], [[{}], {"id": "a"}]),
        (Payment, [{"amount": 1, "more": 1}], [{"amount": "1"}, {"amount": 1, "at": "now"}]),
        (Closed, [{"amount": 1}], [{"amount": 1, "more": 1}]),
        (Address, [{}, {"street": "a", "more": 1}], [{"street": 1}, "a"]),
        (parts, [{"id": "a", "amount": 1}], [{"id": "a"}, {"id": "a", "amount": 1, "x": 1}, None]),
        (optional, [None, {}, {"id": "a"}, {"id": None}], [{"x": 1}, {"id": 1}, []]),
        (others, [{"id": "a", "x": 1}], [{"x": 1}, "a"]),
        (mixed, [{"id": [], "amount": 1}], [{"id": 1, "amount": "a"}, {"amount": 1}]),
        # No types, or types that convert more than they say.
        (Any, [1, None, {}], []),
        (object, [1, None, {}], []),
        (Model, [{"number": "5"}, {"number": 5}], []),
        (Context.__class__, [1, None], []),
        (names, [{"id": 1}, 5], []),
    ],
)
def test_an_input_is_refused_only_if_it_is_of_another_type(
    takes: object, fits: list[JSON], misfits: list[JSON]
) -> None:
    assert [each for each in fits if not checks(takes, each)] == []
    assert [each for each in misfits if checks(takes, each)] == []


def test_a_task_without_types_is_not_checked_and_its_names_are_known() -> None:
    task = TaskFunction(names)
    assert task.check_input is None
    assert task.input_schema == {
        "type": "object",
        "required": ["id", "amount"],
        "properties": {"id": {}, "amount": {}},
        "additionalProperties": False,
    }
    assert TaskFunction(whole).input_schema is None


def test_the_schema_and_its_check_are_made_once() -> None:
    task = TaskFunction(parts)
    assert task.check_input is task.check_input is not None
    assert task.input_schema is task.input_schema


def test_what_undoes_a_task_may_leave_parts_of_its_output_out() -> None:
    undo = TaskFunction(parts, name="charge.undo", undoes="charge")
    assert undo.check_input is not None
    assert undo.check_input({"id": "a", "amount": 1, "more": 1}).failure is None
    assert undo.check_input({"id": 1, "amount": 1}).failure is not None
