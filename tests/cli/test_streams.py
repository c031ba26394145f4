"""Streams that are closed, or narrow: the work is done, and the exit code is the work's."""

from __future__ import annotations

import os
import subprocess
import sys
from io import StringIO

import pytest
from rich.console import Console

from tenuto.cli.views import tables, terminal as streams
from tests.cli.conftest import REFUSE, Ended, Terminal, one_of_each

pytestmark = pytest.mark.slow


def with_nobody_reading(terminal: Terminal, *arguments: str, stream: str) -> Ended:
    """The reader of one stream is gone before the first word."""
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [sys.executable, "-m", "tenuto", *arguments],
        cwd=terminal.folder,
        env=terminal.environment,
        text=True,
        check=False,
        stdout=writing if stream == "stdout" else subprocess.PIPE,
        stderr=writing if stream == "stderr" else subprocess.PIPE,
    )
    os.close(writing)
    return Ended(ended.returncode, ended.stdout or "", ended.stderr or "")


@pytest.mark.parametrize("output", ["table", "json", "id"])
def test_a_list_that_nobody_reads_to_its_end_is_no_failure(terminal: Terminal, output: str) -> None:
    terminal.past(one_of_each)
    words = ("list", "--status", "FAILED", "-o", output)
    ended = with_nobody_reading(terminal, *words, stream="stdout")
    said = [line for line in ended.err.splitlines() if not line.startswith("from ")]
    assert (ended.code, said) == (0, [])


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_workflow_that_nobody_watches_runs_to_its_end_and_exits_as_it_ended(
    terminal: Terminal, stream: str
) -> None:
    terminal.write("refuse.json", REFUSE)
    ended = with_nobody_reading(terminal, "run", "refuse.json", "-o", "json", stream=stream)
    assert ended.code == 1, ended.err
    assert "Traceback" not in ended.err
    (row,) = terminal.call("list", "-o", "json").json["items"]
    assert row["status"] == "FAILED"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_an_error_that_nobody_reads_keeps_its_exit_code(terminal: Terminal, stream: str) -> None:
    for output in ("json", "table"):
        ended = with_nobody_reading(terminal, "list", "-o", output, stream=stream)
        assert ended.code == 5, ended.err
        assert "Traceback" not in ended.err


@pytest.mark.parametrize("closed", [">&-", "2>&-"])
def test_a_stream_that_was_never_open_is_done_without(terminal: Terminal, closed: str) -> None:
    terminal.past(one_of_each)
    ended = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -m tenuto list --status FAILED {closed}', sys.executable],
        cwd=terminal.folder,
        env=terminal.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in ended.stderr.splitlines() if not line.startswith("from ")]
    assert (ended.returncode, said) == (0, [])


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Console:
    console = Console(width=20, file=StringIO(), force_terminal=True, color_system=None)
    monkeypatch.setattr(streams, "data", lambda: console)
    monkeypatch.setattr(tables, "data", lambda: console)
    monkeypatch.setattr(streams, "talk", lambda: console)
    return console


def written(console: Console) -> list[str]:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


def test_a_name_in_a_table_is_whole_however_narrow_the_terminal_is(narrow: Console) -> None:
    id = "019a8b2c-4d5e-7f60-8a9b-0c1d2e3f4a5b"
    streams.show(tables.table_of(("STATUS", "ID", "ERROR"), [["FAILED", id, "no"]], whole=2))
    assert written(narrow) == ["STATUS", "    ID", "    ERROR", "FAILED", f"    {id}", "    no"]


def test_a_command_to_copy_is_one_line_however_narrow_the_terminal_is(narrow: Console) -> None:
    command = "tenuto run orders.json --instance 019a8b2c-4d5e-7f60-8a9b-0c1d2e3f4a5b"
    streams.say_command(command)
    assert written(narrow) == [f"    {command}"]
