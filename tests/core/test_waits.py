"""Waiting for events: what is recorded, what is mapped, who wins a race."""

from __future__ import annotations

from datetime import timedelta
from itertools import permutations
from typing import Any

import msgspec
import pytest

from tenuto.core.terms import INDEXED_BYTES
from tenuto.expr import Steps, event_term_values
from tenuto.model.entries import NodeFailed, WaitOpened
from tenuto.model.events import Event
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import TimerKind
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tests.core.drawing import draw, start, step, steps, task, wait
from tests.core.play import BEGIN, Run, play


def event(id: str = "e1", payload: JSON = None, **more: Any) -> Event:  # noqa: ANN401
    return Event(id=id, pattern="paid", payload=payload, received_at=BEGIN, **more)


def opened(run: Run, node: str = "w") -> WaitOpened:
    [entry] = [
        entry for entry in run.entries if isinstance(entry, WaitOpened) and entry.node == node
    ]
    return entry


def test_an_event_goes_to_every_open_wait_of_an_instance() -> None:
    """An event goes to every open wait that matches, also to several of one instance."""
    run = play(draw("s>u s>v u>a v>b", s=start(), u=wait(), v=wait())).start().event("paid")
    assert run.running == ["a", "b"]


def test_by_default_a_wait_looks_back_to_the_start_of_the_instance() -> None:
    """`lookback` takes the oldest matching event that no wait of this instance has taken;
    default: since the instance was created; `"PT0S"` turns it off.
    """
    run = play(draw("a>w", w=wait())).start().later(hours=5).succeed("a")
    assert opened(run).since == BEGIN
    run = play(draw("a>w", w=wait(lookback="PT0S"))).start().later(hours=5).succeed("a")
    assert opened(run).since == BEGIN + timedelta(hours=5)
    run = play(draw("a>w", w=wait(lookback="P1D"))).start().later(hours=5).succeed("a")
    assert opened(run).since == BEGIN - timedelta(hours=19), "even before the instance"


def test_a_wait_that_opens_in_the_first_millisecond_of_its_instance_looks_back() -> None:
    run = play(draw("a>w", w=wait())).start().succeed("a")
    assert opened(run).since == opened(run).at
    assert all(each.looks_back for each in run.ledger.waits.values()), (
        "an event may have come in between"
    )
    run = play(draw("a>w", w=wait(lookback="PT0S"))).start().succeed("a")
    assert not any(each.looks_back for each in run.ledger.waits.values())


def test_a_past_event_is_taken_once_by_the_waits_of_an_instance() -> None:
    run = play(draw("w>v v>a", w=wait(), v=wait())).start()
    run.hand("w", event("e1"), by_lookback=True)
    with run.refusing("TEN-3007"):
        run.hand("v", event("e1"), by_lookback=True)
    assert run.hand("v", event("e2"), by_lookback=True).running == ["a"]


def test_a_live_event_may_resolve_a_wait_that_opened_after_it_was_taken() -> None:
    run = play(draw("s>w s>v", s=start(), w=wait(), v=wait())).start()
    run.hand("w", event("e1"), by_lookback=True).hand("v", event("e1"))
    assert run.status is Status.COMPLETED


def test_the_instances_side_of_a_condition_is_evaluated_once() -> None:
    """The instance's side of a wait's condition is evaluated once, when it opens."""
    document = draw(
        "s>w s>a w>x",
        s=start(),
        w=wait(eventCondition="event.payload.n === (ctx.v ?? 1)"),
        a=task(outputVariable="v"),
    )
    run = play(document).start()
    captured = opened(run).captures
    run.succeed("a", 2)
    assert run.ledger.waits[NodeKey("w")].captures == captured
    with pytest.raises(AssertionError, match="no open wait"):
        run.event("paid", {"n": 2})
    assert run.event("paid", {"n": 1}).running == ["x"]


def test_equality_terms_of_a_condition_are_set_aside_for_the_index() -> None:
    condition = "event.payload.order === ctx.input.id && event.payload.n > 3"
    run = play(draw("w", w=wait(eventCondition=condition))).start({"id": "o-1"})
    order = run.ledger.waits[NodeKey("w")]
    assert order.term_paths == '["payload.order"]'
    assert "o-1" in order.term_values
    without = play(draw("w", w=wait(eventCondition="event.payload.n > 3"))).start()
    assert (without.ledger.waits[NodeKey("w")].term_paths) == ""


