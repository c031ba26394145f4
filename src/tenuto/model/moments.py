"""Where values have moments, and their one spelling in JSON."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import cast

import msgspec
from msgspec import inspect

from tenuto.model.durations import iso
from tenuto.model.json import JSON
from tenuto.model.pauses import between_parts

EACH = "*"
"""Stands for the items of a list in a path."""


def moments_in(kind: inspect.Type, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of the moments in the values of a type; its structs do not contain themselves."""
    match kind:
        case inspect.DateTimeType():
            yield path
        case inspect.UnionType():
            for each in kind.types:
                yield from moments_in(each, path)
        case inspect.StructType():
            for field in kind.fields:
                yield from moments_in(field.type, (*path, field.encode_name))
        case inspect.ListType() | inspect.VarTupleType():
            yield from moments_in(kind.item_type, (*path, EACH))
        case _:
            return


def spelled(value: object) -> JSON:
    """A value as JSON, with its moments spelled as `iso` does."""
    return _spelled(msgspec.to_builtins(value, builtin_types=(datetime,)))


def _spelled(value: object) -> JSON:
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, dict):
        between_parts()
        return {name: _spelled(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled(each) for each in value]
    return cast("JSON", value)
