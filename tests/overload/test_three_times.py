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
    answers = found.answers
    assert answers.refused > 0
    assert answers.sent == answers.accepted + answers.refused, "each start has an answer"
    assert found.finished == answers.accepted, "what was accepted has ended, and nothing else has"
    assert found.broken() == []
    assert found.others.worst.keys() >= {"health", "cancel", "claim", "heartbeat", "result"}
    # By processor time: other programs may have the processors meanwhile.
    assert found.each >= 0.8 * peak.each
