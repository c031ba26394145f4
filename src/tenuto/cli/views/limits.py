"""Limits and the queue as tables and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from tenuto.cli.views.tables import table_of
from tenuto.cli.views.terminal import say, show
from tenuto.model.durations import iso
from tenuto.model.json import Object
from tenuto.model.moments import spelled
from tenuto.model.slots import QueueConfig
from tenuto.workspace.limit_values import (
    ChangedLimits,
    FullLimit,
    LimitUse,
    LimitUses,
    QueuedInstance,
    SavedQueueRule,
    SetLimits,
    SlotHolder,
)

_AGING = QueueConfig().aging

if TYPE_CHECKING:
    from rich.text import Text


def as_json(value: SetLimits | QueuedInstance | LimitUses | SavedQueueRule) -> Object:
    """A value as the API gives it."""
    return cast("Object", spelled(value))


def queue_table(found: Sequence[QueuedInstance]) -> Text:
    """Waiting instances, a line each."""
    cells: list[list[str | Text]] = [
        [
            "" if each.position is None else str(each.position),
            each.instance_id,
            each.workflow_id,
            "on hold" if each.held else each.place,
            str(each.priority),
            iso(each.since),
            ", ".join(map(_full, each.waiting_for)),
        ]
        for each in found
    ]
    names = ("POSITION", "INSTANCE", "WORKFLOW", "PLACE", "PRIORITY", "SINCE", "WAITS FOR")
    return table_of(names, cells, whole=2)


def _full(limit: FullLimit) -> str:
    """A debounce has no number."""
    return limit.limit if limit.max is None else f"{limit.limit} {limit.held}/{limit.max}"


def show_change(changed: ChangedLimits) -> None:
    """Limits that were set, or what a dry run says of them."""
    for problem in changed.warnings:
        say(f"{problem.code} {problem.message}")
    found = changed.preview
    if found is None:
        show_limits(changed)
        return
    cells: list[list[str | Text]] = [
        [
            each.limit,
            _max(each.before.max),
            _max(each.after.max),
            str(each.before.held),
            str(each.after.held),
            str(each.before.waiting),
            str(each.after.waiting),
        ]
        for each in found.limits
    ]
    names = ("LIMIT", "MAX", "THEN", "HELD", "THEN", "WAIT", "THEN")
    show(table_of(names, cells, whole=1))
    more = "" if found.is_complete else ", of the first 10,000"
    show(f"{found.admitted} would be admitted at once, {found.waiting} would wait{more}")
    say("nothing was saved")


def _max(most: int | None) -> str:
    return "none" if most is None else str(most)


def show_limits(found: SetLimits) -> None:
    """All limits, a line each."""
    most = found.global_max_concurrent
    cells: list[list[str | Text]] = [] if most is None else [["all", "", str(most)]]
    for title, limits in (
        ("tenant", found.tenant_limits),
        ("workflow", found.workflow_type_limits),
        ("user", found.user_limits),
    ):
        cells += [[title, name, str(limit)] for name, limit in sorted(limits.items())]
    if cells:
        show(table_of(("LIMIT ON", "NAME", "AT MOST"), cells, whole=3))
    else:
        show("no limit is set")
    rules, effective = found.resource_based_limits, found.effective
    if rules is not None and effective is not None:
        bounds = f"from {rules.min} to {rules.max}"
        show(f"adaptive limit of all, {bounds}: {effective.limit} ({effective.reason})")
    queue = found.queue
    aging = f", aging {queue.aging}" if queue.order == "priority" or queue.aging != _AGING else ""
    bound = "" if queue.bound is None else f", at most {queue.bound} wait"
    show(f"queue: {queue.order}{aging}{bound}; version {found.version}")
    if queue.per_tenant_share:
        shares = sorted(queue.per_tenant_share.items())
        show("shares of tenants: " + ", ".join(f"{name} {weight}" for name, weight in shares))


def uses_table(found: Sequence[LimitUse]) -> Text:
    """How full limits are, a line each; steps that wait are in no list of the queue."""
    cells: list[list[str | Text]] = [
        [
            each.limit,
            "" if each.max is None else f"{each.held}/{each.max}",
            str(each.waiting),
            ", ".join(map(_holder, each.holders)),
            ", ".join(_holder(waiter) for waiter in each.waiters if waiter.step_id),
        ]
        for each in found
    ]
    return table_of(("LIMIT", "HELD", "WAIT", "HELD BY", "NEXT STEPS"), cells, whole=3)


def _holder(holder: SlotHolder) -> str:
    return f"{holder.instance_id} {holder.step_id}" if holder.step_id else holder.instance_id


def rule_table(found: Sequence[SavedQueueRule]) -> Text:
    """Rules of the queue, a line each."""
    cells: list[list[str | Text]] = [
        [
            each.id,
            "" if each.priority is None else str(each.priority),
            "hold" if each.hold else "",
            each.when,
            each.note or "",
        ]
        for each in found
    ]
    return table_of(("ID", "PRIORITY", "HOLD", "WHEN", "NOTE"), cells, whole=1)


def show_rule(rule: SavedQueueRule, *, is_saved: bool) -> None:
    """A rule that was saved, or what a dry run says of it."""
    more = "" if rule.is_complete or is_saved else ", of the first 10,000"
    show(f"{rule.matched} of {rule.examined} that wait match{more}")
    if is_saved:
        later = "" if rule.is_complete else "; not every process knows it yet: it is applied again"
        say(f"rule {rule.id} is saved{later}")
    else:
        say(
            "nothing was saved"
            + ("; it matches everything, as far as is known" if rule.matches_all else "")
        )
