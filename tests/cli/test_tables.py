"""Tables fit into a terminal, however narrow it is, and are whole on a pipe."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console
from rich.text import Text

from tenuto.cli.views import tables, terminal as streams
from tests.cli.conftest import Terminal, one_of_each
from tests.cli.test_every_command import NARROW, STYLE, called

NAMES = ("STATUS", "ID", "WORKFLOW", "STEP", "ERROR")
ROWS = [
    ["FAILED", "019a8b2c-4d5e-7f60-8a9b-0c1d2e3f4a5b", "order@7", "charge", "x" * 200],
    ["RUNNING", "019a8b2c-4d5e-7f60-8a9b-0c1d2e3f4a5c", "order@7", "", ""],
]
LOOKS = (
    "list",
    "show @last",
    "show @last --history",
    "show @last-failed",
    "show @last-failed --step reserve",
    "explain @last",
    "explain @last-failed",
    "history @last",
    "events list",
    "workflows list",
    "dead-letters list",
    "stats",
    "audit list",
    "keys list",
    "bulk list",
    "config show",
)


def drawn(monkeypatch: pytest.MonkeyPatch, width: int, *, is_terminal: bool) -> list[str]:
    file = StringIO()
    console = Console(width=width, file=file, force_terminal=is_terminal, color_system=None)
    monkeypatch.setattr(tables, "data", lambda: console)
    monkeypatch.setattr(streams, "data", lambda: console)
    streams.show(tables.table_of(NAMES, ROWS, whole=3))
    return file.getvalue().splitlines()


@pytest.mark.parametrize("width", [40, 60, 80, 100, 130, 200])
def test_a_row_that_is_too_wide_goes_on_in_a_second_line(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    lines = drawn(monkeypatch, width, is_terminal=True)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for row in ROWS:
        assert all(each in text for each in row[:4])
    assert "xxxxxxxx…" in text
    assert not any(line.endswith(" ") or not line for line in lines)


def test_on_a_pipe_a_row_is_one_line_with_all_that_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = drawn(monkeypatch, 20, is_terminal=False)
    assert [line.split() for line in lines] == [[*NAMES], ROWS[0], ROWS[1][:3]]
    columns = [lines[0].index(name) for name in NAMES]
    assert [lines[1].index(each) for each in ROWS[0]] == columns


def test_a_column_without_a_value_takes_no_room_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    console = Console(width=60, file=StringIO(), force_terminal=True)
    monkeypatch.setattr(tables, "data", lambda: console)
    table = tables.table_of(("ID", "NAME", "NOTE"), [["a", "", "b"], ["c", "", Text("d")]], whole=1)
    assert table.plain == "ID  NOTE\na   b\nc   d"


def test_no_command_that_looks_is_wider_than_its_terminal(terminal: Terminal) -> None:
    terminal.past(one_of_each)
    terminal.call("events", "send", "paid", '{"id": 8, "what": "a long text of many words"}')
    terminal.call("keys", "create", "build", "--role", "admin")
    for look in LOOKS:
        seen = called(
            terminal.folder,
            look,
            is_terminal=True,
            environment={"TENUTO_STORE": terminal.store},
        )
        assert seen.code == 0, (look, seen.err)
        lines = STYLE.sub("", seen.out + seen.err).splitlines()
        # A command to copy is one line, and so is a name without a blank.
        text = [line for line in lines if " tenuto " not in line]
        wide = [line for line in text if len(line) > NARROW and " " in line.strip()]
        assert not wide, (look, wide)
        on_a_pipe = called(terminal.folder, look, environment={"TENUTO_STORE": terminal.store})
        assert "…" not in on_a_pipe.out, look
        assert "\x1b" not in on_a_pipe.out + on_a_pipe.err, look


def test_commands_about_instances_say_their_place_on_stderr_also_on_a_pipe(
    terminal: Terminal,
) -> None:
    terminal.past(one_of_each)
    for words in ("show @last", "list", "explain @last", "logs @last", "history @last"):
        ended = called(terminal.folder, words, environment={"TENUTO_STORE": terminal.store})
        assert "from " in ended.err.splitlines()[0], words
        assert "store.db" in ended.err.splitlines()[0], words
    for action in ("pause", "resume", "retry", "rerun", "cancel"):
        ended = called(
            terminal.folder,
            f"{action} @last --dry-run",
            environment={"TENUTO_STORE": terminal.store},
        )
        assert "in " in ended.err.splitlines()[0], action
        assert "store.db" in ended.err.splitlines()[0], action
        quiet = called(
            terminal.folder,
            f"{action} @last --dry-run -o json",
            environment={"TENUTO_STORE": terminal.store},
        )
        assert not quiet.err.startswith("in "), action
