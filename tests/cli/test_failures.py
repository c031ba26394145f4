"""A failure can be read: in `tenuto show`, after `tenuto run`, and on the terminal of a worker."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tenuto import Tenuto, WorkflowFailed
from tenuto.cli.dev_events import FailedTasks
from tenuto.cli.views.errors import raised_at
from tenuto.model.failure import Failure
from tenuto.model.inputs import TaskFailed
from tenuto.model.json import Object
from tests.cli.conftest import Terminal

ONCE: Object = {"maxAttempts": 1}
LOOP: Object = {
    "id": "loop",
    "steps": [
        {
            "stepId": "each",
            "type": "LOOP",
            "source": [1, 2, 3],
            "transitions": {"loop": "body", "done": "after"},
        },
        {
            "stepId": "body",
            "type": "TASK",
            "taskId": "boom",
            "input": "{{ctx.item}}",
            "retry": ONCE,
        },
        {"stepId": "after", "type": "TASK", "taskId": "boom"},
    ],
}
CHILD: Object = {
    "id": "child",
    "steps": [{"stepId": "x", "type": "TASK", "taskId": "boom", "retry": ONCE}],
}
PARENT: Object = {
    "id": "parent",
    "steps": [{"stepId": "kid", "type": "SUB_WORKFLOW", "workflowId": "child", "input": 2}],
}
UNDONE: Object = {
    "id": "undone",
    "steps": [
        {"stepId": "a", "type": "TASK", "taskId": "fine", "transitions": {"default": "x"}},
        {"stepId": "x", "type": "TASK", "taskId": "boom", "input": 2, "retry": ONCE},
    ],
    "compensationSteps": [{"stepId": "undo_a", "compensationFor": "a", "taskId": "fine"}],
}


def failed(terminal: Terminal, *documents: Object, start: str) -> None:
    async def main() -> None:
        async with Tenuto(terminal.store) as app:

            @app.task
            async def boom(value: object) -> None:
                if value == 2:
                    raise ValueError("two")

            @app.task
            async def fine(value: object) -> int:
                return 1

            for document in documents:
                await app.deploy(document)
            with pytest.raises(WorkflowFailed):
                await (await app.start(start, 1)).result(timeout=60)

    asyncio.run(main())


def test_a_step_inside_of_a_loop_that_failed_has_its_row_and_its_place(terminal: Terminal) -> None:
    failed(terminal, LOOP, start="loop")
    shown = terminal.call("show", "@last-failed").out
    assert "✗ body[1]" in shown
    assert "last error  ValueError in body[1], attempt 1: two" in shown
    assert f"raised at {__file__}:" in shown
    assert "Traceback" not in shown
    assert "--traceback" in shown


def test_the_failing_step_of_a_child_is_shown_with_the_child(terminal: Terminal) -> None:
    failed(terminal, CHILD, PARENT, start="parent")
    shown = terminal.call("show", "@last-failed").out
    assert "last error  CHILD_FAILED in kid, attempt 1" in shown
    assert "caused by ValueError in x, attempt 1: two" in shown
    (child,) = [line.split()[1] for line in shown.splitlines() if "  child  " in line]
    assert terminal.call("show", child).code == 0
    assert f"raised at {__file__}:" in shown


def test_a_traceback_is_shown_where_it_is_asked_for_without_the_frames_of_tenuto(
    terminal: Terminal,
) -> None:
    failed(terminal, CHILD, PARENT, start="parent")
    shown = terminal.call("show", "@last-failed", "--traceback").out
    assert shown.count("Traceback (most recent call last)") == 1
    assert 'raise ValueError("two")' in shown
    assert "coroutines.py" not in shown


def test_the_line_that_is_named_is_the_users_own_and_not_that_of_a_library() -> None:
    trace = (
        '  File "/srv/shop/tasks.py", line 7, in charge\n    post()\n'
        '  File "/srv/.venv/lib/python3.12/site-packages/http/client.py", line 9, in post\n    x\n'
    )
    assert raised_at({"traceback": trace}) == "/srv/shop/tasks.py:7"
    here = str(Path.cwd() / "tasks.py")
    assert raised_at({"traceback": f'  File "{here}", line 3, in f\n'}) == "tasks.py:3"
    assert raised_at({"traceback": "nothing"}) is None


@pytest.mark.slow
def test_what_is_advised_after_a_failure_is_not_refused(terminal: Terminal) -> None:
    terminal.write(
        "tasks.py",
        "from tenuto import task\n\n@task\ndef fine(value: object) -> int:\n    return 1\n\n"
        "@task\ndef boom(value: object) -> None:\n    raise ValueError('two')\n",
    )
    for document, command in ((CHILD, "retry"), (UNDONE, "rerun")):
        terminal.write("flow.json", document)
        ended = terminal.run("run", "flow.json", "--input", "2")
        assert ended.code == 1, ended.err
        (advised,) = [line for line in ended.err.splitlines() if f"tenuto {command} " in line]
        followed = terminal.call(*advised.split()[1:])
        assert followed.code == 0, followed.err


def test_a_worker_tells_step_attempt_and_one_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    told = FailedTasks()
    details: Object = {
        "traceback": 'Traceback (most recent call last):\n  File "t.py", line 1, in f\nE: x'
    }
    for attempt in (1, 2):
        error = Failure(code="E", message="x", details=details, retryable=attempt < 2)
        told.show("01a1e8f0-25db", TaskFailed(node="s", iteration="", attempt=attempt, error=error))
    said = " ".join(capsys.readouterr().err.split())
    assert "01a1e8f0-25db s, attempt 1: E: x; the service schedules the next try" in said
    assert "s, attempt 2: E: x; not tried again" in said
    assert said.count("Traceback") == 1
