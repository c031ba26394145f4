"""Schedules: nominal times, what is due, overlaps, and words for them. No I/O, no clock."""

from __future__ import annotations

from tenuto.model.family import tick_key
from tenuto.schedules.catch_up import Bounds, Due, MissedTicks, due
from tenuto.schedules.cron import Cron, parse_cron
from tenuto.schedules.overlap import (
    CancelThenStart,
    Decision,
    Queue,
    Skip,
    Start,
    at_end,
    at_tick,
)
from tenuto.schedules.schedule import (
    CallbackRetry,
    CallbackTarget,
    CatchUp,
    Dst,
    OneTime,
    Recurring,
    Schedule,
    TaskTarget,
    WorkflowTarget,
)
from tenuto.schedules.ticks import (
    Tick,
    Unsearched,
    count_in_parts,
    count_starts,
    find_start,
    latest_start,
    newest_due,
    next_start,
    preview,
    tick_at,
    tick_values,
    ticks,
)
from tenuto.schedules.words import in_words

__all__ = [
    "Bounds",
    "CallbackRetry",
    "CallbackTarget",
    "CancelThenStart",
    "CatchUp",
    "Cron",
    "Decision",
    "Dst",
    "Due",
    "MissedTicks",
    "OneTime",
    "Queue",
    "Recurring",
    "Schedule",
    "Skip",
    "Start",
    "TaskTarget",
    "Tick",
    "Unsearched",
    "WorkflowTarget",
    "at_end",
    "at_tick",
    "count_in_parts",
    "count_starts",
    "due",
    "find_start",
    "in_words",
    "latest_start",
    "newest_due",
    "next_start",
    "parse_cron",
    "preview",
    "tick_at",
    "tick_key",
    "tick_values",
    "ticks",
]
