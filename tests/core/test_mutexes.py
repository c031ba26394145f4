"""Mutexes: asked for before the first attempt, given back by every kind of ending."""

from __future__ import annotations

import pytest

from tenuto.core.deciding import STALE
from tenuto.model.family import Parent
from tenuto.model.ids import NodeKey
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tests.core.drawing import draw, task
from tests.core.play import Run, play

A = NodeKey("a")


def locked(**settings: JSON) -> Object:
    return task(mutex="printer {{ctx.input.n ?? 1}}", **settings)


def asked(drawn: str = "a>b", **settings: JSON) -> Run:
    return play(draw(drawn, a=locked(**settings))).start({"n": 7})


def test_a_step_begins_with_its_mutex_and_keeps_it_until_it_has_ended() -> None:
    """`mutex`: tenant-wide, first come first served, from first dispatch to the final outcome; a
    nested request for what an enclosing node holds fails `MUTEX_SELF`."""
    run = asked()
    assert (run.running, run.ledger.slots[A].mutex, run.state.status) == (
        [],
        "printer 7",
        Status.RUNNING,
    )
    run.admit("a")
    assert (run.running, A in run.ledger.slots) == (["a"], True)
    run.fail("a", retryable=True)
    assert A in run.ledger.slots, "it is tried again"
    run.later(seconds=5).fire().succeed("a")
    assert (run.running, run.ledger.slots) == (["b"], {})


@pytest.mark.parametrize("is_granted", [True, False])
def test_a_cancel_gives_it_back(is_granted: bool) -> None:
    run = asked()
    if is_granted:
        run.admit("a")
    run.cancel()
    if is_granted:
        assert A in run.ledger.slots, "the attempt still runs"
        run.succeed("a")
    assert (run.state.status, run.ledger.slots) == (Status.CANCELLED, {})


def test_a_failure_gives_it_back() -> None:
    run = asked(retry={"maxAttempts": 1}).admit("a").fail("a")
    assert (run.state.status, run.ledger.slots) == (Status.FAILED, {})
    run.retry()
    assert (run.running, run.ledger.slots[A].number) == ([], 2)
    with run.refusing(STALE):
        run.admit("a", number=1)
    assert run.admit("a").running == ["a"]


def test_a_quarantine_gives_it_back() -> None:
    assert asked().admit("a").set_aside().ledger.slots == {}


def test_a_grant_while_it_is_paused_starts_nothing_until_it_is_resumed() -> None:
    run = asked().pause().admit("a")
    assert run.running == []
    assert run.resume().running == ["a"]


def test_a_loss_keeps_it() -> None:
    run = asked().admit("a").lose("a")
    assert (run.running, A in run.ledger.slots) == (["a"], True)


def test_a_mutex_that_a_step_around_the_instance_has_fails_the_step() -> None:
    """`mutex`: tenant-wide, first come first served, from first dispatch to the final outcome; a
    nested request for what an enclosing node holds fails `MUTEX_SELF`."""
    around = Parent(id="p", node="n", root_id="p", depth=1, mutexes=("printer 7",))
    inner = play(draw("a", a=locked())).start({"n": 7}, parent=around)
    assert inner.state.last_error is not None
    assert inner.state.last_error.code == "MUTEX_SELF"


def test_a_mutex_without_a_value_fails_the_step() -> None:
    run = play(draw("a", a=task(mutex="{{ctx.input.none}}"))).start({})
    assert run.state.last_error is not None
    assert run.state.last_error.code == "EXPRESSION_ERROR"
