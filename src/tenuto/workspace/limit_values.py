"""Values of limits and of the queue, as all back ends of a workspace give them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct

from tenuto.model.slots import QueueConfig


class SetLimits(Struct, frozen=True, kw_only=True, rename="camel"):
    """The limits that count instances of a tenant."""

    version: int
    """Rises with each change."""
    global_max_concurrent: int | None = None
    workflow_type_limits: dict[str, int] = {}
    """By workflow; `*`: of those that are not named."""
    tenant_limits: dict[str, int] = {}
    user_limits: dict[str, int] = {}
    """By the principal that starts an instance."""
    queue: QueueConfig = QueueConfig()


class FullLimit(Struct, frozen=True, kw_only=True, rename="camel"):
    """A limit that an instance waits for."""

    limit: str
    """Such as `tenant:acme`, `type:acme/order` or `global`."""
    held: int
    max: int | None = None


class QueuedInstance(Struct, frozen=True, kw_only=True, rename="camel"):
    """An instance that waits for a slot."""

    instance_id: str
    workflow_id: str
    position: int
    """Its place in the queue of its tenant."""
    waiting_for: list[FullLimit]
    priority: int
    deadline: datetime | None
    since: datetime
    held: bool = False
    """Whether it is kept from being admitted, until it is released."""
    place: Literal["woken", "promoted", "usual"] = "usual"
