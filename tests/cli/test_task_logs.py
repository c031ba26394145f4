"""`tenuto logs` shows what tasks logged and printed; `tenuto history` shows the entries."""

from __future__ import annotations

import json
from typing import cast

import pytest

from tenuto import TaskError, Tenuto, WorkflowFailed
from tenuto.cli.task_lines import Wanted, _Printer
from tenuto.model.json import Object
from tenuto.workspace.protocol import Instance
from tenuto.workspace.values import Page
from tests.cli.conftest import Terminal

TALK: Object = {
    "id": "talk",
    "steps": [{"stepId": "reserve", "type": "TASK", "taskId": "talk"}],
}


async def talking(app: Tenuto) -> None:
    @app.task
    async def talk(value: object = None) -> None:
        print("looking for [bold]stock[/bold]")
        raise TaskError("OUT_OF_STOCK", "none left", retryable=False)

    await app.deploy(TALK)
    with pytest.raises(WorkflowFailed):
        await (await app.start("talk", {})).result(timeout=30)


async def silent(app: Tenuto) -> None:
    @app.task
    async def talk(value: object = None) -> None: ...

    await app.deploy(TALK)
    await (await app.start("talk", {})).result(timeout=30)


def test_logs_show_the_lines_of_tasks_and_show_leads_to_them(terminal: Terminal) -> None:
    terminal.past(talking)
    shown = terminal.call("show", "@last").out
    [command] = [line.split("tenuto ")[1] for line in shown.splitlines() if "tenuto logs" in line]
    for words in (command.split(), ["logs", "@last"], ["logs", "@last", "-f"]):
        ended = terminal.call(*words)
        assert ended.code == 0, ended
        time, *rest = ended.out.split()
        assert time.count(":") == 2
        assert rest == ["reserve", "#1", "stdout", "looking", "for", "[bold]stock[/bold]"]
    line = json.loads(terminal.call("logs", "@last", "--attempt", "1", "-o", "json").out)
    assert (line["stepId"], line["stream"], line["number"]) == ("reserve", "stdout", 0)
    wrong = terminal.call("logs", "@last", "--step", "reserv")
    assert (wrong.code, "`reserve`" in wrong.err) == (3, True)


def test_without_lines_logs_lead_to_the_entries(terminal: Terminal) -> None:
    terminal.past(silent)
    ended = terminal.call("logs", "@last")
    assert (ended.code, ended.out) == (0, "")
    assert "tenuto history " in ended.err
    assert terminal.call("logs", "@last", "-o", "json").out == ""
    assert "INPUT_SET" in terminal.call("history", "@last").out


class _Pages:
    """Lines of three pages; the first may get another one late."""

    def __init__(self) -> None:
        self.late: list[int] = []

    async def log_page(self, *_: object, cursor: str | None, **__: object) -> Page[Object]:
        number = int(cursor or 0)
        numbers = [*self.late, 0] if number == 0 else [number]
        items: list[Object] = [
            {
                "stepId": "s",
                "iteration": "",
                "attempt": 1,
                "number": each,
                "at": "2030-01-01T00:00:00Z",
                "text": f"line {each}",
            }
            for each in numbers
        ]
        return Page(items=items, next_cursor=None if number == 3 else str(number + 1))


@pytest.mark.asyncio
async def test_a_chunk_that_comes_late_before_others_is_shown_at_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pages = _Pages()
    printer = _Printer(cast("Instance", pages), Wanted(), is_json=False)
    await printer.look()
    pages.late = [9]
    await printer.look()
    assert "line 9" not in capsys.readouterr().out
    assert [await printer.look_at_all() for _ in range(2)] == [True, False]
    assert capsys.readouterr().out.endswith("line 9\n")
