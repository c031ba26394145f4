"""Records as rows: a field is the column of its name, and columns stand in the order of the fields.

A moment is milliseconds since 1970, and a tuple is JSON; other values are stored as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.store.cold.port import Row, Value

R = TypeVar("R", bound=Struct)


def columns_of(record: Struct) -> dict[str, Value]:
    """The columns of a record, as the parameters of a statement."""
    return {name: _column(getattr(record, name)) for name in record.__struct_fields__}


def records_of(kind: type[R], rows: Iterable[Row]) -> list[R]:
    """Rows as records, whose columns are all that each row has."""
    fields = _fields(kind)
    return [
        kind(
            **{
                name: None if value is None else read(value)
                for (name, read), value in zip(fields, row, strict=True)
            }
        )
        for row in rows
    ]


def _column(value: object) -> Value:
    match value:
        case datetime():
            return epoch_ms(value)
        case tuple():
            return msgspec.json.encode(value).decode()
        case _:
            return value


@cache
def _fields(kind: type[Struct]) -> list[tuple[str, Callable[[Any], object]]]:
    hints = get_type_hints(kind)
    return [(name, _reader(hints[name])) for name in kind.__struct_fields__]


def _reader(hint: Any) -> Callable[[Any], object]:  # noqa: ANN401 - any annotation
    if isinstance(hint, UnionType):
        [hint] = (each for each in get_args(hint) if each is not NoneType)
    if hint is datetime:
        return from_epoch_ms
    if hint is bool:
        return bool
    if get_origin(hint) is tuple:
        return msgspec.json.Decoder(hint).decode
    return _as_it_is


def _as_it_is(value: object) -> object:
    return value
