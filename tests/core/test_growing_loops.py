"""Loops to which events append items: while they are under way, each event once."""

from __future__ import annotations

from itertools import permutations

import pytest
from msgspec.structs import replace

from tenuto.core import Plan
from tenuto.definition import compile_definition
from tenuto.model.entries import IterationStarted
from tenuto.model.events import Event
from tenuto.model.json import JSON, Object
from tenuto.model.policy import Limits
from tenuto.model.status import Status
from tests.core.drawing import draw, end, loop, start, wait
from tests.core.play import BEGIN, Run, play

MORE: Object = {"eventPattern": "found", "item": "{{event.payload.n}}"}


def growing(source: JSON, **config: JSON) -> Object:
    return loop(source, mode="parallel", **{"more": MORE, **config})


def over(source: JSON, **config: JSON) -> Run:
    each = growing(source, outputVariable="all", result="{{item}}", **config)
    return play(draw("l:loop>a l:done>d", l=each, d=end("{{ctx.all}}")))


def test_each_event_appends_an_item_while_an_iteration_is_active() -> None:
    """`more` on a parallel loop: while an iteration is active, each matching event appends one
    item, with the next index; its ITERATION_STARTED names the event.
    """
    run = over([1]).start().event("found", {"n": 2}, id="e").succeed("a[0]").succeed("a[1]")
    assert (run.status, run.output) == (Status.COMPLETED, [1, 2])
    started = [each for each in run.entries if isinstance(each, IterationStarted)]
    assert [each.event_id for each in started] == [None, "e"]
    assert run.ledger.waits == {}


def test_the_payload_is_the_item_by_default() -> None:
    run = over([1], more={"eventPattern": "found"}).start().event("found", {"n": 2})
    assert run.succeed("a[0]").succeed("a[1]").output == [1, {"n": 2}]


def test_items_wait_for_room() -> None:
    run = over([1], concurrency=1).start().event("found", {"n": 2}).event("found", {"n": 3})
    assert run.running == ["a[0]"]
    assert run.succeed("a[0]").running == ["a[1]"]
    assert run.succeed("a[1]").succeed("a[2]").output == [1, 2, 3]


def test_of_the_last_end_and_an_event_exactly_one_wins() -> None:
    """The last end and an event race, and exactly one wins; `enough` withdraws it."""
    for first, _ in permutations(["end", "event"]):
        run = over([1]).start()
        late = Event(id="e", pattern="found", payload={"n": 2}, received_at=BEGIN)
        if first == "end":
            run.succeed("a[0]")
            with run.refusing("TEN-3003"):
                run.hand("l", late)
            assert run.output == [1]
        else:
            run.hand("l", late).succeed("a[0]")
            assert run.running == ["a[1]"]


def test_an_event_that_is_handed_over_twice_appends_one_item() -> None:
    run = over([1]).start()
    event = Event(id="e", pattern="found", payload={"n": 2}, received_at=BEGIN)
    run.hand("l", event)
    with run.refusing("TEN-3007"):
        run.hand("l", event)
    assert run.running == ["a[0]", "a[1]"]


def test_a_loop_over_nothing_ends_at_once() -> None:
    assert over([]).start().output == []


@pytest.mark.parametrize("enough", [1, "ctx.results.length >= 1"])
def test_enough_takes_no_more(enough: JSON) -> None:
    run = over([1, 2], enough=enough).start().succeed("a[0]")
    assert run.ledger.waits == {}


def test_appended_items_that_never_began_are_skipped_too() -> None:
    run = over([1], concurrency=1, enough=1).start().event("found", {"n": 2}).succeed("a[0]")
    assert any(line.startswith("NODE_SKIPPED l[1]#1") for line in run.log)
    assert run.output == [1]


def test_a_condition_sees_the_instance_as_the_loop_began() -> None:
    more = {**MORE, "eventCondition": "event.payload.k === ctx.input.k"}
    run = over([1], more=more).start({"k": 7})
    with pytest.raises(AssertionError, match="no open wait"):
        run.event("found", {"k": 8, "n": 2})
    assert run.event("found", {"k": 7, "n": 2}).running == ["a[0]", "a[1]"]


def test_an_event_goes_to_a_wait_and_to_a_loop() -> None:
    document = draw("s>l s>w l:loop>a", s=start(), l=growing([1]), w=wait("found"))
    run = play(document).start().event("found", {"n": 2})
    assert (run.running, run.step("w")) == (["a[0]", "a[1]"], "COMPLETED")


def test_each_activation_of_an_inner_loop_has_its_own_items() -> None:
    more = {**MORE, "eventCondition": "event.payload.of === ctx.item"}
    outer = loop(["x", "y"], mode="parallel")
    document = draw("o:loop>l l:loop>a", o=outer, l=growing([1], more=more))
    run = play(document).start().event("found", {"n": 2, "of": "y"})
    assert run.running == ["a[0/0]", "a[1/0]", "a[1/1]"]


def test_a_retry_by_hand_listens_again_and_keeps_the_items() -> None:
    document = draw("s>l s>b l:loop>a", s=start(), l=growing([1], concurrency=1))
    run = play(document).start().event("found", {"n": 2}, id="e").fail("b")
    run.later(seconds=10).fire()
    assert (run.status, run.ledger.waits) == (Status.FAILED, {})
    run.retry().event("found", {"n": 3}).succeed("b")
    run.succeed("a[0]").succeed("a[1]").succeed("a[2]")
    assert run.status is Status.COMPLETED


def test_a_loop_that_fails_or_is_cancelled_takes_no_more() -> None:
    assert over([1]).start().fail("a[0]").ledger.waits == {}
    assert over([1]).start().cancel().ledger.waits == {}


def test_an_item_that_cannot_be_worked_out_fails_the_loop() -> None:
    run = over([1], more={**MORE, "item": "{{event.payload.n.x()}}"}).start()
    run.event("found", {"n": 1})
    assert run.code == "EXPRESSION_ERROR"


def test_items_over_the_limit_fail_the_loop() -> None:
    run = over([1, 2])
    run.plan = Plan(compile_definition(run.document), limits=replace(Limits(), loop_items=2))
    assert run.start().event("found", {"n": 1}).code == "TOO_LARGE"
