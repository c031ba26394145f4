"""`tenuto serve` and `tenuto dev` as real processes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.api.conftest import DOUBLE

TASKS = """
from tenuto import task

@task
async def double(input: dict) -> int:
    return input["number"] * 2
"""


@contextlib.contextmanager
def running(*words: str, folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A service as its own process, and where it is."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tenuto", *words, "--port", "0"],
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
        # Whoever asks while it begins again waits for it: nobody is refused.
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
        _read_until(process, """tenuto events send payment.received '{"orderId":"A1"}'""")
        event = {"pattern": "payment.received", "payload": {"orderId": "A1"}}
        _, published = ask(f"{url}/api/v1/events", event)
        assert isinstance(published, dict)
        assert published["resumed"] == 1


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
    ended = subprocess.run(
        [sys.executable, "-m", "tenuto", "serve", "--host", "0.0.0.0", "--port", "0"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ended.returncode == 6, ended.stderr
    assert "TEN-5022" in ended.stderr
    assert not (tmp_path / ".tenuto").exists()


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = subprocess.run(
            [sys.executable, "-m", "tenuto", "serve", "--port", port],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    assert ended.returncode == 5, ended.stderr
    assert "TEN-4020" in ended.stderr
