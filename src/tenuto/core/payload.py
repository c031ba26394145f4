"""Mapping of an event's payload: names, each with a path into the payload or a template."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tenuto.expr import Lazy, Undefined, compile_template, look_up, parse_path
from tenuto.model.events import Event
from tenuto.model.json import JSON, Object


def mapped(mapping: Object, event: Event, scope: Callable[[], Mapping[str, JSON | Lazy]]) -> Object:
    """Each name with its value; null if the payload has none. `scope` is for templates."""
    found: Object = {}
    for name, source in mapping.items():
        value: JSON
        if isinstance(source, str) and "{{" not in source:
            value = look_up(event.payload, parse_path(source))
        else:
            rendered = compile_template(source).render(scope())
            value = None if isinstance(rendered, Undefined) else rendered
        found[name] = value
    return found


def started_input(mapping: Object | None, event: Event) -> JSON:
    """The input of an instance that an event starts; without a mapping it is the payload."""
    if mapping is None:
        return event.payload
    return mapped(mapping, event, lambda: {"event": event.as_value()})
