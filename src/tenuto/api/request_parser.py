"""Parses bodies and query parameters strictly, and lists everything that is wrong with them.

JSON is parsed once, in pieces where it is large.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from types import UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct

from tenuto.api.problems import TOO_LARGE, Refusal
from tenuto.definition.report import did_you_mean
from tenuto.model.checks import MOST_UNKNOWN, moment_problem, unknown_names
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.json import JSON, Object
from tenuto.model.json_words import in_json_words
from tenuto.model.large_json import decode_strictly

MOST_DEPTH = 100
"""How deeply arrays and objects may be nested."""
WRONG_FIELD = "TEN-2031"
_NOT_JSON = "TEN-2004"
_WRONG_MEDIA = "TEN-2032"

T = TypeVar("T")


def refuse_media(content_type: str | None, allowed: tuple[str, ...]) -> None:
    """415 unless the body has a media type that the operation takes, in UTF-8."""
    kind, _, parameters = (content_type or "").partition(";")
    if kind.strip().lower() not in allowed:
        said = f"is {kind.strip()}" if content_type else "has no content type"
        _refuse_media(f"the body {said}", allowed)
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip(' "').lower() != "utf-8":
            _refuse_media(f"the body is in {value.strip()}, and JSON is UTF-8", allowed)


def _refuse_media(message: str, allowed: tuple[str, ...]) -> None:
    advice = f"Send the header `content-type: {allowed[0]}`."
    raise Refusal(415, _WRONG_MEDIA, message, advice)


def refuse_size(size: int, most: int) -> None:
    """413, naming the limit, where a body is larger."""
    if size > most:
        message = f"the body has more than {most:,} bytes, which is the limit here (TOO_LARGE)"
        raise Refusal(413, TOO_LARGE, message)


def read_json(body: bytes) -> JSON:
    """The JSON of a body; 400 where it is none, has a key twice, or is nested too deeply."""
    try:
        value, twice = decode_strictly(body)
    except RecursionError:
        raise _malformed(f"it is nested more than {MOST_DEPTH} deep") from None
    except UnicodeDecodeError:
        raise _malformed("it is not UTF-8") from None
    except msgspec.DecodeError as error:
        raise _malformed(_lowered(str(error))) from None
    _refuse_deep(body, value)
    if twice is not None:
        raise _malformed(f"the key {json.dumps(twice[:80])} is there twice")
    return value


def _refuse_deep(body: bytes, value: JSON) -> None:
    if body.count(b"[") + body.count(b"{") <= MOST_DEPTH:
        return
    level: list[Any] = [value] if isinstance(value, dict | list) else []
    for _ in range(MOST_DEPTH):
        level = [
            item
            for each in level
            for item in (each.values() if isinstance(each, dict) else each)
            if isinstance(item, dict | list)
        ]
        if not level:
            return
    raise _malformed(f"it is nested more than {MOST_DEPTH} deep")


def _malformed(what: str) -> Refusal:
    return Refusal(400, _NOT_JSON, f"the body cannot be read: {what}")


def read_struct(value: JSON, wanted: type[T]) -> T:
    """The value as the type of the operation's body; InvalidInput with every problem at once."""
    try:
        return msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        raise _invalid("the body", _problems(value, wanted, error)) from None


def read_query(text: bytes, wanted: type[T]) -> T:
    """Query parameters; InvalidInput with every problem at once."""
    pairs = parse_qsl(text.decode("latin-1"), keep_blank_values=True)
    given: dict[str, JSON] = dict(pairs)
    if len(given) < len(pairs):
        raise _invalid("the query", [_twice(pairs)])
    if with_nul := [name for name, value in pairs if "\0" in name + value]:
        raise _invalid("the query", [_with_nul(name) for name in with_nul[:MOST_UNKNOWN]])
    try:
        return msgspec.convert(given, wanted, strict=False)
    except msgspec.ValidationError as error:
        problems = _problems(given, wanted, error, strict=False)
        raise _invalid("the query", problems) from None


