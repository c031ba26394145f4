"""What a shell completes, quickly and silently."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.cli.conftest import Terminal, one_of_each
from tests.cli.test_on_a_server import a_server
from tests.cli.test_schedules import made
from tests.cli.test_start_up import _COMMAND, DECIDING, SERVING, loaded
from tests.cli.whole import app

SHELLS = ("bash", "zsh", "fish")


def completed(terminal: Terminal, line: str) -> list[str]:
    """The values that bash offers for the last word of a line."""
    words = line.split(" ")
    terminal.environment |= {
        "_TENUTO_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    try:
        ended = terminal.call()
    finally:
        for name in ("_TENUTO_COMPLETE", "COMP_WORDS", "COMP_CWORD"):
            del terminal.environment[name]
    assert ended.err == ""
    return ended.out.split()


def test_ids_statuses_workflows_and_events_are_completed(terminal: Terminal) -> None:
    terminal.past(one_of_each)
    ids = terminal.call("list", "-o", "id").out.split()
    assert completed(terminal, "tenuto show ") == ["@last", "@last-failed", *ids]
    assert completed(terminal, f"tenuto cancel {ids[0][:30]}") == [ids[0]]
    assert completed(terminal, "tenuto list --status F") == ["FAILED"]
    assert completed(terminal, "tenuto start d") == ["double"]
    assert completed(terminal, "tenuto retry --workflow ref") == ["refuse"]
    assert completed(terminal, "tenuto events send p") == ["paid"]
    assert completed(terminal, "tenuto decide @last step a") == ["approved"]
    assert "workflows" in completed(terminal, "tenuto w")


def test_schedules_and_calendars_are_completed(terminal: Terminal) -> None:
    made(terminal)
    assert completed(terminal, "tenuto schedules show m") == ["morning"]
    assert completed(terminal, "tenuto calendars days b") == ["berlin"]
    assert completed(terminal, "tenuto schedules list --calendar b") == ["berlin"]


def test_a_server_completes_too(terminal: Terminal) -> None:
    with a_server() as url:
        assert "double" in completed(terminal, f"tenuto start --server {url} d")
        assert "payment.received" in completed(terminal, f"tenuto events send --server {url} p")
        assert completed(terminal, f"tenuto show --server {url} @last-") == ["@last-failed"]


@pytest.mark.parametrize(
    "place", ["--store sqlite:///nowhere/x.db", "--server http://127.0.0.1:1", "--store nonsense"]
)
def test_a_place_that_is_not_there_completes_nothing_and_says_nothing(
    terminal: Terminal, place: str
) -> None:
    assert completed(terminal, f"tenuto start {place} d") == []


def test_a_completion_loads_no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TENUTO_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "tenuto show 0")
    monkeypatch.setenv("COMP_CWORD", "2")
    monkeypatch.setenv("TENUTO_STORE", f"sqlite:///{tmp_path / 'none.db'}")
    assert loaded(_COMMAND, tmp_path) & (DECIDING | SERVING) == set()


def test_the_script_of_each_shell_is_printed() -> None:
    for shell in SHELLS:
        ended = CliRunner().invoke(app, ["completion", shell], prog_name="tenuto")
        assert (ended.exit_code, "_TENUTO_COMPLETE" in ended.stdout) == (0, True), shell
    assert CliRunner().invoke(app, ["completion", "tcsh"], prog_name="tenuto").exit_code == 2
