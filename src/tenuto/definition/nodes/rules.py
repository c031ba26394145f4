"""Rules between the fields of one object."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tenuto.definition.report import Place
from tenuto.model.json import JSON, Object


def exactly_one(settings: Object, names: Sequence[str], place: Place) -> None:
    """Report when none, or more than one, of `names` is given."""
    given = [name for name in names if name in settings]
    choice = " or ".join(f"`{name}`" for name in names)
    if not given:
        place.wrong("TEN-1018", f"{choice} is needed", f"Add {choice}.")
    for name in given[1:]:
        place.at(name).wrong("TEN-1018", f"`{name}` and `{given[0]}` exclude each other")


def not_beside(settings: Object, names: Iterable[str], other: str, place: Place) -> None:
    """Report those of `names` that are given beside `other`."""
    if other not in settings:
        return
    for name in names:
        if name in settings:
            place.at(name).wrong("TEN-1018", f"`{name}` means nothing beside `{other}`")


def distinct_ids(settings: Object, name: str, place: Place) -> None:
    """Report each duplicate id in the list `name`."""
    items = settings.get(name)
    seen: set[str] = set()
    for index, item in enumerate(items if isinstance(items, list) else ()):
        identity = item.get("id") if isinstance(item, dict) else None
        if isinstance(identity, str) and identity in seen:
            place.at(name).at(index).at("id").wrong("TEN-1021", f"`{identity}` is used twice")
        elif isinstance(identity, str):
            seen.add(identity)


def one_of_schema(*names: str) -> Object:
    """The JSON Schema of an object in which exactly one of `names` is given."""
    required: list[JSON] = [{"required": [name]} for name in names]
    return {"oneOf": required}


def not_beside_schema(names: Iterable[str], other: str) -> Object:
    """The JSON Schema of an object in which none of `names` is given beside `other`."""
    refused: Object = dict.fromkeys(names, False)
    return {"dependentSchemas": {other: {"properties": refused}}}