def test_terms_that_would_be_too_long_for_an_index_are_left_to_the_condition() -> None:
    names = [f"n{number}" for number in range(20)]
    condition = " && ".join(f"event.payload.{name} === ctx.input.{name}" for name in names)
    long: Object = {name: f"{name} " + "\U0001f600" * 150 for name in names}
    cases: list[tuple[Object, int]] = [
        ({name: name for name in names}, 20),
        (long, 1),
        ({**long, "n0": "x" * 1_000_000}, 2),
    ]
    for given, terms in cases:
        run = play(draw("w", w=wait(eventCondition=condition))).start(given)
        order = run.ledger.waits[NodeKey("w")]
        paths = msgspec.json.decode(order.term_paths, type=tuple[str, ...])
        assert paths == tuple(f"payload.{name}" for name in names[:terms])
        assert len(order.term_paths.encode() + order.term_values.encode()) <= INDEXED_BYTES
        # What an event that fits is looked up by.
        values = event_term_values(event(payload=given).as_value(), paths, Steps())
        assert order.term_values == msgspec.json.encode(values).decode()
        with pytest.raises(AssertionError, match="no open wait"):
            run.event("paid", {**given, "n19": "other"})
        assert run.event("paid", given).status is Status.COMPLETED


def test_a_term_with_an_endless_name_is_left_to_the_condition() -> None:
    name = "n" * 1_500
    condition = f"event.payload.{name} === ctx.input.id"
    run = play(draw("w", w=wait(eventCondition=condition))).start({"id": 1})
    assert run.ledger.waits[NodeKey("w")].term_paths == ""
    assert run.event("paid", {name: 1}).status is Status.COMPLETED


@pytest.mark.parametrize(
    ("condition", "matches"),
    [
        ("event.payload.n", True),
        ("event.payload.zero", False),
        ("event.payload.missing.deep", False),
        ("event.payload.nope()", False),
        ("ctx.input.nope()", False),
        ("event.payload.n > 'a'", False),
        ("event.pattern === 'paid' && event.payload.n == '5'", True),
    ],
)
def test_truthiness_decides_and_an_error_is_no_match(condition: str, matches: bool) -> None:
    """An error in a condition is "not matched" and shows as a near miss; truthiness decides."""
    run = play(draw("w", w=wait(eventCondition=condition))).start({})
    if matches:
        assert run.event("paid", {"n": 5, "zero": 0}).status is Status.COMPLETED
    else:
        with pytest.raises(AssertionError, match="no open wait"):
            run.event("paid", {"n": 5, "zero": 0})
        assert run.status is Status.WAITING_FOR_EVENT


def test_payload_mappings_are_paths_or_templates() -> None:
    """Paths in `eventPayloadMapping` and `inputMapping` are rooted at the payload (`a.b[0]`); a
    value with `{{…}}` is a template that also sees `event`; missing gives null.
    """
    mapping: dict[str, JSON] = {
        "first": "items[0].id",
        "whole": "items",
        "missing": "a.b.c[3]",
        "text": "{{event.payload.n}} of {{ctx.input.n}} from {{event.id}}",
        "gone": "{{event.payload.gone}}",
        "zero": "zero",
    }
    run = play(draw("w", w=wait(eventPayloadMapping=mapping))).start({"n": 9})
    run.event("paid", {"items": [{"id": 7}], "n": 5, "zero": 0})
    assert run.ctx == {
        "input": {"n": 9},
        "first": 7,
        "whole": [{"id": 7}],
        "missing": None,
        "text": "5 of 9 from e1",
        "gone": None,
        "zero": 0,
    }


def test_a_mapping_that_cannot_be_worked_out_fails_the_wait() -> None:
    mapping: dict[str, JSON] = {"x": "{{event.payload.nope()}}"}
    run = play(draw("w:error>a", w=wait(eventPayloadMapping=mapping))).start().event("paid", {})
    assert run.news == [
        "WAIT_RESOLVED w#1 event",
        "NODE_FAILED w#1 EXPRESSION_ERROR route",
        "NODE_COMPLETED w#1 error -> error",
        "NODE_DISPATCHED a#1",
        "STATUS_CHANGED RUNNING",
    ]


def test_the_output_of_a_wait_is_the_event() -> None:
    """The wait's output is `{eventId, pattern, payload, timestamp, correlationId}`."""
    run = play(draw("w", w=wait(outputVariable="v"))).start()
    sent = event("e9", {"n": 1}, correlation_id="c", timestamp=BEGIN - timedelta(days=1))
    run.hand("w", sent)
    assert (
        run.output
        == run.ctx["v"]
        == {
            "eventId": "e9",
            "pattern": "paid",
            "payload": {"n": 1},
            "timestamp": "2025-12-31T00:00:00.000Z",
            "correlationId": "c",
        }
    )


def test_a_time_out_takes_its_handle_or_fails() -> None:
    """A time-out with nothing on `timeout` fails with `WAIT_TIMEOUT`."""
    node = wait(eventTimeout={"duration": "P3D"}, outputVariable="v")
    run = play(draw("w>a w:timeout>b", w=node)).start()
    assert run.timer(TimerKind.WAIT_TIMEOUT, "w") == BEGIN + timedelta(days=3)
    assert run.skip().news == [
        "WAIT_RESOLVED w#1 timeout",
        "NODE_COMPLETED w#1 -> timeout",
        "NODE_SKIPPED a#1 dead-path",
        "NODE_DISPATCHED b#1",
        "STATUS_CHANGED RUNNING",
    ]
    assert run.ctx["v"] is None
    nothing_on_it = play(draw("w>a", w=node)).start().skip()
    assert (nothing_on_it.status, nothing_on_it.code) == (Status.FAILED, "WAIT_TIMEOUT")
    handled = play(draw("w>a w:error>b", w=node)).start().skip()
    assert handled.running == ["b"]


