"""Messages about requests have JSON's words for types."""

from __future__ import annotations

import msgspec
import pytest

from tenuto.model.json_words import in_json_words


class Shape(msgspec.Struct):
    """Something that a request may have."""

    name: str = ""
    count: int | None = None
    items: list[float] = []


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"name": 7}, "expected text, found a whole number - at `$.name`"),
        ({"name": None}, "expected text, found null - at `$.name`"),
        ({"count": "1"}, "expected a whole number or null, found text - at `$.count`"),
        ({"items": {}}, "expected an array, found an object - at `$.items`"),
        ({"items": [True]}, "expected a number, found true or false - at `$.items[0]`"),
        ([], "expected an object, found an array"),
    ],
)
def test_types_have_the_names_of_json(value: object, message: str) -> None:
    with pytest.raises(msgspec.ValidationError) as raised:
        msgspec.convert(value, Shape)
    assert in_json_words(raised.value) == message
