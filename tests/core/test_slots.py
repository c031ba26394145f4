"""Slots: nothing begins without one, rest gives it back, and every end does."""

from __future__ import annotations

from typing import Any

import pytest

from tenuto.core import Plan
from tenuto.core.deciding import NOT_THIS_STATUS, STALE
from tenuto.core.slots import NO_KEY, slot_of
from tenuto.definition import compile_definition
from tenuto.model.ids import NodeKey
from tenuto.model.json import Object
from tenuto.model.policy import Policies
from tenuto.model.slots import SlotRules
from tenuto.model.status import Status
from tenuto.model.test_run import TestRunSpec
from tests.core.drawing import cancelled_by, delay, draw, task, wait
from tests.core.play import Run, play

ITS_OWN = NodeKey("")
LIMITED = Policies(slots=SlotRules())


def limited(document: Object, **concurrency: Any) -> Run:  # noqa: ANN401
    concurrency = {"limit": 1, **concurrency}
    return play({**document, "workflowOptions": {"concurrency": concurrency}})


def has_slot(run: Run) -> bool:
    slot = slot_of(run.state)
    assert slot is not None
    return slot.state == "held"


def test_an_instance_begins_with_its_slot_and_gives_it_back_at_its_end() -> None:
    run = limited(draw("a>b")).start()
    assert (run.state.status, run.running, run.state.started_at) == (Status.CREATED, [], None)
    assert ITS_OWN in run.ledger.slots
    run.later(minutes=5).admit()
    assert (run.state.status, run.running) == (Status.RUNNING, ["a"])
    assert run.state.started_at == run.now
    run.succeed("a").succeed("b")
    assert (run.state.status, run.ledger.slots) == (Status.COMPLETED, {})


def test_without_limits_nothing_is_asked_for_or_recorded() -> None:
    run = play(draw("a")).start()
    assert (run.state.status, run.state.system, run.ledger.slots) == (Status.RUNNING, {}, {})


def test_limits_of_the_service_are_enough_to_ask() -> None:
    run = play(draw("a"))
    run.policies = LIMITED
    run.start(user="key:ada")
    asked = run.ledger.slots[ITS_OWN].request
    assert asked is not None
    assert (asked.user, asked.key, run.state.status) == ("key:ada", None, Status.CREATED)


def test_test_runs_take_no_slots() -> None:
    """Test runs send no lifecycle events and no webhooks, take no slots, do not count in metrics;
    tasks without a mock run for real only with `allowEffects: true`; stopping one leaves only an
    audit line."""
    run = limited(draw("a"))
    spec = TestRunSpec(allows_effects=True)
    run.plan = Plan(compile_definition(run.document), rehearsal=spec)
    assert run.start().running == ["a"]


def test_the_key_comes_from_the_input() -> None:
    run = limited(draw("a"), key="{{ctx.input.customer}}").start({"customer": 7})
    asked = run.ledger.slots[ITS_OWN].request
    assert asked is not None
    assert asked.key == "7"


@pytest.mark.parametrize("input", [{}, {"customer": None}, {"customer": ""}])
def test_a_key_that_gives_no_value_refuses_the_start(input: Object) -> None:
    run = limited(draw("a"), key="{{ctx.input.customer}}")
    with run.refusing(NO_KEY):
        run.start(input)


def test_a_grant_of_another_request_is_none() -> None:
    run = limited(draw("a")).start()
    with run.refusing(STALE):
        run.admit(number=2)
    run.admit()
    with run.refusing(STALE):
        run.admit(number=1)


def test_a_created_instance_is_cancelled_and_cannot_be_paused() -> None:
    """A CREATED instance can be cancelled (nothing to undo), hears its cancellation triggers, and
    cannot be paused."""
    run = limited(draw("a")).start()
    with run.refusing(NOT_THIS_STATUS):
        run.pause()
    run.cancel()
    assert (run.state.status, run.ledger.slots) == (Status.CANCELLED, {})
    with run.refusing(STALE):
        run.admit(number=1)
    heard = limited(cancelled_by(draw("a"), {"eventPattern": "order.cancelled"})).start()
    assert heard.event("order.cancelled").state.status is Status.CANCELLED
    assert heard.ledger.slots == {}


