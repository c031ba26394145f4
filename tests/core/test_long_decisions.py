"""A decision is short, however much follows: what is left over goes on in further ones."""

from __future__ import annotations

from collections import Counter

import pytest

from tenuto.core import Plan, decide, outstanding, outstanding_counted
from tenuto.core.deciding import GO_ON
from tenuto.definition import compile_definition
from tenuto.model.effects import SetTimer
from tenuto.model.entries import StatusChanged
from tenuto.model.events import Event
from tenuto.model.inputs import EventMatched, Started, TimerDue
from tenuto.model.json import JSON, Object
from tenuto.model.policy import (
    MOST_ENTRIES,
    MOST_STEPS,
    Limits,
    Policies,
    TaskPolicy,
    Verdict,
)
from tenuto.model.status import Status
from tests.core.drawing import condition, draw, loop, task, wait
from tests.core.play import BEGIN, Run, decisions_of, play

INSTANT = draw("l:loop>c l:done>z", l=loop("{{ctx.input}}"), c=condition(yes="true"))
WIDE = draw(
    "l:loop>c c:yes>t l:done>z",
    l=loop("{{ctx.input}}", mode="parallel", concurrency=100),
    c=condition(yes="true"),
)
WAITS = draw("l:loop>w", l=loop("{{ctx.input}}", mode="parallel", concurrency=5000), w=wait())
FOREVER: Object = {"type": "loop", "config": {"while": "true", "maxIterations": 1_000_000}}


def limited(document: JSON, **limits: int) -> Run:
    run = play(document, check=None)
    run.plan = Plan(compile_definition(document), limits=Limits(**limits))
    return run


def until_settled(run: Run) -> list[int]:
    """Go on until nothing is left over; returns how many entries each decision made."""
    sizes = [len(run.news)]
    while GO_ON in run.ledger.timers:
        run.tell(TimerDue(key=GO_ON, due=BEGIN))
        sizes.append(len(run.news))
    return sizes


ITEMS = 20
BIG: Object = {"items": list(range(ITEMS)), "big": list(range(MOST_STEPS))}
"""Looking at `big` takes all steps of a decision."""


def wide(**body: Object) -> Object:
    """A loop that could begin all its items in one decision."""
    items = loop("{{ctx.input.items}}", mode="parallel", concurrency=100, onItemError="continue")
    return draw("l:loop>b", l=items, **body)


def test_a_result_that_may_not_leave_takes_the_steps_of_a_decision() -> None:
    fails: Object = {"type": "set", "config": {"values": {"x": "{{[ctx.input.big, 0 / 0]}}"}}}
    run = play(wide(b=fails), check=None).start(BIG)
    assert len(until_settled(run)) >= ITEMS
    assert run.status is Status.COMPLETED


def test_what_a_wait_compares_takes_the_steps_of_a_decision() -> None:
    body = wait(eventCondition="event.payload.x == [ctx.input.big]")
    run = play(wide(b=body), check=None).start(BIG)
    assert len(until_settled(run)) >= ITEMS
    assert len(run.ledger.waits) == ITEMS


@pytest.mark.parametrize("mapped", ["{{event.payload}}", "{{[event.payload, 0 / 0]}}"])
def test_a_mapping_of_a_payload_is_counted(mapped: str) -> None:
    step = wait(eventPayloadMapping={"x": mapped, "y": "z", "u": "{{event.nothing}}"})
    run = play(draw("w", w=step), check=None).start()
    found = Event(id="e", pattern="paid", payload=list(range(MOST_STEPS)), received_at=BEGIN)
    report = EventMatched(node="w", iteration="", attempt=1, event=found, arm="")
    decision = decide(run.plan, run.state, report, BEGIN, Policies())
    assert decision.steps >= MOST_STEPS


def test_a_mapping_of_a_payload_is_one_template() -> None:
    names: Object = {f"x{n}": "{{event.payload.map(x => x)}}" for n in range(10)}
    run = play(draw("w", w=wait(eventPayloadMapping=names)), check=None).start()
    found = Event(id="e", pattern="paid", payload=list(range(9_000)), received_at=BEGIN)
    report = EventMatched(node="w", iteration="", attempt=1, event=found, arm="")
    decision = decide(run.plan, run.state, report, BEGIN, Policies())
    assert "the template needs more" in str(decision.entries)


