"""Node types: two names, fields, and handles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from msgspec import Struct

from tenuto.definition.fields import Fields
from tenuto.definition.report import Place
from tenuto.model.json import Object

C = TypeVar("C", bound=Struct)


def _no_rules(_settings: Object, _place: Place) -> None:
    """Most types have no rules between their fields."""


def _no_change(_found: dict[str, object], _settings: Object) -> None:
    """The fields of most types are read each by itself."""


class NodeType(Struct, Generic[C], frozen=True, kw_only=True):
    """One row of the table in `tenuto.definition.nodes`."""

    tag: str
    """Its name in the graph form."""
    step: str
    """Its name in the steps form."""
    make: type[C]
    fields: Fields
    handles: Callable[[C], tuple[str, ...]]
    """Its handles; every node also has `error`."""
    together: Callable[[C], tuple[str, ...]] = lambda _: ()
    """Those of its handles that can be taken at the same time."""
    finish: Callable[[dict[str, object], Object], None] = _no_change
    """Changes what was read of its fields where one depends on another, as written."""
    executes: bool = False
    """Whether it may have `retry` and `mutex`."""
    rules: Callable[[Object, Place], None] = _no_rules
    """The rules between its fields, as written."""
    rules_schema: tuple[Object, ...] = ()
    """The same as JSON Schemas, as far as they can express it."""
    has_own_handles: Callable[[Object], bool] = lambda _: False
    """Whether, with these settings, it never takes `default`, which the dependency form needs."""
