"""Limits and the queue as tables and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from tenuto.cli.views.tables import table_of
from tenuto.cli.views.terminal import show
from tenuto.model.durations import iso
from tenuto.model.json import Object
from tenuto.model.moments import spelled
from tenuto.workspace.limit_values import QueuedInstance, SetLimits

if TYPE_CHECKING:
    from rich.text import Text


def as_json(value: SetLimits | QueuedInstance) -> Object:
    """A value as the API gives it."""
    return cast("Object", spelled(value))


def queue_table(found: Sequence[QueuedInstance]) -> Text:
    """Waiting instances, a line each."""
    cells: list[list[str | Text]] = [
        [
            str(each.position),
            each.instance_id,
            each.workflow_id,
            "on hold" if each.held else each.place,
            str(each.priority),
            iso(each.since),
            ", ".join(f"{full.limit} {full.held}/{full.max}" for full in each.waiting_for),
        ]
        for each in found
    ]
    names = ("POSITION", "INSTANCE", "WORKFLOW", "PLACE", "PRIORITY", "SINCE", "WAITS FOR")
    return table_of(names, cells, whole=2)


def show_limits(found: SetLimits) -> None:
    """All limits, a line each."""
    if found.global_max_concurrent is not None:
        show(f"global            {found.global_max_concurrent}")
    for title, limits in (
        ("tenant", found.tenant_limits),
        ("workflow", found.workflow_type_limits),
        ("user", found.user_limits),
    ):
        for name, limit in sorted(limits.items()):
            show(f"{title:<8}  {name:<6}  {limit}")
    bound = "" if found.queue.bound is None else f", at most {found.queue.bound}"
    show(f"queue     {found.queue.order}{bound}")
    show(f"version   {found.version}")
