"""Bounds the instances that one origin has led to, as children or by events."""

from __future__ import annotations

from tenuto.core import Rejection
from tenuto.engine.bounded_counts import BoundedCounts
from tenuto.engine.shared import Shared
from tenuto.model.family import origin_of
from tenuto.model.inputs import Started

TOO_MANY = "TEN-3042"


class Families(BoundedCounts):
    """Admits starts of an origin, or cuts them."""

    def __init__(self, shared: Shared) -> None:
        super().__init__(
            shared.store.instances.open_of_origin,
            shared.clock,
            shared.background.spawn,
            most=shared.settings.limits.max_descendants,
            is_shared=shared.store.is_shared,
        )

    def refusal(self, origin: str) -> Rejection:
        """Why a start is cut."""
        message = f"instance {origin} has led to {self.most:,} instances that have not ended"
        return Rejection(code=TOO_MANY, message=message)


def origin_of_start(instance_id: str, started: Started) -> str | None:
    """The instance that a new one counts for; None: it was started from outside."""
    given = started.origin if isinstance(started.origin, str) else None
    origin = origin_of(instance_id, started.parent, given)
    return None if origin == instance_id else origin
