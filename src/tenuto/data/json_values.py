"""Values of databases as JSON.

Decimals and whole numbers that a double cannot hold are text; moments are spelled as everywhere;
bytes are base64; NaN and infinities, for which JSON has no number, are null.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
)
from typing import Final
from uuid import UUID

from tenuto.model.durations import iso
from tenuto.model.json import JSON

_LARGEST: Final = 2**53 - 1
_DEEPEST: Final = 60
_AS_TEXT: Final = (
    *(UUID, IPv4Address, IPv4Interface, IPv4Network),
    *(IPv6Address, IPv6Interface, IPv6Network),
)


class NotShown(ValueError):
    """A value that JSON has nothing for."""


def json_value(value: object, depth: int = 0) -> JSON:
    """A value of a column as JSON; NotShown."""
    match value:
        case None | bool() | str():
            return value
        case Enum():
            return json_value(value.value, depth)
        case int():
            return value if -_LARGEST <= value <= _LARGEST else str(value)
        case float():
            return value if math.isfinite(value) else None
        case Decimal():
            return format(value, "f") if value.is_finite() else None
        case datetime():
            return _moment(value)
        case date():
            return value.isoformat()
        case time():
            return value.isoformat("milliseconds")
        case timedelta():
            return _duration(value)
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(bytes(value)).decode("ascii")
        case _:
            return _compound(value, depth)


def _compound(value: object, depth: int) -> JSON:
    if depth > _DEEPEST:
        raise NotShown("the value is nested too deeply")
    if isinstance(value, _AS_TEXT):
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): json_value(each, depth + 1) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [json_value(each, depth + 1) for each in value]
    if callable(digits := getattr(value, "as_string", None)):
        # Of bits: without the blanks that stand between four of them.
        return str(digits()).replace(" ", "")
    if hasattr(value, "lower_inc"):
        return _range(value, depth)
    raise NotShown(f"{type(value).__name__} has no form in JSON; cast the column to text")


def _moment(value: datetime) -> str:
    if value.tzinfo is not None:
        return iso(value)
    # A time of no zone is no moment: it is shown as it is.
    return value.isoformat(timespec="milliseconds")


def _duration(value: timedelta) -> str:
    sign = "-" if value < timedelta() else ""
    value = abs(value)
    hours, rest = divmod(value, timedelta(hours=1))
    minutes, rest = divmod(rest, timedelta(minutes=1))
    seconds = f"{rest.total_seconds():.3f}".rstrip("0").rstrip(".")
    return f"{sign}PT{hours}H{minutes}M{seconds}S"


def _range(value: object, depth: int) -> JSON:
    if getattr(value, "isempty", False):
        return {"isEmpty": True}
    bounds = ("[" if getattr(value, "lower_inc", False) else "(") + (
        "]" if getattr(value, "upper_inc", False) else ")"
    )
    return {
        "lower": json_value(getattr(value, "lower", None), depth + 1),
        "upper": json_value(getattr(value, "upper", None), depth + 1),
        "bounds": bounds,
    }
