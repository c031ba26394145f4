"""Shapes a value for a table, a chart, a number or a text."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import chain

import msgspec

from tenuto.expr import look_up
from tenuto.model.json import JSON, Object, characters_in
from tenuto.model.status import Status
from tenuto.workspace.widgets.config import (
    MOST_CELLS,
    MOST_CHARACTERS,
    MOST_COLUMNS,
    WidgetConfig,
    WidgetType,
)


class _DoesNotFit(Exception):
    """The value cannot be shown so; says why."""


def shape(config: WidgetConfig, instance_id: str, status: Status, context: Object) -> Object:
    """`{instanceId, status, ready, data, error?}`: what a widget shows of an instance.

    `context` has the names that paths begin with. While there is nothing at the path, it is not
    `ready`; once the instance has ended, there is an `error` instead of waiting for ever.
    """
    answer: Object = {"instanceId": instance_id, "status": status.value}
    value: JSON = look_up(context, config.path)
    if value is None:
        if not status.is_final:
            return answer | {"ready": False, "data": None}
        message = f"there is nothing at `{config.path}`, and the instance has ended: {status}"
        return answer | {"ready": False, "data": None, "error": message}
    try:
        data = _data(config, value)
    except _DoesNotFit as error:
        message = f"the value at `{config.path}` {error}"
        return answer | {"ready": False, "data": None, "error": message}
    return answer | {"ready": True, "data": data}


def cells_of(config: WidgetConfig, context: Object) -> int:
    """About how many values are looked up for a widget."""
    value: JSON = look_up(context, config.path)
    rows = min(len(value), config.limit) if isinstance(value, list) else 1
    return rows * (len(config.columns or config.y) or MOST_COLUMNS)


def _refuse_cells(rows: list[JSON], columns: int) -> None:
    if len(rows) * columns > MOST_CELLS:
        raise _DoesNotFit(
            f"has {len(rows):,} rows with {columns} values each, and {MOST_CELLS:,} values are the "
            "most: name fewer, or set a `limit`"
        )


def _refuse_characters(values: Iterable[JSON], times: int = 1) -> None:
    size = 0
    for value in values:
        size += times * characters_in(value, MOST_CHARACTERS)
        if size > MOST_CHARACTERS:
            raise _DoesNotFit(
                f"has more than {MOST_CHARACTERS:,} characters to show: name fewer, or set a "
                "`limit`"
            )


def _data(config: WidgetConfig, value: JSON) -> Object:
    match config.type:
        case WidgetType.TABLE:
            return _table(config, value)
        case WidgetType.CHART:
            return _chart(config, value)
        case WidgetType.NUMBER:
            return {"value": _number(config, value)}
        case WidgetType.TEXT:
            return {"text": _text(config, value)}


def _table(config: WidgetConfig, value: JSON) -> Object:
    rows = _items(config, value)
    if config.columns:
        _refuse_cells(rows, len(config.columns))
        names, cells = list(config.columns), [_cells(config.columns, row) for row in rows]
        # One value may be in many cells.
        _refuse_characters(chain.from_iterable(cells))
    else:
        names = _names(rows)
        _refuse_cells(rows, len(names))
        cells = [[_cell(row, name) for name in names] for row in rows]
    columns: list[JSON] = list(names)
    return {"columns": columns, "rows": [list(row) for row in cells]}


def _items(config: WidgetConfig, value: JSON) -> list[JSON]:
    """The rows of a list; one object is a list of one."""
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        raise _DoesNotFit(f"is {_kind(value)}, and no list")
    return value[: config.limit]


def _names(rows: Iterable[JSON]) -> list[str]:
    """What rows have, in the order in which it is first seen."""
    names: dict[str, None] = {}
    for row in rows:
        if isinstance(row, dict):
            names |= dict.fromkeys(row)
        elif isinstance(row, list):
            names |= dict.fromkeys(map(str, range(min(len(row), MOST_COLUMNS))))
        else:
            names["value"] = None
        if len(names) > MOST_COLUMNS:
            raise _DoesNotFit(f"has more than {MOST_COLUMNS} columns: name those to show")
    return list(names)


def _cell(row: JSON, name: str) -> JSON:
    if isinstance(row, dict):
        return row.get(name)
    if isinstance(row, list):
        # What is a place in this row may be a name of any length in another.
        is_place = name.isdecimal() and len(name) <= len(str(MOST_COLUMNS))
        return row[int(name)] if is_place and int(name) < len(row) else None
    return row if name == "value" else None


def _cells(paths: Iterable[str], row: JSON) -> list[JSON]:
    return [look_up(row, path) for path in paths]


def _chart(config: WidgetConfig, value: JSON) -> Object:
    if isinstance(value, dict) and not config.y:
        points: list[JSON] = [
            _point(key, each, key) for key, each in list(value.items())[: config.limit]
        ]
        return {"series": [{"name": config.path, "points": points}]}
    items = _items(config, value)
    if not config.y and not any(isinstance(item, dict) for item in items):
        points = [_point(place, each, f"[{place}]") for place, each in enumerate(items)]
        return {"series": [{"name": config.path, "points": points}]}
    names = config.y or _numeric(items, config.x)
    if not names:
        raise _DoesNotFit("has no numbers to draw: name them with `y`")
    _refuse_cells(items, len(names))
    xs = [
        place if config.x is None else look_up(each, config.x) for place, each in enumerate(items)
    ]
    _refuse_characters(xs, len(names))
    return {
        "series": [
            {
                "name": name,
                "points": [
                    _point(x, look_up(each, name) if config.y else _cell(each, name), name)
                    for x, each in zip(xs, items, strict=True)
                ],
            }
            for name in names
        ]
    }


def _numeric(items: Iterable[JSON], x: str | None) -> list[str]:
    """The fields that hold numbers in some item, but for that of the other axis."""
    names: dict[str, None] = {}
    for item in items:
        if isinstance(item, dict):
            names |= {name: None for name, value in item.items() if _is_number(value) and name != x}
    return list(names)[:MOST_COLUMNS]


def _point(x: JSON, y: JSON, place: str) -> JSON:
    if y is not None and not _is_number(y):
        raise _DoesNotFit(f"has {_kind(y)} at `{place}`, and no number")
    return {"x": x, "y": y}


def _number(config: WidgetConfig, value: JSON) -> JSON:
    if not _is_number(value):
        raise _DoesNotFit(f"is {_kind(value)}, and no number")
    assert isinstance(value, int | float)
    match config.format:
        case "integer":
            return math.floor(value + 0.5)
        case "percent":
            return value * 100
        case _:
            return value


def _text(config: WidgetConfig, value: JSON) -> str:
    if isinstance(value, str) and config.format == "text":
        text = value
    else:
        encoded = msgspec.json.encode(value)
        text = msgspec.json.format(encoded, indent=2 if config.format == "json" else 0).decode()
    return text if len(text) <= config.limit else f"{text[: config.limit]}…"


def _is_number(value: JSON) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind(value: JSON) -> str:
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return "nothing"
