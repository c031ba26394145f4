"""Every command, found from the registry: bare, with help, with a wrong flag, in every terminal."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from io import BytesIO, TextIOWrapper
from pathlib import Path
from unittest.mock import patch

import msgspec
import pytest
from typer.core import TyperGroup

from tenuto import cli
from tenuto.cli.views import terminal as streams
from tests.cli.conftest import Ended
from tests.cli.manual import commands
from tests.cli.whole import WHOLE

GROUPS = [name for name, each in WHOLE.commands.items() if isinstance(each, TyperGroup)]
COMMANDS = ["", *commands(), *GROUPS]
NARROW = 60
STYLE = re.compile(r"\x1b\[[0-9;]*m")


class _Stream(TextIOWrapper):
    """A stream of a process, that is a terminal or is not."""

    is_terminal = False

    def isatty(self) -> bool:
        return self.is_terminal


@contextmanager
def _fresh_consoles() -> Iterator[None]:
    """Consoles know their stream and its width from their first use."""
    kept = (streams.data, streams.talk, streams.is_redrawn)
    for each in kept:
        each.cache_clear()
    try:
        yield
    finally:
        for each in kept:
            each.cache_clear()


def called(
    folder: Path,
    command: str,
    *more: str,
    encoding: str = "utf-8",
    is_terminal: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Ended:
    """The installed program, in this process: its own entry point, and streams of its own."""
    out, err = (_Stream(BytesIO(), encoding=encoding, write_through=True) for _ in range(2))
    out.is_terminal = err.is_terminal = is_terminal
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TENUTO")}
    given = {
        **kept,
        "COLUMNS": str(NARROW),
        "TERM": "xterm",
        "NO_COLOR": "1",
        "XDG_CONFIG_HOME": str(folder),
        **(environment or {}),
    }
    code: object = None
    with (
        chdir(folder),
        patch.dict(os.environ, given, clear=True),
        patch.object(sys, "argv", ["tenuto", *command.split(), *more]),
        patch.object(sys, "stdout", out),
        patch.object(sys, "stderr", err),
        # Made from the registry for every call, which takes longer than the call.
        patch("typer.main.get_command", lambda _: WHOLE),
        _fresh_consoles(),
        pytest.raises(SystemExit) as ended,
    ):
        cli.main()
    code = ended.value.code
    assert isinstance(code, int)
    # The parser of the command line replaces an ASCII stream by one in UTF-8, for its own messages.
    return Ended(code, *(each.buffer.getvalue().decode() for each in (out, err)))  # type: ignore[attr-defined]


TERMINALS = pytest.mark.parametrize(
    ("encoding", "is_terminal"),
    [("utf-8", True), ("ascii", True), ("ascii", False), ("utf-8", False)],
)


@TERMINALS
def test_every_command_has_help_that_fits(
    tmp_path: Path, encoding: str, *, is_terminal: bool
) -> None:
    for command in COMMANDS:
        ended = called(tmp_path, command, "--help", encoding=encoding, is_terminal=is_terminal)
        assert (ended.code, ended.err) == (0, ""), command
        assert ended.out.startswith(f"Usage: tenuto {command}".strip()), command
        wide = [line for line in ended.out.splitlines() if len(line) > NARROW]
        assert not wide, command
    assert list(tmp_path.iterdir()) == []


@TERMINALS
def test_a_wrong_flag_is_wrong_usage_of_every_command(
    tmp_path: Path, encoding: str, *, is_terminal: bool
) -> None:
    for command in COMMANDS:
        wrong = called(tmp_path, command, "--bögus", encoding=encoding, is_terminal=is_terminal)
        assert (wrong.code, wrong.out) == (2, ""), command
        assert "Usage: tenuto" in wrong.err
        assert "gus" in wrong.err
        assert "Traceback" not in wrong.err
        asked = called(tmp_path, command, "--bögus", "-o", "json", encoding=encoding)
        assert msgspec.json.decode(asked.out)["error"]["code"] == "TEN-2640", command
    assert list(tmp_path.iterdir()) == []


@TERMINALS
def test_every_command_without_words_does_its_work_or_says_what_is_missing(
    tmp_path: Path, encoding: str, *, is_terminal: bool
) -> None:
    """In an empty folder; no store can be made, so that nothing is served for ever."""
    for command in COMMANDS:
        if command in ("dev", "worker"):
            # The one starts another process, which says it (tests/cli/test_dev.py); the other would
            # work with tasks that tests have registered in this process.
            continue
        ended = called(
            tmp_path,
            command,
            encoding=encoding,
            is_terminal=is_terminal,
            environment={"TENUTO_STORE": "sqlite:////dev/null/tenuto.db"},
        )
        said = ended.out + ended.err
        assert ended.code in (0, 2, 5, 6), (command, said)
        assert said.strip(), command
        assert "Traceback" not in said, command
        if ended.code > 2 and command != "doctor":
            assert "TEN-" in said, command
        if is_terminal and ended.code != 2 and not ended.out.startswith("{"):
            lines = STYLE.sub("", said).splitlines()
            # A command to copy is one line, however long it is.
            text = [line for line in lines if not line.startswith("    tenuto ")]
            assert not [line for line in text if len(line) > NARROW], command


def test_a_defect_is_told_in_two_lines_and_its_traceback_where_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise LookupError("a defect")

    monkeypatch.setattr("tenuto.cli.backends.opened", broken)
    ended = called(tmp_path, "list")
    assert (ended.code, ended.out) == (1, "")
    assert "error TEN-4000  LookupError: a defect" in ended.err
    assert "TENUTO_TRACEBACK=1" in ended.err
    assert "Traceback" not in ended.err
    asked = called(tmp_path, "list", environment={"TENUTO_TRACEBACK": "1"})
    assert "Traceback" in asked.err
    as_json = called(tmp_path, "list", "-o", "json")
    assert as_json.json["error"]["code"] == "TEN-4000"
