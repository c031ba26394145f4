"""An instance that cannot be decided on is set aside: it fails, visibly, and leaves nothing."""

from __future__ import annotations

import pytest

from tenuto.core import outstanding
from tenuto.core.deciding import Deciding
from tenuto.core.ending import quarantine
from tenuto.model.effects import ClearTimer, CloseWait, StopAttempt
from tenuto.model.status import Status
from tests.core.holding import check_times_and_statuses, folded
from tests.core.situations import SHELF


@pytest.mark.parametrize("name", ["created", "running", "waiting", "paused"])
def test_a_quarantined_instance_has_failed_and_owes_nothing(name: str) -> None:
    run = SHELF[name]()
    d = Deciding(run.plan, run.state, run.now)
    quarantine(d, "ZeroDivisionError: by zero")
    check_times_and_statuses(run.state, tuple(d.entries))
    assert d.state.status is Status.FAILED
    assert d.state.last_error is not None
    assert d.state.last_error.code == "INTERNAL"
    assert d.state.system["quarantine"] == {"message": "ZeroDivisionError: by zero"}
    assert outstanding(run.plan, d.state) == ()
    assert folded(run.plan, run.state.id, [*run.entries, *d.entries]) == d.state
    closed = {each.node for each in d.effects if isinstance(each, CloseWait)}
    stopped = {each.node for each in d.effects if isinstance(each, StopAttempt)}
    cleared = {each.key for each in d.effects if isinstance(each, ClearTimer)}
    assert closed == {key.node for key in run.ledger.waits}
    assert sorted(stopped) == run.running
    assert cleared == set(run.ledger.timers)


@pytest.mark.parametrize("name", ["completed", "failed", "cancelled"])
def test_what_has_ended_is_not_quarantined(name: str) -> None:
    run = SHELF[name]()
    d = Deciding(run.plan, run.state, run.now)
    quarantine(d, "whatever it is")
    assert d.entries == []
    assert d.state == run.state
