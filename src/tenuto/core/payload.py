"""Mapping of an event's payload: names, each with a path into the payload or a template."""

from __future__ import annotations

from collections.abc import Callable

from tenuto.expr import CountedScope, Steps, compile_template, look_up, parse_path
from tenuto.model.events import Event
from tenuto.model.json import JSON, Object


def mapped(mapping: Object, event: Event, scope: Callable[[], CountedScope]) -> Object:
    """Each name with its value; null if the payload has none. `scope` is for templates.

    They are one template: its bounds are those of all of them together.
    """
    templates = {name: source for name, source in mapping.items() if not _is_path(source)}
    rendered = compile_template(templates).render(scope()) if templates else {}
    assert isinstance(rendered, dict)
    return {
        name: rendered.get(name)
        if name in templates
        else look_up(event.payload, parse_path(str(source)))
        for name, source in mapping.items()
    }


def _is_path(source: JSON) -> bool:
    return isinstance(source, str) and "{{" not in source


def started_input(mapping: Object | None, event: Event, steps: Steps) -> JSON:
    """The input of an instance that an event starts; without a mapping it is the payload."""
    if mapping is None:
        return event.payload
    return mapped(mapping, event, lambda: CountedScope({"event": event.as_value()}, steps))
