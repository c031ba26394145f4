"""JSON as arguments of PostgreSQL, by the types that the server infers for the parameters."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Final
from uuid import UUID

from tenuto.model.json import JSON, kind_of


class Misfit(ValueError):
    """An argument that is not of the type of its parameter."""


def argument(value: JSON, type_name: str) -> object:
    """The value for the driver; Misfit."""
    if value is None:
        return None
    if type_name.endswith("[]"):
        if not isinstance(value, list):
            raise Misfit(f"expected an array, found {kind_of(value)}")
        return [argument(each, type_name[:-2]) for each in value]
    convert = _TYPES.get(type_name, _text)
    try:
        return convert(value)
    except (ValueError, InvalidOperation, binascii.Error, OverflowError):
        raise Misfit(f"expected {_WORDS.get(type_name, 'text')}, found {kind_of(value)}") from None


def _text(value: JSON) -> object:
    if not isinstance(value, str):
        raise ValueError
    return value


def _whole(value: JSON) -> object:
    if isinstance(value, bool) or not isinstance(value, int | str):
        if isinstance(value, float) and value.is_integer():
            return int(value)
        raise ValueError
    return int(value)


def _double(value: JSON) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError
    return float(value)


def _decimal(value: JSON) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError
    return Decimal(str(value))


def _flag(value: JSON) -> object:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _local(value: JSON) -> object:
    moment = datetime.fromisoformat(str(_text(value)))
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def _moment(value: JSON) -> object:
    moment = datetime.fromisoformat(str(_text(value)))
    if moment.tzinfo is None:
        raise ValueError
    return moment


def _bytes(value: JSON) -> object:
    return base64.b64decode(str(_text(value)), validate=True)


def _anything(value: JSON) -> object:
    return value


_TYPES: Final[dict[str, Callable[[JSON], object]]] = {
    "int2": _whole,
    "int4": _whole,
    "int8": _whole,
    "oid": _whole,
    "float4": _double,
    "float8": _double,
    "numeric": _decimal,
    "bool": _flag,
    "date": lambda value: date.fromisoformat(str(_text(value))),
    "time": lambda value: time.fromisoformat(str(_text(value))),
    "timestamp": _local,
    "timestamptz": _moment,
    "uuid": lambda value: UUID(str(_text(value))),
    "bytea": _bytes,
    "json": _anything,
    "jsonb": _anything,
}
_WORDS: Final = {
    **dict.fromkeys(("int2", "int4", "int8", "oid"), "a whole number"),
    **dict.fromkeys(("float4", "float8", "numeric"), "a number"),
    "bool": "true or false",
    "date": "a date such as 2026-12-24",
    "time": "a time such as 15:00:00",
    "timestamp": "a date and a time",
    "timestamptz": "a moment such as 2026-12-24T15:00:00Z",
    "uuid": "a UUID",
    "bytea": "bytes in base64",
}
