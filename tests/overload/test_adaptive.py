"""A limit that follows the load keeps waits short where a fixed one does not: a real service."""

from __future__ import annotations

import pytest

from tests.overload.adaptive import ADAPTIVE, FIXED, INSTANCES, MOST, run


@pytest.mark.soak
def test_the_adaptive_limit_keeps_the_p99_of_requests_and_steps_bounded() -> None:
    fixed, adaptive = run(FIXED), run(ADAPTIVE)
    assert fixed.ended == adaptive.ended == INSTANCES
    assert adaptive.limit < MOST
    # Both are measured on the same machine: what other programs take of it lengthens both.
    assert adaptive.request_p99 < fixed.request_p99 / 2
    assert adaptive.step_p99 < fixed.step_p99 / 2
