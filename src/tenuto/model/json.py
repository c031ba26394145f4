"""The one type of value that crosses Tenuto's edges: JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import msgspec

from tenuto.model.pauses import between_parts

if TYPE_CHECKING:
    JSON: TypeAlias = None | bool | int | float | str | list["JSON"] | dict[str, "JSON"]
else:
    # msgspec cannot resolve a recursive alias; "anything" is checked where it enters.
    JSON: TypeAlias = Any

Object: TypeAlias = dict[str, JSON]
"""A JSON object: text keys, JSON values."""
Given: TypeAlias = JSON | Mapping[str, object] | Sequence[object]
"""JSON from users, also where a type checker only sees `dict[str, int]`."""


class Body(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename="camel",
    forbid_unknown_fields=True,
):
    """An object from outside, in which unknown fields are refused."""


def as_json(given: Given) -> JSON:
    """The same value; a value that is not JSON is refused where it is used."""
    return cast("JSON", given)


def size_of(value: JSON) -> int:
    """How many bytes `value` takes as JSON."""
    return 4 if value is None else len(_encode(value))


def is_small(value: object, large: int) -> bool:
    """Whether a value has fewer characters and items than that; it is read no further."""
    return characters_in(value, large) < large


def characters_in(value: object, most: int) -> int:
    """How many characters and items a value has; it is read no further than up to so many."""
    count = 0
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, str | dict | list | tuple):
            # Before the items are taken: a list of a million is not copied.
            count += len(each)
            if count >= most:
                return count
        if isinstance(each, dict):
            pending += [*each]
            pending += [inner for inner in each.values() if type(inner) not in _WITHOUT_SIZE]
        elif isinstance(each, list | tuple):
            pending += [inner for inner in each if type(inner) not in _WITHOUT_SIZE]
    return count


_WITHOUT_SIZE: frozenset[type] = frozenset({int, float, bool, type(None)})
_encode = msgspec.json.Encoder().encode


def are_the_same(one: JSON, other: JSON) -> bool:
    """Whether two values are equal in JSON, where `true` is not 1, and 1 is 1.0."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            are_the_same(value, other[name]) for name, value in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(are_the_same, one, other))
    return one == other


def kind_of(value: object) -> str:
    """The JSON type of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "an array"
        case dict():
            return "an object"
        case _:
            return f"a Python {type(value).__name__}"


_MOST_BITS = 14_000
"""The most digits of an integer: Python refuses to print one with 4,300 or more."""


_Way: TypeAlias = "tuple[_Way, str] | None"
"""The way to a value from its end: written out only where it is shown, since keys may be long."""
_LONGEST_STEP = 200
"""The most characters of a key that a path shows."""


def json_problem(value: object) -> tuple[str, str] | None:
    """The first place where `value` is not JSON that every store can keep: (path, problem)."""
    return None if _can_be_kept(value) else _first_problem(value)


def _can_be_kept(value: object) -> bool:
    """Whether a value has no problem; False also where that cannot be told without a closer look.

    Values of a kind are looked at together, since a megabyte has hundreds of thousands of them and
    whatever else the process does waits meanwhile.
    """
    if type(value) not in _CONTAINERS:
        return _is_kept(value)
    pending = [cast("Collection[object]", value)]
    while pending:
        values = pending.pop()
        if not len(pending) % _TOGETHER:
            between_parts()
        are_kept = _are_few_kept if len(values) < _FEW else _are_kept
        if type(values) is dict:
            if not (are_kept(values) and _TEXT.issuperset(map(type, values))):
                return False
            values = values.values()
        if not are_kept(values):
            return False
        inner = [each for each in values if type(each) in _CONTAINERS and each]
        pending += cast("list[Collection[object]]", inner)
    return True


_T = TypeVar("_T")
_FEW = 16
"""So many values are looked at one by one."""
_TOGETHER = 1_000
"""So many values are looked at together, which takes about a tenth of a millisecond."""
_TEXT: set[type] = {str}
_CONTAINERS: set[type] = {list, tuple, dict}
_KINDS: set[type] = _CONTAINERS | {str, int, float, bool, type(None)}


def _is_kept(value: object) -> bool:
    """The same for one value; not for what is in it."""
    if type(value) is str:
        return "\0" not in value and (value.isascii() or _is_whole(value))
    if type(value) is int:
        return value.bit_length() <= _MOST_BITS
    return isfinite(value) if type(value) is float else type(value) in _KINDS


def _are_few_kept(values: Collection[object]) -> bool:
    for value in values:
        # Most values are short text: it is not worth a call.
        if type(value) is str and value.isascii() and value.isprintable():
            continue
        if not _is_kept(value):
            return False
    return True


def _are_kept(values: Collection[object]) -> bool:
    """The same for many, part after part: in each other threads wait."""
    rest = iter(values)
    while part := list(islice(rest, _TOGETHER)):
        between_parts()
        if not _is_part_kept(part):
            return False
    return True


def _is_part_kept(values: Collection[object]) -> bool:
    kinds = set(map(type, values))
    if not kinds <= _KINDS:
        return False
    if int in kinds and max(map(int.bit_length, _of_kind(int, kinds, values))) > _MOST_BITS:
        return False
    if float in kinds and not all(map(isfinite, _of_kind(float, kinds, values))):
        return False
    return str not in kinds or _are_texts_kept(_of_kind(str, kinds, values))


def _of_kind(kind: type[_T], kinds: set[type], values: Iterable[object]) -> Iterable[_T]:
    of_kind = values if len(kinds) == 1 else [each for each in values if type(each) is kind]
    return cast("Iterable[_T]", of_kind)


def _are_texts_kept(texts: Iterable[str]) -> bool:
    together = "".join(texts)
    if "\0" in together:
        return False
    return together.isascii() or _is_whole(together)


def _is_whole(text: str) -> bool:
    """Whether text has no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _first_problem(value: object) -> tuple[str, str] | None:
    pending: list[tuple[_Way, object]] = [(None, value)]
    while pending:
        way, found = pending.pop()
        match found:
            case None | bool():
                pass
            case int() | float():
                if (what := _number_problem(found)) is not None:
                    return _path(way), what
            case str():
                if (what := _text_problem(found)) is not None:
                    return _path(way), what
            case list() | tuple():
                pending += [((way, f"[{index}]"), item) for index, item in enumerate(found)]
            case dict():
                for key, item in found.items():
                    if not isinstance(key, str):
                        return _path(way), f"the key {key!r} is not text"
                    if (what := _text_problem(key)) is not None:
                        return _path(way) + f".{key[:_LONGEST_STEP]!a}", what
                    pending.append(((way, key), item))
            case _:
                return _path(way), f"a {type(found).__name__} is not JSON"
    return None


def _path(way: _Way) -> str:
    steps: list[str] = []
    while way is not None:
        way, key = way
        steps.append(key if key.startswith("[") else f".{key[:_LONGEST_STEP]}")
    return "".join(reversed(steps))


def _number_problem(number: float) -> str | None:
    if isinstance(number, int):
        is_long = number.bit_length() > _MOST_BITS
        return "a number of more than 4,200 digits cannot be kept" if is_long else None
    return None if isfinite(number) else f"{number} is not a JSON number"


def _text_problem(text: str) -> str | None:
    if "\0" in text:
        return "text with a NUL character cannot be kept"
    if not text.isascii() and not _is_whole(text):
        return "text with half a surrogate pair cannot be kept"
    return None
