"""Commands to instances, with the store at rest and with an engine on it, on every store."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from subprocess import Popen

import apsw
import pytest

from tenuto import Tenuto
from tenuto.cli.backends import mailbox
from tenuto.model.json import Object
from tests.cli.beside import in_use, told
from tests.cli.conftest import PATIENCE, Terminal, one_of_each

pytestmark = pytest.mark.slow


@pytest.fixture
def terminal(on_each_store: Terminal, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    # A loaded machine may be slower than anybody is patient.
    monkeypatch.setattr(mailbox, "PATIENCE", PATIENCE)
    return on_each_store


@pytest.fixture(params=["at rest", "in use"])
def waiting(terminal: Terminal, request: pytest.FixtureRequest) -> Iterator[Terminal]:
    if request.param == "at rest":
        terminal.past(one_of_each)
        yield terminal
        return
    with in_use(terminal):
        yield terminal


@pytest.fixture
def failed_beside(terminal: Terminal) -> Iterator[Terminal]:
    """An instance has failed, and another process has the store open that could go on with it."""
    terminal.write("flaky.py", FLAKY)
    terminal.write("flaky.json", {"id": "flaky", "steps": [FLAKY_STEP]})
    assert terminal.run("run", "flaky.json", "--tasks", "flaky.py").code == 1
    with in_use(terminal, "--tasks", "tasks.py", "--tasks", "flaky.py"):
        yield terminal


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


def test_a_process_that_is_slow_is_waited_for_and_nothing_is_done_in_its_place(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mailbox, "PATIENCE", 1.5)
    with in_use(terminal, is_child=True) as process:
        stop_between_writes(process, terminal)
        try:
            asked = terminal.call("cancel", "@last", "--reason", "enough")
        finally:
            process.send_signal(signal.SIGCONT)
        assert (asked.code, "TEN-4015" in asked.err) == (7, True), asked.err
        assert "tenuto show " in asked.err
        assert "left it for the process at work on the store" in asked.err
        assert "doing it here" not in asked.err
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 1, "it was done as soon as the process went on"
    assert "by cli: enough" in terminal.call("show", "@last").out


def test_a_run_that_is_cancelled_from_outside_exits_1(terminal: Terminal) -> None:
    with in_use(terminal) as process:
        cancelled = terminal.call("cancel", "@last", "--reason", "no")
        assert cancelled.code == 0, cancelled.err
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1, err
    assert "cancelled by cli: no" in err


def stop_between_writes(process: Popen[str], terminal: Terminal) -> None:
    """Have it stand still, and not where nobody else can write to its file."""
    while True:
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        if not terminal.store.startswith("sqlite") or _is_writable(terminal):
            return
        process.send_signal(signal.SIGCONT)


def _is_writable(terminal: Terminal) -> bool:
    connection = apsw.Connection(str(terminal.folder / "store.db"))
    try:
        connection.execute("BEGIN IMMEDIATE; ROLLBACK")
    except apsw.BusyError:
        return False
    finally:
        connection.close()
    return True


def test_ctrl_c_while_a_command_is_waited_for_says_that_it_is_stored(terminal: Terminal) -> None:
    with in_use(terminal, is_child=True) as process:
        stop_between_writes(process, terminal)
        try:
            with terminal.start("cancel", "@last") as asking:
                told(asking, "and waiting")
                asking.send_signal(signal.SIGINT)
                _, err = asking.communicate(timeout=PATIENCE)
        finally:
            process.send_signal(signal.SIGCONT)
        assert asking.returncode == 130, err
        assert "the command is stored" in err
        assert "tenuto show " in err
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 1, "it was done as soon as the process went on"


def test_where_nobody_works_it_is_said_and_what_to_run(terminal: Terminal) -> None:
    terminal.past(one_of_each)
    assert "No process" not in terminal.call("pause", "@last").err, "there is nothing to run"
    resumed = terminal.call("resume", "@last")
    assert "no process works on the store now" in resumed.err
    assert "    tenuto run --instance " in resumed.err
    sent = terminal.call("events", "send", "paid", '{"id": 7}')
    assert (sent.code, "1 wait resumed" in sent.out) == (0, True), sent.err
    assert "no process works on the store now" in sent.err
    assert "    tenuto run FILE --outstanding\n" in sent.err
    assert "No process" not in terminal.call("cancel", "@last").err, "it has ended"


def test_an_event_nobody_waits_for_is_stored_and_acts_once(terminal: Terminal) -> None:
    terminal.past(one_of_each)
    first = terminal.call("events", "send", "paid", '{"id": 8}', "--id", "e-1", "-o", "json")
    again = terminal.call("events", "send", "paid", '{"id": 8}', "--id", "e-1", "-o", "json")
    counts = {"resumed": 0, "cancelled": 0, "started": 0}
    told = first.json
    [near] = told.pop("nearMisses")
    assert near["failed"][0]["right"] == 7
    assert told == {"eventId": "e-1", "duplicate": False, **counts}
    assert again.json["duplicate"] is True
    other = terminal.call("events", "send", "paid", '{"id": 9}', "--id", "e-1")
    assert other.code == 4
    reserved = terminal.call("events", "send", "workflow.completed", "{}")
    assert reserved.code == 2


async def cancelled_or_started_by_events(app: Tenuto) -> None:
    document: Object = {
        "id": "order",
        "steps": [{"stepId": "w", "type": "EVENT_WAIT", "eventPattern": "paid"}],
        "cancellationTriggers": [{"eventPattern": "order.*"}],
        "triggers": [{"eventPattern": "order.placed"}],
    }
    await app.deploy(document)
    for _ in range(2):
        await app.start("order")


def test_an_event_that_cancels_and_starts_says_so(terminal: Terminal) -> None:
    terminal.past(cancelled_or_started_by_events)
    sent = terminal.call("events", "send", "order.placed", "{}")
    assert "2 instances cancelled, 1 instance started" in sent.out
    again = terminal.call("events", "send", "order.placed", "{}", "--id", "e", "-o", "json")
    assert (again.json["cancelled"], again.json["started"]) == (2, 1)
    told = terminal.call("events", "send", "order.placed", "{}", "--id", "e", "-o", "json")
    assert (told.json["duplicate"], told.json["started"]) == (True, 1)


def test_a_failed_instance_is_retried_and_goes_on(terminal: Terminal) -> None:
    terminal.write("tasks.py", FLAKY)
    terminal.write("flaky.json", {"id": "flaky", "steps": [FLAKY_STEP]})
    failed = terminal.run("run", "flaky.json")
    assert failed.code == 1
    assert "tenuto retry" in failed.err
    retried = terminal.call("retry", "@last-failed")
    assert (retried.code, "RUNNING" in retried.out) == (0, True), retried.err
    assert "tenuto run --instance" in retried.err
    assert terminal.call("retry", "@last").code == 4, "it runs already"
    assert terminal.run("run", "flaky.json", "--instance", "@last").code == 0
    shown = terminal.call("show", "@last", "--history", "-o", "json")
    assert "RETRY_REQUESTED" in shown.out
    refused = terminal.call("retry", "@last")
    assert (refused.code, "TEN-3002" in refused.err) == (4, True)
    assert terminal.call("verify").code == 0


PICKY = """
from tenuto import TaskError, task

