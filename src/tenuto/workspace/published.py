"""What became of an event that was published, or would become of one."""

from __future__ import annotations

import msgspec

from tenuto.engine.event_views import near_view, targets_view
from tenuto.engine.inspector import DryRun
from tenuto.model.events import Event
from tenuto.store.protocol import EventResult
from tenuto.workspace.values import Published


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
        targets=tuple(targets_view(found.whom)),
        near_misses=tuple(near_view(found.near)),
    )
