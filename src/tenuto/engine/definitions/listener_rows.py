"""Listener rows: the lifecycle events that a definition subscribes to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, Literal

from tenuto.events import fits
from tenuto.model.graph import Definition, EventWait, Loop
from tenuto.model.lifecycle import OF_INSTANCES, OF_NODES
from tenuto.store.parts.listeners import Listener

STILL_WANTED = timedelta(hours=1)
"""For so long a listener without instances is kept: one may be about to start."""


def level_heard(patterns: Iterable[str]) -> Literal[0, 1, 2]:
    """The lifecycle events that match: none, those of instances, or those of nodes too."""
    wanted = tuple(patterns)
    if any(fits(pattern, name) for pattern in wanted for name in OF_NODES):
        return 2
    return 1 if any(fits(pattern, name) for pattern in wanted for name in OF_INSTANCES) else 0


def hears_inbox(patterns: Iterable[str]) -> bool:
    """Whether an event matches that is no lifecycle event."""
    return any(pattern.split(".", 1)[0] != "workflow" for pattern in patterns)


def listener_of(
    definition: Definition, digest: bytes, now: datetime, tenant: str
) -> Listener | None:
    """The lifecycle events that a version subscribes to; None: to none.

    Instances of old versions stay subscribed, so each version is a listener of its own.
    """
    patterns = tuple(sorted({each for each in patterns_of(definition) if level_heard((each,))}))
    if not patterns:
        return None
    return Listener(
        id=listener_id(definition.id, digest),
        kind="definition",
        patterns=patterns,
        level=level_heard(patterns),
        hears_inbox=False,
        settings=b"{}",
        created_at=now,
        tenant=tenant,
    )


def listener_id(definition_id: str, digest: bytes) -> str:
    """The id of a version's listener."""
    return f"{definition_id}/{digest.hex()[:16]}"


def patterns_of(definition: Definition) -> Iterator[str]:
    """Every pattern of events that a definition waits for."""
    for node in definition.graph.nodes:
        if isinstance(node.config, EventWait):
            if node.config.event_pattern is not None:
                yield node.config.event_pattern
            yield from (arm.event_pattern for arm in node.config.arms)
    for trigger in (*definition.triggers, *definition.cancellation_triggers):
        yield _pattern_of(trigger)


def taken_patterns(definition: Definition) -> set[str]:
    """Every pattern of events that instances take, also those that append items to loops."""
    appending = {
        node.config.more.event_pattern
        for node in definition.graph.nodes
        if isinstance(node.config, Loop) and node.config.more is not None
    }
    return {*patterns_of(definition), *appending}


def _pattern_of(trigger: Any) -> str:  # noqa: ANN401 - as written, or read
    if isinstance(trigger, dict):
        return str(trigger["eventPattern"])
    return str(trigger.event_pattern)
