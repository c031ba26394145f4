"""Tests of workflows: the shipped engine in memory, on a clock that only the test moves.

def test_three_days_without_approval(engine):
    engine.stub(charge, {"paymentId": "P1"})
    run = engine.start(order_flow, ORDER).until(waiting_for="approval.given")
    engine.skip(days=3)
    assert run.finished().path == ["reserve", "charge", "approval", "escalate"]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tenuto.testing.calls import Call
    from tenuto.testing.crash_testing import InvariantBroken, Tested, crash_test
    from tenuto.testing.driving import Decide
    from tenuto.testing.engine import Engine
    from tenuto.testing.instance import Instance

_HOMES = {
    "Call": "tenuto.testing.calls",
    "Decide": "tenuto.testing.driving",
    "Engine": "tenuto.testing.engine",
    "Instance": "tenuto.testing.instance",
    "InvariantBroken": "tenuto.testing.crash_testing",
    "Tested": "tenuto.testing.crash_testing",
    "crash_test": "tenuto.testing.crash_testing",
}
"""Each public name and its module, loaded when it is first used: the pytest plugin is cheap."""


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tenuto.testing' has no attribute {name!r}")
    found: object = getattr(import_module(home), name)
    globals()[name] = found
    return found


__all__ = ["Call", "Decide", "Engine", "Instance", "InvariantBroken", "Tested", "crash_test"]
