from __future__ import annotations

import subprocess
import sys

import pytest

from tenuto import __version__
from tenuto.model.codes import CATALOGUE
from tests.cli.conftest import Terminal


@pytest.mark.parametrize("code", ["TEN-1042", "ten-1042", "1042"])
def test_explain_knows_codes_however_they_are_written(terminal: Terminal, code: str) -> None:
    ended = terminal.call("explain", code)
    assert ended.code == 0
    assert ended.out.startswith("TEN-1042  Cycle")


def test_explain_gives_json_and_suggests_codes(terminal: Terminal) -> None:
    assert terminal.call("explain", "TEN-1042", "-o", "json").json["title"] == "Cycle"
    ended = terminal.call("explain", "TEN-9999")
    assert ended.code == 3
    assert "TEN-" in ended.err


def test_a_refusal_says_which_run_time_code_it_is_about(terminal: Terminal) -> None:
    assert terminal.call("explain", "TEN-2005", "-o", "json").json["reason"] == "TOO_LARGE"
    assert "TOO_LARGE" in terminal.call("explain", "TEN-2005").out
    terminal.call("migrate")
    refused = terminal.call("start", "nobody", "-o", "json")
    assert refused.code == 3
    assert refused.json["error"]["reason"] == "UNKNOWN_WORKFLOW"


def test_every_code_has_an_explanation_and_advice() -> None:
    for code in CATALOGUE.values():
        assert code.title
        assert code.explanation
        assert code.advice


def test_migrate_creates_a_store_and_says_what_it_did(terminal: Terminal) -> None:
    first = terminal.call("migrate")
    assert first.code == 0
    assert "created" in first.out
    assert "0001" in first.out
    assert "up to date" in terminal.call("migrate").out
    assert terminal.call("migrate", "-o", "json").json["applied"] == []


def test_a_file_that_is_no_store_is_refused(terminal: Terminal) -> None:
    terminal.write("notes.db", "these are notes, and long enough not to be mistaken for a header")
    ended = terminal.call("migrate", "--store", "sqlite:///notes.db")
    assert ended.code == 5
    assert "TEN-4006" in ended.err


def test_the_default_store_has_a_folder_that_stays_out_of_version_control(
    terminal: Terminal,
) -> None:
    del terminal.environment["TENUTO_STORE"]
    assert terminal.call("migrate").code == 0
    assert (terminal.folder / ".tenuto" / "tenuto.db").exists()
    assert (terminal.folder / ".tenuto" / ".gitignore").read_text() == "*\n"


def test_a_store_in_memory_cannot_be_looked_at(terminal: Terminal) -> None:
    ended = terminal.call("list", "--store", "memory://")
    assert ended.code == 5
    assert "belongs to one process" in ended.err


def test_a_mistyped_command_is_refused_with_the_nearest(terminal: Terminal) -> None:
    ended = terminal.call("lst")
    assert ended.code == 2
    assert "Did you mean 'list'?" in ended.err


def test_the_version_is_told(terminal: Terminal) -> None:
    assert terminal.call("--version").out.startswith("tenuto 0.")


def test_help_loads_neither_engine_nor_store() -> None:
    code = (
        "import sys\n"
        "from tenuto.cli.program import program\n"
        "program()(['--help'], standalone_mode=False)\n"
        "heavy = {'apsw', 'rpds', 'jsonschema_rs', 'tenuto.engine.engine', 'rich.live'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_versions_and_completion_are_json_where_asked(terminal: Terminal) -> None:
    assert terminal.call("--version", "-o", "json").json["version"] == __version__
    assert terminal.call("--version").out == f"tenuto {__version__}\n"
    assert terminal.call("completion", "fish", "-o", "json").json["shell"] == "fish"
    misplaced = terminal.call("-o", "json", "list")
    assert (misplaced.code, "tenuto list -o json" in misplaced.err) == (2, True)


def test_a_program_without_words_prints_help_and_no_error(terminal: Terminal) -> None:
    for words in ((), ("views",), ("schedules",)):
        bare = terminal.call(*words)
        assert bare.code == 2
        assert bare.err.startswith("Usage: tenuto")
        assert "Commands:" in bare.err
        assert "error" not in bare.err.split("Commands:")[0]


def test_a_database_in_memory_is_no_store_for_commands(terminal: Terminal) -> None:
    refused = terminal.call("list", "--store", "sqlite:///:memory:")
    assert (refused.code, "TEN-4008" in refused.err) == (5, True)
    assert "leave the URL out" in refused.err
