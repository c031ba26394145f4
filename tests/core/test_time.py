"""Time: delays of any length, timers that are never early, clocks that go wrong."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tenuto.model.durations import Duration, parse_duration
from tenuto.model.inputs import TimerDue, TimerKey, TimerKind
from tenuto.model.json import JSON
from tenuto.model.status import Status
from tests.core.drawing import box, delay, draw, start, task, wait
from tests.core.play import BEGIN, play

DELAY = TimerKey(TimerKind.DELAY, "d")
MILLISECOND = timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("duration", "length"),
    [
        (0, timedelta(0)),
        ("PT0S", timedelta(0)),
        (1, MILLISECOND),
        ("PT0.001S", MILLISECOND),
        ("PT0.0001S", MILLISECOND),
        (0.5, MILLISECOND),
        (2**31 - 1, timedelta(milliseconds=2**31 - 1)),
        (2**31, timedelta(milliseconds=2**31)),
        (2**32, timedelta(milliseconds=2**32)),
        ("P25D", timedelta(days=25)),
        ("P50D", timedelta(days=50)),
        ("P1M", timedelta(days=31)),
        ("P100Y", datetime(2126, 1, 1, tzinfo=UTC) - BEGIN),
        ("P999Y", datetime(3025, 1, 1, tzinfo=UTC) - BEGIN),
    ],
)
def test_a_delay_lasts_exactly_as_long_as_it_says(duration: JSON, length: timedelta) -> None:
    run = play(draw("d>a", d=delay(duration))).start()
    assert run.timer(TimerKind.DELAY, "d") == BEGIN + length
    if length:
        run.at(BEGIN + length - MILLISECOND)
        with run.refusing("TEN-3006"):
            run.tell(TimerDue(key=DELAY, due=BEGIN + length))
    assert run.at(BEGIN + length).fire().running == ["a"]


def test_a_delay_beyond_the_calendar_ends_with_it() -> None:
    run = play(draw("d", d=delay("P1000Y"))).at(datetime(9500, 1, 1, tzinfo=UTC)).start()
    assert run.timer(TimerKind.DELAY, "d").year == 9999
    months = play(draw("d", d=delay("P1000Y1D"))).at(datetime(9999, 12, 31, tzinfo=UTC)).start()
    assert months.timer(TimerKind.DELAY, "d").year == 9999
    assert months.skip().status is Status.COMPLETED


def test_a_look_back_before_the_calendar_begins_with_it() -> None:
    moment = datetime(900, 3, 31, tzinfo=UTC)
    assert Duration(timedelta(days=365_000)).before(moment).year == 1
    assert Duration(timedelta(0), 1).before(moment) == datetime(900, 2, 28, tzinfo=UTC)


@pytest.mark.parametrize("until", ["9999-12-31T23:59:59.999Z", "2026-01-01T00:00:00.001+00:00"])
def test_a_delay_lasts_until_its_moment(until: str) -> None:
    run = play(draw("d>a", d=box("delay", until=until))).start()
    assert run.skip().running == ["a"]
    assert run.now == datetime.fromisoformat(until)


@pytest.mark.parametrize("value", ["PT90S", 90_000, 90_000.0])
def test_a_delay_may_come_from_the_context(value: JSON) -> None:
    run = play(draw("d", d=delay("{{ctx.input.wait}}"))).start({"wait": value})
    assert run.timers["d"] == timedelta(seconds=90)


@pytest.mark.parametrize("value", [None, "soon", -1, "-PT1S", True, [], "P2000Y", 1e300])
def test_a_delay_that_is_none_fails_its_step(value: JSON) -> None:
    run = play(draw("d:error>a", d=delay("{{ctx.input.wait}}"))).start({"wait": value})
    assert run.log[2] == "NODE_FAILED d#1 EXPRESSION_ERROR route"
    until = draw("d:error>a", d=box("delay", until="{{ctx.input.wait}}"))
    assert play(until).start({"wait": value}).running == ["a"]


def test_a_moment_in_the_past_is_over_at_once() -> None:
    run = play(draw("d", d=box("delay", until="2020-01-01T00:00:00Z"))).start()
    assert run.fire().status is Status.COMPLETED


def test_a_timeout_bounds_one_attempt_or_a_whole_node() -> None:
    """`timeout` is one attempt, from when it starts to run (start or claim), default 10 min,
    retryable; on waits, approvals, delays, loops and children it bounds the whole node.
    """
    run = play(draw("s>t s>w s>d", s=start(), t=task(), w=wait(timeout="PT2S"), d=delay("PT3S")))
    [order] = run.start().ledger.running.values()
    assert order.timeout == timedelta(minutes=10)
    assert run.skip().news[0] == "NODE_FAILED w#1 TIMEOUT fail"
    delayed = play(draw("d>a d:error>b", d=delay("P1D", timeout="PT1S"))).start()
    assert delayed.skip().running == ["b"]
    assert delayed.timers == {}
    timed_out = play(draw("t")).start().fail("t", "TIMEOUT", retryable=True)
    assert timed_out.step("t") == "RETRYING"


def test_a_timer_that_is_not_set_any_more_is_refused() -> None:
    run = play(draw("s>d s>k d>a", s=start(), d=delay("PT5S"), k=task(cancels=["d"]))).start()
    due = BEGIN + timedelta(seconds=5)
    run.later(seconds=5).succeed("k")
    with run.refusing("TEN-3003"):
        run.tell(TimerDue(key=DELAY, due=due))
    with run.refusing("TEN-3003"):
        run.tell(TimerDue(key=TimerKey(TimerKind.RETRY, "k"), due=due))
    twice = play(draw("d>a", d=delay("PT5S"))).start().skip()
    with twice.refusing("TEN-3003"):
        twice.tell(TimerDue(key=DELAY, due=due))


def test_a_timer_of_an_earlier_retry_is_told_from_the_newer_one() -> None:
    run = play(draw("a", a=task(retry={"maxAttempts": 5}))).start().fail("a", retryable=True)
    key = TimerKey(TimerKind.RETRY, "a")
    first = run.timer(TimerKind.RETRY, "a")
    run.skip().fail("a", retryable=True).later(hours=1)
    with run.refusing("TEN-3003"):
        run.tell(TimerDue(key=key, due=first))
    assert run.fire().running == ["a"]


def test_times_in_the_log_never_go_back() -> None:
    run = play(draw("s>a s>d a>b b>c", s=start(), d=delay("PT1H"))).start()
    run.later(hours=2).succeed("a").at(BEGIN).succeed("b").at(BEGIN - timedelta(days=400))
    run.succeed("c")
    moments = [entry.at for entry in run.entries]
    assert moments == sorted(moments)
    assert moments[-1] == BEGIN + timedelta(hours=2)


def test_a_timer_set_while_the_clock_is_behind_counts_from_the_log() -> None:
    run = play(draw("a>d d>b", d=delay("PT1H"))).start().later(hours=2)
    run.fail("a", retryable=True).at(BEGIN)
    assert run.timer(TimerKind.RETRY, "a") > BEGIN + timedelta(hours=2)
    run.at(BEGIN + timedelta(hours=3)).fire().at(BEGIN).succeed("a")
    assert run.timer(TimerKind.DELAY, "d") == BEGIN + timedelta(hours=4)


def test_a_deadline_is_kept_in_whole_milliseconds() -> None:
    run = play(draw("a")).start(deadline=BEGIN + timedelta(microseconds=1_999_999))
    assert run.state.deadline == BEGIN + timedelta(milliseconds=1999)
    paused = play(draw("a")).start().pause(until=BEGIN + timedelta(microseconds=1500))
    assert paused.timers["resume"] == MILLISECOND


@pytest.mark.parametrize("text", ["PT0.0000001S", "PT1.0005S", "PT20.0005S", "P1DT0.9999S"])
def test_lengths_of_time_are_whole_milliseconds_and_never_shorter(text: str) -> None:
    span = parse_duration(text).span
    assert span % MILLISECOND == timedelta(0)
    exact = float(text.rpartition("T")[2].rstrip("S"))
    assert span % timedelta(days=1) >= timedelta(seconds=round(exact, 6))


def test_near_timers_and_far_ones_are_told_apart() -> None:
    run = play(draw("d e", d=delay("PT10S"), e=delay("PT10.001S"))).start()
    near = {key.node: timer.is_near for key, timer in run.state.timers.items()}
    assert near == {"d": True, "e": False}
    assert run.state.needs_owner
    assert not run.later(seconds=10).fire().state.needs_owner, "what is left is a row"
