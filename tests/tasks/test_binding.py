from __future__ import annotations

import enum
import timeit
import typing
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypedDict

import msgspec
import pydantic
import pytest

import tenuto.tasks
from tenuto.model.json import JSON
from tenuto.tasks import Context, TaskFunction
from tenuto.tasks.failures import Refused

if typing.TYPE_CHECKING:
    from tenuto.tasks import Context as Hidden

CTX = Context(instance_id="i")


def call(fn: Callable[..., Any], input: JSON) -> object:
    binding = TaskFunction(fn).binding
    return binding.call(CTX if binding.takes_context else None, input)


def refusal(fn: Callable[..., Any], input: JSON) -> str:
    with pytest.raises(Refused) as refused:
        call(fn, input)
    failure = refused.value.failure
    assert failure.code == "INVALID_INPUT"
    assert not failure.retryable
    return failure.message


@pytest.mark.parametrize("value", [None, 1, "text", [1, 2], {"a": 1, "b": 2}])
def test_one_parameter_gets_the_whole_input(value: JSON) -> None:
    def take(order: dict[str, Any]) -> object:
        return order

    assert call(take, value) == value


def test_one_parameter_with_a_default_still_gets_the_whole_input() -> None:
    def take(order: object = "default") -> object:
        return order

    assert call(take, None) is None


def test_no_parameter_ignores_the_input() -> None:
    def take() -> str:
        return "done"

    assert call(take, {"a": 1}) == "done"


def test_the_context_alone_ignores_the_input() -> None:
    def take(ctx: Context) -> str:
        return ctx.instance_id

    assert call(take, {"a": 1}) == "i"


def test_several_parameters_are_bound_by_name() -> None:
    def take(amount: int, currency: str = "EUR", *, note: str | None = None) -> object:
        return [amount, currency, note]

    assert call(take, {"amount": 3}) == [3, "EUR", None]
    assert call(take, {"note": "n", "currency": "CHF", "amount": 3}) == [3, "CHF", "n"]


def test_parameters_by_position_only_are_bound_by_name_too() -> None:
    def take(a: int, b: int = 2, /, c: int = 3) -> object:
        return [a, b, c]

    assert call(take, {"a": 1, "c": 5}) == [1, 2, 5]
    assert call(take, {"a": 1, "b": 4}) == [1, 4, 3]


def test_one_parameter_by_keyword_only_gets_the_whole_input() -> None:
    def take(ctx: Context, *, order: object) -> object:
        return [ctx.instance_id, order]

    assert call(take, {"a": 1}) == ["i", {"a": 1}]


def test_names_left_over_go_to_the_parameter_that_takes_them_all() -> None:
    def take(a: int, **rest: int) -> object:
        return [a, rest]

    assert call(take, {"a": 1, "b": 2}) == [1, {"b": 2}]


def test_a_missing_name_is_refused() -> None:
    def take(amount: int, currency: str) -> None: ...

    assert refusal(take, {"amount": 3}) == "the input has no `currency`"
    assert "`amount`, `currency`" in refusal(take, None)


def test_an_unknown_name_is_refused_with_those_that_there_are() -> None:
    def take(amount: int, currency: str) -> None: ...

    message = refusal(take, {"amount": 3, "currency": "EUR", "curency": "CHF"})
    assert message == "no parameter is called `curency`; there are `amount`, `currency`"


@pytest.mark.parametrize(
    ("value", "kind"), [(3, "a number"), (True, "a boolean"), ("x", "text"), ([1], "an array")]
)
def test_several_names_need_an_object(value: JSON, kind: str) -> None:
    def take(amount: int, currency: str) -> None: ...

    assert refusal(take, value).startswith(f"the input is {kind}, but an object with `amount`")


def test_a_context_without_annotation_is_told_how_to_write_it() -> None:
    def take(ctx, order) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
        ...

    assert "`ctx: Context`" in refusal(take, {"order": 1})


def test_the_context_is_the_parameter_annotated_so_wherever_it_stands() -> None:
    def last(order: object, info: Context) -> object:
        return [order, info.instance_id]

    def between(a: int, info: tenuto.tasks.Context, b: int) -> object:
        return [a, info.instance_id, b]

    def optional(info: Context | None, order: object) -> object:
        assert info is not None
        return [info.instance_id, order]

    assert call(last, 1) == [1, "i"]
    assert call(between, {"a": 1, "b": 2}) == [1, "i", 2]
    assert call(optional, 1) == ["i", 1]


