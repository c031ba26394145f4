"""The patterns of events that a definition names: those that start, cancel and resume it."""

from __future__ import annotations

from collections.abc import Iterator

from tenuto.model.json import JSON

_LISTS = ("triggers", "cancellationTriggers", "steps", "nodes")


def event_patterns(document: JSON) -> Iterator[str]:
    """The patterns in a document that was saved, read without compiling it."""
    if not isinstance(document, dict):
        return
    for name in _LISTS:
        for item in _items(document.get(name)):
            yield from _patterns(item)
            # The settings of a node are in its config.
            yield from _patterns(item.get("config"))


def _patterns(settings: JSON) -> Iterator[str]:
    if not isinstance(settings, dict):
        return
    for each in (settings, settings.get("more"), *_items(settings.get("arms"))):
        pattern = each.get("eventPattern") if isinstance(each, dict) else None
        if isinstance(pattern, str):
            yield pattern


def _items(value: JSON) -> Iterator[dict[str, JSON]]:
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, dict))