def test_the_timeout_handler_is_the_transition_timeout() -> None:
    """`timeoutHandlerStepId` is `transitions.timeout`."""
    timeout: JSON = {"duration": "PT5S", "timeoutHandlerStepId": "late"}
    named = step("w", "EVENT_WAIT", eventPattern="paid", eventTimeout=timeout)
    drawn = step(
        "w",
        "EVENT_WAIT",
        eventPattern="paid",
        eventTimeout={"duration": "PT5S"},
        transitions={"timeout": "late"},
    )
    for wait_step in (named, drawn):
        assert play(steps(wait_step, step("late"))).start().skip().running == ["late"]


@pytest.mark.parametrize("order", list(permutations(["event", "timeout", "cancel"])), ids="-".join)
def test_of_event_timeout_and_cancel_exactly_one_wins(order: tuple[str, ...]) -> None:
    node = wait(eventTimeout={"duration": "PT5S"})
    run = play(draw("s>w w>a w:timeout>b s>k", s=start(), w=node, k=task(cancels=["w"])))
    run.start().later(seconds=5)
    due = run.ledger.timers.copy()
    run._refusing = True
    for happening in order:
        if happening == "event":
            run.hand("w", event())
        elif happening == "cancel":
            run.succeed("k")
        elif due == run.ledger.timers:
            run.fire()
    run._refusing = False
    ends = [entry for entry in run.log if entry.startswith(("WAIT_RESOLVED", "NODE_CANCELLED w"))]
    assert len(ends) == 1
    assert run.ledger.waits == {}
    assert len(run.running) == (order[0] != "cancel")


def test_an_event_for_a_wait_that_is_over_is_refused() -> None:
    run = play(draw("w>a", w=wait())).start().event("paid")
    with run.refusing("TEN-3003"):
        run.hand("w", event("e2"))
    with run.refusing("TEN-3003"):
        run.hand("a", event("e2"))


def test_the_nodes_own_timeout_bounds_the_whole_wait() -> None:
    run = play(draw("w>a w:error>b", w=wait(timeout="PT1H"))).start().skip()
    assert run.news == [
        "NODE_FAILED w#1 TIMEOUT route",
        "NODE_COMPLETED w#1 error -> error",
        "NODE_SKIPPED a#1 dead-path",
        "NODE_DISPATCHED b#1",
        "STATUS_CHANGED RUNNING",
    ]
    assert run.ledger.waits == {}


def test_a_wait_asks_for_the_correlation_id_that_it_names() -> None:
    document = draw("w v", w=wait(correlationId="{{ctx.input.id}}"), v=wait("other"))
    run = play(document).start({"id": 7})
    assert run.ledger.waits[NodeKey("w")].correlation_id == "7"
    assert run.ledger.waits[NodeKey("v")].correlation_id is None
    with pytest.raises(AssertionError, match="no open wait"):
        run.event("paid", correlation_id="8")
    assert run.event("paid", correlation_id="7").event("other", correlation_id="8").status is (
        Status.COMPLETED
    )


def test_a_correlation_id_is_looked_up_beside_what_a_condition_compares() -> None:
    asked = wait(correlationId="{{ctx.input.id}}", eventCondition="event.payload.n === 1")
    order = play(draw("w", w=asked)).start({"id": "c"}).ledger.waits[NodeKey("w")]
    paths = msgspec.json.decode(order.term_paths)
    assert paths == ["correlationId", "payload.n"]
    mine, other = (event(payload={"n": 1}, correlation_id=id).as_value() for id in "cd")
    assert list(event_term_values(mine, paths, Steps())) == msgspec.json.decode(order.term_values)
    assert list(event_term_values(other, paths, Steps())) != msgspec.json.decode(order.term_values)


def test_conditions_of_a_wait_see_what_was_mapped() -> None:
    routes: list[JSON] = [{"when": "ctx.amount > 100", "handle": "large"}]
    node = wait(eventPayloadMapping={"amount": "amount"}, conditions=routes)
    document = draw("w>a w:large>b", w=node)
    assert play(document).start().event("paid", {"amount": 50}).running == ["a"]
    assert play(document).start().event("paid", {"amount": 500}).running == ["b"]


@pytest.mark.parametrize(("input", "what"), [({}, "undefined"), ({"id": None}, "null")])
def test_a_wait_whose_correlation_id_is_nothing_fails_and_takes_nobody_elses_event(
    input: Object, what: str
) -> None:
    run = play(draw("w", w=wait(correlationId="{{ctx.input.id}}"))).start(input)
    assert (run.status, run.ledger.waits) == (Status.FAILED, {})
    assert run.code == "EXPRESSION_ERROR"
    [failed] = [entry for entry in run.entries if isinstance(entry, NodeFailed)]
    assert what in failed.error.message
