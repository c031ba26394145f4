"""An instance that cannot be decided on is set aside: it fails, visibly, and leaves nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tenuto.core import Rejection, decide, outstanding
from tenuto.model.effects import ClearTimer, CloseWait, StopAttempt
from tenuto.model.events import Event
from tenuto.model.family import Parent
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import ChildUndone, CompensationRetryAsked, InputRefused, UndoAsked
from tenuto.model.status import Status
from tests.core.drawing import child, draw, task, undoing, wait
from tests.core.holding import check_times_and_statuses, check_uniqueness, folded
from tests.core.play import BEGIN, ID, Run, play
from tests.core.situations import SHELF


@pytest.mark.parametrize("name", ["created", "running", "waiting", "paused"])
def test_a_quarantined_instance_has_failed_and_owes_nothing(name: str) -> None:
    run = SHELF[name]()
    refused = InputRefused(code="TEN-4000", message="ZeroDivisionError: by zero")
    d = decide(run.plan, run.state, refused, run.now, run.policies)
    check_times_and_statuses(run.state, d.entries)
    assert d.state.status is Status.FAILED
    assert d.state.last_error is not None
    assert d.state.last_error.code == "INTERNAL"
    assert d.state.system["quarantine"] == {"message": "ZeroDivisionError: by zero"}
    assert outstanding(run.plan, d.state, run.policies) == ()
    assert folded(run.plan, run.state.id, [*run.entries, *d.entries]) == d.state
    closed = {each.node for each in d.effects if isinstance(each, CloseWait)}
    stopped = {each.node for each in d.effects if isinstance(each, StopAttempt)}
    cleared = {each.key for each in d.effects if isinstance(each, ClearTimer)}
    assert closed == {key.node for key in run.ledger.waits}
    assert sorted(stopped) == run.running
    assert cleared == set(run.ledger.timers)


def test_nothing_that_was_under_way_is_taken_after_the_end() -> None:
    event = Event(id="e", pattern="paid", payload=None, received_at=BEGIN)
    document = draw("c:error>x d w>y t>z", c=child(), d=child(), w=wait(), t=task())
    run = play(document, check=None).start().resolve("c")
    mine = run.ledger.children[NodeKey("c")]
    run.set_aside()
    assert list(run.ledger.ends()) == [mine]
    stale: list[Callable[[], Run]] = [
        lambda: run.resolve("d"),
        lambda: run.child_ends("c", status=Status.CANCELLED, child_id=mine),
        lambda: run.child_ends("c", 1, child_id=mine),
        lambda: run.hand("w", event),
    ]
    late: list[Callable[[], Run]] = [
        lambda: run.fail("d", "UNKNOWN_WORKFLOW"),
        lambda: run.lose("t"),
        lambda: run.succeed("t"),
    ]
    for code, tellings in (("TEN-3003", stale), ("TEN-3005", late)):
        for tell in tellings:
            with run.refusing(code):
                tell()
    assert run.status is Status.FAILED


def test_a_retry_starts_the_child_of_an_instance_that_was_set_aside_anew() -> None:
    run = play(draw("c>z", c=child()), check=None).start().resolve("c")
    first = run.ledger.children.pop(NodeKey("c"))
    run.set_aside().retry()
    assert run.news[2:] == ["NODE_DISPATCHED c#2", "CHILD_STARTED c#2 other v1"]
    with run.refusing("TEN-3003"):
        run.child_ends("c", status=Status.CANCELLED, child_id=first)
    assert run.child_ends("c", 5).running == ["z"]


@pytest.mark.parametrize("name", ["completed", "failed", "cancelled"])
def test_what_has_ended_is_not_quarantined(name: str) -> None:
    run = SHELF[name]()
    refused = InputRefused(code="TEN-4000", message="whatever it is")
    d = decide(run.plan, run.state, refused, run.now, run.policies)
    assert (d.entries, d.effects, d.state) == ((), (), run.state)
    assert d.rejection == Rejection(code="TEN-4000", message="whatever it is")


def test_what_is_being_undone_is_broken_off() -> None:
    document = undoing(draw("a>b b>w", w=wait()), a={}, b={"retry": {"maxAttempts": 9}})
    for is_between_attempts in (False, True):
        run = play(document).start().succeed("a").succeed("b").cancel()
        if is_between_attempts:
            run.fail("undo_b", retryable=True)
        run.set_aside()
        assert (run.status, run.undoing["status"]) == (Status.FAILED, "COMPLETED_WITH_ERRORS")
        assert (run.running, run.ledger.timers) == ([], {})
        assert outstanding(run.plan, run.state, run.policies) == ()
        with run.refusing("TEN-3009"):
            run.retry()
        assert [each["stepId"] for each in run.undoing["failed"]] == ["undo_b", "undo_a"]
        assert [letter.node for letter in run.ledger.dead_letters] == ["undo_b", "undo_a"]
        attempt = 3 if is_between_attempts else 2
        for name, number in (("undo_a", 2), ("undo_b", attempt)):
            run.tell(CompensationRetryAsked(by="ada", step_id=name))
            assert run.news == [f"COMPENSATION_DISPATCHED {name}#{number}"], "never the first again"
            run.succeed(name)
        assert (run.status, run.undoing["status"]) == (Status.FAILED, "COMPLETED")
        check_uniqueness(run.entries)


def test_a_child_that_cannot_be_undone_tells_its_parent() -> None:
    parent = Parent(id="p", node="c", attempt=1, root_id="p", depth=1)
    run = play(undoing(draw("a"), a={})).start(parent=parent).succeed("a").tell(UndoAsked(by="p"))
    run.set_aside()
    assert (run.status, run.state.has_ended) == (Status.COMPLETED, True)
    told = run.ledger.mail[-1].input
    assert told == ChildUndone(node="c", child_id=ID, status="COMPLETED_WITH_ERRORS")
