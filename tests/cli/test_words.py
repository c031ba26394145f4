"""How moments, places in files and steps are put into words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tenuto.cli.exits import exit_code
from tenuto.cli.lookup import short_ids
from tenuto.cli.positions import Positions
from tenuto.cli.views.progress import Line
from tenuto.cli.views.terminal import ago, countdown
from tenuto.cli.views.watchers import fitted
from tenuto.model.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    Overloaded,
    Problem,
    StoreUnavailable,
    TenutoError,
)
from tenuto.model.lengths import length

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PROBLEM = Problem(code="TEN-2004", path="$", message="m", advice="a")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.04, "0.0 s"),
        (0.34, "0.3 s"),
        (24.4, "24 s"),
        (60, "1 m"),
        (62, "1 m 2 s"),
        (3_600, "1 h"),
        (255_600, "2 d 23 h"),
        (-5, "0.0 s"),
    ],
)
def test_a_length_of_time_has_two_units_at_most(seconds: float, words: str) -> None:
    assert length(timedelta(seconds=seconds)) == words


def test_a_countdown_is_rounded_up_and_ends_with_now() -> None:
    assert countdown(timedelta(seconds=2.1)) == "3 s"
    assert countdown(timedelta(seconds=-1)) == "now"
    assert countdown(timedelta(days=3)) == "3 d"


def test_the_past_is_told_in_one_unit() -> None:
    assert ago(NOW - timedelta(hours=2, minutes=50), NOW) == "2 h ago"
    assert ago(NOW, NOW) == "just now"


TEXT = '{\n  "a": [1, {"b c": [true, {}]}],\n  "d": "x\\"y", "e": {}\n}'


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("$", "f:1:1"),
        ("$.a", "f:2:8"),
        ("$.a[0]", "f:2:9"),
        ("$.a[1]['b c'][1]", "f:2:27"),
        ("$.d", "f:3:8"),
        ("$.e", "f:3:21"),
        ("$.a[1].missing", "f:2:12"),
    ],
)
def test_a_path_is_found_in_the_text_or_the_nearest_around_it(path: str, place: str) -> None:
    assert str(Positions("f", TEXT).place(path)) == place


def test_ids_are_shown_as_short_as_they_differ() -> None:
    first, later, same = "019a8b2c-4d5e-7000", "019a8b2c-4d5f-7000", "019a8b2c-4d5e-7100"
    assert short_ids([first, later]) == {first: first[:13], later: later[:13]}
    assert short_ids([first, same]) == {first: first[:16], same: same[:16]}
    assert short_ids([first]) == {first: first[:13]}


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidInput("m", [PROBLEM]), 2),
        (NotFound("m"), 3),
        (Conflict("m"), 4),
        (StoreUnavailable("m"), 5),
        (TenutoError("m", code="TEN-4001"), 5),
        (Overloaded("m"), 6),
        (Forbidden("m"), 6),
    ],
)
def test_each_kind_of_error_has_its_exit_code(error: TenutoError, code: int) -> None:
    assert exit_code(error) == code


def test_where_there_is_little_room_what_moves_or_failed_is_shown_first() -> None:
    lines = [Line("✓", f"d{n}", "", "green") for n in range(10)]
    lines += [Line("●", "runs", "", "blue"), Line("✗", "broke", "", "red")]
    shown, hidden = fitted(lines, 4)
    assert [line.step for line in shown] == ["d0", "d1", "runs", "broke"]
    assert hidden == 8
