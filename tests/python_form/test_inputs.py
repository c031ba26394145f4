"""An input that does not fit the parameter of a workflow is refused at the start, with its path."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal, Required, TypedDict
from uuid import UUID

import msgspec
import pydantic
import pytest

from tenuto import InvalidInput, Tenuto, WorkflowFunction, event, workflow
from tenuto.definition import compile_definition, input_problems
from tenuto.model.graph import Definition
from tenuto.model.json import JSON
from tenuto.tasks import type_schemas
from tenuto.tasks.registry import Registry

pytestmark = pytest.mark.asyncio

tasks = Registry()


@dataclass
class Line:
    sku: str
    price: Decimal = Decimal(1)


@dataclass
class Order:
    id: int
    lines: list[Line] = field(default_factory=list)


class OrderDict(TypedDict, total=False):
    id: Required[int]
    lines: list[Line]


class OrderStruct(msgspec.Struct):
    id: int
    lines: list[Line] = []


class ClosedStruct(msgspec.Struct, forbid_unknown_fields=True):
    id: int
    lines: list[Line] = []


class Colour(enum.Enum):
    RED = "red"


class LineModel(pydantic.BaseModel):
    sku: str


class OrderModel(pydantic.BaseModel):
    id: int
    lines: list[LineModel] = []


@dataclass
class Mixed:
    """A dataclass with a model in it."""

    id: int
    lines: list[LineModel]


class Silent:
    """Like a model, but one that says nothing of its fields."""

    @classmethod
    def model_validate(cls, value: object) -> Silent:
        assert value
        return cls()


@tasks.task
async def ship(order: Any) -> str:  # noqa: ANN401 - whatever the workflow was given
    return f"shipped {order['id']}"


@workflow
def by_dataclass(order: Order) -> object:
    return ship(order)


@workflow
def by_typed_dict(order: OrderDict) -> object:
    return ship(order)


@workflow
def by_struct(order: OrderStruct) -> object:
    return ship(order)


@workflow
def by_model(order: OrderModel) -> object:
    return ship(order)


@workflow
def by_closed(order: ClosedStruct) -> object:
    return ship(order)


@workflow
def by_both(order: Mixed) -> object:
    return ship(order)


@workflow
def by_name(order: Order, rush: bool = False, second: Order | None = None) -> object:
    return ship(order)


@workflow
def by_class_below(order: Below) -> object:
    return ship(order)


@dataclass
class Below:
    id: int


async def problems(flow: WorkflowFunction[..., Any], input: JSON) -> list[tuple[str, str]]:
    """What a start is refused for: codes and places."""
    async with Tenuto(tasks=tasks) as app:
        with pytest.raises(InvalidInput) as refused:
            await app.start(flow, input)
        assert not await app.instances()
    return [(each.code, each.path) for each in refused.value.problems]


@pytest.mark.parametrize("flow", [by_dataclass, by_typed_dict, by_struct, by_model, by_both])
async def test_what_does_not_fit_is_refused_at_the_start(flow: WorkflowFunction[..., Any]) -> None:
    refused: list[tuple[JSON, str]] = [
        (None, "$"),
        ([], "$"),
        ({"lines": []}, "$"),
        ({"id": "one", "lines": []}, "$.id"),
        ({"id": 1, "lines": [{"sku": "a"}, {"sku": 2}]}, "$.lines[1].sku"),
        ({"id": 1, "lines": [{}]}, "$.lines[0]"),
    ]
    for input, path in refused:
        assert await problems(flow, input) == [("TEN-2101", path)]


@pytest.mark.parametrize("flow", [by_dataclass, by_typed_dict, by_struct, by_model, by_both])
async def test_what_fits_is_started(flow: WorkflowFunction[..., Any]) -> None:
    async with Tenuto(tasks=tasks) as app:
        lines: JSON = [{"sku": "a", "price": 2.5}, {"sku": "b", "price": "2.50"}]
        started = await app.start(flow, {"id": 7, "lines": lines})
        assert await started.result(10) == "shipped 7"


async def test_a_dataclass_takes_no_other_fields_and_other_types_say_so_themselves() -> None:
    """Refused are those of a dataclass inside another type, too."""
    more: JSON = {"id": 7, "lines": [], "unknown": True}
    inner: JSON = {"id": 7, "lines": [{"sku": "a", "odd": 1}]}
    assert await problems(by_dataclass, more) == [("TEN-2101", "$")]
    assert await problems(by_both, more) == [("TEN-2101", "$")]
    assert await problems(by_closed, more) == [("TEN-2101", "$")]
    assert await problems(by_typed_dict, inner) == [("TEN-2101", "$.lines[0]")]
    async with Tenuto(tasks=tasks) as app:
        for flow in (by_typed_dict, by_struct, by_model):
            started = await app.start(flow, more)
            assert await started.result(10) == "shipped 7"


@pytest.mark.parametrize(
    ("annotation", "fits", "others"),
    [
        (str, ["a", ""], [1, None, ["a"]]),
        (int, [1, -3], ["1", 1.5, True, None]),
        (float, [1, 1.5], ["1", None]),
        (bool, [True], [0, "true"]),
        (dict, [{}, {"a": 1}], [[], "a", None]),
        (dict[str, int], [{"a": 1}], [{"a": "b"}]),
        (list[str], [[], ["a"]], [["a", 1], "a"]),
        (list[Line], [[{"sku": "a"}]], [[{}], [{"sku": "a", "odd": 1}], {"sku": "a"}]),
        (str | None, ["a", None], [1]),
        (Line | None, [{"sku": "a"}, None], [{"sku": 1}, "a"]),
        (Literal["a", "b"], ["a"], ["c", None]),
        (Colour, ["red"], ["RED", 1]),
        (
            datetime,
            ["2026-11-17T12:00:00Z", "2026-11-17 12:00:00.5+01:00"],
            ["tomorrow", "2026-11-17", 5],
        ),
        (date, ["2026-11-17"], ["2026-13-17", "17.11.2026"]),
        (UUID, ["01a1e961-4b6f-77ac-bada-f894ec744c0f"], ["order-7"]),
        (object, [1, None, "a", {}], []),
        (JSON, [1, None, "a", {}], []),
    ],
    ids=str,
)
async def test_a_plain_type_is_checked_at_the_start_and_as_a_part(
    annotation: object, fits: list[JSON], others: list[JSON]
) -> None:
    def taking(value):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        ship(value)

    def naming(value, more=None):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        ship(value)

    taking.__annotations__ = naming.__annotations__ = {"value": annotation}
    whole, part = compiled(workflow(taking)), compiled(workflow(naming))
    for value in fits:
        assert input_problems(whole, value) == ()
        assert input_problems(part, {"value": value}) == ()
    for value in others:
        assert [each.code for each in input_problems(whole, value)] == ["TEN-2101"]
        [problem] = input_problems(part, {"value": value})
        assert problem.path.startswith("$.value")
        assert problem.advice


def compiled(flow: WorkflowFunction[..., Any]) -> Definition:
    return compile_definition(flow.definition())


async def test_what_a_task_is_given_is_converted_to_the_checked_type() -> None:
    @tasks.task(name="sums_up")
    async def sum_up(lines: list[Line]) -> str:
        return str(sum((each.price for each in lines), Decimal(0)))

    @workflow
    def adding(lines: list[Line]) -> str:
        return sum_up(lines)

    async with Tenuto(tasks=tasks) as app:
        started = await app.start(adding, [{"sku": "a", "price": "1.50"}, {"sku": "b"}])
        assert await started.result(10) == "2.50"


async def test_a_name_that_no_parameter_has_is_refused() -> None:
    order: JSON = {"id": 1}
    assert await problems(by_name, {"order": order, "rsuh": True}) == [("TEN-2101", "$")]


async def test_a_problem_inside_what_may_be_null_has_its_own_path() -> None:
    wrong: JSON = {"order": {"id": 1}, "second": {"id": "one"}}
    assert await problems(by_name, wrong) == [("TEN-2101", "$.second.id")]


async def test_a_missing_input_is_refused_with_the_names_that_it_needs() -> None:
    for flow, names in ((by_dataclass, "`id`"), (by_name, "`order`")):
        [problem] = input_problems(compiled(flow), None)
        assert f"an object with {names}" in (problem.advice or "")


async def test_each_of_several_parameters_is_held_to_what_it_asks_for() -> None:
    assert await problems(by_name, {"rush": True}) == [("TEN-2101", "$")]
    assert await problems(by_name, {"order": {"id": "one"}}) == [("TEN-2101", "$.order.id")]
    assert await problems(by_name, {"order": {"id": 1}, "second": 2}) == [("TEN-2101", "$.second")]
    async with Tenuto(tasks=tasks) as app:
        for input in ({"order": {"id": 1}}, {"order": {"id": 1}, "second": None, "rush": None}):
            started = await app.start(by_name, input)
            assert await started.result(10) == "shipped 1"


async def test_a_class_below_the_function_counts_too() -> None:
    assert await problems(by_class_below, {}) == [("TEN-2101", "$")]


async def test_what_was_said_about_the_input_wins() -> None:
    @workflow(input_schema={})
    def anything(order: Order) -> None:
        ship(order)

    @workflow(input_schema={"type": "string"})
    def text(order: Order) -> None:
        ship(order)

    assert anything.definition()["inputSchema"] == {}
    assert text.definition()["inputSchema"] == {"type": "string"}


async def test_a_type_that_says_nothing_of_itself_takes_anything() -> None:
    @workflow
    def silent(order: Silent) -> None:
        ship(order)

    @workflow
    def bare(order) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        ship(order)

    assert "inputSchema" not in silent.definition()
    assert "inputSchema" not in bare.definition()


async def test_models_of_one_name_are_not_taken_for_one_another() -> None:
    def model(inner: type) -> type[pydantic.BaseModel]:
        part = pydantic.create_model("Part", value=(inner, ...))
        return pydantic.create_model("Whole", part=(part, ...))

    assert type_schemas.schemas([model(int), model(int)]) is not None
    assert type_schemas.schemas([model(int), model(str)]) is None


async def test_the_payload_of_an_event_may_have_more_fields_than_there_are_parameters() -> None:
    placed = event("order.placed")

    @workflow
    def typed(a: int, b: int) -> object:
        return [a, b]

    @workflow(on=placed)
    def started_by_payloads(a: int, b: int) -> object:
        return [a, b]

    @workflow(on=placed.giving(a="event.payload.a", b="event.payload.b"))
    def started_by_a_mapping(a: int, b: int) -> object:
        return [a, b]

    @workflow
    def untyped(a, b: int) -> object:  # type: ignore[no-untyped-def]  # noqa: ANN001
        return [a, b]

    more: JSON = {"a": 1, "b": 2, "other": 3}
    refusing = [
        bool(input_problems(compile_definition(flow.definition()), more))
        for flow in (typed, started_by_payloads, started_by_a_mapping, untyped)
    ]
    assert refusing == [True, False, True, False]