def test_the_condition_of_a_cancellation_trigger_is_counted() -> None:
    compared = "event.payload.x == [ctx.input.big]"
    trigger: Object = {"eventPattern": "stop", "eventCondition": compared}
    run = play(draw("w", w=wait()) | {"cancellationTriggers": [trigger]}, check=None)
    started = Started(definition_id=run.plan.definition.id, definition_version=1, input=BIG)
    assert decide(run.plan, run.state, started, BEGIN, Policies()).steps >= MOST_STEPS


def test_a_loop_whose_body_needs_nobody_runs_in_decisions_of_bounded_size() -> None:
    run = play(INSTANT, check=None).start(list(range(2_000)))
    sizes = until_settled(run)
    assert max(sizes) < MOST_ENTRIES + 10
    assert len(sizes) == 7
    assert run.running == ["z"]
    assert run.succeed("z").status is Status.COMPLETED


def test_a_wide_loop_begins_in_decisions_of_bounded_size() -> None:
    run = play(WAITS, check=None).start(list(range(2_500)))
    sizes = until_settled(run)
    assert max(sizes) < MOST_ENTRIES + 10
    assert len(run.ledger.waits) == 2_500
    assert run.status is Status.WAITING_FOR_EVENT


def test_items_that_never_begin_are_skipped_in_decisions_of_bounded_size() -> None:
    document = draw("l:loop>a l:done>z", l=loop("{{ctx.input}}", enough=1))
    run = play(document, check=None).start(list(range(2_400))).succeed("a[0]")
    sizes = until_settled(run)
    assert (len(sizes), max(sizes) < MOST_ENTRIES + 10) == (3, True)
    assert run.running == ["z"]


def test_a_cancel_calls_off_in_decisions_of_bounded_size() -> None:
    run = play(WAITS, check=None).start(list(range(2_500)))
    until_settled(run)
    run.cancel()
    assert not run.status.is_final
    sizes = until_settled(run)
    assert max(sizes) < MOST_ENTRIES + 10
    assert run.ledger.waits == {}
    assert run.status is Status.CANCELLED


def test_what_is_left_over_is_outstanding_and_needs_an_owner() -> None:
    with decisions_of(3):
        run = play(INSTANT).start([1, 2, 3])
        assert run.status is Status.RUNNING
        assert run.state.needs_owner
        owed = outstanding(run.plan, run.state, run.policies)
        assert [each.key for each in owed if isinstance(each, SetTimer)] == [GO_ON]
        until_settled(run)
        assert run.running == ["z"]
        with run.refusing("TEN-3003"):
            run.tell(TimerDue(key=GO_ON, due=BEGIN))


@pytest.mark.parametrize("most", [1, 2, 5, 17])
def test_the_same_becomes_true_however_short_decisions_are(most: int) -> None:
    at_once = play(INSTANT).start(list(range(12)))
    with decisions_of(most):
        run = play(INSTANT).start(list(range(12)))
        until_settled(run)
    assert run.log == at_once.log


@pytest.mark.parametrize("most", [1, 2, 5, 17])
def test_a_wide_loop_does_the_same_in_another_order(most: int) -> None:
    at_once = play(WIDE).start(list(range(12)))
    with decisions_of(most):
        run = play(WIDE).start(list(range(12)))
        until_settled(run)
    assert Counter(run.log) == Counter(at_once.log)
    assert run.running == at_once.running


def test_what_comes_in_between_is_recorded_and_does_not_carry_on_for_it() -> None:
    with decisions_of(12):
        run = play(WIDE).start(list(range(12)))
        while not run.running:
            run.tell(TimerDue(key=GO_ON, due=BEGIN))
        first = run.running[0]
        assert GO_ON in run.ledger.timers
        assert run.succeed(first).news == [f"NODE_COMPLETED {first}#1"]
        until_settled(run)
        assert len(run.running) == 11


def test_a_pause_holds_what_is_left_over_until_resumed() -> None:
    with decisions_of(5):
        run = play(INSTANT).start([1, 2, 3]).pause()
        assert run.status is Status.PAUSED
        assert GO_ON not in run.ledger.timers
        assert not run.state.needs_owner
        run.resume()
        until_settled(run)
        assert run.running == ["z"]


