"""The outcome of a command or of an instance, and how to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenuto.cli import exits
from tenuto.cli.views.advice import Advice
from tenuto.cli.views.errors import show_error
from tenuto.cli.views.marks import STATUS_MARKS
from tenuto.cli.views.terminal import is_redrawn, say, say_command, show, show_json
from tenuto.model.errors import TenutoError, WorkflowFailed
from tenuto.model.failure import is_in_the_definition
from tenuto.model.lengths import length
from tenuto.model.status import Status
from tenuto.model.test_run import is_test_run

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend
    from tenuto.core import InstanceState
    from tenuto.engine.turns.held import Held


def conclude(ended: Held, flag: str, *, is_json: bool) -> int:
    """Print how an instance has ended; the exit code."""
    from tenuto.cli.views.progress import elapsed
    from tenuto.core.ending import output_of
    from tenuto.workspace.instance_views import instance_view

    state = ended.state
    if not is_redrawn():
        # The live list ends with its bar, which says as much.
        mark, _ = STATUS_MARKS[state.status]
        say(f"{mark} {state.status.value} after {length(elapsed(state, state.updated_at))}")
    if is_json:
        show_json(instance_view(ended))
    elif state.status is Status.COMPLETED:
        show_json(output_of(ended.plan, state))
    if state.status is Status.FAILED and state.last_error is not None:
        show_error(WorkflowFailed(state.last_error))
        # What is advised must not be refused, nor fail again.
        if is_in_the_definition(state.last_error.code, state.last_error.details):
            purpose, command = "what to do about it", "explain"
        elif _may_be_retried(ended):
            purpose, command = "to go on where it failed", "retry"
        else:
            purpose, command = "to rerun it", "rerun"
        say(f"  Its log, and {purpose}:")
        say_command(f"tenuto show {state.id} --history{flag}")
        say_command(f"tenuto {command} {state.id}{flag}")
    elif state.status is Status.CANCELLED and state.cancellation is not None:
        reason = state.cancellation.reason or "no reason given"
        say(f"cancelled by {state.cancellation.requested_by}: {reason}")
    return exits.DONE if state.status is Status.COMPLETED else exits.FAILED


def _may_be_retried(ended: Held) -> bool:
    from tenuto.core import decide
    from tenuto.model.inputs import RetryAsked
    from tenuto.model.policy import FORESEEN
    from tenuto.ports import SystemClock

    asked = RetryAsked(by="cli")
    now = SystemClock().now()
    return decide(ended.plan, ended.state, asked, now, FORESEEN).rejection is None


def name_of(state: InstanceState) -> str:
    """`order@3`, or that it is a test run: its definition has no name."""
    if is_test_run(state.definition_id):
        return "test run"
    return f"{state.definition_id}@{state.definition_version}"


def status_line(id: str, status: Status) -> str:
    """`● RUNNING  ID`."""
    return f"{STATUS_MARKS[status][0]} {status.value}  {id}"


def if_not_worked_on(backend: Backend, id: str | None = None) -> list[Advice]:
    """Where no process runs the steps that follow: of one instance, or of all."""
    if backend.is_worked_on:
        return []
    which = "FILE --outstanding" if id is None else f"--instance {id} --tasks MODULE|FILE"
    message = "no process works on the store now; to run the steps that follow:"
    return [Advice(message, f"tenuto run {which}{backend.flag}")]


def show_unseen(id: str, flag: str, why: TenutoError, *, is_json: bool) -> int:
    """Print that an instance has started, so that it is not started again; the exit code."""
    if is_json:
        show_json({"instanceId": id, "status": None})
    else:
        show(id)
    say(f"started, and what came of it was not seen: {why.code} {why.message}", style="yellow")
    say("  Do not start it again. To look at it:")
    say_command(f"tenuto show {id}{flag}")
    return exits.ACCEPTED