@pytest.mark.parametrize("between", [wait(), delay("P1D")])
def test_one_that_only_waits_gives_its_slot_back_and_asks_again_when_it_is_woken(
    between: Object,
) -> None:
    """A slot is held while anything is in flight; an instance that only waits, sleeps or is paused
    gives it back (`concurrency.holdWhileWaiting: true` keeps it) and, once woken, comes before any
    CREATED one."""
    run = limited(draw("a>w w>b", w=between)).start().admit().succeed("a")
    assert not has_slot(run)
    assert run.ledger.slots == {}
    if "eventPattern" in str(between):
        run.event("paid")
    else:
        run.later(days=1).fire()
    assert (run.state.status, run.running) == (Status.RUNNING, [])
    assert run.ledger.slots[ITS_OWN].is_woken
    run.admit()
    assert (has_slot(run), run.running) == (True, ["b"])
    assert run.succeed("b").state.status is Status.COMPLETED


def test_one_that_rests_when_limits_are_set_asks_when_it_is_woken_and_one_that_runs_goes_on() -> (
    None
):
    woken = play(draw("a>w w>b", w=wait())).start().succeed("a")
    busy = play(draw("a>b")).start()
    woken.policies = busy.policies = LIMITED
    busy.succeed("a")
    assert (busy.running, busy.ledger.slots, slot_of(busy.state)) == (["b"], {}, None)
    woken.event("paid")
    assert (woken.state.status, woken.running) == (Status.RUNNING, [])
    asked = woken.ledger.slots[ITS_OWN]
    assert asked.is_woken, "it goes before those that have not begun"
    woken.admit()
    assert (woken.running, has_slot(woken)) == (["b"], True)
    woken.succeed("b")
    assert (woken.state.status, woken.ledger.slots) == (Status.COMPLETED, {})


def test_one_that_keeps_its_slot_goes_on_at_once() -> None:
    """A slot is held while anything is in flight; an instance that only waits, sleeps or is paused
    gives it back (`concurrency.holdWhileWaiting: true` keeps it) and, once woken, comes before any
    CREATED one."""
    run = limited(draw("w>b", w=wait()), holdWhileWaiting=True).start().admit()
    assert has_slot(run)
    assert run.event("paid").running == ["b"]


def test_a_wait_after_which_nothing_follows_needs_no_slot_to_end() -> None:
    run = limited(draw("w", w=wait())).start().admit().event("paid")
    assert (run.state.status, run.ledger.slots) == (Status.COMPLETED, {})


def test_a_pause_gives_the_slot_back_once_nothing_runs() -> None:
    """A slot is held while anything is in flight; an instance that only waits, sleeps or is paused
    gives it back (`concurrency.holdWhileWaiting: true` keeps it) and, once woken, comes before any
    CREATED one."""
    run = limited(draw("a>b")).start().admit().pause()
    assert has_slot(run)
    run.succeed("a")
    assert (has_slot(run), run.ledger.slots) == (False, {})
    run.resume()
    assert (run.running, run.state.status) == ([], Status.RUNNING)
    assert run.admit().running == ["b"]


def test_what_waits_to_be_tried_again_keeps_its_slot() -> None:
    run = limited(draw("a")).start().admit().fail("a", retryable=True)
    assert has_slot(run)
    run.pause()
    assert has_slot(run)


def test_a_cancel_of_one_that_was_woken_withdraws_its_request() -> None:
    run = limited(draw("w>b", w=wait())).start().admit().event("paid").cancel()
    assert (run.state.status, run.ledger.slots) == (Status.CANCELLED, {})


def test_a_failed_instance_that_is_retried_asks_again() -> None:
    run = limited(draw("a", a=task(retry={"maxAttempts": 1}))).start().admit().fail("a")
    assert (run.state.status, run.ledger.slots) == (Status.FAILED, {})
    run.retry()
    assert (run.running, run.ledger.slots[ITS_OWN].number) == ([], 2)
    assert run.admit().running == ["a"]


def test_a_quarantined_instance_gives_its_slot_back() -> None:
    run = limited(draw("a")).start().admit().set_aside()
    assert (run.state.status, run.ledger.slots) == (Status.FAILED, {})


def test_the_timeout_counts_from_the_slot_and_the_deadline_does_not() -> None:
    options: Object = {"concurrency": {"limit": 1}, "timeout": "PT1H"}
    document: Object = {**draw("a"), "workflowOptions": options}
    run = play(document).start().later(days=1)
    assert (run.state.deadline, run.state.status) == (None, Status.CREATED)
    run.admit()
    assert run.state.deadline is not None
    assert run.later(hours=2).fire().state.cancellation is not None
