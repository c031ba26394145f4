"""Values of limits and of the queue, as all back ends of a workspace give them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct

from tenuto.model.errors import Problem
from tenuto.model.load import LoadReadings, ResourceBasedLimits
from tenuto.model.slots import QueueConfig


class EffectiveLimit(Struct, frozen=True, kw_only=True, rename="camel"):
    """The limit of all instances that is in force while it follows the load."""

    limit: int
    """The lowest that a living process asks for, and no more than `globalMaxConcurrent`."""
    reason: str
    """Such as `lowered: commit latency 80 ms of 50 ms`."""
    readings: LoadReadings | None = None
    """Of the process that asks for the lowest limit; None: no process has reported."""
    processes: int = 0
    """How many processes have reported within 15 seconds."""


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
    resource_based_limits: ResourceBasedLimits | None = None
    """Whether, and within which bounds, the limit of all instances follows the load."""
    queue: QueueConfig = QueueConfig()
    effective: EffectiveLimit | None = None
    """The limit of all instances that is in force, where it follows the load."""


class LimitState(Struct, frozen=True, kw_only=True, rename="camel"):
    """How full a limit is."""

    held: int
    """How many instances hold a slot of it."""
    max: int | None
    """None: there is no limit."""
    waiting: int
    """How many instances wait for which it is full; one may wait for several limits."""


class LimitChange(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a change does to one limit at once."""

    limit: str
    """Such as `tenant:acme`, `type:acme/order` or `global`."""
    before: LimitState
    after: LimitState
    admitted: int
    """How many of those that wait and count for it would be admitted at once."""


class LimitsPreview(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a change of limits would do at once."""

    admitted: int
    """How many instances that wait would be admitted."""
    waiting: int
    """How many would still wait, without those that are on hold."""
    limits: list[LimitChange]
    """The limits that are set before or after the change and count instances that are seen; those
    that change first."""
    is_complete: bool
    """Whether all that wait were looked at; else the numbers are of the first 10,000."""


class ChangedLimits(SetLimits, frozen=True, kw_only=True, rename="camel"):
    """The limits after a change, or as a dry run would leave them."""

    warnings: list[Problem] = []
    """Such as limits that are lower than what runs: nothing is ended."""
    preview: LimitsPreview | None = None
    """Of a dry run: what the change would do at once; nothing was saved."""


class FullLimit(Struct, frozen=True, kw_only=True, rename="camel"):
    """A limit that an instance waits for."""

    limit: str
    """Such as `tenant:acme`, `type:acme/order` or `global`; `rate:…` and `debounce:…` are paces."""
    held: int
    """How many hold a slot of it; of a rate, how many have begun within its time."""
    max: int | None = None


class QueuedInstance(Struct, frozen=True, kw_only=True, rename="camel"):
    """An instance that waits for a slot."""

    instance_id: str
    workflow_id: str
    position: int | None
    """Its place in the whole queue of its tenant, also in a list of one workflow; there None where
    it is behind 100,000 others."""
    waiting_for: list[FullLimit]
    priority: int
    deadline: datetime | None
    since: datetime
    held: bool = False
    """Whether it is kept from being admitted, until it is released."""
    until: datetime | None = None
    """Of one that waits for a rate, or is debounced: when one of them may begin."""
    place: Literal["woken", "promoted", "usual"] = "usual"


class SlotHolder(Struct, frozen=True, kw_only=True, rename="camel"):
    """An instance that holds a slot or waits for one, or a step of one with a mutex."""

    instance_id: str
    step_id: str | None = None
    iteration: str = ""
    since: datetime | None = None
    """Since when it holds it, or waits."""


class LimitUse(Struct, frozen=True, kw_only=True, rename="camel"):
    """How full a limit is."""

    limit: str
    """Such as `tenant:acme`, `type:acme/order`, `mutex:acme/printer` or `global`; `rate:…` and
    `debounce:…` are paces."""
    held: int
    """How many hold a slot of it; of a rate, how many have begun within its time."""
    max: int | None
    """None: it is a debounce, which has no number."""
    waiting: int
    """How many of the tenant wait for this limit, and for no other one before it."""
    holders: list[SlotHolder]
    """Some of those of the tenant that hold a slot, the oldest first."""
    waiters: list[SlotHolder] = []
    """Some of those that wait, the first in the line first."""
    until: datetime | None = None
    """Of a rate or a debounce: when one of those that wait may begin."""


class LimitUses(Struct, frozen=True, kw_only=True, rename="camel"):
    """The limits that count instances of a tenant."""

    items: list[LimitUse]
    """Every limit that is set by name, and those that instances or steps wait for."""
    is_complete: bool
    """Whether all limits and all that wait were looked at; else there may be more."""


class SavedQueueRule(Struct, frozen=True, kw_only=True, rename="camel"):
    """A rule of the queue, and what it found when it was saved."""

    id: str
    when: str
    """The expression over the instance: it sees `ctx.input` and `workflow`."""
    priority: int | None = None
    hold: bool = False
    note: str | None = None
    created_at: datetime
    created_by: str | None = None
    matched: int | None = None
    """Of a rule that is being saved: how many of those that wait match."""
    examined: int | None = None
    """How many were looked at."""
    matches_all: bool = False
    """Whether it matches everything, as far as is known: all that wait, or where fewer than two do,
    the newest instances; with `hold` also where there are not two to judge by. Such a rule is saved
    only with `confirm`."""
    is_complete: bool = True
    """Whether all that wait were looked at; of a saved rule, whether all processes know it. Else it
    is applied again once they do."""
