from __future__ import annotations

import signal

import pytest

from tests.cli.beside import told
from tests.cli.conftest import DOUBLE, PATIENCE, REFUSE, WAIT, Terminal

pytestmark = pytest.mark.slow


def test_the_output_is_json_on_stdout_and_progress_is_on_stderr(terminal: Terminal) -> None:
    terminal.write("double.json", DOUBLE)
    ended = terminal.run("run", "double.json", "--input", "21")
    assert (ended.code, ended.json) == (0, 42)
    assert "✓ twice" in ended.err
    assert "✓ COMPLETED" in ended.err


def test_what_tasks_print_does_not_reach_stdout(terminal: Terminal) -> None:
    terminal.write("double.json", DOUBLE)
    ended = terminal.run("run", "double.json", "--input", "1")
    assert ended.json == 2
    assert "a task may print" in ended.err


def test_a_failed_workflow_exits_1_and_says_where(terminal: Terminal) -> None:
    terminal.write("refuse.json", REFUSE)
    ended = terminal.run("run", "refuse.json")
    assert ended.code == 1
    assert ended.out == ""
    assert "OUT_OF_STOCK: none left" in ended.err
    assert "In step reserve, attempt 1" in ended.err
    assert "tenuto show" in ended.err


def test_with_o_json_the_whole_instance_is_on_stdout(terminal: Terminal) -> None:
    terminal.write("refuse.json", REFUSE)
    ended = terminal.run("run", "refuse.json", "-o", "json")
    assert ended.code == 1
    assert ended.json["status"] == "FAILED"
    assert ended.json["lastError"]["stepId"] == "reserve"


@pytest.mark.parametrize(("text", "stdin"), [("@in.json", ""), ("-", "21")])
def test_the_input_comes_from_a_file_or_from_stdin(
    terminal: Terminal, text: str, stdin: str
) -> None:
    terminal.write("double.json", DOUBLE)
    terminal.write("in.json", "21")
    assert terminal.run("run", "double.json", "-i", text, stdin=stdin).json == 42


def test_a_run_that_takes_too_long_exits_124_and_goes_on_later(terminal: Terminal) -> None:
    terminal.write("wait.json", WAIT)
    ended = terminal.run("run", "wait.json", "-i", '{"id": 7}', "--timeout", "0.5")
    assert ended.code == 124
    assert "◌ wait  waiting for paid" in ended.err
    assert "tenuto run wait.json --instance" in ended.err

    sent = terminal.run("events", "send", "paid", '{"id": 7}')
    assert (sent.code, "1 wait resumed" in sent.out) == (0, True)

    ended = terminal.run("run", "wait.json", "--instance", "@last")
    assert (ended.code, ended.json) == (0, 42)


def test_ctrl_c_stops_watching_and_says_how_to_go_on(terminal: Terminal) -> None:
    terminal.write("wait.json", WAIT)
    process = terminal.start("run", "wait.json", "-i", '{"id": 7}')
    told(process, "waiting for paid")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "stopped watching" in err
    assert "tenuto run wait.json --instance" in err


def test_outstanding_instances_go_on_until_all_have_ended(terminal: Terminal) -> None:
    terminal.write("wait.json", WAIT)
    terminal.run("run", "wait.json", "-i", '{"id": 7}', "--timeout", "0.3")
    terminal.run("events", "send", "paid", '{"id": 7}')
    ended = terminal.run("run", "wait.json", "--outstanding")
    assert ended.code == 0
    assert "COMPLETED" in ended.err
    assert "nothing is outstanding" in terminal.run("run", "--outstanding").err


def test_outstanding_instances_use_the_tasks_of_the_project_or_name_what_is_missing(
    terminal: Terminal,
) -> None:
    """Without the tasks nothing goes on: it says so, instead of waiting for ever."""
    terminal.write("double.json", DOUBLE)
    assert terminal.call("deploy", "double.json").code == 0
    assert terminal.call("start", "double", "-i", "4").code == 0
    refused = terminal.run("run", "--outstanding")
    assert refused.code == 2
    assert "o task is registered as 'double'" in refused.err
    assert "tenuto run FILE --outstanding" in refused.err
    terminal.write("tenuto.toml", 'tasks = ["tasks.py"]\n')
    ended = terminal.run("run", "--outstanding")
    assert (ended.code, "COMPLETED" in ended.err) == (0, True), ended.err


