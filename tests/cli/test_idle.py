"""`list`, `show` and `explain` tell that nothing works on an instance, and what to start."""

from __future__ import annotations

import pytest

from tenuto.cli.views.idle import if_not_taken
from tenuto.model.json import Object
from tests.cli.beside import in_use
from tests.cli.conftest import Terminal, one_of_each
from tests.cli.test_on_a_server import a_server

LOOKS = pytest.mark.parametrize("words", [("list",), ("show", "@last"), ("explain", "@last")])


@LOOKS
def test_a_look_tells_that_no_process_is_running_and_how_to_start_one(
    terminal: Terminal, words: tuple[str, ...]
) -> None:
    terminal.past(one_of_each)
    looked = terminal.call(*words)
    assert "no process is running" in looked.err
    assert "tenuto serve --tasks MODULE|FILE" in looked.err
    terminal.write("tenuto.toml", "")
    assert "    tenuto dev\n" in terminal.call(*words).err
    asked = terminal.call(*words, "-o", "json")
    assert asked.err == ""
    assert [each["command"] for each in asked.json["warnings"]] == ["tenuto dev"]


def test_what_has_ended_needs_no_process(terminal: Terminal) -> None:
    terminal.past(one_of_each)
    for words in (("show", "@last-failed"), ("explain", "@last-failed")):
        assert "no process" not in terminal.call(*words).err
    assert "no process" not in terminal.call("list", "--status", "FAILED").err


@pytest.mark.slow
def test_a_process_that_has_the_store_is_not_missed(terminal: Terminal) -> None:
    with in_use(terminal):
        for words in (("list",), ("show", "@last"), ("explain", "@last")):
            assert "no process" not in terminal.call(*words).err


def test_a_task_that_no_worker_has_is_told_with_the_command_that_starts_one(
    terminal: Terminal,
) -> None:
    terminal.write("far.json", {"steps": [{"stepId": "a", "type": "TASK", "taskId": "far_away"}]})
    with a_server() as url:
        assert terminal.call("deploy", "far.json", "--server", url).code == 0
        assert terminal.call("start", "far", "--server", url).code == 0
        for words in (("show", "@last"), ("explain", "@last")):
            looked = terminal.call(*words, "--server", url)
            assert "no process and no worker has taken far_away" in looked.err, looked.err
            assert f"tenuto worker MODULE|FILE --server {url}" in looked.err


def test_an_open_breaker_is_told_with_the_command_that_shows_the_address() -> None:
    inner: Object = {"kind": "breaker", "details": {"taskId": "pay"}, "causes": []}
    around: Object = {"kind": "loop", "details": {}, "causes": [inner]}
    [found] = if_not_taken({"causes": [around]}, " --x")
    assert "the address of pay has failed too often" in found.message
    assert found.command == "tenuto tasks list --x"


def test_a_task_that_connected_workers_take_is_told_with_the_list_of_workers() -> None:
    cause: Object = {"kind": "worker", "details": {"taskId": "pay", "workers": 2}, "causes": []}
    [found] = if_not_taken({"causes": [cause]}, " --x")
    assert "workers that take pay are connected" in found.message
    assert found.command == "tenuto workers list --x"
