"""Slots: what an instance asks for before it runs, and the limits that they are counted against.

A slot is one place under every limit that an instance counts for. A limit has a key: `global`,
`tenant:<tenant>`, `user:<tenant>/<principal>`, `type:<tenant>/<workflow>`, and for
`options.concurrency` `key:<tenant>/<workflow>/<value>`. A mutex is a limit of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from tenuto.model.durations import epoch_ms, parse_duration
from tenuto.model.load import ResourceBasedLimits

OnFull: TypeAlias = Literal["queue", "reject", "replace-oldest", "keep-newest"]
"""What becomes of a start that finds its own limit full."""
QueueOrder: TypeAlias = Literal["fifo", "priority", "deadline"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
GLOBAL = "global"
MOST_AT_ONCE = 1_000_000
"""The highest limit that can be set."""
SLOT = "slot"
"""The name in `system` under which an instance has its slot."""


TIMEOUT_AT = "timeoutAt"
"""The name in `system` of the moment at which `options.timeout` ends one that has waited."""


class Debounced(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How starts with one key become one."""

    key: str = ""
    period: int
    """Milliseconds without another start after which the newest begins."""
    max: int | None = None
    """Milliseconds after the first start at which the newest begins at the latest."""


class Paced(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How many instances with one key begin in a time."""

    key: str = ""
    limit: int
    per: int
    """Milliseconds."""


class SlotRequest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an instance asks for, and whether it has it; in its log as `system.slot`."""

    state: Literal["asked", "held", "released"] = "asked"
    number: int = 1
    """Rises with each request: a grant of an earlier one is none."""
    user: str = ""
    """The principal that started it; empty: none did."""
    key: str | None = None
    """The value of `options.concurrency.key`; None: it has no limit of its own."""
    limit: int = 0
    """How many with this key may run at once."""
    keeps: bool = False
    """Whether it keeps the slot while it only waits."""
    on_full: OnFull = "queue"
    priority: int | None = None
    """Of a first request: the priority that rules of the queue give it."""
    is_on_hold: bool = False
    """Of a first request: whether rules of the queue hold it back until it is released."""
    debounce: Debounced | None = None
    """Of a first request: the value of `options.debounce`."""
    rate: Paced | None = None
    """Of a first request: the value of `options.rate`."""
    granted_at: datetime | None = None
    """Of one with a rate: the moment at which it counts as begun."""

    @property
    def is_held_up(self) -> bool:
        """Whether more than room under limits is needed, which only a pass of admission finds."""
        return self.is_on_hold or self.debounce is not None or self.rate is not None


Most: TypeAlias = Annotated[int, Meta(ge=0, le=MOST_AT_ONCE)]
NO_DEADLINE_MS = 86_400_000
"""In a queue by deadline, one without a deadline counts as if it had a day."""
LEAST_AGING_MS, MOST_AGING_MS = 1_000, 30 * 86_400_000
"""Of `aging`: from a second to 30 days."""
MOST_AHEAD_MS = 1 << 61
"""How far a priority moves a request at most: a rank is a whole number of 64 bits."""
ANY = "*"
"""In a map of limits: the limit of those that are not named."""


def rank_by_priority(at: int, priority: int, aging_ms: int) -> int:
    """The place of a request in a queue by priority; `rank_slots` of each store is the same."""
    return at - max(-MOST_AHEAD_MS, min(MOST_AHEAD_MS, priority * aging_ms))


class QueueConfig(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """How instances wait for slots."""

    order: QueueOrder = "fifo"
    bound: Annotated[int, Meta(ge=1, le=100_000_000)] | None = None
    """The most instances that may wait; further starts are refused."""
    aging: str = "PT1M"
    """The waiting time that counts as much as one step of priority, `PT1S` to `P30D`."""
    per_tenant_share: Mapping[str, Annotated[int, Meta(ge=1, le=1_000)]] = {}
    """The weight of each tenant when tenants take turns; `*`: of the others, else 1."""

    @property
    def aging_ms(self) -> int:
        """`aging` in milliseconds."""
        return max(1, epoch_ms(parse_duration(self.aging).after(_EPOCH)))


class ConcurrencyConfig(
    Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """The limits of the whole service, or those that a tenant sets for itself."""

    global_max_concurrent: Most | None = None
    tenant_limits: Mapping[str, Most] = {}
    workflow_type_limits: Mapping[str, Most] = {}
    user_limits: Mapping[str, Most] = {}
    resource_based_limits: ResourceBasedLimits | None = None
    queue: QueueConfig = QueueConfig()

    @property
    def has_limits(self) -> bool:
        """Whether any limit is set."""
        return self.is_global or bool(
            self.tenant_limits or self.workflow_type_limits or self.user_limits
        )

    @property
    def is_adaptive(self) -> bool:
        """Whether the limit of all instances follows the load."""
        return self.resource_based_limits is not None and self.resource_based_limits.enabled

    def counts(self, tenant: str) -> bool:
        """Whether limits of the service count instances of a tenant."""
        return self.is_global or tenant in self.tenant_limits or ANY in self.tenant_limits

    @property
    def is_global(self) -> bool:
        """Whether there is a limit of all instances."""
        return self.global_max_concurrent is not None or self.is_adaptive


class QueueRule(Struct, frozen=True, kw_only=True):
    """What becomes of requests of instances for which an expression is true."""

    id: str
    when: str
    """Sees `ctx.input` and `workflow`."""
    priority: int | None = None
    hold: bool = False


class SlotRules(Struct, frozen=True, kw_only=True):
    """Whether instances of a tenant need slots, and in which order they get them."""

    order: QueueOrder = "fifo"
    aging_ms: int = 60_000
    """Milliseconds of waiting that count as much as one step of priority."""
    has_room: bool = False
    """Whether the instance that starts takes its slot at once."""
    wanted: SlotRequest | None = None
    """What the instance that starts asks for, where that was found a moment ago."""
    is_counted: bool = True
    """Whether limits of the service or the tenant count its instances."""
    rules: tuple[QueueRule, ...] = ()
    """Rules of the tenant's queue; of several that match, a later one overrides an earlier one."""


_KEPT_PART, _LEAST_KEPT = 4, 2
"""While others are at work, this part of the slots of the service is kept for tenants that hold
less than their share, where it is so many: a tenant with a long queue does not hold all."""


def kept_of(limit: int) -> int:
    """How many of so many slots of the service are kept for others; none of a few."""
    kept = limit // _KEPT_PART
    return kept if kept >= _LEAST_KEPT else 0


def type_key(tenant: str, definition_id: str) -> str:
    return f"type:{tenant}/{definition_id}"


def tenant_key(tenant: str) -> str:
    return f"tenant:{tenant}"


def user_key(tenant: str, user: str) -> str:
    return f"user:{tenant}/{user}"


def own_key(tenant: str, definition_id: str, value: str) -> str:
    """The key of `options.concurrency`."""
    return f"key:{tenant}/{definition_id}/{value}"


DEBOUNCE, RATE = "debounce:", "rate:"
"""How keys of `options.debounce` and `options.rate` begin."""
PACES = (DEBOUNCE, RATE)


def rate_key(tenant: str, definition_id: str, value: str) -> str:
    """The key of `options.rate`."""
    return f"{RATE}{tenant}/{definition_id}/{value}"


def debounce_key(tenant: str, definition_id: str, value: str) -> str:
    """The key of `options.debounce`."""
    return f"{DEBOUNCE}{tenant}/{definition_id}/{value}"


def mutex_key(tenant: str, value: str) -> str:
    return f"mutex:{tenant}/{value}"
