"""Nominal times against a clock that is looked at minute by minute, in many zones."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile

import pytest
from cronsim import CronSim
from hypothesis import given, settings, strategies as st

from tenuto.calendars.zones import segments_of_year, zone_names
from tenuto.schedules import Cron, Dst, Recurring, nominal, parse_cron
from tests.calendars.minutes import ZONES, edges
from tests.calendars.samples import at
from tests.kit.breadth import breadth
from tests.schedules.minutes import Oracle, shown

EXPRESSIONS = (
    "30 2 * * *",
    "0 0 * * *",
    "15 0 * * *",
    "*/20 * * * *",
    "0 */2 * * *",
    "59 1-3 * * SUN",
    "5 4 29,30 12 *",
    "0 3 L * *",
    "45 1 * * 0#5",
    "10 2 * * 0L",
    "0 9 1 * MON",
)
POLICIES = [
    Dst(missing=missing, repeated=repeated)
    for missing in ("next", "skip")
    for repeated in ("first", "both")
]


def cron(text: str) -> Cron:
    read = parse_cron(text)
    assert isinstance(read, Cron), read
    return read


def until(timing: Recurring, start: datetime, end: datetime) -> list[datetime]:
    """The nominal times after `start` and not after `end`."""
    return list(takewhile(lambda each: each <= end, nominal.after(timing, start)))


@pytest.mark.parametrize("zone", ZONES)
def test_nominal_times_are_those_of_a_clock_on_the_wall(zone: str) -> None:
    """A local time that a change of the clock leaves out fires at the first moment after it, or
    with `skip` not at all; one that it repeats fires at its first showing, or with `both` at
    both.
    """
    for edge in edges(zone):
        start, end = edge - timedelta(days=1), edge + timedelta(days=2)
        clock = shown(zone, start, end)
        for text in EXPRESSIONS:
            oracle = Oracle(text)
            for dst in POLICIES:
                timing = Recurring(cron=cron(text), timezone=zone, dst=dst)
                before, last = start - timedelta(seconds=1), end - timedelta(seconds=1)
                found = until(timing, before, last)
                assert found == oracle.nominal(clock, dst), (zone, text, dst)
                assert nominal.count(timing, before, last) == len(found)
                back = [*until(timing, before, last), last]
                assert [nominal.latest(timing, each) for each in back[1:]] == [
                    *found[1:],
                    *found[-1:],
                ] or not found


NUMBERS = {"minute": (0, 59), "hour": (0, 23), "day": (1, 31), "month": (1, 12), "weekday": (0, 7)}


@st.composite
def expressions(draw: st.DrawFn) -> str:
    return random_expression(draw(st.randoms(use_true_random=False)))


def random_expression(chance: random.Random) -> str:
    """Five fields as another library reads them too."""
    fields = []
    for name, (least, most) in NUMBERS.items():
        low, high = sorted(chance.sample(range(least, most + 1), 2))
        special = {"day": ["L", "LW"], "weekday": [f"{low}L", f"{low}#{1 + high % 5}", "SUN-WED"]}
        forms = ["*", "*", str(low), f"{low}-{high}", f"{low},{high}", f"*/{1 + high % 7}"]
        forms += [f"{low}/{1 + high % 7}", *special.get(name, []), *special.get(name, [])]
        fields.append(chance.choice(forms))
    return " ".join(fields)


@settings(max_examples=breadth(150, 2_000), deadline=None)
@given(expressions(), st.datetimes(datetime(1970, 1, 1), datetime(2090, 1, 1)))  # noqa: DTZ001
def test_expressions_are_read_as_another_library_reads_them(text: str, start: datetime) -> None:
    start = start.replace(tzinfo=UTC)
    expected = list(islice(_theirs(text, start), 12))
    read = parse_cron(text)
    if not expected:
        assert isinstance(read, tuple)
        return
    timing = Recurring(cron=cron(text))
    found = list(islice(nominal.after(timing, start), 12))
    assert found == expected
    assert all(one < other for one, other in pairwise(found))
    for one, other in pairwise(found):
        assert nominal.latest(timing, other - timedelta(milliseconds=1)) == one
    assert nominal.count(timing, start, found[-1]) == len(found)


def _theirs(text: str, start: datetime) -> Iterator[datetime]:
    try:
        yield from CronSim(text, start)
    except Exception:  # noqa: BLE001  it never fires
        return


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 9 15W * *", ["2026-07-15 09:00", "2026-08-14 09:00", "2026-09-15 09:00"]),
        ("0 9 1W * *", ["2026-07-01 09:00", "2026-08-03 09:00", "2026-09-01 09:00"]),
        ("0 9 31W * *", ["2026-07-31 09:00", "2026-08-31 09:00", "2026-10-30 09:00"]),
        ("0 9 L-2 * ?", ["2026-07-29 09:00", "2026-08-29 09:00", "2026-09-28 09:00"]),
        ("0 9 LW * *", ["2026-07-31 09:00", "2026-08-31 09:00", "2026-09-30 09:00"]),
        ("0 9 * * fri#2", ["2026-07-10 09:00", "2026-08-14 09:00", "2026-09-11 09:00"]),
        ("0 9 * * friL", ["2026-07-31 09:00", "2026-08-28 09:00", "2026-09-25 09:00"]),
        ("0 9 * * fri-sun", ["2026-07-03 09:00", "2026-07-04 09:00", "2026-07-05 09:00"]),
        ("0 9 13 * fri", ["2026-07-03 09:00", "2026-07-10 09:00", "2026-07-13 09:00"]),
        ("*/20 59 23 31 12 *", [f"2026-12-31 23:59:{second}" for second in ("00", "20", "40")]),
        ("@monthly", ["2026-07-01 00:00", "2026-08-01 00:00", "2026-09-01 00:00"]),
        ("@Weekly", ["2026-07-05 00:00", "2026-07-12 00:00", "2026-07-19 00:00"]),
        ("0 0 29 2 *", ["2028-02-29 00:00", "2032-02-29 00:00", "2036-02-29 00:00"]),
    ],
)
def test_special_days(text: str, expected: list[str]) -> None:
    """Cron: 5 or 6 fields (seconds first), names, `L`, `W`, `#`, `@daily …`; day-of-month and
    day-of-week together are "or", as in cron.
    """
    timing = Recurring(cron=cron(text))
    found = list(islice(nominal.after(timing, at("2026-06-30 23:59:59")), 3))
    assert found == [at(each) for each in expected]


def test_nothing_fires_before_the_start_or_after_the_end() -> None:
    start, end = at("2026-07-01 09:00:00.001"), at("2026-07-03 09:00")
    timing = Recurring(cron=cron("0 9 * * *"), start=start, end=end)
    expected = [at("2026-07-02 09:00"), at("2026-07-03 09:00")]
    assert list(nominal.after(timing, at("2020-01-01 00:00"))) == expected
    assert nominal.latest(timing, at("2030-01-01 00:00")) == expected[-1]
    assert nominal.latest(timing, at("2026-07-02 08:59")) is None
    assert nominal.count(timing, at("2020-01-01 00:00"), at("2030-01-01 00:00")) == 2


def test_a_time_that_every_change_of_the_clock_leaves_out_never_fires() -> None:
    only_missing = Recurring(
        cron=cron("30 2 * 3 0L"), timezone="Europe/Berlin", dst=Dst(missing="skip")
    )
    assert next(nominal.after(only_missing, at("2026-06-01 00:00")), None) is None
    # Germany began to change its clocks a week later.
    assert nominal.latest(only_missing, at("2026-06-01 00:00")) == at("1980-03-30 01:30")


def test_times_end_with_the_years() -> None:
    timing = Recurring(cron=cron("@yearly"))
    assert len(list(nominal.after(timing, at("9990-06-01 00:00")))) == 8
    assert len(list(islice(nominal.after(timing, at("0001-01-01 00:00")), 3))) == 3


@pytest.mark.soak
def test_nominal_times_in_all_zones_and_at_all_changes(seeds: Iterator[int]) -> None:
    zones = sorted(zone_names())
    for seed in seeds:
        chance = random.Random(seed)
        zone, year = chance.choice(zones), chance.randint(1973, 2100)
        changes = [each.start for each in segments_of_year(zone, year)]
        edge = datetime.fromtimestamp(chance.choice(changes), UTC).replace(second=0)
        start, end = edge - timedelta(days=2), edge + timedelta(days=2)
        clock = shown(zone, start, end)
        before, last = start - timedelta(seconds=1), end - timedelta(seconds=1)
        for _ in range(20):
            text = random_expression(chance)
            if not isinstance(parse_cron(text), Cron):
                continue
            dst = chance.choice(POLICIES)
            timing = Recurring(cron=cron(text), timezone=zone, dst=dst)
            found = until(timing, before, last)
            assert found == Oracle(text).nominal(clock, dst), (seed, zone, text, dst)
            assert nominal.count(timing, before, last) == len(found), (seed, zone, text, dst)
