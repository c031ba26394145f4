"""The types of future values, as far as annotations tell them, and whether items fit a task."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from tenuto.model.json import Object
from tenuto.tasks import hints, type_schemas

UNKNOWN = inspect.Parameter.empty
"""There is no annotation."""

_KINDS = ("string", "integer", "number", "boolean", "array", "object", "null")
_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def member_of(kind: object, name: str) -> object:
    """The type of a property of such a value."""
    kind = _present(kind)
    if typing.get_origin(kind) in {dict, Mapping}:
        return typing.get_args(kind)[1]
    whole = typing.get_origin(kind) or kind
    is_typed = dataclasses.is_dataclass(whole) or typing.is_typeddict(whole)
    if not isinstance(whole, type) or not (is_typed or issubclass(whole, msgspec.Struct)):
        return UNKNOWN
    try:
        return typing.get_type_hints(whole).get(name, UNKNOWN)
    except Exception:  # noqa: BLE001 - annotations are code
        return UNKNOWN


def item_of(kind: object) -> object:
    """The type of every item of such a list."""
    kind = _present(kind)
    origin = typing.get_origin(kind)
    if isinstance(origin, type) and issubclass(origin, Sequence) and _parts(kind) is None:
        return typing.get_args(kind)[0]
    return UNKNOWN


def item_at(kind: object, index: int) -> object:
    """The type of one item of such a list: those of `tuple[int, str]` have types of their own."""
    parts = _parts(_present(kind))
    if parts is None:
        return item_of(kind)
    return parts[index] if -len(parts) <= index < len(parts) else UNKNOWN


def slice_of(kind: object) -> object:
    """The type of a part of such a list."""
    return kind if _parts(_present(kind)) is None else UNKNOWN


def _parts(kind: object) -> tuple[object, ...] | None:
    """The types of the items where each has its own; None where there is one for all."""
    if typing.get_origin(kind) is not tuple:
        return None
    parts = typing.get_args(kind)
    return None if Ellipsis in parts else parts


def _present(kind: object) -> object:
    """A type without `None`."""
    if typing.get_origin(kind) in {typing.Union, types.UnionType}:
        others = [each for each in typing.get_args(kind) if each is not type(None)]
        return others[0] if len(others) == 1 else UNKNOWN
    return kind


def misfit(kind: object, wanted: object) -> str | None:
    """Why no value of a type fits another type; None: some may, or that is not known."""
    found = None
    if kind is not UNKNOWN and wanted is not UNKNOWN:
        found = type_schemas.schemas([kind, wanted])
    if found is None:
        return None
    parts, shared = found
    given, asked = (_resolved(each, shared) for each in parts)
    kinds, needed = _kinds(given, shared), _kinds(asked, shared)
    # Where nothing has to be converted a value is given as it is: a boolean is a number in Python.
    as_it_is = "integer" in needed and not hints.needs_conversion(wanted)
    if kinds.isdisjoint(needed) and not (as_it_is and "boolean" in kinds):
        return f"it is {_listed(kinds)}, and {_listed(needed)} is needed"
    return _missing(given, asked) if kinds == {"object"} else None


def is_no_list(kind: object) -> bool:
    """Whether a value of this type is never a list."""
    found = None if kind is UNKNOWN else type_schemas.schemas([kind])
    return found is not None and "array" not in _kinds(_resolved(found[0][0], found[1]), found[1])


def _missing(given: Object, asked: Object) -> str | None:
    """The field that is needed and that an object never has."""
    if given.get("additionalProperties") is not False:
        return None
    parts, needed = given.get("properties", {}), asked.get("required", ())
    assert isinstance(parts, dict)
    missing = [str(name) for name in typing.cast("Collection[Any]", needed) if name not in parts]
    return f"it has no `{missing[0]}`" if missing else None


def _kinds(schema: Object, shared: Object) -> set[str]:
    """The kinds of JSON that a schema accepts."""
    options = schema.get("anyOf", schema.get("oneOf"))
    if isinstance(options, list):
        found = [_kinds(_resolved(each, shared), shared) for each in options]
        return set().union(*found)
    if isinstance(values := schema.get("enum"), list):
        return {_kind(each) for each in values}
    kind = schema.get("type", [*_KINDS])
    kinds = {str(each) for each in kind} if isinstance(kind, list) else {str(kind)}
    return kinds | ({"integer"} if "number" in kinds else set())


def _kind(value: object) -> str:
    names = {str: "string", bool: "boolean", int: "integer", float: "number"}
    return names.get(type(value), "null")


def _resolved(schema: object, shared: Object) -> Object:
    assert isinstance(schema, dict)
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    return typing.cast("Object", shared.get(name, schema))


def _listed(kinds: Collection[str]) -> str:
    shown = [
        each for each in _KINDS if each in kinds and not (each == "integer" and "number" in kinds)
    ]
    return " or ".join(_WORDS[each] for each in shown)
