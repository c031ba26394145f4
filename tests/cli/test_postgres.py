"""What the command line does on a database that it has not for itself."""

from __future__ import annotations

import pytest

from tests.cli.beside import in_use, told
from tests.cli.conftest import DOUBLE, PATIENCE, Terminal, one_of_each

pytestmark = pytest.mark.slow


def test_every_command_that_looks_works_on_a_database(on_postgres: Terminal) -> None:
    on_postgres.past(one_of_each)
    listed = on_postgres.call("list", "-o", "json").json["items"]
    assert [each["status"] for each in listed] == ["WAITING_FOR_EVENT", "FAILED", "COMPLETED"]
    assert "OUT_OF_STOCK" in on_postgres.call("show", "@last-failed", "--history").out
    assert "OUT_OF_STOCK" in on_postgres.call("dead-letters", "list").out
    # Bytes that are no text, as they may come from any file's name.
    assert on_postgres.call("list", "--workflow", "\udcff", "-o", "id").out == ""
    verified = on_postgres.call("verify")
    assert (verified.code, "3 instances" in verified.out) == (0, True), verified.err
    assert "up to date" in on_postgres.call("migrate").out


def test_a_workflow_runs_on_a_database_and_its_output_is_printed(on_postgres: Terminal) -> None:
    on_postgres.write("double.json", {"id": "double", **DOUBLE})
    first = on_postgres.run("run", "double.json", "-i", "21", "--key", "k")
    again = on_postgres.run("run", "double.json", "-i", "21", "--key", "k")
    assert (first.code, first.out.strip()) == (0, "42"), first.err
    assert (again.code, again.out.strip()) == (0, "42"), again.err
    assert len(on_postgres.call("list", "-o", "id").out.split()) == 1


def test_an_event_reaches_an_instance_that_another_process_runs(on_postgres: Terminal) -> None:
    with in_use(on_postgres) as process:
        sent = on_postgres.call("events", "send", "paid", '{"id": 7}')
        assert (sent.code, "1 wait resumed" in sent.out) == (0, True), sent.err
        assert "No process" not in sent.err
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out.strip()) == (0, "42"), err
    shown = on_postgres.call("show", "@last", "--history", "-o", "json").json
    attempts = {each["attempt"] for each in shown["history"] if each["nodeId"] == "twice"}
    assert attempts == {1}, "the command lost no attempt"


@pytest.mark.parametrize("name", ["terminal", "on_postgres"])
def test_an_event_to_a_store_at_rest_costs_the_next_step_no_attempt(
    name: str, request: pytest.FixtureRequest
) -> None:
    terminal: Terminal = request.getfixturevalue(name)
    terminal.past(one_of_each)
    sent = terminal.call("events", "send", "paid", '{"id": 7}')
    assert (sent.code, "1 wait resumed" in sent.out) == (0, True), sent.err
    assert terminal.run("run", "--outstanding", "--tasks", "tasks.py").code == 0
    shown = terminal.call("show", "@last", "--history", "-o", "json").json
    attempts = {each["attempt"] for each in shown["history"] if each["nodeId"] == "twice"}
    assert attempts == {1}
    assert terminal.call("verify").code == 0


def test_what_others_end_is_seen_by_those_who_go_on_with_it(on_postgres: Terminal) -> None:
    with in_use(on_postgres) as worker:
        on_postgres.write("nothing.py", "")
        watching = on_postgres.start("run", "--outstanding", "--tasks", "nothing.py")
        told(watching, "WAITING")
        assert on_postgres.call("cancel", "@last", "--reason", "enough").code == 0
        _, err = watching.communicate(timeout=PATIENCE)
        assert (watching.returncode, "CANCELLED" in err) == (1, True), err
        worker.communicate(timeout=PATIENCE)
        assert worker.returncode == 1


@pytest.mark.soak
def test_a_command_reaches_an_instance_whose_process_was_killed(on_postgres: Terminal) -> None:
    on_postgres.write("hang.py", HANG)
    steps = [{"stepId": "hang", "type": "TASK", "taskId": "hang"}]
    on_postgres.write("hang.json", {"id": "hang", "steps": steps})
    process = on_postgres.start("run", "hang.json", "--tasks", "hang.py")
    told(process, "running")
    process.kill()
    process.communicate(timeout=PATIENCE)
    cancelled = on_postgres.call("cancel", "@last", "--reason", "enough", "-o", "json")
    assert (cancelled.code, cancelled.json["status"]) == (0, "CANCELLED"), cancelled.err
    assert on_postgres.call("verify").code == 0


HANG = """
import asyncio
from tenuto import task


@task
async def hang():
    await asyncio.Event().wait()
"""