def test_steps_of_others_are_left_alone(terminal: Terminal) -> None:
    """A store may hold instances whose tasks this process does not have: they wait for it."""
    terminal.write("double.json", DOUBLE)
    terminal.write(
        "slow.json", {"steps": [{"stepId": "s", "type": "TASK", "taskId": "slow", "timeout": 100}]}
    )
    terminal.write(
        "slow_tasks.py",
        "import asyncio\nfrom tenuto import task\n\n@task\nasync def slow():\n"
        "    await asyncio.Event().wait()\n",
    )
    process = terminal.start("run", "slow.json", "--tasks", "slow_tasks.py")
    told(process, "s  running")
    process.kill()
    process.communicate()

    assert terminal.run("run", "double.json", "-i", "4").json == 8
    shown = terminal.run("show", "@last", "--store", terminal.store, "-o", "json")
    assert shown.json["status"] == "COMPLETED"
    listed = terminal.run("list", "--workflow", "slow", "-o", "json").json["items"]
    assert [each["status"] for each in listed] == ["RUNNING"]


def test_an_unknown_task_is_refused_with_its_place_and_the_nearest_name(terminal: Terminal) -> None:
    document = {"steps": [{"stepId": "a", "type": "TASK", "taskId": "duble"}]}
    terminal.write("a.json", document)
    ended = terminal.run("run", "a.json")
    assert ended.code == 2
    assert "TEN-2003" in ended.err
    assert "a.json:6:17" in ended.err
    assert "Did you mean double?" in ended.err


def test_tasks_that_cannot_be_loaded_are_refused_with_the_line(terminal: Terminal) -> None:
    terminal.write("double.json", DOUBLE)
    terminal.write("tasks.py", "import tenuto\n\n1 / 0\n")
    ended = terminal.run("run", "double.json")
    assert ended.code == 2
    assert "tasks.py:3" in ended.err
    assert "ZeroDivisionError" in ended.err
    assert "Traceback" not in ended.err


def test_a_store_in_use_exits_5_and_says_by_whom(terminal: Terminal) -> None:
    terminal.write("wait.json", WAIT)
    process = terminal.start("run", "wait.json", "-i", '{"id": 7}')
    told(process, "waiting for paid")
    second = terminal.run("run", "wait.json", "-i", '{"id": 8}')
    event = terminal.run("events", "send", "paid", '{"id": 7}')
    process.terminate()
    process.communicate(timeout=PATIENCE)
    assert second.code == event.code == 5
    assert f"process {process.pid}" in second.err
    assert "stop it, send the event, and start it again" in event.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["run"], 2, "name a FILE"),
        (["run", "nothing.json"], 3, "there is no file nothing.json"),
        (["run", "double.json", "-i", "{"], 2, "--input is not JSON"),
        (["run", "double.json", "--tasks", "no.such.module"], 3, "there is no module"),
        (["run", "flow.py"], 3, "there is no file flow.py"),
        (["run", "double.json", "--store", "mysql://x"], 5, "is not a store"),
        (["run", "double.json", "--instance", "@last", "-i", "1"], 2, "has its input already"),
        (["run", "double.json", "--instance", "@last"], 5, "there is no store"),
    ],
)
def test_wrong_usage_is_told_apart(
    terminal: Terminal, arguments: list[str], code: int, words: str
) -> None:
    terminal.write("double.json", DOUBLE)
    ended = terminal.run(*arguments)
    assert (ended.code, words in ended.err) == (code, True), ended.err
    assert "Traceback" not in ended.err


def test_a_run_may_call_what_the_configuration_allows(terminal: Terminal) -> None:
    once = {"maxAttempts": 1}
    call = {"stepId": "e", "type": "HTTP", "url": "http://127.0.0.1:1/", "retry": once}
    terminal.write("call.json", {"steps": [call]})
    assert "ADDRESS_REFUSED" in terminal.run("run", "call.json").err
    (terminal.folder / "tenuto.toml").write_text(
        '[engine.private_networks]\n"*" = ["127.0.0.0/8"]\n'
    )
    assert "CONNECTION_FAILED" in terminal.run("run", "call.json").err
