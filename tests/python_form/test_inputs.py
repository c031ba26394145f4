"""An input that does not fit the parameter of a workflow is refused at the start, with its path."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Required, TypedDict

import msgspec
import pydantic
import pytest

from tenuto import InvalidInput, Tenuto, WorkflowFunction, workflow
from tenuto.model.json import JSON
from tenuto.tasks import hints
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
        for more in ({}, {"unknown": True}):
            lines: JSON = [{"sku": "a", "price": 2.5}, {"sku": "b", "price": "2.50"}]
            started = await app.start(flow, {"id": 7, "lines": lines, **more})
            assert await started.result(10) == "shipped 7"


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
    def plain(order: dict[str, Any]) -> None:
        ship(order)

    assert "inputSchema" not in silent.definition()
    assert "inputSchema" not in plain.definition()


async def test_models_of_one_name_are_not_taken_for_one_another() -> None:
    def model(inner: type) -> type[pydantic.BaseModel]:
        part = pydantic.create_model("Part", value=(inner, ...))
        return pydantic.create_model("Whole", part=(part, ...))

    assert hints.schemas([model(int), model(int)]) is not None
    assert hints.schemas([model(int), model(str)]) is None
