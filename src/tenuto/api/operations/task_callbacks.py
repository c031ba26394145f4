"""Callbacks of pushed tasks; the token in the URL is the credential."""

from __future__ import annotations

from tenuto.api.call import Call
from tenuto.api.operation import Resource
from tenuto.api.problems import Refusal
from tenuto.api.request_parser import WRONG_FIELD
from tenuto.api.shapes import Query
from tenuto.executions.push_wire import CALLBACK, PushAnswer, Ticket, report_of, ticket_of

INTERNAL = Resource("", tag="internal")


class CallbackQuery(Query):
    """The token of a callback."""

    token: str
    """From the `callbackUrl`."""


async def _ticket(call: Call[CallbackQuery]) -> Ticket:
    ticket = ticket_of(call.query.token)
    if ticket is None or not await call.service.push_broker.is_ours(*ticket):
        raise Refusal(401, "TEN-3060", "the token is not one of this service")
    return ticket


@INTERNAL.post(
    CALLBACK,
    other_statuses=(401, 404, 409),
    size="outcome",
    is_public=True,
    is_audited=False,
    admit=_ticket,
)
async def task_callback(call: Call[CallbackQuery], body: PushAnswer) -> None:
    """Report the outcome of a pushed task that was accepted with 202."""
    ticket: Ticket = call.admitted
    broker = call.service.push_broker
    if body.execution_id not in (None, ticket.execution_id):
        raise Refusal(422, WRONG_FIELD, "the outcome is of another execution than the token")
    [reported] = await broker.report(ticket.tenant, [report_of(body, ticket)])
    if reported.error is not None:
        raise reported.error
