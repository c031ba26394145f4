"""Approvals in tests: decided, waited for, on the virtual clock, and through every mishap."""

from __future__ import annotations

import pytest

from tenuto import Conflict, Forbidden
from tenuto.model.errors import TenutoError
from tenuto.model.json import Object
from tenuto.testing import Decide, Engine, Instance, crash_test
from tests.testing_kit.shop import ORDER, REVIEWED

ADA = Decide(step="review", by="ada")


def test_a_test_decides(engine: Engine) -> None:
    run = engine.start(REVIEWED, ORDER)
    assert (run.approvals, run.waiting_for, run.status) == (["review"], [], "WAITING_FOR_EVENT")
    assert run.why_it_rests == "no decision is made on review"
    with pytest.raises(Forbidden):
        run.decide("review", "approved", by="eve")
    run.decide("review", "approved", by="eve", roles=["finance"], form={"note": "fine"})
    assert run.finished().path == ["reserve", "review", "ship"]
    with pytest.raises(Conflict, match="approved by eve"):
        run.decide("review", "rejected", by="ada")


def test_reminders_escalation_and_deadline_come_on_the_clock_of_the_test(engine: Engine) -> None:
    run = engine.start(REVIEWED, ORDER).until(step="review", status="WAITING")
    engine.skip(days=1)
    assert "reminds ada or anybody with the role finance" in run.timeline
    with pytest.raises(Forbidden):
        run.decide("review", "approved", by="zoe")
    engine.skip(days=1)
    assert "asks zoe as well" in run.timeline
    engine.skip(days=1)
    assert run.finished().path == ["reserve", "review", "escalate"]


def test_an_approval_that_is_decided_after_a_crash(engine: Engine) -> None:
    run = engine.start(REVIEWED, ORDER).until(step="review", status="WAITING")
    engine.crash_once(1, "before")
    run.decide("review", "approved", by="ada")
    assert engine.crashed is not None
    engine.recover()
    assert run.finished().path == ["reserve", "review", "ship"]


def decided_once(run: Instance) -> None:
    rows = [row for row in run.history if row["nodeId"] == "review"]
    kinds = [row["eventType"] for row in rows]
    assert kinds.count("WAIT_OPENED") <= 1
    assert kinds.count("NODE_COMPLETED") + kinds.count("NODE_CANCELLED") <= 1
    assert kinds.count("WAIT_RESOLVED") == kinds.count("NODE_COMPLETED")
    if run.status == "COMPLETED":
        assert run.path[-1] in ("ship", "escalate")


def test_whatever_goes_wrong_a_decision_is_made_once() -> None:
    tested = crash_test(REVIEWED, decided_once, input=ORDER, events=[ADA], runs=20)
    assert {"event-twice", "event-early", "event-late", "cancel"} <= set(tested.struck)


def test_a_decision_that_nobody_asks_for_is_refused() -> None:
    with pytest.raises(TenutoError, match=r"decision 2, .* is never made") as refused:
        crash_test(REVIEWED, input=ORDER, events=[ADA, Decide(step="review", by="zoe")])
    assert refused.value.code == "TEN-2205"


def test_what_waits_for_a_decision_does_not_end_by_itself() -> None:
    review = {**REVIEWED["steps"][1], "transitions": {}}
    del review["deadline"]
    endless: Object = {"id": "endless", "steps": [review]}
    with pytest.raises(TenutoError, match="no decision is made on review") as refused:
        crash_test(endless)
    assert "Decide(step=" in refused.value.advice


def test_decisions_are_made_in_every_order_of_results(engine: Engine) -> None:
    runs = list(engine.orders(REVIEWED, ORDER, events=[ADA]))
    assert [run.path for run in runs] == [["reserve", "review", "ship"]]
