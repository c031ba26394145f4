"""The clock of the product: never back, never still, whatever the machine's clock does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tenuto.ports import SystemClock

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Machine:
    """A machine whose wall clock can be set."""

    def __init__(self) -> None:
        self.wall = NOON
        self.seconds = 0.0
        self.clock = SystemClock(lambda: self.wall, lambda: self.seconds)

    def pass_(self, seconds: float) -> datetime:
        self.wall += timedelta(seconds=seconds)
        self.seconds += seconds
        return self.clock.now()


def test_it_follows_the_machine_in_whole_milliseconds() -> None:
    machine = Machine()
    assert machine.clock.now() == NOON
    assert machine.pass_(1.234_567) == NOON + timedelta(seconds=1.234)


def test_it_never_goes_back_and_never_stands_still() -> None:
    machine = Machine()
    machine.wall += timedelta(hours=1)
    ahead = machine.clock.now()
    machine.wall = NOON
    assert machine.clock.now() >= ahead
    later = machine.pass_(60)
    assert timedelta(seconds=29) <= later - ahead <= timedelta(seconds=31)


def test_it_is_right_again_once_the_machine_has_caught_up() -> None:
    machine = Machine()
    machine.wall += timedelta(seconds=10)
    machine.clock.now()
    machine.wall = NOON
    for _ in range(30):
        machine.pass_(1)
    assert machine.clock.now() == machine.wall


def test_it_moves_on_in_steps_far_below_a_millisecond() -> None:
    machine = Machine()
    machine.wall += timedelta(hours=1)
    first = machine.clock.now()
    machine.wall = NOON
    for _ in range(10_000):
        machine.seconds += 0.000_1
        machine.clock.now()
    assert machine.clock.now() - first >= timedelta(milliseconds=490)
