"""The output of a task, copied to plain JSON.

Plain JSON values are taken as they are, tuples as arrays; a dataclass, msgspec Struct or pydantic
model is encoded by the rules of its type, with all its members. Anything else is refused with its
place: a set, bytes or a date in a plain dict has more than one spelling in JSON, and the task has
to choose one. Integers keep all their digits, up to the 4,300 that Python parses.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from datetime import timedelta
from typing import Any

import msgspec

from tenuto.model.durations import parse_duration
from tenuto.model.failure import INVALID_DELAY, NOT_JSON, TOO_LARGE
from tenuto.model.json import JSON
from tenuto.model.large_json import decode

DEEPEST = 100
"""How deep objects and arrays may be nested, as in definitions."""

_SMALL = 1 << 63
_MS = timedelta(milliseconds=1)


class Result(msgspec.Struct, frozen=True):
    """An output together with the handle that the node is left by."""

    output: Any = None
    handle: str = "default"
    delay: timedelta | str | float | None = None
    """How much later what follows is dispatched: a timedelta, ISO 8601 text, or milliseconds."""


class Unusable(Exception):
    """A value that cannot be recorded."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def to_json(value: object, limit: int, name: str = "the output") -> JSON:
    """A copy of `value` in plain JSON values of at most `limit` encoded bytes, or Unusable."""
    if value is None or value is True or value is False:
        return value
    if type(value) is int and -_SMALL <= value < _SMALL:
        return value
    try:
        encoded = _encode(value)
        # msgspec writes NaN as null, 1 as a key as "1", sets as arrays, and so on: whatever is not
        # JSON comes back as something else. What comes back equal is JSON, and a copy.
        if len(encoded) <= limit and _NUL not in encoded and _is_shallow(encoded):
            copy = decode(encoded)
            if copy == value:
                return copy
    except Exception:  # noqa: BLE001 - the walk below finds the fault and its place
        encoded = b""
    if len(encoded) > limit:
        raise _too_large(len(encoded), limit, name)
    return _walk_and_measure(value, limit, name)


def delay_ms(value: object) -> int:
    """A delay in whole milliseconds; Unusable."""
    if value is None:
        return 0
    try:
        if isinstance(value, timedelta):
            value = round(value / _MS)
        given = parse_duration(value)
    except (ValueError, OverflowError) as error:
        raise Unusable(INVALID_DELAY, f"the delay is none: {error}") from None
    if given.months:
        raise Unusable(INVALID_DELAY, "a delay has no months and years: write days")
    return round(given.span / _MS)


def is_typed(value: object) -> bool:
    """Whether the type of `value` defines its encoding."""
    return (
        isinstance(value, msgspec.Struct)
        or (dataclasses.is_dataclass(value) and not isinstance(value, type))
        or _is_model(value)
    )


_NUL = b"\\u0000"


def _is_model(value: object) -> bool:
    # Pydantic is the user's choice, never imported here.
    return hasattr(type(value), "model_validate") and hasattr(type(value), "model_dump")


def _write_model(value: Any) -> object:  # noqa: ANN401 - a pydantic model, known by its methods
    if _is_model(value):
        return value.model_dump(mode="json")
    raise NotImplementedError


_encode = msgspec.json.Encoder(enc_hook=_write_model).encode


def _is_shallow(encoded: bytes) -> bool:
    return encoded.count(b"[") + encoded.count(b"{") <= DEEPEST


def _walk_and_measure(value: object, limit: int, name: str) -> JSON:
    plain = _walk(value, "$", 0, name)
    size = len(_encode(plain))
    if size > limit:
        raise _too_large(size, limit, name)
    return plain


def _walk(value: object, path: str, depth: int, name: str) -> JSON:
    match value:
        case None | bool():
            return value
        case str():
            return _check_text(str.__str__(value), path, name)
        case int():
            return _check_integer(int(value), path, name)
        case float():
            if not math.isfinite(value):
                raise _not_json(name, path, f"{value}, which JSON cannot carry")
            return float(value)
        case dict() | list() | tuple() if depth >= DEEPEST:
            raise _not_json(name, path, f"nested more than {DEEPEST} deep")
        case dict():
            return {
                _check_key(key, path, name): _walk(item, _member(path, key), depth + 1, name)
                for key, item in value.items()
            }
        case list() | tuple():
            return [
                _walk(item, f"{path}[{index}]", depth + 1, name) for index, item in enumerate(value)
            ]
        case _ if is_typed(value):
            return _walk(_by_type(value, path, name), path, depth, name)
        case _ if inspect.iscoroutine(value):
            value.close()
            raise _not_json(name, path, "a coroutine that is not awaited: write `async def`")
        case _:
            raise _not_json(name, path, f"of type {_type_name(value)}, which is not JSON")


def _by_type(value: object, path: str, name: str) -> object:
    try:
        return msgspec.to_builtins(value, str_keys=True, enc_hook=_write_model)
    except Exception as error:
        problem = f"of type {_type_name(value)}, which cannot be written as JSON: {error}"
        raise _not_json(name, path, problem) from error


def _check_text(text: str, path: str, name: str) -> str:
    if "\0" in text:
        raise _not_json(name, path, "text with the character NUL, which cannot be stored")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _not_json(name, path, "text with a lone surrogate, which is not Unicode") from None
    return text


def _check_key(key: object, path: str, name: str) -> str:
    if not isinstance(key, str):
        problem = f"an object with the key {key!r} of type {_type_name(key)}; keys are text"
        raise _not_json(name, path, problem)
    return _check_text(str.__str__(key), path, f"a key of {name}")


def _check_integer(number: int, path: str, name: str) -> int:
    try:
        _encode(number)
    except ValueError:
        raise _not_json(name, path, "an integer of more than 4,300 digits") from None
    return number


def _member(path: str, key: object) -> str:
    if isinstance(key, str) and key.isidentifier():
        return f"{path}.{key}"
    return f"{path}[{key!r}]"


def _type_name(value: object) -> str:
    kind = type(value)
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def _not_json(name: str, path: str, problem: str) -> Unusable:
    return Unusable(NOT_JSON, f"{name} at {path} is {problem}")


def _too_large(size: int, limit: int, name: str) -> Unusable:
    return Unusable(TOO_LARGE, f"{name} is {size:,} bytes of JSON; at most {limit:,} are allowed")
