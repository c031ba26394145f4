"""What a child owes its parent: the news of its end, or that it never began."""

from __future__ import annotations

from datetime import datetime

from tenuto.core.deciding import Deciding, Rejection
from tenuto.core.undo_plan import has_undo
from tenuto.model.effects import SendMail
from tenuto.model.failure import (
    CANCELLED,
    INTERNAL,
    INVALID_INPUT,
    NOT_STORABLE,
    TOO_MANY_DESCENDANTS,
    UNKNOWN_CALENDAR,
    UNKNOWN_WORKFLOW,
    LastError,
)
from tenuto.model.family import Parent
from tenuto.model.inputs import ChildReported
from tenuto.model.json import JSON
from tenuto.model.status import Status

_CODES = {
    "TEN-2002": UNKNOWN_WORKFLOW,
    "TEN-2004": NOT_STORABLE,
    "TEN-2101": INVALID_INPUT,
    "TEN-2102": UNKNOWN_CALENDAR,
    "TEN-2834": INVALID_INPUT,
    "TEN-3042": TOO_MANY_DESCENDANTS,
    "TEN-3043": CANCELLED,
}
"""What refusals are called inside an instance."""


def tell_parent(d: Deciding, parent: Parent, output: JSON) -> None:
    """Send the parent the end that was just declared."""
    state = d.state
    report = ChildReported(
        node=parent.node,
        iteration=parent.iteration,
        attempt=parent.attempt,
        child_id=state.id,
        status=state.status,
        output=output,
        # One that was ended on purpose may have failed on its way there.
        error=state.last_error if state.status is Status.FAILED else None,
        retryable=state.may_retry,
        reason=state.cancellation.reason if state.cancellation else None,
        is_deadlock=state.cancellation is not None and state.cancellation.source == "DEADLOCK",
        can_be_undone=state.status is Status.COMPLETED and has_undo(d.plan, state),
    )
    d.order(_message(parent, report, d.now))


def never_began(id: str, parent: Parent, because: Rejection, now: datetime) -> SendMail:
    """The message to a parent that its child could not be started."""
    error = LastError(code=code_of(because), message=because.message, step_id=None, at=now)
    report = ChildReported(
        node=parent.node,
        iteration=parent.iteration,
        attempt=parent.attempt,
        child_id=id,
        status=Status.FAILED,
        error=error,
        retryable=False,
    )
    return _message(parent, report, now)


def code_of(because: Rejection) -> str:
    """The code of the failure that a refusal is inside an instance."""
    return _CODES.get(because.code, INTERNAL)


def _message(parent: Parent, report: ChildReported, now: datetime) -> SendMail:
    return SendMail(to=parent.id, id=f"{report.child_id}/ended", at=now, input=report)
