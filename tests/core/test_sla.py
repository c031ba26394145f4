"""An SLA is told when it is about to be missed and when it was, once each; the instance goes on."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenuto.core import decide
from tenuto.core.deciding import GO_ON
from tenuto.core.lifecycle import Told, events_of
from tenuto.core.sla_entries import INSTANCE
from tenuto.model.entries import SlaFired, SlaSet
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import Reused, TaskSucceeded, TimerDue, TimerKey, TimerKind
from tenuto.model.json import JSON, Object
from tenuto.model.log import to_rows
from tenuto.model.status import Status
from tests.core.calendars import office, policies, short_office
from tests.core.drawing import child, delay, draw, loop, start, task, undoing, wait
from tests.core.play import BEGIN, Run, play
from tests.core.test_working_time import FRIDAY, STAMP, at_the_office, berlin
from tests.kit.calls import calls_of

PROMISE: Object = {"warnAfter": "PT2H", "breachAfter": "PT4H"}
IN_OFFICE: Object = {**PROMISE, "calendar": "office"}


def told(run: Run) -> list[tuple[str, JSON]]:
    """The lifecycle events about SLAs, each with its step."""
    about = Told(instance_id=run.state.id, workflow_id="w", version=1, correlation_id=None)
    events = events_of(about, Status.CREATED.value, to_rows(1, run.entries))
    return [
        (event.pattern.removeprefix("workflow.sla."), event.payload.get("stepId"))
        for event in events
        if event.pattern.startswith("workflow.sla.") and isinstance(event.payload, dict)
    ]


def test_an_instance_that_takes_long_is_told_of_twice_and_goes_on() -> None:
    """SLA: `options.sla {warnAfter, breachAfter, calendar?}` and the same on a node: lifecycle
    events `workflow.sla.warning`, `workflow.sla.breached` once each; the instance goes on.
    """
    run = play(draw("a", options={"sla": PROMISE})).start()
    assert run.later(hours=2).fire().news == ["TIMER_FIRED sla-warning"]
    assert run.later(hours=2).fire().news == ["TIMER_FIRED sla-breached"]
    assert (run.status, run.running, run.timers) == (Status.RUNNING, ["a"], {})
    assert run.succeed("a").status is Status.COMPLETED
    assert told(run) == [("warning", None), ("breached", None)]


def test_one_that_ends_in_time_is_not_told_of() -> None:
    run = play(draw("a", options={"sla": PROMISE}, a=task(sla=PROMISE))).start()
    assert len(run.ledger.timers) == 4
    assert run.later(hours=1).succeed("a").timers == {}
    assert told(run) == []


@pytest.mark.parametrize(
    "node",
    [
        task(sla=PROMISE),
        wait(sla=PROMISE),
        delay("P9D", sla=PROMISE),
        child(sla=PROMISE),
        loop(source="{{[1]}}", sla=PROMISE),
    ],
    ids=lambda node: str(node["type"]),
)
def test_a_step_has_an_sla_of_its_own(node: Object) -> None:
    edges = "s>x x:loop>b" if node["type"] == "loop" else "s>x"
    run = play(draw(edges, s=start(), x=node)).start().later(hours=2)
    run.fire(TimerKind.SLA_WARNING).later(hours=2).fire(TimerKind.SLA_BREACH)
    assert told(run) == [("warning", "x"), ("breached", "x")]
    assert run.cancel().timers.get("x", timedelta(seconds=10)) <= timedelta(seconds=10)


def test_a_step_that_ends_at_once_has_none() -> None:
    run = play(draw("a>b", a={"type": "set", "config": {"values": {"n": 1}, "sla": PROMISE}}))
    assert run.start().running == ["b"]
    assert not [each for each in run.entries if isinstance(each, SlaSet)]


def test_it_counts_working_time() -> None:
    run = at_the_office(draw("a", options={"sla": IN_OFFICE}, a=task(sla=IN_OFFICE)))
    moments = [run.timer(kind, node) for kind in _KINDS for node in ("", "a")]
    assert moments == [berlin(9, 17)] * 2 + [berlin(12, 11)] * 2
    entries = [each for each in run.entries if isinstance(each, SlaSet)]
    assert [(each.node, each.calendars) for each in entries] == [("", STAMP), ("a", STAMP)]
    run.policies = policies(short_office())
    assert [run.timer(kind, node) for kind in _KINDS for node in ("", "a")] == moments


_KINDS = (TimerKind.SLA_WARNING, TimerKind.SLA_BREACH)


def test_attempts_share_the_sla_of_their_step() -> None:
    retry: Object = {"maxAttempts": 3, "initialDelay": "PT1H", "maxDelay": "PT1H", "multiplier": 1}
    run = play(draw("a", a=task(sla=PROMISE, retry=retry))).start().fail("a", retryable=True)
    run.skip().lose("a")
    assert run.state.sla[NodeKey("a")].warn_at == run.state.created_at + timedelta(hours=2)
    while not told(run):
        run.skip()
    assert told(run) == [("warning", "a")]
    fired = next(each for each in run.entries if isinstance(each, SlaFired))
    assert fired.attempt == 3


def test_it_goes_on_while_the_instance_is_paused() -> None:
    run = play(draw("a", options={"sla": PROMISE})).start().pause().later(hours=2)
    assert run.fire().news == ["TIMER_FIRED sla-warning"]
    assert run.status is Status.PAUSED


def test_what_has_passed_by_the_clock_is_told_before_the_end() -> None:
    document = draw("s>x", options={"sla": PROMISE}, s=start(), x=task(sla=PROMISE))
    run = play(document).start().later(hours=5).succeed("x")
    assert run.status is Status.COMPLETED
    both = [("warning", None), ("breached", None), ("warning", "x"), ("breached", "x")]
    assert told(run) == both
    assert run.timers == {}


def test_a_loop_around_the_last_result_is_told_of() -> None:
    document = draw("l:loop>b", l=loop(source="{{[1]}}", sla=PROMISE))
    run = play(document).start().later(hours=5).succeed("b[0]")
    assert (run.status, told(run)) == (Status.COMPLETED, [("warning", "l"), ("breached", "l")])


def test_a_refused_input_tells_nothing() -> None:
    run = play(draw("a", options={"sla": PROMISE})).start().later(hours=5)
    with run.refusing("TEN-3003"):
        run.succeed("a", attempt=7)
    assert run.fire().news == ["TIMER_FIRED sla-warning", "TIMER_FIRED sla-breached"]


def test_each_iteration_has_an_sla_and_leaves_nothing() -> None:
    document = draw("l:loop>b", l=loop(source="{{[1, 2, 3]}}"), b=task(sla=PROMISE))
    run = play(document).start()
    for index in range(3):
        run.later(hours=2).fire().succeed(f"b[{index}]")
        assert {each.iteration for each in run.state.sla} <= {str(index + 1)}
    assert told(run) == [("warning", "b")] * 3
    fired = [each for each in run.entries if isinstance(each, SlaFired)]
    assert [each.iteration for each in fired] == ["0", "1", "2"]
    assert run.state.sla == {}


def test_a_retry_by_hand_goes_on_with_the_promise_that_was_made() -> None:
    """An SLA counts from the first beginning through attempts, pauses and retries by hand, and is
    withdrawn when what it is about has ended.
    """
    document = draw("a", options={"sla": PROMISE}, a=task(sla=PROMISE))
    run = play(document).start().later(hours=2).fire().later(hours=1).fail("a")
    assert (run.status, run.timers) == (Status.FAILED, {})
    run.later(minutes=30).retry()
    breach = run.state.created_at + timedelta(hours=4)
    assert run.ledger.timers == {
        TimerKey(TimerKind.SLA_BREACH): breach,
        TimerKey(TimerKind.SLA_BREACH, "a"): breach,
    }
    run.skip()
    assert told(run) == [(kind, step) for kind in ("warning", "breached") for step in (None, "a")]


def test_a_loop_that_is_retried_goes_on_with_its_promise() -> None:
    document = draw("l:loop>b", l=loop(source="{{[1]}}", sla=PROMISE))
    run = play(document).start().later(hours=2).fire().fail("b[0]").later(hours=9).retry()
    assert run.fire(TimerKind.SLA_BREACH).succeed("b[0]").status is Status.COMPLETED
    assert told(run) == [("warning", "l"), ("breached", "l")]


def test_a_rerun_makes_the_promise_anew() -> None:
    document = draw("a>b", options={"sla": PROMISE}, a=task(sla=PROMISE), b=task(sla=PROMISE))
    run = play(document).later(hours=9)
    run.start(rerun_of="i1", reused=(Reused(node="a"),), from_step="b")
    assert set(run.state.sla) == {INSTANCE, NodeKey("b")}
    assert run.timer(TimerKind.SLA_WARNING) == run.now + timedelta(hours=2)


def test_undoing_is_part_of_what_was_promised() -> None:
    run = play(undoing(draw("a>b", options={"sla": PROMISE}), a={})).start().succeed("a").fail("b")
    assert run.running == ["undo_a"]
    assert run.later(hours=2).fire().news == ["TIMER_FIRED sla-warning"]
    assert run.succeed("undo_a").timers == {}


def test_only_one_of_both_may_be_promised() -> None:
    run = play(draw("a", a=task(sla={"breachAfter": "PT4H"}))).start().later(hours=4).fire()
    assert told(run) == [("breached", "a")]


def test_a_set_aside_instance_keeps_no_timer_of_it() -> None:
    run = play(draw("a", options={"sla": PROMISE}, a=task(sla=PROMISE))).start().set_aside()
    assert run.ledger.timers == {}


def test_a_calendar_is_read_once() -> None:
    assert office().version != short_office().version
    run = play(draw("a", options={"sla": IN_OFFICE}), policies=policies()).at(FRIDAY).start()
    run.policies = policies(short_office())
    assert run.later(hours=2).fire().news == ["TIMER_FIRED sla-warning"]


def test_a_step_that_a_cancel_ends_late_is_told_of() -> None:
    run = play(draw("s>x s>y", s=start(), x=wait(sla=PROMISE), y=task(sla=PROMISE))).start()
    run.later(hours=3).cancel()
    assert told(run) == [("warning", "x"), ("warning", "y")]


def test_a_step_that_the_deadline_ends_late_is_told_of() -> None:
    document = draw("s>x s>y", options={"timeout": "PT5H"}, s=start(), x=wait(sla=PROMISE))
    for kind in (TimerKind.DEADLINE, TimerKind.SLA_WARNING):
        run = play(document).start().later(hours=6).fire(kind)
        assert told(run) == [("warning", "x"), ("breached", "x")]
        assert run.state.ending is not None or run.status.is_final


def test_a_step_that_a_join_calls_off_late_is_told_of() -> None:
    document = draw(
        "s>x s>y x>j y>j", s=start(), x=wait(sla=PROMISE), j=task(joinMode="any", cancelRest=True)
    )
    run = play(document).start().later(hours=3).succeed("y")
    assert told(run) == [("warning", "x")]


def test_the_work_for_an_input_does_not_follow_from_the_number_of_open_slas() -> None:
    """Beyond the depth of the tree that orders them, which grows by one where they double."""

    def calls(count: int) -> int:
        """How many functions are called to decide on the result of one of so many steps."""
        items = ", ".join("1" for _ in range(count))
        looped = loop(source=f"{{{{[{items}]}}}}", mode="parallel", concurrency=count)
        run = play(draw("l:loop>b", l=looped, b=task(sla=PROMISE)), check=None).start()
        while GO_ON in run.ledger.timers:
            run.tell(TimerDue(key=GO_ON, due=BEGIN))
        assert len(run.state.sla) == count
        asked = TaskSucceeded(node="b", iteration="7", attempt=1, output=None)
        return calls_of(lambda: decide(run.plan, run.state, asked, run.now, run.policies))

    few, many = calls(64), calls(1_024)
    assert many - few < 200, f"{few} calls with 64 of them, {many} with 1,024"
