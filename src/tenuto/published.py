"""What became of an event that was published, or would become of one."""

from __future__ import annotations

import msgspec

from tenuto.engine.events.event_views import near_view, targets_view
from tenuto.engine.events.inspector import DryRun
from tenuto.model.events import Event
from tenuto.model.json import Object
from tenuto.store.parts.turns import EventResult


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an event."""

    event_id: str
    duplicate: bool
    """Whether it was published before: then what it did the first time is told."""
    resumed: int
    """How many waits took it."""
    cancelled: int = 0
    """How many instances it cancels."""
    started: int = 0
    """How many instances it starts."""
    is_dry: bool = False
    """Whether nothing was stored."""
    targets: tuple[Object, ...] = ()
    """Of a dry run: whom the event would reach. Each says `what` would be done, `resumed`,
    `cancelled`, `started` or `refused` with its `reason`, and where."""
    near_misses: tuple[Object, ...] = ()
    """Of a dry run: whom it would nearly reach, and which parts of their conditions are false."""


def published(event: Event, result: EventResult) -> Published:
    """What became of an event."""
    return Published(
        event_id=event.id,
        duplicate=result.outcome == "duplicate",
        resumed=result.resumed,
        cancelled=result.cancelled,
        started=result.started,
    )


def dry_published(event: Event, found: DryRun) -> Published:
    """What would become of an event."""
    return msgspec.structs.replace(
        published(event, found.result),
        is_dry=True,
        targets=tuple(targets_view(found.targets)),
        near_misses=tuple(near_view(found.near)),
    )
