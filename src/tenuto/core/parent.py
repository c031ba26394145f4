"""What a child owes its parent: the news of its end."""

from __future__ import annotations

from tenuto.core.deciding import Deciding
from tenuto.model.effects import SendMail
from tenuto.model.family import Parent
from tenuto.model.inputs import ChildReported
from tenuto.model.json import JSON
from tenuto.model.status import Status


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
    )
    d.order(SendMail(to=parent.id, id=f"{state.id}/ended", input=report))
