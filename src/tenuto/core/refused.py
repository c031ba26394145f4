"""What becomes of an instance to which something happened from which nothing can follow."""

from __future__ import annotations

from datetime import datetime

from tenuto.core.commands import ALREADY_STARTED
from tenuto.core.compensation import never_undone
from tenuto.core.deciding import Deciding, Decision, Rejection
from tenuto.core.ending import quarantine
from tenuto.core.parent import code_of, never_began
from tenuto.core.plan import Plan
from tenuto.core.state import InstanceState
from tenuto.model.effects import SendMail
from tenuto.model.inputs import InputRefused, Started, UndoAsked
from tenuto.model.policy import Policies


def decided(
    plan: Plan, state: InstanceState, refused: InputRefused, now: datetime, policies: Policies
) -> Decision:
    """A start is rejected, an instance that has ended stays as it is, any other is quarantined.

    A parent that waits for an answer gets one.
    """
    because = Rejection(code=refused.code, message=refused.message)
    message: SendMail | None = None
    if state.version == 0:
        if isinstance(refused.input, Started) and refused.input.parent is not None:
            message = never_began(state.id, refused.input.parent, because, now)
    elif isinstance(refused.input, Started):
        because = ALREADY_STARTED
    elif state.has_ended:
        if isinstance(refused.input, UndoAsked):
            message = never_undone(state, now)
    else:
        d = Deciding(plan, state, now, policies)
        quarantine(d, refused.message, code_of(because))
        return d.done()
    effects = () if message is None else (message,)
    return Decision(state=state, effects=effects, rejection=because)
