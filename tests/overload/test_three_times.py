"""Three times of what a service can take, for minutes: refused, not lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.overload.rounds import loaded

SECONDS = 120.0


@pytest.mark.soak
def test_three_times_overload_is_refused_and_not_lost(tmp_path: Path) -> None:
    with loaded(f"sqlite:///{tmp_path / 'store.db'}", tmp_path) as service:
        service.load(0, 5)
        peak = service.load(0, SECONDS / 4)
        found = service.load(3 * peak.goodput, SECONDS)
    assert found.answers.refused > 0
    assert found.broken() == []
    assert found.others.worst.keys() >= {"health", "cancel", "claim", "heartbeat", "result"}
    # By processor time: other programs may have the processors meanwhile.
    assert found.each >= 0.8 * peak.each
