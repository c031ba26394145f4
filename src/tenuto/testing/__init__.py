"""Tests of workflows: the shipped engine in memory, on a clock that only the test moves.

def test_three_days_without_approval(engine):
    engine.stub(charge, {"paymentId": "P1"})
    run = engine.start(order_flow, ORDER).until(waiting_for="approval.given")
    engine.skip(days=3)
    assert run.finished().path == ["reserve", "charge", "escalate"]
"""

from __future__ import annotations

from tenuto.testing.calls import Call
from tenuto.testing.engine import Engine
from tenuto.testing.instance import Instance

__all__ = ["Call", "Engine", "Instance"]
