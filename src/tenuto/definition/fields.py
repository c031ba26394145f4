"""Reads an object by a table of its fields, and writes it back by the same table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, Protocol, TypeGuard, cast

import msgspec
from msgspec import Struct

from tenuto.definition.meant import field_meant
from tenuto.definition.report import Place
from tenuto.model.json import JSON, Object, kind_of


class Unusable:
    """The result of reading a refused value; the report has the problem."""


UNUSABLE: Final = Unusable()


class Kind(Protocol):
    """How one value is read from JSON and written back."""

    def read(self, value: JSON, place: Place) -> object:
        """The value in the model, or `UNUSABLE` after reporting why."""
        ...

    def write(self, value: object) -> JSON:
        """The JSON that reads as `value`."""
        ...

    def schema(self) -> Object:
        """The JSON Schema of what can be read, as far as a schema can express it."""
        ...


class Field(Struct, frozen=True):
    """One field: its name in JSON, its attribute in the model, and what it may hold."""

    name: str
    attribute: str
    kind: Kind
    required: bool = False
    presence: str | None = None
    """An attribute for whether the field was given, if its absence has a meaning of its own."""


class Fields:
    """The complete list of the fields that an object may have."""

    def __init__(self, *fields: Field) -> None:
        self.all = fields
        self.by_name: Mapping[str, Field] = {field.name: field for field in fields}
        self.attributes = frozenset(
            name for field in fields for name in (field.attribute, field.presence) if name
        )
        self._required = tuple(field for field in fields if field.required)

    def __add__(self, other: Fields) -> Fields:
        return Fields(*self.all, *other.all)

    def read(
        self, value: Object, place: Place, *, beside: tuple[str, ...] = ()
    ) -> dict[str, object] | None:
        """Attributes for the model, or None when a required one is missing or unusable.

        `beside` are fields of the same object that were read before.
        """
        found: dict[str, object] = {}
        for name in value:
            field = self.by_name.get(name)
            if field is None:
                if place.report.is_full:
                    break
                refuse_unknown(name, (*beside, *self.by_name), place)
                continue
            read = field.kind.read(value[name], place.at(name))
            if not isinstance(read, Unusable):
                found[field.attribute] = read
                if field.presence is not None:
                    found[field.presence] = True
        for field in self._required:
            if field.name not in value:
                place.wrong("TEN-1011", f"`{field.name}` is missing", f"Add `{field.name}`.")
        usable = all(field.attribute in found for field in self._required)
        return found if usable else None

    def schema(self) -> Object:
        """The JSON Schema of an object with these fields."""
        return {
            "type": "object",
            "properties": {field.name: field.kind.schema() for field in self.all},
            "required": [field.name for field in self._required],
            "additionalProperties": False,
        }

    def write(self, owner: Struct) -> Object:
        """The fields of `owner` that differ from their defaults."""
        defaults = _defaults(type(owner))
        written: Object = {}
        for field in self.all:
            value = getattr(owner, field.attribute)
            if field.presence is not None:
                given = bool(getattr(owner, field.presence))
            else:
                given = field.required or value != defaults[field.attribute]
            if given:
                written[field.name] = field.kind.write(value)
        return written


class Record:
    """A kind: an object with fields of its own."""

    def __init__(self, make: Callable[..., Struct], fields: Fields) -> None:
        self._make = make
        self._fields = fields

    def read(self, value: JSON, place: Place) -> object:
        found = self._fields.read(value, place) if is_object(value, place, self._fields) else None
        return UNUSABLE if found is None else self._make(**found)

    def write(self, value: object) -> JSON:
        assert isinstance(value, Struct)  # what `read` made
        return self._fields.write(value)

    def schema(self) -> Object:
        return self._fields.schema()


class Verbatim:
    """A kind: an object that is checked field by field and kept as it was written."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields

    def read(self, value: JSON, place: Place) -> object:
        found = self._fields.read(value, place) if is_object(value, place, self._fields) else None
        return UNUSABLE if found is None else value

    def write(self, value: object) -> JSON:
        return cast("JSON", value)

    def schema(self) -> Object:
        return self._fields.schema()


def is_object(
    value: JSON, place: Place, fields: Fields | None = None, *, advice: str | None = None
) -> TypeGuard[Object]:
    """Whether `value` is an object, which has `fields`; if not, that is reported."""
    if isinstance(value, dict):
        return True
    if advice is None:
        names = "" if fields is None else f" with {', '.join(fields.by_name)}"
        advice = f"Write an object{names}: `{{…}}`."
    place.wrong("TEN-1010", f"expected an object, found {kind_of(value)}", advice)
    return False


def is_array(value: JSON, place: Place) -> TypeGuard[list[JSON]]:
    """Whether `value` is an array; if not, that is reported."""
    if isinstance(value, list):
        return True
    advice = "Write an array: `[…]`."
    place.wrong("TEN-1010", f"expected an array, found {kind_of(value)}", advice)
    return False


def refuse_unknown(name: str, known: Collection[str], place: Place) -> None:
    listing = f"Known here: {', '.join(known)}." if known else "Remove it."
    meant = field_meant(name, known)
    advice = f"Did you mean `{meant}`?" if meant else place.did_you_mean(name, known, listing)
    place.at(name).wrong("TEN-1012", f"`{name}` is not a field here", advice)


def _defaults(kind: type[Struct]) -> Mapping[str, object]:
    cached = _DEFAULTS.get(kind)
    if cached is None:
        cached = {each.name: each.default for each in msgspec.structs.fields(kind)}
        _DEFAULTS[kind] = cached
    return cached


_DEFAULTS: dict[type[Struct], Mapping[str, object]] = {}
