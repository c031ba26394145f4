"""Events that cancel an instance: which, when they count, and what is asked of the world."""

from __future__ import annotations

from tenuto.core import decide
from tenuto.model.effects import CloseWait
from tenuto.model.events import Event
from tenuto.model.failure import Cancellation
from tenuto.model.inputs import InputRefused, TriggerMatched
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tests.core.drawing import cancelled_by, draw, start, task, wait
from tests.core.play import BEGIN, Run, play

BY_ID: Object = {
    "eventPattern": "order.cancelled",
    "eventCondition": "event.payload.id === workflow.input.id",
    "reason": "gone",
    "shouldCompensate": False,
}
BY_STAGE: Object = {
    "eventPattern": "order.*",
    "eventCondition": "event.payload.id === workflow.input.id && event.payload.at === ctx.stage",
}
DOCUMENT = cancelled_by(
    draw("s>a a>w", s=start(), a=task(outputVariable="stage"), w=wait()), BY_ID, BY_STAGE
)


def event(payload: JSON = None, pattern: str = "order.cancelled") -> Event:
    return Event(id="e", pattern=pattern, payload=payload, received_at=BEGIN)


def matched(run: Run, number: int, payload: JSON) -> Run:
    return run.tell(TriggerMatched(trigger=number, event=event(payload)))


def test_an_event_cancels_an_instance_and_says_so() -> None:
    """`cancellation` = `{reason, requestedBy, requestedAt, source, eventId?, shouldCompensate}`;
    `requestedBy` is `system` for EVENT and TIMEOUT, the parent's id for PARENT.
    """
    run = play(DOCUMENT).start({"id": 7}).succeed("a", "s").event("order.cancelled", {"id": 7})
    assert run.status is Status.CANCELLED
    assert run.state.cancellation == Cancellation(
        reason="gone",
        requested_by="system",
        requested_at=run.now,
        source="EVENT",
        event_id="e1",
        should_compensate=False,
    )


def test_triggers_are_open_from_acceptance_until_the_end_begins() -> None:
    """Cancellation triggers see the current context, are active from acceptance (also CREATED
    and PAUSED) and ignore events older than the instance.
    """
    run = play(DOCUMENT).start({"id": 7})
    assert [each.arm for each in run.ledger.triggers] == ["0", "1"]
    assert not any(each.looks_back for each in run.ledger.triggers)
    run.pause()
    assert len(run.ledger.triggers) == 2
    run.event("order.cancelled", {"id": 7})
    assert run.ledger.triggers == []
    assert run.status is Status.RUNNING, "a task is told, and has its grace"


def test_what_never_changes_is_indexed_and_the_rest_is_read_when_the_event_comes() -> None:
    by_id, by_stage = play(DOCUMENT).start({"id": 7}).ledger.triggers
    assert (by_id.term_paths, by_id.term_values) == ('["payload.id"]', '["7"]')
    assert (by_stage.term_paths, by_stage.term_values) == ('["payload.id"]', '["7"]')
    assert by_id.captures is not None
    assert by_stage.captures is None


def test_a_trigger_sees_the_context_as_it_is_now() -> None:
    run = play(DOCUMENT).start({"id": 7})
    with run.refusing("TEN-3030"):
        matched(run, 1, {"id": 7, "at": "packed"})
    run.succeed("a", "packed")
    assert matched(run, 1, {"id": 7, "at": "packed"}).status is Status.CANCELLED


def test_a_condition_that_fails_does_not_hold() -> None:
    trigger: Object = {"eventPattern": "x", "eventCondition": "event.payload.a.b.c() === 1"}
    run = play(cancelled_by(draw("w", w=wait()), trigger)).start()
    with run.refusing("TEN-3030"):
        matched(run, 0, {"a": {"b": 1}})
    assert run.status is Status.WAITING_FOR_EVENT


def test_a_trigger_that_is_not_there_cancels_nothing() -> None:
    run = play(DOCUMENT).start({"id": 7})
    with run.refusing("TEN-3030"):
        matched(run, 9, {"id": 7})


def test_an_event_for_an_instance_that_is_ending_changes_nothing() -> None:
    run = play(DOCUMENT).start({"id": 7}).cancel("enough")
    with run.refusing("TEN-3003"):
        matched(run, 0, {"id": 7})
    assert run.state.cancellation is not None
    assert run.state.cancellation.reason == "enough"


def test_a_retry_opens_the_triggers_again() -> None:
    """`retry` of a FAILED instance re-opens every node that failed unhandled and every node that
    the failure withdrew, with fresh budget and timeouts; completed ones stay; triggers are
    subscribed again in the same transaction; 409 once a compensation was dispatched or after
    `terminate`.
    """
    run = play(DOCUMENT).start({"id": 7}).fail("a", "OOPS")
    assert (run.status, run.ledger.triggers) == (Status.FAILED, [])
    run.retry()
    assert len(run.ledger.triggers) == 2
    assert matched(run, 0, {"id": 7}).state.cancellation is not None


def test_a_failure_while_paused_leaves_the_triggers_open_until_resumed() -> None:
    run = play(DOCUMENT).start({"id": 7}).pause().fail("a", "OOPS")
    assert len(run.ledger.triggers) == 2
    run.resume()
    assert (run.status, run.ledger.triggers) == (Status.FAILED, [])


def test_an_end_of_any_kind_closes_them() -> None:
    run = play(DOCUMENT).start({"id": 7}).succeed("a", "s").event("paid")
    assert (run.status, run.ledger.triggers) == (Status.COMPLETED, [])


def test_an_instance_that_is_set_aside_closes_them() -> None:
    run = play(DOCUMENT).start({"id": 7})
    refused = InputRefused(code="TEN-4000", message="broken")
    decision = decide(run.plan, run.state, refused, run.now, run.policies)
    closed = [each for each in decision.effects if isinstance(each, CloseWait)]
    assert CloseWait(node="", iteration="", event_id=None) in closed
