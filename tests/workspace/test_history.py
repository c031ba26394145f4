"""Entries of the log as users see them: every moment in them has one spelling."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tenuto.model.approvals import Asking, People
from tenuto.model.entries import (
    Entry,
    NodeMoment,
    RetryRequested,
    SlaFired,
    SlaSet,
    TimerSet,
    WaitOpened,
)
from tenuto.model.json import JSON
from tenuto.model.log import to_rows
from tenuto.workspace.history import history_view

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SPELLED = "2026-01-01T12:00:00.000Z"
ASKING = Asking(assignees=People(users=("ann",)), remind_at=NOON, reminders=(NOON, NOON))


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        (TimerSet(at=NOON, node="a", due=NOON), ("due",)),
        (SlaSet(at=NOON, warn_at=NOON), ("warnAt",)),
        (SlaSet(at=NOON, node="a", breach_at=NOON), ("breachAt",)),
        (SlaFired(at=NOON, kind="sla-warning", due=NOON), ("due",)),
        (WaitOpened(at=NOON, node="a", approval=ASKING), ("approval", "remindAt")),
        (WaitOpened(at=NOON, node="a", approval=ASKING), ("approval", "reminders", 1)),
        (
            RetryRequested(at=NOON, by="ann", fail_at=(NodeMoment(node="a", at=NOON),)),
            ("failAt", 0, "at"),
        ),
    ],
    ids=lambda each: ".".join(map(str, each)) if isinstance(each, tuple) else type(each).__name__,
)
def test_moments_of_all_entries_have_one_spelling(entry: Entry, path: tuple[str | int]) -> None:
    [row] = to_rows(1, [entry])
    found: JSON = history_view(row)["payload"]
    for name in path:
        found = found[name]  # type: ignore[index]
    assert found == SPELLED
