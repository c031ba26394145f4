"""What expressions see of an event."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from tenuto.model.events import Event

_NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (_NOON, "2026-03-01T12:00:00.000Z"),
        (_NOON.replace(microsecond=120_000), "2026-03-01T12:00:00.120Z"),
        (_NOON.replace(year=1), "0001-03-01T12:00:00.000Z"),
        (_NOON.replace(tzinfo=ZoneInfo("UTC")), "2026-03-01T12:00:00.000Z"),
        (_NOON.replace(tzinfo=ZoneInfo("Asia/Kolkata")), "2026-03-01T06:30:00.000Z"),
        (_NOON.replace(tzinfo=timezone(timedelta(seconds=3601))), "2026-03-01T10:59:59.000Z"),
    ],
)
def test_the_moment_of_an_event_is_spelled_like_any_other(moment: datetime, text: str) -> None:
    event = Event(id="e", pattern="a", payload=None, received_at=_NOON, timestamp=moment)
    assert event.as_value()["timestamp"] == text


def test_an_event_without_a_moment_has_that_of_its_receipt() -> None:
    event = Event(id="e", pattern="a", payload=None, received_at=_NOON)
    assert event.as_value()["timestamp"] == "2026-03-01T12:00:00.000Z"
