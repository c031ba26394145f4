"""Reads `transitions` of a step, with its `conditions` and `onError`."""

from __future__ import annotations

from typing import cast

from msgspec import Struct

from tenuto.definition.draft import DraftEdge
from tenuto.definition.fields import UNUSABLE, Field, Fields, Record, Unusable, is_array, is_object
from tenuto.definition.plain_kinds import Text
from tenuto.definition.report import Place, shown
from tenuto.definition.settings import CODES
from tenuto.model.graph import ErrorRoute, Route
from tenuto.model.json import JSON, Object, kind_of

CONDITIONS = "conditions"
ON_ERROR = "onError"


class Targets:
    """A target or a list of them, each with its place."""

    def read(self, value: JSON, place: Place) -> object:
        if isinstance(value, list):
            read = [_target(item, place.at(index)) for index, item in enumerate(value)]
            return tuple(each for each in read if each is not None)
        one = _target(value, place)
        return UNUSABLE if one is None else (one,)

    def write(self, value: object) -> JSON:
        return cast("JSON", value)

    def schema(self) -> Object:
        return {"anyOf": [Text().schema(), {"type": "array", "items": Text().schema()}]}


class _When(Struct, frozen=True):
    targets: tuple[tuple[str, Place], ...]
    when: str = ""
    codes: tuple[str, ...] = ()


_TO = Field("to", "targets", Targets(), required=True)
_LISTS = {
    CONDITIONS: Record(_When, Fields(Field("when", "when", Text(), required=True), _TO)),
    ON_ERROR: Record(_When, Fields(Field("codes", "codes", CODES, required=True), _TO)),
}


class Leads(Struct, kw_only=True):
    """The transitions of a step."""

    edges: list[DraftEdge]
    empty: list[tuple[str, Place]]
    """Handles with an empty list of targets."""
    unchecked: list[tuple[str, Place]]
    """Expressions of `conditions`; the names that they can use are known once loops are."""
    conditions: tuple[Route, ...] = ()
    on_error: tuple[ErrorRoute, ...] = ()


def transitions_schema() -> Object:
    """The JSON Schema of `transitions`."""
    return {
        "type": "object",
        "properties": {
            name: {"type": "array", "items": kind.schema()} for name, kind in _LISTS.items()
        },
        "additionalProperties": Targets().schema(),
    }


def read_transitions(source: str, value: JSON, place: Place) -> Leads:
    """The edges and routes that `transitions` of the step `source` spells."""
    leads = Leads(edges=[], empty=[], unchecked=[])
    named = value if isinstance(value, str) else "NAME"
    if not is_object(value, place, advice=f'Write `{{"default": {shown(named)}}}`.'):
        return leads
    transitions = value
    for handle, targets in transitions.items():
        there = place.at(handle)
        if handle not in _LISTS:
            _add(leads.edges, source, handle, Targets().read(targets, there))
            if targets == []:
                leads.empty.append((handle, there))
    choices = _listed(transitions, CONDITIONS, place)
    leads.conditions = tuple(
        Route(when=choice.when, handle=f"when_{number}") for number, choice in choices
    )
    for number, choice in choices:
        leads.unchecked.append((choice.when, place.at(CONDITIONS).at(number - 1).at("when")))
        _add(leads.edges, source, f"when_{number}", choice.targets)
    handlers = _listed(transitions, ON_ERROR, place)
    leads.on_error = tuple(
        ErrorRoute(codes=handler.codes, handle=f"onError_{number}") for number, handler in handlers
    )
    for number, handler in handlers:
        _add(leads.edges, source, f"onError_{number}", handler.targets)
    return leads


def _listed(transitions: Object, name: str, place: Place) -> list[tuple[int, _When]]:
    value = transitions.get(name, [])
    there = place.at(name)
    if not is_array(value, there):
        return []
    read = (_LISTS[name].read(item, there.at(index)) for index, item in enumerate(value))
    return [
        (number, choice) for number, choice in enumerate(read, start=1) if isinstance(choice, _When)
    ]


def _add(edges: list[DraftEdge], source: str, handle: str, targets: object) -> None:
    if isinstance(targets, Unusable):
        return
    for target, place in cast("tuple[tuple[str, Place], ...]", targets):
        edges.append(DraftEdge(source, handle, target, place))


def _target(value: JSON, place: Place) -> tuple[str, Place] | None:
    if not isinstance(value, str):
        place.wrong(
            "TEN-1010",
            f"expected a step or a list of steps, found {kind_of(value)}",
            "Name a step, or leave the handle out.",
        )
        return None
    return (value, place) if isinstance(Text().read(value, place), str) else None