@task
def pick(number: int) -> int:
    if number > 10:
        raise TaskError("TOO_MUCH", "more than there are", retryable=False)
    return number
"""
PICK_STEP = {"stepId": "pick", "type": "TASK", "taskId": "pick"}


def test_a_failed_task_is_retried_with_another_input(terminal: Terminal) -> None:
    terminal.write("tasks.py", PICKY)
    terminal.write("picky.json", {"id": "picky", "steps": [PICK_STEP]})
    assert terminal.run("run", "picky.json", "--input", "12").code == 1
    foreseen = terminal.call("retry", "@last", "--input", "5", "--dry-run", "-o", "json").json
    assert (foreseen["again"], foreseen["inputEdited"]) == (["pick"], True)
    wrong = terminal.call("retry", "@last", "--input", "5", "--step", "pack")
    assert (wrong.code, "pack is no task that a retry runs again" in wrong.err) == (4, True)
    retried = terminal.call("retry", "@last", "--input", "5", "-o", "json")
    assert (retried.code, retried.json["inputEdited"]) == (0, True), retried.err
    ended = terminal.run("run", "picky.json", "--instance", "@last")
    assert (ended.code, ended.json) == (0, 5), ended.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("retry", "--status", "FAILED", "--input", "5", "--yes"), "for one instance"),
        (("retry", "@last", "--step", "pick"), "the step that --input is for"),
    ],
)
def test_an_input_of_a_retry_is_for_one_step_of_one_instance(
    terminal: Terminal, words: tuple[str, ...], said: str
) -> None:
    ended = terminal.call(*words)
    assert (ended.code, said in " ".join(ended.err.split())) == (2, True), ended.err


def test_a_retry_is_left_for_the_process_that_has_the_store_open(failed_beside: Terminal) -> None:
    retried = failed_beside.call("retry", "@last-failed", "-o", "json")
    assert retried.code == 0, retried.err
    assert retried.json["status"] in ("RUNNING", "COMPLETED")


TWO_STEPS = {
    "id": "two",
    "steps": [
        {"stepId": "first", "type": "TASK", "taskId": "flaky", "input": 1,
         "transitions": {"default": "a"}},
        {"stepId": "a", "type": "TASK", "taskId": "flaky"},
    ],
}  # fmt: skip


def test_an_instance_is_rerun_from_a_step(terminal: Terminal) -> None:
    terminal.write("tasks.py", FLAKY)
    terminal.write("two.json", TWO_STEPS)
    terminal.write("been-here", "")
    assert terminal.run("run", "two.json", "-i", "1").code == 0
    wrong = terminal.call("rerun", "@last", "--from", "b")
    assert (wrong.code, "TEN-2010" in wrong.err) == (2, True), wrong.err
    nowhere = terminal.call("rerun", "@last", "--version", "7")
    assert nowhere.code == 3, nowhere.err
    rerun = terminal.call("rerun", "@last", "--from", "a", "--input", "2", "-o", "json")
    assert rerun.code == 0, rerun.err
    assert rerun.json["status"] == "RUNNING"
    beside = terminal.call("rerun", rerun.json["instanceId"])
    assert f"{rerun.json['instanceId']} has not ended and goes on beside it" in beside.err
    assert terminal.run("run", "two.json", "--instance", rerun.json["instanceId"]).code == 0
    shown = terminal.call("show", rerun.json["instanceId"], "--history", "-o", "json").json
    assert (shown["rerunOf"], shown["input"]) == (rerun.json["rerunOf"], 2)
    assert terminal.call("verify").code == 0


def test_dead_letters_are_run_again_and_discarded_beside_the_process_that_has_the_store_open(
    failed_beside: Terminal,
) -> None:
    [letter] = failed_beside.call("dead-letters", "list", "-o", "id").out.split()
    retried = failed_beside.call("dead-letters", "retry", letter, "-o", "json")
    assert retried.code == 0, retried.err
    assert failed_beside.call("dead-letters", "list", "-o", "id").out == ""
    assert failed_beside.call("dead-letters", "discard", letter).code == 3


def test_a_rerun_is_left_for_the_process_that_has_the_store_open(failed_beside: Terminal) -> None:
    rerun = failed_beside.call("rerun", "@last-failed")
    assert rerun.code == 0, rerun.err
    assert "Taken over from" in rerun.err
    assert "No process" not in rerun.err


FLAKY_STEP = {"stepId": "a", "type": "TASK", "taskId": "flaky"}
FLAKY = """
from pathlib import Path
from tenuto import TaskError, task


@task
def flaky():
    mark = Path("been-here")
    if mark.exists():
        return "well"
    mark.touch()
    raise TaskError("BROKEN", "the first time", retryable=False)
"""
