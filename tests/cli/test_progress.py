"""What people see of an instance while it goes."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from datetime import timedelta
from itertools import pairwise

import pytest

from tenuto import Context, TaskError, Tenuto
from tenuto.cli.local_run import moved
from tenuto.cli.views.progress import Line, collapsed, counts, lines_of
from tenuto.core import InstanceState
from tenuto.engine.turns.draft import Draft
from tenuto.model.json import Object
from tenuto.model.policy import Policies
from tenuto.model.status import NodeStatus
from tests.cli.conftest import DOUBLE, Terminal
from tests.core.drawing import draw, loop
from tests.core.play import play

FLAKY: Object = {
    "id": "flaky",
    "steps": [
        {
            "stepId": "charge",
            "type": "TASK",
            "taskId": "charge",
            "retry": {"maxAttempts": 3, "initialDelay": "PT0.01S"},
            "transitions": {"default": "rest", "error": "sorry"},
        },
        {"stepId": "rest", "type": "DELAY", "duration": "PT0.01S"},
        {"stepId": "sorry", "type": "TERMINATE", "status": "FAILED", "reason": "no"},
    ],
}


async def pictures(failures: int) -> list[tuple[InstanceState, dict[str, Line]]]:
    """Every durable state of an instance, and what was to be seen of it then."""
    seen: list[tuple[InstanceState, dict[str, Line]]] = []
    async with Tenuto() as app:

        @app.task
        async def charge(ctx: Context) -> str:
            if ctx.attempt <= failures:
                raise TaskError("GATEWAY", "did not answer")
            return "ok"

        await app.deploy(FLAKY)
        plan = app.engine.plans.compile(FLAKY)

        def look(draft: Draft) -> None:
            now = draft.state.updated_at + timedelta(seconds=-1)
            lines = lines_of(plan, draft.state, now, Policies())
            seen.append((draft.state, {line.step: line for line in lines}))

        app.engine.listen(look)
        instance = await app.start("flaky")
        await app.engine.final_state(instance.id)
        assert counts(plan, seen[-1][0]) == (3, 3)
    return seen


def when(
    seen: list[tuple[InstanceState, dict[str, Line]]], step: str, status: NodeStatus
) -> list[Line]:
    found = []
    for state, lines in seen:
        nodes = {key.node: node for key, node in state.nodes.items()}
        if step in nodes and nodes[step].status is status:
            found.append(lines[step])
    return found


@pytest.mark.asyncio
async def test_a_retry_shows_attempt_countdown_and_error() -> None:
    seen = await pictures(failures=2)
    first, second = when(seen, "charge", NodeStatus.RETRYING)
    assert first == Line(
        "↻", "charge", "attempt 2 of 3, next try in 2 s", "yellow", "GATEWAY: did not answer"
    )
    assert second.note.startswith("attempt 3 of 3")
    done = when(seen, "charge", NodeStatus.COMPLETED)[-1]
    assert (done.mark, done.detail) == ("✓", "")
    assert done.note.endswith("on attempt 3")
    assert when(seen, "rest", NodeStatus.WAITING)[0].note == "sleeping, wakes in 2 s"
    assert when(seen, "sorry", NodeStatus.SKIPPED)[-1].note == "skipped"


@pytest.mark.asyncio
async def test_what_failed_says_after_how_many_attempts_and_why() -> None:
    seen = await pictures(failures=9)
    failed = when(seen, "charge", NodeStatus.FAILED)[-1]
    assert failed.mark == "✗"
    assert failed.note.startswith("failed  3 attempts")
    assert failed.detail == "GATEWAY: did not answer"


@pytest.mark.slow
def test_in_a_terminal_the_list_is_redrawn_and_the_result_is_on_stdout(terminal: Terminal) -> None:
    terminal.write("double.json", DOUBLE)
    out, drawn = in_a_terminal(terminal, "-m", "tenuto", "run", "double.json", "-i", "21")
    assert out == "42\n"
    assert "▓" in drawn
    assert "1/1 steps" in drawn


@pytest.mark.slow
def test_a_job_in_the_background_leaves_the_terminal_alone(terminal: Terminal) -> None:
    terminal.write("double.json", DOUBLE)
    out, drawn = in_a_terminal(terminal, "-c", IN_BACKGROUND, "run", "double.json", "-i", "21")
    assert out == "42\n"
    assert "✓ COMPLETED" in drawn
    assert "▓" not in drawn


IN_BACKGROUND = """
import fcntl, subprocess, sys, termios
fcntl.ioctl(2, termios.TIOCSCTTY, 0)  # as a shell owns its terminal
job = [sys.executable, "-m", "tenuto", *sys.argv[1:]]
sys.exit(subprocess.run(job, process_group=0).returncode)
"""


def in_a_terminal(terminal: Terminal, *arguments: str) -> tuple[str, str]:
    """What a program that ends well writes on stdout, and what it draws."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, *arguments],
        cwd=terminal.folder,
        env={**terminal.environment, "TERM": "xterm-256color"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        out, _ = process.communicate(timeout=500)
    drawn = b""
    try:
        while piece := os.read(ours, 4096):
            drawn += piece
    except OSError:
        pass  # how a terminal says that nobody writes to it any more
    finally:
        os.close(ours)
    assert process.returncode == 0
    return out.decode(), drawn.decode()


def test_of_a_thousand_steps_those_that_matter_are_shown() -> None:
    steps = [f"s{number}" for number in range(1_000)]
    run = play(draw(" ".join(f"{a}>{b}" for a, b in pairwise(steps)))).start()
    for step in steps[:500]:
        run.succeed(step)
    shown = [line.step for line in collapsed(lines_of(run.plan, run.state, run.now))]
    assert shown == [
        *("s0", "s1", "s2", "494 completed steps", "s497", "s498", "s499"),
        *("s500", "s501", "s502", "s503", "493 pending steps", "s997", "s998", "s999"),
    ]


def test_of_few_steps_all_are_shown() -> None:
    steps = [f"s{number}" for number in range(40)]
    run = play(draw(" ".join(f"{a}>{b}" for a, b in pairwise(steps)))).start()
    lines = lines_of(run.plan, run.state, run.now)
    assert collapsed(lines) == lines


def test_every_step_that_failed_runs_or_waits_is_shown_however_many_there_are() -> None:
    quiet = [Line("✓", f"a{number}", "", "green") for number in range(50)]
    loud = [
        Line("✗", "b", "failed", "red", "BAD: b"),
        Line("●", "c", "1 s", "blue"),
        Line("◌", "d", "waiting", "magenta"),
        Line("↻", "e", "attempt 2", "yellow"),
        Line("✓", "f", "3 items", "green", "item 1: BAD: f"),
    ]
    shown = collapsed([*quiet, *loud, Line("-", "g", "skipped", "dim"), *quiet])
    assert len(shown) == 7 + len(loud) + 7
    assert [line for line in shown if line in loud] == loud
    assert shown[-4] == Line("…", "45 completed steps", "--all shows them", "dim")


def test_a_loop_speaks_for_its_body() -> None:
    """How many of its items are done while it runs, and afterwards which failed."""
    each = loop([1, 2, 3], mode="parallel", concurrency=2, onItemError="continue")
    run = play(draw("each:loop>work each:done>report", each=each)).start().succeed("work[0]")
    lines = lines_of(run.plan, run.state, run.now)
    assert [(line.step, line.note) for line in lines] == [
        ("each", "1 of 3 items, 0.0 s"),
        ("report", ""),
    ]
    run.fail("work[1]", "BAD").succeed("work[2]")
    [line, _] = lines_of(run.plan, run.state, run.now)
    assert line.note == "3 items  0.0 s  1 item failed"
    assert line.detail == "item 1: BAD: BAD in work[1]"
    assert counts(run.plan, run.state) == (1, 2)
    again = play(draw("each:loop>work", each=loop(**{"while": "true"}))).start().succeed("work[0]")
    [line] = lines_of(again.plan, again.state, again.now)
    assert line.note == "iteration 2, 0.0 s"


@pytest.mark.asyncio
async def test_what_was_missed_between_two_looks_is_told_with_the_next() -> None:
    drafts: list[Draft] = []
    async with Tenuto() as app:

        @app.task
        async def charge() -> str:
            return "ok"

        await app.deploy(FLAKY)
        app.engine.listen(drafts.append)
        instance = await app.start("flaky")
        await app.engine.final_state(instance.id)
        plan = app.engine.plans.compile(FLAKY)
    first, second, third = drafts
    assert set(moved(plan, second.state, third)) == {"rest"}
    assert set(moved(plan, first.state, third)) == set(plan.nodes)
