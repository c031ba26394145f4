"""How often somebody may ask."""

from __future__ import annotations

import pytest

from tenuto.access.client_network import client_network
from tenuto.access.rates import RateLimiter
from tests.access.hand_clock import HandClock


def test_a_burst_is_let_through_and_then_the_rate(clock: HandClock) -> None:
    rates = RateLimiter(clock, rate=2, burst=3)
    assert [rates.take("ada") for _ in range(4)] == [0, 0, 0, 0.5]
    clock.move(0.25)
    assert rates.take("ada") == 0.25
    clock.move(0.25)
    assert [rates.take("ada"), rates.take("ada")] == [0, 0.5]
    clock.move(99)
    assert [rates.take("ada") for _ in range(4)] == [0, 0, 0, 0.5]


def test_one_who_asks_too_much_takes_nothing_from_others(clock: HandClock) -> None:
    rates = RateLimiter(clock, rate=1, burst=1)
    assert [rates.take("eve") for _ in range(3)] == [0, 1, 1]
    assert rates.take("ada") == 0


def test_what_is_larger_than_a_bucket_is_waited_for_afterwards(clock: HandClock) -> None:
    rates = RateLimiter(clock, rate=10, burst=10)
    assert rates.take("ada", cost=50) == 0
    assert rates.take("ada") == pytest.approx(4.1)


def test_there_are_never_more_buckets_than_are_kept(clock: HandClock) -> None:
    rates = RateLimiter(clock, rate=1, burst=2, most=3)
    for number in range(50):
        rates.take(f"u{number}")
    assert list(rates._buckets) == ["u47", "u48", "u49"]


def test_a_bucket_that_is_never_filled_is_refused(clock: HandClock) -> None:
    for rate, burst in ((0.0, 1), (1.0, 0)):
        with pytest.raises(ValueError, match="at least one"):
            RateLimiter(clock, rate=rate, burst=burst)


def test_an_address_that_has_many_others_beside_it_counts_as_one_of_them() -> None:
    network = client_network("2001:db8:0:1::1")
    assert client_network("2001:db8:0:1:ffff:ffff:ffff:ffff") == network
    assert client_network("2001:db8:0:2::1") != network
    assert client_network("10.0.0.1") == client_network("::ffff:10.0.0.1") == "10.0.0.1"
    assert client_network("fe80::1%eth0") == client_network("fe80::2%eth0")
    assert client_network("a:name:of:a:socket") == "a:name:of:a:socket"
