"""Text from data controls no terminal: it is escaped where commands write, in every place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tenuto import TaskError, Tenuto, WorkflowFailed
from tests.cli.conftest import Terminal
from tests.cli.test_every_command import called
from tests.cli.waiting import until, waits_for_event

HOSTILE = "\x1b[2J\x1b]0;pwn\x07\x1b[1A\x1b[2Khi \u202etxt \u2066\u200f\u061c\x9b31m"
ODD_NAME = "odd\x1b[2J\u202etxt\x9b31m"
"""Names of events have no blanks."""
END = "\\u061c\\u009b31m"
ESCAPED = "\\u001b[2J\\u001b]0;pwn"
OUR_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
COMMANDS = (
    "list",
    "show {failed}",
    "show {failed} --traceback",
    "show {done}",
    "show {done} --step echo",
    "show {cancelled}",
    "show {waiting}",
    "explain {failed}",
    "explain {waiting}",
    "explain {done}",
    "history {failed}",
    "history {done}",
    "history {cancelled}",
    "logs {done}",
    "events list",
    "events show {event}",
    "dead-letters list",
    "dead-letters groups",
    "dead-letters show {letter}",
    "workflows list",
    "workflows show {flow}",
    "tasks list",
    "keys list",
    "audit list",
    "stats",
)
"""Placeholders are ids."""
REFUSED = (
    "show {hostile}",
    "workflows show {hostile}",
    "events show {hostile}",
    "config use {hostile}",
    "validate wrong.json",
    "keys create {hostile} --role viewer",
)
CHANGES = (
    ("start", "{flow}", "--input", '"x"', "--correlation-id", HOSTILE),
    ("events", "send", ODD_NAME, msgspec.json.encode({HOSTILE: HOSTILE}).decode()),
    ("cancel", "{waiting}", "--reason", HOSTILE, "--yes"),
)

Past = tuple[Terminal, dict[str, str]]


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Past:
    """A store with a hostile text in every place, and the ids of what it has."""
    terminal = Terminal(tmp_path_factory.mktemp("hostile"))
    ids = {"hostile": HOSTILE}
    terminal.write("wrong.json", {"id": HOSTILE, "steps": [{"stepId": HOSTILE, HOSTILE: 1}]})

    async def live(app: Tenuto) -> None:
        @app.task
        async def echo(value: object) -> object:
            print(HOSTILE)
            return value

        @app.task
        async def fail(value: object) -> object:
            raise TaskError("ODD", HOSTILE, retryable=False, details={HOSTILE: HOSTILE})

        flows: dict[str, Any] = {
            "echo": {"type": "TASK", "taskId": "echo"},
            "fail": {"type": "TASK", "taskId": "fail"},
            "wait": {"type": "EVENT_WAIT", "eventPattern": "paid"},
        }
        for name, step in flows.items():
            await app.deploy(
                {
                    "id": name,
                    "name": HOSTILE,
                    "description": HOSTILE,
                    "steps": [{"stepId": name, "name": HOSTILE, **step}],
                }
            )
        given = {HOSTILE: HOSTILE}
        done = await app.start("echo", given, correlation_id=HOSTILE)
        await done.result(timeout=60)
        failed = await app.start("fail", given, correlation_id=HOSTILE)
        with suppress(WorkflowFailed):
            await failed.result(timeout=60)
        cancelled, waiting = [await app.start("wait", given) for _ in range(2)]
        for each in (cancelled, waiting):
            await until(app, each, waits_for_event)
        await cancelled.cancel(HOSTILE)
        event = await app.publish(ODD_NAME, given, correlation_id="c\u202e1")
        (letter,) = await app.dead_letters.list()
        ids.update(
            done=done.id,
            failed=failed.id,
            cancelled=cancelled.id,
            waiting=waiting.id,
            event=event.event_id,
            letter=str(letter["id"]),
            flow="echo",
        )

    terminal.past(live)
    return terminal, ids


def written(
    past: Past,
    words: Sequence[str],
    *,
    is_terminal: bool,
    is_refused: bool = False,
) -> str:
    terminal, ids = past
    filled = [ids.get(word.strip("{}"), word) if "{" in word[:1] else word for word in words]
    environment = {"TENUTO_STORE": terminal.store, "NO_COLOR": "", "COLUMNS": "100"}
    ended = called(terminal.folder, "", *filled, is_terminal=is_terminal, environment=environment)
    text = ended.out + ended.err
    left = OUR_COLOURS.sub("", text) if is_terminal else text
    assert UNSAFE.search(left) is None, (words, left)
    assert (ended.code != 0) == is_refused, (words, text)
    return ended.out


@pytest.mark.slow
@pytest.mark.parametrize("is_terminal", [True, False])
def test_no_command_lets_data_control_the_terminal(past: Past, *, is_terminal: bool) -> None:
    seen = {each: written(past, each.split(), is_terminal=is_terminal) for each in COMMANDS}
    for words in CHANGES:
        written(past, words, is_terminal=is_terminal)
    for each in REFUSED:
        written(past, each.split(), is_terminal=is_terminal, is_refused=True)
    for command in ("show {failed}", "show {done}", "history {failed}", "explain {failed}"):
        assert ESCAPED in seen[command], command
    wrapped = "".join(OUR_COLOURS.sub("", seen["show {failed}"]).split())
    assert END in wrapped, "cut off"
    shown = written(past, ("show", "{done}", "-o", "json"), is_terminal=is_terminal)
    assert msgspec.json.decode(shown)["input"] == {HOSTILE: HOSTILE}


def test_a_row_of_a_table_is_one_line_whatever_is_in_its_cells(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)

    async def live(app: Tenuto) -> None:
        await app.publish("paid\n01J forged row", {})

    terminal.past(live)
    out = terminal.call("events", "list").out
    assert len(out.splitlines()) == 2, out
    assert "paid\\u000a01J forged row" in out
