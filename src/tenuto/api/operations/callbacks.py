"""What services tell later of tasks that were pushed to them; the token is their credential."""

from __future__ import annotations

from tenuto.api.bodies import WRONG_FIELD
from tenuto.api.call import Call
from tenuto.api.operation import Resource
from tenuto.api.problems import Refusal
from tenuto.api.shapes import Query
from tenuto.executions.push_wire import CALLBACK, PushAnswer, report_of, ticket_of

INTERNAL = Resource("", tag="internal")


class CallbackQuery(Query):
    """Which attempt it is about."""

    token: str
    """As it stands in the `callbackUrl`."""


@INTERNAL.post(
    CALLBACK, other_statuses=(401, 404, 409), size="outcome", is_public=True, is_audited=False
)
async def task_callback(call: Call[CallbackQuery], body: PushAnswer) -> None:
    """Report how a task ended that was pushed and accepted with 202."""
    ticket = ticket_of(call.query.token)
    desk = call.service.desk
    if ticket is None or not await desk.is_ours(*ticket):
        raise Refusal(401, "TEN-3060", "the token is none of this service's")
    if body.execution_id not in (None, ticket.execution_id):
        raise Refusal(422, WRONG_FIELD, "the outcome is of another execution than the token")
    [reported] = await desk.report(ticket.tenant, [report_of(body, ticket)])
    if reported.error is not None:
        raise reported.error
