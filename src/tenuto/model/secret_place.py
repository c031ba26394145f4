"""Secrets in the inputs of steps: places are recorded, values are filled in where an attempt runs.

A template such as `Bearer {{secrets.API_KEY}}` is rendered with the text `{{secrets.API_KEY}}` left
in it, and its place is recorded beside the input. Only recorded places are filled in: the same text
in a payload means nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from tenuto.model.json import JSON

ROOT: Final = "secrets"
"""The name under which expressions see them."""
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
"""The name of a secret."""


class SecretPlace(Struct, frozen=True, gc=False):
    """Where the value of a secret belongs in the input of a step."""

    path: tuple[str | int, ...]
    """The keys and indexes that lead to the text which has it."""
    at: int
    """The position of `{{secrets.NAME}}` in this text, in characters."""
    name: str


_ORIGIN: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]+)")
_REFERENCE: Final = re.compile(rf"{ROOT}\s*\.\s*({NAME.pattern})")


def secret_name(expression: str) -> str | None:
    """The secret that an expression is, in the one form that is allowed: `secrets.NAME`."""
    found = _REFERENCE.fullmatch(expression.strip())
    return None if found is None else found[1]


def about(tenant: str, name: str) -> bytes:
    """What the value of a secret is sealed for: it opens for no other tenant, and no other name."""
    return f"secret\n{tenant}\n{name}".encode()


def is_destination(source_id: str) -> bool:
    """Whether a destination that is this text may mean a data source: one like a host is a host.

    Else a data source with the name of a host would get the secrets that are for that host.
    """
    return "." not in source_id and ":" not in source_id


def origin_of(url: str) -> tuple[str, str] | None:
    """The scheme and the authority of a URL; None where parsers may read it in several ways."""
    if any(each <= " " or each == "\\" for each in url):
        return None
    found = _ORIGIN.match(url)
    return None if found is None else (found[1].lower(), found[2].lower())


def reference(name: str) -> str:
    """The text that stands for a secret until an attempt runs."""
    return f"{{{{{ROOT}.{name}}}}}"


def names_of(places: Iterable[SecretPlace]) -> tuple[str, ...]:
    """The secrets that an input needs, each once, in the order of their places."""
    return tuple(dict.fromkeys(place.name for place in places))


def fill_in(value: JSON, places: Sequence[SecretPlace], values: Mapping[str, str]) -> JSON:
    """An input with the values of its secrets; the given one does not change.

    A place whose text is not there, as in an input that was edited, stays as it is.
    """
    # From the end of each text to its beginning, so that positions before stay valid.
    for place in sorted(places, key=lambda each: each.at, reverse=True):
        value = _filled(value, place.path, place, values)
    return value


def _filled(
    value: JSON, path: tuple[str | int, ...], place: SecretPlace, values: Mapping[str, str]
) -> JSON:
    if not path:
        return _text(value, place, values)
    first, *rest = path
    match value:
        case dict() if isinstance(first, str) and first in value:
            return {**value, first: _filled(value[first], tuple(rest), place, values)}
        case list() if isinstance(first, int) and 0 <= first < len(value):
            inner = _filled(value[first], tuple(rest), place, values)
            return [*value[:first], inner, *value[first + 1 :]]
        case _:
            return value


def _text(value: JSON, place: SecretPlace, values: Mapping[str, str]) -> JSON:
    text = reference(place.name)
    if not isinstance(value, str) or not value.startswith(text, place.at):
        return value
    return value[: place.at] + values[place.name] + value[place.at + len(text) :]
