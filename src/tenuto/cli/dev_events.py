"""The terminal of `tenuto dev`: a line for each event of an instance, a failure with its place."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime
from textwrap import indent
from typing import TYPE_CHECKING, Final

from tenuto.cli.views.errors import own_traceback
from tenuto.cli.views.marks import STATUS_MARKS
from tenuto.cli.views.terminal import SHORT_ID, countdown, say
from tenuto.model.entries import CompensationFailed, NodeFailed, RetryScheduled
from tenuto.model.failure import LOST, STOPPED
from tenuto.model.inputs import TaskFailed
from tenuto.model.json import JSON
from tenuto.model.lengths import length
from tenuto.model.log import from_row
from tenuto.model.status import Status

if TYPE_CHECKING:
    from tenuto.engine.turns.draft import Draft
    from tenuto.model.log import LogRow

log = logging.getLogger("tenuto.dev")

_TOLD: Final = frozenset({"NODE_FAILED", "COMPENSATION_FAILED", "RETRY_SCHEDULED"})
_REMEMBERED: Final = 1_000
"""Steps whose last traceback is remembered."""


class Tracebacks:
    """Tracebacks of tasks; one that a step has again and again is shown once."""

    def __init__(self) -> None:
        self._told: OrderedDict[tuple[str, str, str], str] = OrderedDict()

    def show(self, step: tuple[str, str, str], details: JSON) -> None:
        """The frames of the task, if they are not those of its attempt before."""
        trace = own_traceback(details)
        if trace is None or self._told.get(step) == trace:
            return
        self._told[step] = trace
        if len(self._told) > _REMEMBERED:
            self._told.popitem(last=False)
        say(indent(trace, "    "))


class FailedTasks:
    """The terminal of a worker: each attempt that failed there."""

    def __init__(self) -> None:
        self._tracebacks = Tracebacks()

    def show(self, instance_id: str, failed: TaskFailed) -> None:
        """For a worker: step, attempt, what happens next, and where it was raised."""
        error = failed.error
        step = f"{failed.node}[{failed.iteration}]" if failed.iteration else failed.node
        then = "the service schedules the next try, if one is left"
        if not error.retryable:
            then = "not tried again"
        try:
            what = f"{error.code}: {error.message}; {then}"
            say(
                f"✗ {instance_id[:SHORT_ID]}  {step}, attempt {failed.attempt}: {what}", style="red"
            )
            self._tracebacks.show((instance_id, failed.node, failed.iteration), error.details)
        except Exception:
            # A terminal that is gone must not stop the worker.
            log.debug("a failure of %s was not shown", instance_id, exc_info=True)


class DevEvents:
    """Lines about instances, and about attempts that failed."""

    def __init__(self) -> None:
        self._tracebacks = Tracebacks()

    def show(self, draft: Draft) -> None:
        """For `engine.listen`: one instance's share of a turn, if it has something to tell."""
        try:
            self._show(draft)
        except Exception:
            # A terminal that is gone must not stop the engine.
            log.debug("an event of %s was not shown", draft.instance_id, exc_info=True)

    def _show(self, draft: Draft) -> None:
        if not draft.rows:
            return
        state = draft.state
        name = f"{state.definition_id} {draft.instance_id[:SHORT_ID]}"
        if not draft.before.version:
            say(f"○ {name}  started", style="dim")
        entries = _entries(draft.rows)
        due = {each.key: each.due for each in entries if isinstance(each, RetryScheduled)}
        for each in entries:
            if not isinstance(each, RetryScheduled):
                self._show_failure(draft.instance_id, name, each, due.get(each.key))
        if state.status is not draft.before.status and state.status is not Status.RUNNING:
            _show_status(draft, name)

    def _show_failure(
        self, id: str, name: str, failed: NodeFailed | CompensationFailed, due: datetime | None
    ) -> None:
        error = failed.error
        then = _then(failed.then, error.code)
        if due is not None:
            then = f"next try in {countdown(due - failed.at)}"
        step = f"{failed.node}[{failed.iteration}]" if failed.iteration else failed.node
        what = f"{error.code}: {error.message}"
        say(f"✗ {name}  {step}, attempt {failed.attempt}: {what}; {then}", style="red")
        self._tracebacks.show((id, failed.node, failed.iteration), error.details)


def _show_status(draft: Draft, name: str) -> None:
    state = draft.state
    mark, style = STATUS_MARKS[state.status]
    text = state.status.value.lower().replace("_", " ")
    if state.status.is_final:
        text += f" after {length(state.updated_at - state.created_at)}"
    if state.status is Status.FAILED:
        text += f"; tenuto show {draft.instance_id}"
    say(f"{mark} {name}  {text}", style=style)


def _entries(rows: Sequence[LogRow]) -> list[NodeFailed | CompensationFailed | RetryScheduled]:
    found = [from_row(row) for row in rows if row.event_type in _TOLD]
    return [
        each for each in found if isinstance(each, NodeFailed | CompensationFailed | RetryScheduled)
    ]


def _then(then: str, code: str) -> str:
    if then == "retry":
        return "it starts again at once" if code in (LOST, STOPPED) else "it will be tried again"
    return {
        "route": "its error handler takes over",
        "iteration": "its iteration fails",
        "cancel": "it was being cancelled",
    }.get(then, "not tried again")
