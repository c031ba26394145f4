from __future__ import annotations

import asyncio
import collections
import dataclasses
import enum
import math
import uuid
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec
import pydantic
import pytest
from hypothesis import given, strategies as st

from tenuto.model.json import JSON
from tenuto.tasks.output import DEEPEST, Unusable, to_json

LIMIT = 1_000_000

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), inner
        )
    ),
)


def refusal(value: object, limit: int = LIMIT) -> Unusable:
    with pytest.raises(Unusable) as refused:
        to_json(value, limit)
    return refused.value


def share_nothing(left: object, right: object) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        pairs = [(item, right[key]) for key, item in left.items()]
    elif isinstance(left, list) and isinstance(right, list):
        pairs = list(zip(left, right, strict=True))
    else:
        return True
    return left is not right and all(share_nothing(*pair) for pair in pairs)


@pytest.mark.slow
@given(values)
def test_json_comes_out_equal_of_the_same_types_and_shares_nothing(value: Any) -> None:  # noqa: ANN401
    out = to_json(value, 1 << 30)
    assert out == value
    assert repr(out) == repr(value)
    assert share_nothing(out, value)


def test_a_recorded_output_does_not_change_with_the_task_s_object() -> None:
    mine: dict[str, Any] = {"items": [1], "pair": (1, [2])}
    out = to_json(mine, LIMIT)
    mine["items"].append(2)
    mine["pair"][1].append(3)
    assert out == {"items": [1], "pair": [1, [2]]}


def test_tuples_are_arrays() -> None:
    assert to_json({"a": (1, ("b",))}, LIMIT) == {"a": [1, ["b"]]}


@pytest.mark.parametrize("number", [2**53 + 1, 2**63, -(2**64), 10**4000], ids=int.bit_length)
def test_integers_keep_all_their_digits(number: int) -> None:
    assert to_json(number, LIMIT) == number
    assert to_json([number], LIMIT) == [number]


def test_an_integer_that_python_would_not_read_back_is_refused() -> None:
    assert "at $ is an integer of more than 4,300 digits" in refusal(10**5000).message
    assert "at $[0] is an integer of more than 4,300 digits" in refusal([10**5000]).message


class Number(enum.IntEnum):
    ONE = 1


class Word(enum.StrEnum):
    A = "a"


class Pair(NamedTuple):
    a: int
    b: int


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ({"a": Number.ONE, "b": Word.A}, {"a": 1, "b": "a"}),
        (Text("x"), "x"),
        ({Text("k"): [Text("x")]}, {"k": ["x"]}),
        (collections.OrderedDict(a=1), {"a": 1}),
        (collections.defaultdict(list, {"a": []}), {"a": []}),
        (Pair(1, 2), [1, 2]),
    ],
)
def test_what_is_a_json_value_by_inheritance_becomes_a_plain_one(
    value: object, plain: JSON
) -> None:
    out = to_json(value, LIMIT)
    assert out == plain
    assert type(out) is type(plain)
    assert msgspec.json.encode(out) == msgspec.json.encode(plain)


@dataclasses.dataclass
class Order:
    id: uuid.UUID
    at: datetime
    tags: set[str]


class Line(msgspec.Struct, rename="camel"):
    unit_price: Decimal


class Customer(pydantic.BaseModel):
    name: str
    since: datetime


AT = datetime(2026, 1, 1, tzinfo=UTC)


def test_typed_objects_are_written_by_their_type() -> None:
    order = Order(uuid.UUID(int=1), AT, {"a"})
    written = {"id": str(order.id), "at": "2026-01-01T00:00:00Z", "tags": ["a"]}
    assert to_json(order, LIMIT) == written
    assert to_json({"order": order, "lines": [Line(Decimal("1.5"))]}, LIMIT) == {
        "order": written,
        "lines": [{"unitPrice": "1.5"}],
    }
    ada = Customer(name="Ada", since=AT)
    assert to_json([ada], LIMIT) == [{"name": "Ada", "since": "2026-01-01T00:00:00Z"}]
    assert to_json(ada, LIMIT) == {"name": "Ada", "since": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (math.nan, "at $ is nan"),
        ({"a": [1, math.inf]}, "at $.a[1] is inf"),
        ({"a b": -math.inf}, "at $['a b'] is -inf"),
        ({"a": {1, 2}}, "at $.a is of type set"),
        ([b"bytes"], "at $[0] is of type bytes"),
        ({"at": AT}, "at $.at is of type datetime.datetime"),
        ({"n": Decimal(1)}, "at $.n is of type decimal.Decimal"),
        ({"o": object()}, "at $.o is of type object"),
        (range(3), "at $ is of type range"),
        (len, "at $ is of type builtin_function_or_method"),
        ({"a": {1: "x"}}, "at $.a is an object with the key 1 of type int"),
        ({None: 1}, "at $ is an object with the key None of type NoneType"),
        ({"a": "x\0y"}, "at $.a is text with the character NUL"),
        ({"a\0": 1}, "a key of the output at $ is text with the character NUL"),
        (["\ud800"], "at $[0] is text with a lone surrogate"),
        ({"\ud800": 1}, "lone surrogate"),
        (Order(uuid.UUID(int=1), AT, {object()}), "at $ is of type"),  # type: ignore[arg-type]
    ],
)
def test_what_is_not_json_is_refused_with_its_place_and_type(value: object, said: str) -> None:
    refused = refusal(value)
    assert refused.code == "NOT_JSON"
    assert said in refused.message


def test_nan_inside_a_typed_object_is_not_written_as_null() -> None:
    @dataclasses.dataclass
    class Reading:
        value: float

    assert "at $.value is nan" in refusal(Reading(math.nan)).message


def test_text_that_only_looks_like_an_escape_is_kept() -> None:
    assert to_json(["\\u0000"], LIMIT) == ["\\u0000"]


def test_a_coroutine_that_nobody_awaited_is_named_as_such() -> None:
    assert "write `async def`" in refusal(asyncio.sleep(0)).message


def nested(depth: int) -> JSON:
    value: JSON = 1
    for _ in range(depth):
        value = [value]
    return value


def test_nesting_has_a_bound() -> None:
    assert to_json(nested(DEEPEST), LIMIT) == nested(DEEPEST)
    assert "nested more than 100 deep" in refusal(nested(DEEPEST + 1)).message
    assert "nested more than 100 deep" in refusal(nested(100_000)).message


def test_an_object_that_holds_itself_is_refused() -> None:
    circle: list[object] = []
    circle.append(circle)
    assert "nested more than 100 deep" in refusal(circle).message


def test_wide_values_are_not_deep_ones() -> None:
    wide = [{"n": [n]} for n in range(1000)]
    assert to_json(wide, LIMIT) == wide


@pytest.mark.parametrize(
    "value", ["x" * 50_000_000, ["x" * 1000] * 2000, ("x" * 1000,) * 2000], ids=type
)
def test_more_than_the_limit_is_too_large(value: object) -> None:
    refused = refusal(value)
    assert refused.code == "TOO_LARGE"
    assert "at most 1,000,000 are allowed" in refused.message


def test_the_limit_itself_is_allowed() -> None:
    assert to_json("x" * 8, 10) == "x" * 8
    assert refusal("x" * 9, 10).code == "TOO_LARGE"
