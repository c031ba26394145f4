"""Durations beside a calendar count its working time, and what has begun keeps its moment."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from tenuto.core import claimed
from tenuto.core.attempt import business_backoff
from tenuto.core.deciding import CANNOT_GO_ON
from tenuto.core.explain import Facts, explain
from tenuto.model.entries import (
    ChildStarted,
    Entry,
    InputSet,
    IterationStarted,
    NodeDispatched,
    RetryRequested,
    RetryScheduled,
    TimerSet,
    WaitOpened,
)
from tenuto.model.failure import UNKNOWN_CALENDAR
from tenuto.model.inputs import RetryAsked, TimerKind
from tenuto.model.json import JSON, Object
from tenuto.model.policy import FORESEEN, NO_POLICIES, BusinessRetryPolicy
from tenuto.model.status import Status
from tenuto.model.working_time import CalendarVersion, WorkingDuration
from tests.core.calendars import office, policies, short_office
from tests.core.drawing import approval, child, delay, draw, loop, task, undoing, wait
from tests.core.play import Run, key_of, play

FRIDAY = datetime(2026, 1, 9, 14, tzinfo=UTC)  # 15:00 in Berlin
OFFICE: Object = {"calendar": "office"}
STAMP = (CalendarVersion(id="office", version=office().version),)


def at_the_office(document: JSON, now: datetime = FRIDAY) -> Run:
    return play(document, policies=policies()).at(now).start({"n": 1, "length": "P1D"})


def berlin(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 1, day, hour - 1, minute, tzinfo=UTC)


def last(run: Run, kind: type[Entry]) -> Entry:
    return [each for each in run.entries if isinstance(each, kind)][-1]


def in_office(duration: JSON) -> Object:
    return {"duration": duration, **OFFICE}


@pytest.mark.parametrize(
    ("duration", "due"),
    [
        ("PT1H", berlin(9, 16)),
        ("PT2H", berlin(9, 17)),
        ("PT4H", berlin(12, 11)),
        ("PT24H", berlin(15, 10)),
        ("P1D", berlin(12, 15)),
        ("P3D", berlin(14, 15)),
        ("1d", berlin(12, 15)),
        ("P1DT2H", berlin(12, 17)),
        (3_600_000, berlin(9, 16)),
        ("{{ctx.input.length}}", berlin(12, 15)),
    ],
)
def test_a_delay_beside_a_calendar_counts_working_time(duration: JSON, due: datetime) -> None:
    """Business durations: a duration with `calendar` beside it counts working time only (`"PT4H"`);
    `P3D` with a calendar is three working days, ending at the same time of day or at the next
    working moment.
    """
    run = at_the_office(draw("d>a", d=delay(duration, **OFFICE)))
    entry = last(run, TimerSet)
    assert isinstance(entry, TimerSet)
    assert (entry.due, entry.calendars) == (due, STAMP)
    assert run.at(due).fire().running == ["a"]


def test_a_delay_until_a_moment_ends_in_working_time() -> None:
    moment = "2026-01-10T12:00:00Z"  # a Saturday
    run = at_the_office(draw("d>a", d={"type": "delay", "config": {"until": moment, **OFFICE}}))
    assert run.timer(TimerKind.DELAY, "d") == berlin(12, 9)


def test_without_a_calendar_nothing_is_recorded_of_one() -> None:
    run = at_the_office(draw("d>a", d=delay("PT4H")))
    entry = last(run, TimerSet)
    assert isinstance(entry, TimerSet)
    assert (entry.due, entry.calendars) == (FRIDAY + timedelta(hours=4), ())


def waits() -> list[tuple[str, Object, TimerKind, type[Entry], datetime]]:
    asking: Object = {"assignees": {"users": ["ann"]}}
    return [
        (
            "an event",
            wait(eventTimeout=in_office("PT3H")),
            TimerKind.WAIT_TIMEOUT,
            WaitOpened,
            berlin(12, 10),
        ),
        (
            "a node",
            wait(timeout=in_office("P2D")),
            TimerKind.NODE_TIMEOUT,
            WaitOpened,
            berlin(13, 15),
        ),
        (
            "a decision",
            approval(**asking, deadline="P1D", **OFFICE),
            TimerKind.WAIT_TIMEOUT,
            WaitOpened,
            berlin(12, 15),
        ),
        (
            "a decision whose deadline names the calendar",
            approval(**asking, deadline=in_office("P1D")),
            TimerKind.WAIT_TIMEOUT,
            WaitOpened,
            berlin(12, 15),
        ),
        (
            "an escalation",
            approval(**asking, escalate={"after": "PT3H", **asking, **OFFICE}),
            TimerKind.ESCALATION,
            WaitOpened,
            berlin(12, 10),
        ),
        (
            "a delay with a time-out",
            delay("P9D", timeout=in_office("PT3H")),
            TimerKind.NODE_TIMEOUT,
            TimerSet,
            berlin(12, 10),
        ),
        (
            "a loop",
            loop(source="{{[1]}}", timeout=in_office("PT3H")),
            TimerKind.NODE_TIMEOUT,
            IterationStarted,
            berlin(12, 10),
        ),
    ]


@pytest.mark.parametrize(
    ("node", "kind", "opened_by", "due"),
    [each[1:] for each in waits()],
    ids=[each[0] for each in waits()],
)
def test_every_duration_of_a_step_may_count_working_time(
    node: Object, kind: TimerKind, opened_by: type[Entry], due: datetime
) -> None:
    """`calendar` may stand on delay, eventTimeout, timeout, approval deadline, reminders,
    escalate, retry and `options.timeout`."""
    edges = "w:loop>b" if node["type"] == "loop" else "w"
    run = at_the_office(draw(edges, w=node))
    assert run.timer(kind, "w") == due
    entry = last(run, opened_by)
    assert getattr(entry, "calendars", None) == STAMP
    run.policies = policies(short_office())
    assert run.at(due).fire(kind).timers.get("w") is None


def test_an_attempt_of_a_task_runs_for_working_time() -> None:
    run = at_the_office(draw("a", a=task(timeout=in_office("PT3H"))))
    [order] = run.ledger.running.values()
    entry = last(run, NodeDispatched)
    assert isinstance(entry, NodeDispatched)
    assert (entry.timeout_at, entry.calendars) == (berlin(12, 10), STAMP)
    assert order.timeout == berlin(12, 10) - FRIDAY


def test_a_child_may_take_working_time() -> None:
    run = at_the_office(draw("c", c=child(timeout=in_office("PT3H")))).later(minutes=30)
    entry = last(run.resolve("c"), ChildStarted)
    assert isinstance(entry, ChildStarted)
    assert (entry.fail_at, entry.calendars) == (berlin(12, 10, 30), STAMP)


def test_a_deadline_of_the_instance_counts_working_time() -> None:
    run = at_the_office(draw("a", options={"timeout": in_office("P2D")}))
    entry = last(run, InputSet)
    assert isinstance(entry, InputSet)
    assert (entry.deadline, entry.calendars) == (berlin(13, 15), STAMP)
    assert run.at(berlin(13, 15)).fire().state.cancellation is not None


def test_reminders_are_fixed_when_an_approval_opens() -> None:
    """A wait or timer that has begun keeps the moment and the calendar version it began with; its
    log entry names both.
    """
    asking = approval(assignees={"users": ["ann"]}, reminders=["PT3H", "P2D", "PT1H"], **OFFICE)
    run = at_the_office(draw("w", w=asking))
    run.policies = policies(short_office())
    seen = []
    for _ in range(3):
        seen.append(run.timer(TimerKind.REMINDER, "w"))
        run.skip()
    assert seen == [berlin(9, 16), berlin(12, 10), berlin(13, 15)]
    assert not run.timers


def test_a_retry_waits_for_working_time() -> None:
    retry: Object = {"maxAttempts": 4, "initialDelay": "P1D", "maxDelay": "P3D", **OFFICE}
    run = at_the_office(draw("a", a=task(retry=retry)))
    seen = []
    for _ in range(3):
        entry = last(run.fail("a", retryable=True), RetryScheduled)
        assert isinstance(entry, RetryScheduled)
        assert entry.calendars == STAMP
        seen.append(entry.due)
        run.skip()
    # One working day, then two, then four that are capped to three.
    assert seen == [berlin(12, 15), berlin(14, 15), berlin(19, 15)]


def test_hours_between_retries_grow_and_are_spread() -> None:
    policy = BusinessRetryPolicy(
        calendar="office",
        first=WorkingDuration(span=timedelta(hours=1)),
        longest=WorkingDuration(span=timedelta(hours=9)),
    )
    lengths = [business_backoff(policy, "i:a", number).span for number in (1, 2, 3)]
    for length, least in zip(lengths, (1, 2, 4), strict=True):
        assert timedelta(hours=least) <= length <= timedelta(hours=least * 1.25)
    assert business_backoff(policy, "i:a", 99_999) == policy.longest


def test_a_compensation_is_retried_in_working_time() -> None:
    retry: Object = {"initialDelay": "PT3H", "maxDelay": "PT3H", **OFFICE}
    document = undoing(draw("a>b"), a={"retry": retry, "timeout": in_office("PT3H")})
    run = at_the_office(document).succeed("a").fail("b").fail("undo_a", retryable=True)
    assert run.timer(TimerKind.RETRY, "undo_a") == berlin(12, 10)
    run.skip()
    [order] = run.ledger.running.values()
    assert order.timeout == berlin(12, 14) - berlin(12, 10)  # from 10 to 12 and from 13 to 14
    assert run.succeed("undo_a").status is Status.FAILED


def test_a_loop_that_a_retry_re_opens_has_its_working_time_anew() -> None:
    document = draw("l:loop>b", l=loop(source="{{[1]}}", timeout=in_office("PT3H")))
    run = at_the_office(document).fail("b[0]").at(berlin(12, 9)).retry()
    entry = last(run, RetryRequested)
    assert isinstance(entry, RetryRequested)
    assert entry.calendars == STAMP
    assert run.timer(TimerKind.NODE_TIMEOUT, "l") == berlin(12, 12)


UNKNOWN: dict[str, Object] = {
    "delay": delay("PT1H", **OFFICE),
    "wait": wait(eventTimeout=in_office("PT1H")),
    "approval": approval(assignees={"users": ["ann"]}, deadline="PT1H", **OFFICE),
    "task": task(timeout=in_office("PT1H")),
    "child": child(timeout=in_office("PT1H")),
    "loop": loop(source="{{[1]}}", timeout=in_office("PT1H")),
    "sla": task(sla={"breachAfter": "PT1H", **OFFICE}),
}


@pytest.mark.parametrize("node", UNKNOWN.values(), ids=UNKNOWN)
def test_a_calendar_that_does_not_exist_fails_its_step(node: Object) -> None:
    """A calendar that does not exist is a warning at save; at run time the step that needs it fails
    with `UNKNOWN_CALENDAR`, and an instance whose `options` need it is refused.
    """
    edges = "s>x x:loop>b x:error>z" if node["type"] == "loop" else "s>x x:error>z"
    run = play(draw(edges, s=task(), x=node)).start().succeed("s")
    error = run.state.nodes[key_of("x")].error
    assert error is not None
    assert (error.code, error.message) == (
        UNKNOWN_CALENDAR,
        "there is no calendar 'office'; there is none",
    )
    assert run.running == ["z"]


def test_a_retry_in_a_calendar_that_is_gone_is_the_end_of_its_step() -> None:
    retry: Object = {"initialDelay": "P1D", **OFFICE}
    run = at_the_office(draw("a", a=task(retry=retry)))
    run.policies = NO_POLICIES
    error = run.fail("a", "FLAKY", retryable=True).state.last_error
    assert error is not None
    assert error.code == UNKNOWN_CALENDAR
    assert error.details == {"error": {"code": "FLAKY", "message": "FLAKY in a"}}


def test_an_attempt_whose_calendar_is_gone_is_not_made_again() -> None:
    run = at_the_office(draw("a", a=task(timeout=in_office("PT3H"))))
    run.policies = NO_POLICIES
    assert run.lose("a").status is Status.FAILED
    assert run.state.last_error is not None
    assert run.state.last_error.code == UNKNOWN_CALENDAR


def test_a_loop_whose_calendar_is_gone_cannot_be_retried() -> None:
    document = draw("l:loop>b", l=loop(source="{{[1]}}", timeout=in_office("PT3H")))
    run = at_the_office(document).fail("b[0]")
    run.policies = NO_POLICIES
    with run.refusing(CANNOT_GO_ON):
        run.tell(RetryAsked(by="ada"))


@pytest.mark.parametrize(
    "options", [{"timeout": in_office("P2D")}, {"sla": {"warnAfter": "P1D", **OFFICE}}]
)
def test_an_instance_whose_calendar_does_not_exist_is_not_started(options: Object) -> None:
    run = play(draw("a", options=options))
    with run.refusing("TEN-2102"):
        run.start()


@pytest.mark.parametrize("skipped", [lambda run: run, lambda run: run.pause().resume()])
def test_a_pause_does_not_move_a_moment(skipped: Callable[[Run], Run]) -> None:
    run = skipped(at_the_office(draw("d>a", d=delay("PT4H", **OFFICE))))
    assert run.timer(TimerKind.DELAY, "d") == berlin(12, 11)


def test_what_is_only_foreseen_takes_every_calendar_to_exist() -> None:
    """A command line beside an engine asks whether a start would be refused."""
    run = play(draw("a", options={"timeout": in_office("P2D")}), policies=FORESEEN).start()
    assert run.running == ["a"]
    document = draw("l:loop>b", l=loop(source="{{[1]}}", timeout=in_office("PT3H")))
    failed = at_the_office(document).fail("b[0]")
    explanation = explain(failed.plan, failed.state, Facts(now=failed.now))
    assert explanation.causes[0].details["canRetry"] is True


@pytest.mark.parametrize("is_undo", [False, True])
def test_the_time_out_of_an_attempt_counts_from_its_claim(is_undo: bool) -> None:
    slow: Object = {"timeout": in_office("PT3H")}
    document = undoing(draw("a>b"), a=slow) if is_undo else draw("a", a=task(**slow))
    run = at_the_office(document)
    if is_undo:
        run.succeed("a").fail("b")
    [order] = run.ledger.running.values()
    assert order.timeout == berlin(12, 10) - FRIDAY
    later = berlin(12, 9)
    assert claimed(run.plan, order, run.policies, later).timeout == berlin(12, 12) - later
    # Without its calendar, what was recorded counts.
    assert claimed(run.plan, order, NO_POLICIES, later) is order


def test_another_time_out_is_the_same_at_any_claim() -> None:
    run = at_the_office(draw("a", a=task(timeout="PT3H")))
    [order] = run.ledger.running.values()
    assert claimed(run.plan, order, run.policies, berlin(12, 9)) is order