def test_the_context_is_known_even_where_its_name_is_for_type_checkers_alone() -> None:
    def take(order: object, ctx: Context) -> object:
        return ctx.instance_id

    take.__annotations__["ctx"] = "not_imported.Context"
    assert call(take, 1) == "i"

    def hidden(ctx: Hidden, order: object) -> object:
        return order

    hidden.__annotations__["ctx"] = "Context"
    assert call(hidden, 1) == 1


def test_another_class_called_context_is_not_ours() -> None:
    class Context:
        pass

    def take(order: Context) -> object:
        return order

    made = TaskFunction(take, names_around={"Context": Context})
    assert not made.binding.takes_context


def test_a_task_may_change_what_it_got() -> None:
    given: JSON = {"items": [{"n": 1}]}

    def change(order: dict[str, Any]) -> object:
        order["items"][0]["n"] = 2
        order["items"].append(3)
        return order

    assert call(change, given) == {"items": [{"n": 2}, 3]}
    assert given == {"items": [{"n": 1}]}


@dataclass
class Order:
    id: int
    at: datetime | None = None


class Line(msgspec.Struct):
    sku: str
    count: int = 1


class Box(TypedDict):
    weight: float


class Customer(pydantic.BaseModel):
    name: str


class Colour(enum.Enum):
    RED = "red"


def take_order(order: Order) -> object:
    return order


def take_line(ctx: Context, line: Line) -> object:
    return line


def take_box(box: Box) -> object:
    return box


def take_customer(customer: Customer) -> object:
    return customer


def take_all(order: Order, lines: list[Line], who: Customer | None = None) -> object:
    return [order, lines, who]


def take_colour(colour: Colour) -> object:
    return colour


def test_annotated_types_get_what_they_ask_for() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    assert call(take_order, {"id": 7, "at": "2026-01-01T00:00:00Z"}) == Order(7, at)
    assert call(take_line, {"sku": "a"}) == Line("a")
    assert call(take_box, {"weight": 2.5}) == {"weight": 2.5}
    assert call(take_customer, {"name": "Ada"}) == Customer(name="Ada")
    assert call(take_colour, "red") is Colour.RED
    assert call(
        take_all, {"order": {"id": 7}, "lines": [{"sku": "a"}], "who": {"name": "Ada"}}
    ) == [Order(7), [Line("a")], Customer(name="Ada")]


@pytest.mark.parametrize(
    ("fn", "value", "place"),
    [
        (take_order, {"id": "seven"}, "`$.id`"),
        (take_order, [1], "`order`"),
        (take_line, {}, "`sku`"),
        (take_box, {"weight": "heavy"}, "`$.weight`"),
        (take_customer, {"name": 3}, "name"),
        (take_colour, "green", "'green'"),
        (take_all, {"order": {"id": 7}, "lines": [{"sku": 1}]}, "`$.lines[0].sku`"),
    ],
)
def test_what_does_not_fit_a_type_is_refused_with_its_place(
    fn: Callable[..., Any], value: JSON, place: str
) -> None:
    assert place in refusal(fn, value)


def test_a_type_that_a_class_inside_a_function_names_is_found() -> None:
    @dataclass
    class Inner:
        id: int

    registry = tenuto.tasks.Registry()

    @registry.task
    def take(inner: Inner) -> object:
        return inner

    assert take.binding.call(None, {"id": 1}) == Inner(1)


def test_types_that_nobody_can_convert_to_are_left_alone() -> None:
    class Strange:
        pass

    def take(order: Strange) -> object:
        return order

    def unknown(order: NotDefinedAnywhere) -> object:  # type: ignore[name-defined] # noqa: F821
        return order

    assert call(take, {"a": 1}) == {"a": 1}
    assert call(unknown, {"a": 1}) == {"a": 1}


def test_a_validator_that_breaks_is_a_refusal() -> None:
    class Picky(pydantic.BaseModel):
        n: int

        @pydantic.field_validator("n")
        @classmethod
        def check(cls, value: int) -> int:
            raise KeyError(value)

    def take(picky: Picky) -> None: ...

    made = TaskFunction(take, names_around={"Picky": Picky})
    with pytest.raises(Refused, match="does not fit `picky`"):
        made.binding.call(None, {"n": 1})


def test_plain_parameters_are_worked_out_once() -> None:
    made = TaskFunction(lambda order: order)
    assert made.binding is made.binding
    assert timeit.timeit(lambda: made.binding.call(None, {"a": 1}), number=1000) < 1
