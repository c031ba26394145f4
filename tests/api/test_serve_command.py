"""`tenuto serve` and `tenuto dev` as real processes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tenuto.cli.served_address import find_served
from tests.api.conftest import DOUBLE
from tests.cli.conftest import Terminal
from tests.kit.command_forks import ForkedCommand, run

TASKS = """
from tenuto import task

@task
async def double(input: dict) -> int:
    return input["number"] * 2
"""


@contextlib.contextmanager
def running(*words: str, folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A service as its own process, and where it is."""
    process = ForkedCommand(
        [*words, "--port", "0"],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TENUTO_STORE": f"sqlite:///{folder / 'store.db'}"},
    )
    assert process.stderr is not None
    try:
        said = ""
        while (found := re.search(r"http://[\d.:]+", said)) is None:
            line = process.stderr.readline()
            assert line, said
            said += line
        yield process, found[0]
    finally:
        process.kill()
        process.communicate()


def ask(url: str, body: object = None) -> tuple[int, object]:
    data = None if body is None else json.dumps(body).encode()
    headers = {} if data is None else {"content-type": "application/json"}
    with urlopen(Request(url, data=data, headers=headers), timeout=60) as reply:
        return reply.status, json.load(reply)


@pytest.mark.slow
def test_serve_runs_workflows_and_goes_on_after_it_was_stopped(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text(TASKS)
    words = ("serve", "--tasks", "tasks.py")
    with running(*words, folder=tmp_path) as (process, url):
        assert ask(f"{url}/api/v1/workflows", DOUBLE)[0] == 201
        status, answer = ask(
            f"{url}/api/v1/workflows/double/start?wait=30", {"input": {"number": 4}}
        )
        assert status == 201
        assert isinstance(answer, dict)
        assert (answer["status"], answer["output"]) == ("COMPLETED", 8)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    with running(*words, folder=tmp_path) as (_, url):
        status, instance = ask(f"{url}/api/v1/instances/{answer['instanceId']}")
        assert isinstance(instance, dict)
        assert (status, instance["output"]) == (200, 8)


@pytest.mark.slow
def test_dev_deploys_what_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text(TASKS)
    (tmp_path / "double.json").write_text(json.dumps(DOUBLE))
    with running("dev", "double.json", folder=tmp_path) as (_, url):
        body = {"input": {"number": 3}}
        _, answer = ask(f"{url}/api/v1/workflows/double/start?wait=30", body)
        assert isinstance(answer, dict)
        assert answer["output"] == 6


@pytest.mark.slow
def test_dev_begins_again_when_a_file_changes_and_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text(TASKS)
    (tmp_path / "double.json").write_text(json.dumps(DOUBLE))
    wait = {"stepId": "s", "type": "EVENT_WAIT", "eventPattern": "paid"}
    wait["eventCondition"] = "event.payload.orderId === workflow.input.orderId"
    (tmp_path / "wait.json").write_text(json.dumps({"steps": [wait]}))
    words = ("dev", "double.json", "wait.json", "--start", 'wait={"orderId": 7}')
    with running(*words, folder=tmp_path) as (process, url):
        assert process.stderr is not None
        said = _read_until(process, "events send")
        assert """events send paid '{"orderId":7}'""" in said
        (tmp_path / "tasks.py").write_text("def (")
        _read_until(process, "Still serving what was there before")
        assert _doubled(url, 3) == 6
        (tmp_path / "tasks.py").write_text(TASKS.replace("* 2", "* 20"))
        _read_until(process, "reload  tasks.py changed")
        _read_until(process, "stopping")
        # Commands and requests during a reload find the service, and wait for it.
        assert find_served(f"sqlite:///{tmp_path / 'store.db'}") is not None
        assert ask(f"{url}/health")[0] == 200
        _read_until(process, "serving http")
        assert _doubled(url, 3) == 60
        assert ask(f"{url}/api/v1/events", {"pattern": "paid", "payload": {"orderId": 7}})[0] == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


@pytest.mark.slow
def test_make_run_serves_every_example_and_says_which_event_to_send(tmp_path: Path) -> None:
    examples = Path(__file__).parents[2] / "examples"
    files = [each for each in sorted(examples.glob("*/*.*")) if each.suffix in (".json", ".py")]
    words = [str(each) for each in files if each.name != "tasks.py"]
    order = 'order={"orderId": "A1", "items": ["metronome"]}'
    with running("dev", *words, "--start", order, folder=tmp_path) as (process, url):
        said = _read_until(process, "tenuto history ")
        terminal = Terminal(tmp_path)
        # What it says is done as it stands there, and the order comes to its end.
        [sending] = [line for line in said.splitlines() if "tenuto events send" in line]
        sent = terminal.call(*shlex.split(sending)[1:])
        assert sent.code == 0, sent.err
        _, found = ask(f"{url}/api/v1/instances")
        assert isinstance(found, dict)
        _, ended = ask(f"{url}/api/v1/instances/{found['items'][0]['id']}?wait=30")
        assert isinstance(ended, dict)
        assert ended["status"] == "COMPLETED", ended
        starting = [line for line in said.splitlines() if "tenuto start" in line]
        assert len(starting) == 1, "only what is known to start well"
        words = [each for each in shlex.split(starting[0])[1:] if each != "--follow"]
        assert terminal.call(*words).code == 0


@pytest.mark.slow
def test_what_dev_cannot_begin_is_said_before_it_serves(tmp_path: Path) -> None:
    (tmp_path / "double.json").write_text(json.dumps(DOUBLE))
    ended = Terminal(tmp_path).run("dev", "double.json", "--port", "0", "--start", "double={bad")
    assert ended.code == 2
    assert "TEN-2004" in ended.err
    assert "Traceback" not in ended.err
    assert "serving" not in ended.err


def _read_until(process: subprocess.Popen[str], words: str) -> str:
    assert process.stderr is not None
    said = ""
    while words not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    return said


def _doubled(url: str, number: int) -> object:
    body = {"input": {"number": number}}
    _, answer = ask(f"{url}/api/v1/workflows/double/start?wait=30", body)
    assert isinstance(answer, dict)
    return answer["output"]


def test_listening_beyond_this_machine_without_auth_exits_6(tmp_path: Path) -> None:
    """A bind refused for want of auth exits 6."""
    ended = run("serve", "--host", "0.0.0.0", "--port", "0", cwd=tmp_path)
    assert ended.returncode == 6, ended.stderr
    assert "TEN-5022" in ended.stderr
    assert not (tmp_path / ".tenuto").exists()


@pytest.mark.slow
def test_beyond_this_machine_whoever_asks_shows_who_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "a-very-long-admin-key-of-a-test-0123456789"
    monkeypatch.setenv("TENUTO_ADMIN_KEY", key)
    with running("serve", "--host", "0.0.0.0", folder=tmp_path) as (process, url):
        where = f"{url.replace('0.0.0.0', '127.0.0.1')}/api/v1/instances"
        for headers, expected in (
            ({}, 401),
            ({"authorization": "Bearer guess"}, 401),
            ({"authorization": f"Bearer {key}"}, 200),
        ):
            try:
                with urlopen(Request(where, headers=headers), timeout=60) as reply:
                    status = reply.status
            except HTTPError as refused:
                with refused:
                    status = refused.code
            assert status == expected
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    kept = run(
        *("audit", "list", "-o", "json"),
        cwd=tmp_path,
        env={**os.environ, "TENUTO_STORE": f"sqlite:///{tmp_path / 'store.db'}"},
    )
    lines = json.loads(kept.stdout)["items"]
    assert [(each["action"], each["after"]) for each in lines] == [
        ("refusals", {"count": 1, "codes": {"TEN-5011": 1}}),
        ("list_instances", {"code": "TEN-5010"}),
    ]


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = run("serve", "--port", port, cwd=tmp_path)
    assert ended.returncode == 5, ended.stderr
    assert "TEN-4020" in ended.stderr


@pytest.mark.slow
def test_logs_are_lines_of_json_where_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text(TASKS)
    (tmp_path / "double.json").write_text(json.dumps(DOUBLE))
    words = ("dev", "double.json", "--log-format", "json", "--set", "log_level=debug")
    with running(*words, folder=tmp_path) as (process, url):
        _, answer = ask(f"{url}/api/v1/workflows/double/start?wait=30", {"input": {"number": 3}})
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        lines = [json.loads(line) for line in process.stderr]
    assert isinstance(answer, dict)
    [request] = [line for line in lines if line["logger"] == "tenuto.access"]
    assert (request["operation"], request["status"]) == ("start_workflow", 201)
    assert request["durationMs"] > 0
    told = [line for line in lines if line["logger"] == "tenuto.instances"]
    assert {line["instanceId"] for line in told} == {answer["instanceId"]}
