"""Waiting for several events: which count, what a time-out and a retry keep."""

from __future__ import annotations

from msgspec.structs import replace

from tenuto.core import Plan
from tenuto.definition import compile_definition
from tenuto.model.entries import WaitResolved
from tenuto.model.events import Event
from tenuto.model.json import JSON
from tenuto.model.policy import Limits
from tenuto.model.status import Status
from tests.core.drawing import draw, end, start, wait
from tests.core.play import BEGIN, Run, play

LIMIT: JSON = {"duration": "PT1H"}
TWO = draw("w>d", w=wait(count=2), d=end("{{steps.w.output}}"))


def event(id: str, payload: JSON = None) -> Event:
    return Event(id=id, pattern="paid", payload=payload, received_at=BEGIN)


def taken(output: JSON) -> list[JSON]:
    assert isinstance(output, dict)
    events = output["events"]
    assert isinstance(events, list)
    return [each["eventId"] for each in events if isinstance(each, dict)]


def test_a_wait_with_a_count_completes_with_its_last_event() -> None:
    """`count: n` on a wait: it takes n different matching events, and its output is `{events: […]}`
    in the order in which it took them.
    """
    run = play(TWO).start().event("paid", 1, id="b")
    assert (run.status, run.step("w")) == (Status.WAITING_FOR_EVENT, "WAITING")
    run.event("paid", 2, id="a")
    assert (run.status, taken(run.output)) == (Status.COMPLETED, ["b", "a"])
    resolved = [each for each in run.entries if isinstance(each, WaitResolved)]
    assert [each.remaining for each in resolved] == [1, 0]


def test_a_count_of_one_gives_a_list_as_well() -> None:
    run = play(draw("w>d", w=wait(count=1), d=end("{{steps.w.output}}"))).start().event("paid")
    assert taken(run.output) == ["e1"]


def test_an_event_counts_once_for_a_wait() -> None:
    """An event counts once for a wait."""
    run = play(TWO).start().hand("w", event("a"))
    for by_lookback in (False, True):
        with run.refusing("TEN-3007"):
            run.hand("w", event("a"), by_lookback=by_lookback)
    assert run.hand("w", event("b"), by_lookback=True).status is Status.COMPLETED


def test_two_waits_count_the_same_event_each() -> None:
    run = play(draw("s>v s>w", s=start(), v=wait(count=2), w=wait(count=2))).start()
    run.event("paid").event("paid")
    assert run.status is Status.COMPLETED


def test_past_events_that_another_wait_has_taken_do_not_count() -> None:
    run = play(draw("v>w w>a", v=wait(), w=wait(count=2))).start().hand("v", event("a"))
    with run.refusing("TEN-3007"):
        run.hand("w", event("a"), by_lookback=True)
    run.hand("w", event("b"), by_lookback=True).hand("w", event("c"))
    assert run.running == ["a"]


def test_a_time_out_gives_the_events_that_came() -> None:
    """A time-out gives the events that came, on `timeout`; a retry by hand keeps them."""
    late = draw("w:timeout>d", w=wait(count=3, eventTimeout=LIMIT), d=end("{{steps.w.output}}"))
    run = play(late).start().event("paid", id="a").later(hours=1).fire()
    assert taken(run.output) == ["a"]


def test_a_time_out_without_a_handle_says_how_many_came() -> None:
    run = play(draw("w", w=wait(count=3, eventTimeout=LIMIT))).start().event("paid")
    run.later(hours=1).fire()
    assert run.code == "WAIT_TIMEOUT"
    assert run.state.last_error is not None
    assert "1 of 3" in run.state.last_error.message


def test_a_retry_by_hand_keeps_the_events_that_came() -> None:
    run = play(draw("s>w s>a w>d", s=start(), w=wait(count=2), d=end("{{steps.w.output}}")))
    run.start().event("paid", id="a").fail("a", retryable=False)
    assert run.status is Status.FAILED
    run.retry().succeed("a").event("paid", id="b")
    assert taken(run.output) == ["a", "b"]


def test_a_wait_that_is_cancelled_between_two_events_is_closed() -> None:
    run: Run = play(TWO).start().event("paid").cancel()
    assert (run.status, run.ledger.waits) == (Status.CANCELLED, {})


def test_events_over_the_limit_of_an_output_fail_the_step() -> None:
    run = play(TWO)
    run.plan = Plan(compile_definition(run.document), limits=replace(Limits(), output_bytes=400))
    run.start().event("paid", "x" * 150).event("paid", "x" * 150)
    assert (run.code, run.ledger.waits) == ("TOO_LARGE", {})