def _with_nul(name: str) -> Problem:
    # No store takes NUL, so that nothing would be found.
    return _problem(f"$.{name}", "it contains NUL", "Leave the character out.")


def _twice(pairs: list[tuple[str, str]]) -> Problem:
    [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
    advice = "Give it once; several values are separated by commas where that is meant."
    return _problem(f"$.{twice}", f"`{twice}` is there twice", advice)


def _invalid(what: str, problems: list[Problem]) -> InvalidInput:
    return InvalidInput(f"{what} is not what this operation takes", problems)


def _problems(
    value: JSON,
    wanted: object,
    first: msgspec.ValidationError,
    *,
    path: str = "$",
    strict: bool = True,
) -> list[Problem]:
    """Field by field, also of structs in it: msgspec itself stops at the first."""
    fields = _fields(wanted)
    if not isinstance(value, dict) or fields is None:
        return [_said(first, path, wanted)]
    found = _unknown_fields(value, fields, path)
    for name, field in fields.items():
        at = f"{path}.{name}"
        if name not in value:
            if field.required:
                found.append(_problem(at, f"`{name}` is missing", f"Add `{name}`."))
            continue
        try:
            read = msgspec.convert(value[name], field.type, strict=strict)
        except msgspec.ValidationError as error:
            found += _problems(value[name], field.type, error, path=at, strict=strict)
            continue
        if isinstance(read, datetime) and (wrong := moment_problem(read)) is not None:
            found.append(_problem(at, wrong, "Correct the value."))
    return found or [_said(first, path)]


def _fields(wanted: object) -> Mapping[str, msgspec.structs.FieldInfo] | None:
    """The fields of a struct, or of one that may be left out."""
    kinds = get_args(wanted) if isinstance(wanted, UnionType) else (wanted,)
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, Struct):
            return {field.encode_name: field for field in msgspec.structs.fields(kind)}
    return None


def _unknown_fields(
    value: Object, fields: Mapping[str, msgspec.structs.FieldInfo], path: str
) -> list[Problem]:
    named, others = unknown_names(value, fields)
    found = [_unknown(name, fields, path) for name in named]
    if others:
        message = f"there are {others:,} more fields here that are unknown"
        found.append(_problem(path, message, "Leave them out."))
    return found


def _unknown(name: str, fields: Mapping[str, msgspec.structs.FieldInfo], path: str) -> Problem:
    known = ", ".join(fields) or "none"
    advice = did_you_mean(name, list(fields), f"Leave it out; known: {known}.")
    return _problem(f"{path}.{name}", f"there is no field `{name}` here", advice)


def _said(error: msgspec.ValidationError, path: str, wanted: object = None) -> Problem:
    """A problem that msgspec found, at the place that it names below `path`."""
    text, _, place = in_json_words(error).partition(" - at `$")
    values = _values_of(wanted) if not place else []
    advice = f"Write one of {', '.join(values)}." if values else _advice(text)
    return _problem(path + place.removesuffix("`"), text, advice)


def _advice(text: str) -> str:
    if "RFC3339 encoded datetime" in text:
        return "Write a moment, such as 2026-12-24T09:00:00Z."
    if "RFC3339 encoded date" in text:
        return "Write a date, such as 2026-12-24."
    return "Correct the value."


def _values_of(wanted: object) -> list[str]:
    """The values of an enumeration, or of one that may be left out."""
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return [str(each.value) for each in wanted]
    if get_origin(wanted) is Literal:
        return [str(each) for each in get_args(wanted)]
    found = [_values_of(each) for each in get_args(wanted)]
    return next((each for each in found if each), [])


def _lowered(text: str) -> str:
    return text if text[:2].isupper() else text[:1].lower() + text[1:]


def _problem(path: str, message: str, advice: str) -> Problem:
    return Problem(code=WRONG_FIELD, path=path, message=message, advice=advice)
