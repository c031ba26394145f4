"""Values of databases as JSON."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from ipaddress import ip_address
from uuid import UUID

import pytest

from tenuto.data.json_values import NotShown, json_value
from tenuto.model.json import JSON

ID = UUID("0192a000-0000-7000-8000-000000000000")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, None),
        (True, True),
        ("text", "text"),
        (2**53 - 1, 2**53 - 1),
        (2**53, "9007199254740992"),
        (-(2**63), "-9223372036854775808"),
        (1.5, 1.5),
        (float("nan"), None),
        (float("inf"), None),
        (Decimal("1.10"), "1.10"),
        (Decimal("1E+3"), "1000"),
        (Decimal("NaN"), None),
        (datetime(2026, 11, 16, 20, 31, 13, 70_999, tzinfo=UTC), "2026-11-16T20:31:13.070Z"),
        (
            datetime(2026, 11, 16, 21, 31, 13, tzinfo=timezone(timedelta(hours=1))),
            "2026-11-16T20:31:13.000Z",
        ),
        (datetime(2026, 11, 16, 20, 31), "2026-11-16T20:31:00.000"),  # noqa: DTZ001
        (date(2026, 11, 16), "2026-11-16"),
        (time(9, 30), "09:30:00.000"),
        (timedelta(hours=25, seconds=1.5), "PT25H0M1.5S"),
        (-timedelta(minutes=1), "-PT0H1M0S"),
        (b"\x00\xff", "AP8="),
        (ID, str(ID)),
        (ip_address("192.0.2.1"), "192.0.2.1"),
        ([1, [2**60, None]], [1, ["1152921504606846976", None]]),
        ((Decimal(1), b"x"), ["1", "eA=="]),
        ({"a": Decimal("0.1")}, {"a": "0.1"}),
    ],
)
def test_each_type_has_one_form(value: object, shown: JSON) -> None:
    assert json_value(value) == shown


def test_what_has_no_form_is_refused_with_a_remedy() -> None:
    with pytest.raises(NotShown, match="cast the column to text"):
        json_value(object())
    deep: list[object] = []
    for _ in range(100):
        deep = [deep]
    with pytest.raises(NotShown, match="nested"):
        json_value(deep)