def test_a_cancel_ends_what_is_left_over() -> None:
    with decisions_of(5):
        run = play(WIDE).start(list(range(30))).cancel()
        until_settled(run)
        while run.ledger.timers:
            run.skip()
        assert run.status is Status.CANCELLED


@pytest.mark.parametrize("handled", [False, True])
def test_a_loop_that_makes_its_log_too_long_fails(handled: bool) -> None:
    edges = "l:loop>c l:error>sorry" if handled else "l:loop>c"
    run = limited(draw(edges, l=FOREVER, c=condition(yes="true")), log_entries=500).start()
    until_settled(run)
    assert len(run.entries) < 500 + 20
    if handled:
        assert run.running == ["sorry"]
    else:
        assert (run.status, run.code) == (Status.FAILED, "TOO_LARGE")


def test_no_log_grows_for_ever_whatever_handles_that() -> None:
    outer = loop("{{ctx.input}}", onItemError="continue")
    edges = "o:loop>i i:loop>c i:error>h"
    document = draw(edges, o=outer, i=FOREVER, c=condition(yes="true"), h=task())
    run = limited(document, log_entries=500).start([1, 2, 3])
    until_settled(run)
    for _ in range(2 * MOST_ENTRIES):
        if run.status.is_final:
            break
        run.fail(run.running[0], retryable=True) if run.running else run.skip()
        until_settled(run)
    assert run.status is Status.FAILED
    run = limited(draw("a", a=task(retry={"maxAttempts": 10_000})), log_entries=500).start()
    while not run.status.is_final:
        run.fail("a", retryable=True)
        if not run.status.is_final:
            run.skip()
    assert (run.status, run.code) == (Status.FAILED, "TOO_LARGE")
    assert len(run.entries) < 500 + MOST_ENTRIES + 10
    assert isinstance(run.entries[-1], StatusChanged)


COSTLY = "ctx.input.list.map(x => x + 1).length > 0"
"""About as many steps as the list has items."""


def test_costly_expressions_end_a_decision_and_the_next_one_goes_on() -> None:
    document = draw("l:loop>c l:done>z", l=loop("{{ctx.input.items}}"), c=condition(yes=COSTLY))
    run = play(document, check=None).start({"items": list(range(300)), "list": [0] * 8_000})
    sizes = until_settled(run)
    # Each goes on until it has more than the most, by one item.
    assert len(sizes) > 300 * 8_000 // (MOST_STEPS + 8_000)
    assert max(sizes) < MOST_ENTRIES // 2
    assert run.running == ["z"]


def test_values_that_are_costly_to_check_end_a_decision_and_the_next_one_goes_on() -> None:
    costly = TaskPolicy(check_input=lambda _: Verdict(None, MOST_STEPS // 4))
    document = draw("l:loop>t", l=loop("{{ctx.input}}", mode="parallel", concurrency=100), t=task())
    run = play(document, check=None, policies=Policies(tasks={"work": costly}))
    sizes = until_settled(run.start(list(range(40))))
    assert len(sizes) >= 10
    assert len(run.running) == 40


def test_a_large_input_counts_when_it_is_given_to_a_task_and_when_that_is_owed() -> None:
    """Each of its values is looked at: thousands of large attempts are taken over after a crash."""
    document = draw("t", t=task(input="{{ctx.input}}"))
    run = play(document, check=None)
    many: JSON = [0] * 50_000
    asked = Started(definition_id="w", definition_version=1, input=many)
    large = decide(run.plan, run.state, asked, BEGIN, run.policies)
    assert large.steps >= 50_000
    owed, steps = outstanding_counted(run.plan, large.state, run.policies)
    assert owed == outstanding(run.plan, large.state, run.policies)
    assert steps >= 50_000


def test_the_conditions_of_one_step_share_a_budget() -> None:
    branches = {f"b{n}": COSTLY.replace("> 0", f"< -{n}") for n in range(500)}
    run = play(draw("c", c=condition(**branches)), check=None).start({"list": [0] * 2_000})
    assert run.status is Status.FAILED
    assert "the expressions of one step" in str(run.entries)


def test_a_decision_is_shorter_where_its_policies_say_so() -> None:
    run = play(INSTANT, check=None, policies=Policies(most_entries=50)).start(list(range(200)))
    sizes = until_settled(run)
    assert max(sizes) < 50 + 10
    assert run.running == ["z"]
