"""`cancel`, `pause` and `resume`, with the store at rest and with an engine on it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tests.cli.conftest import WAIT, Terminal, one_of_each

pytestmark = pytest.mark.slow


@pytest.fixture(params=["at rest", "in use"])
def waiting(terminal: Terminal, request: pytest.FixtureRequest) -> Iterator[Terminal]:
    if request.param == "at rest":
        terminal.past(one_of_each)
        yield terminal
        return
    terminal.write("wait.json", WAIT)
    process = terminal.start("run", "wait.json", "-i", '{"id": 7}')
    try:
        assert process.stderr is not None
        while "waiting for paid" not in process.stderr.readline():
            pass
        yield terminal
    finally:
        _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    process.communicate(timeout=30)


def test_pause_resume_and_cancel_are_done_and_recorded(waiting: Terminal) -> None:
    paused = waiting.call("pause", "@last", "--reason", "lunch")
    assert (paused.code, "PAUSED" in paused.out) == (0, True), paused.err
    assert "paused by   cli  lunch" in waiting.call("show", "@last").out

    again = waiting.call("pause", "@last")
    assert again.code == 4
    assert "TEN-3002" in again.err

    resumed = waiting.call("resume", "@last", "-o", "json")
    assert (resumed.code, resumed.json["status"]) == (0, "WAITING_FOR_EVENT"), resumed.err

    cancelled = waiting.call("cancel", "@last", "--reason", "changed my mind")
    assert (cancelled.code, "CANCELLED" in cancelled.out) == (0, True), cancelled.err
    assert "by cli: changed my mind" in waiting.call("show", "@last").out
    assert waiting.call("cancel", "@last").code == 0, "asking again is no mistake"
    assert waiting.call("resume", "@last").code == 4
    assert waiting.call("verify").code == 0


def test_a_run_that_is_cancelled_from_outside_exits_1(terminal: Terminal) -> None:
    terminal.write("wait.json", WAIT)
    process = terminal.start("run", "wait.json", "-i", '{"id": 7}')
    assert process.stderr is not None
    while "waiting for paid" not in process.stderr.readline():
        pass
    assert terminal.call("cancel", "@last", "--reason", "no").code == 0
    _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "cancelled by cli: no" in err


def test_an_event_nobody_waits_for_is_stored_and_acts_once(terminal: Terminal) -> None:
    terminal.past(one_of_each)
    first = terminal.call("events", "send", "paid", '{"id": 8}', "--id", "e-1", "-o", "json")
    again = terminal.call("events", "send", "paid", '{"id": 8}', "--id", "e-1", "-o", "json")
    assert first.json == {"eventId": "e-1", "duplicate": False, "resumed": 0}
    assert again.json["duplicate"] is True
    other = terminal.call("events", "send", "paid", '{"id": 9}', "--id", "e-1")
    assert other.code == 4
    reserved = terminal.call("events", "send", "workflow.completed", "{}")
    assert reserved.code == 2
