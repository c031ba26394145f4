"""Annotations of parameters: the context, a type to convert to, or none."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import inspect
import re
import types
import typing
import uuid
from collections.abc import Mapping
from typing import Any

import msgspec

from tenuto.tasks.context import Context
from tenuto.tasks.output import Result

UNRESOLVED = object()
"""The annotation has a name that is not defined (yet), such as a class behind TYPE_CHECKING."""

_OUR_CONTEXT = re.compile(r"(?:\w+\.)*Context\Z")
_JSON = frozenset({dict, list, tuple, str, int, float, bool, type(None), object, Any})
_NAMELESS = (list, tuple, str, int, float, bool)
_CONVERTIBLE = (dt.datetime, dt.date, dt.time, dt.timedelta, uuid.UUID)


def resolve(annotation: object, scope: dict[str, Any], local: Mapping[str, Any]) -> Any:  # noqa: ANN401 - annotations are anything
    """The annotation itself where it was written as text, or UNRESOLVED."""
    if not isinstance(annotation, str):
        return annotation
    # Each alone, so that one name that cannot be found does not hide the others.
    lone = types.SimpleNamespace(__annotations__={"it": annotation})
    try:
        return typing.get_type_hints(lone, scope, dict(local), include_extras=True)["it"]
    except Exception:  # noqa: BLE001 - annotations are code
        return UNRESOLVED


def is_context(parameter: inspect.Parameter, annotation: object) -> bool:
    if annotation is UNRESOLVED:
        return _OUR_CONTEXT.match(parameter.annotation) is not None
    if typing.get_origin(annotation) in {typing.Union, types.UnionType}:
        return any(is_context(parameter, member) for member in typing.get_args(annotation))
    return isinstance(annotation, type) and issubclass(annotation, Context)


def needs_conversion(annotation: object) -> bool:
    """Whether plain JSON has to be converted to the type; False if the type is unknown."""
    found = set(leaves(annotation))
    return not found <= _JSON and all(is_json_or_convertible(leaf) for leaf in found)


def is_json_or_convertible(leaf: Any) -> bool:  # noqa: ANN401 - annotations are anything
    """Whether a JSON value can be, or be converted to, a type without arguments."""
    return leaf in _JSON or _is_convertible(leaf)


def convert(value: object, annotation: Any) -> Any:  # noqa: ANN401 - annotations are anything
    """`value` converted to the annotated type; msgspec.ValidationError if it does not fit."""
    return msgspec.convert(value, annotation, dec_hook=_read_model)


def leaves(annotation: object) -> typing.Iterator[Any]:
    """The types that an annotation consists of, without containers."""
    if annotation is inspect.Parameter.empty or annotation is UNRESOLVED:
        return
    origin = typing.get_origin(annotation)
    if origin is None:
        yield annotation
    elif origin is typing.Annotated:
        yield from leaves(typing.get_args(annotation)[0])
    elif origin is typing.Literal:
        yield str
    elif origin in {typing.Union, types.UnionType} or origin in _JSON:
        for member in typing.get_args(annotation):
            if member is not Ellipsis:
                yield from leaves(member)
    else:
        yield origin


def is_nothing(annotation: object) -> bool:
    """Whether a function with this return annotation returns no value."""
    return annotation is None or annotation is type(None)


def names_in(annotation: object) -> list[str] | None:
    """The names of the members of such a value, empty if it has none; None: unknown."""
    if is_nothing(annotation) or (typing.get_origin(annotation) or annotation) in _NAMELESS:
        return []
    if not isinstance(annotation, type) or annotation is Result:
        return None  # a Result can hold anything
    if dataclasses.is_dataclass(annotation):
        return [each.name for each in dataclasses.fields(annotation)]
    if issubclass(annotation, msgspec.Struct):
        return [each.encode_name for each in msgspec.structs.fields(annotation)]
    if typing.is_typeddict(annotation):
        return [*annotation.__annotations__]
    return None


def _is_convertible(leaf: Any) -> bool:  # noqa: ANN401 - annotations are anything
    if not isinstance(leaf, type):
        return False
    return (
        dataclasses.is_dataclass(leaf)
        or typing.is_typeddict(leaf)
        or hasattr(leaf, "model_validate")
        or issubclass(leaf, (msgspec.Struct, enum.Enum, decimal.Decimal, *_CONVERTIBLE))
    )


def _read_model(kind: type, value: object) -> object:
    # Pydantic is the user's choice, never imported here.
    validate = getattr(kind, "model_validate", None)
    if validate is None:
        raise NotImplementedError
    return validate(value)
