"""Callback URLs for events of outside services; the token in the URL is the credential."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

from msgspec import Meta

from tenuto.access.permissions import Permission
from tenuto.access.principal import Principal, refuse_unless
from tenuto.access.roles import Role
from tenuto.api.call import Call, NoQuery
from tenuto.api.event_tickets import EventTicket
from tenuto.api.operation import API
from tenuto.api.operations.events import EVENTS
from tenuto.api.operations.task_callbacks import INTERNAL, CallbackQuery
from tenuto.api.problems import Refusal
from tenuto.api.request_parser import WRONG_FIELD
from tenuto.api.shapes import Answer, Body, Moment
from tenuto.model.durations import epoch_ms, iso
from tenuto.model.errors import Forbidden, InvalidInput, NotFound
from tenuto.model.json import JSON
from tenuto.store.parts.access import KEY
from tenuto.workspace.engine_workspace import EngineWorkspace
from tenuto.workspace.values import InstanceFilter
from tenuto.workspace.webhooks import callback_problems

CALLBACK = f"{API}/internal/events/callback"
USUAL = timedelta(days=7)
LONGEST = timedelta(days=90)
"""Tickets are not stored: they expire, or end with their instance or the key that made them."""


class EventCallbackRequest(Body):
    """An outside service that is to hand in events."""

    subscriber_id: Annotated[str, Meta(min_length=1, max_length=200)]
    """The name under which it sends its events."""
    patterns: Annotated[tuple[str, ...], Meta(max_length=20)]
    """Which events it may hand in."""
    expiration_time: Moment | None = None
    """Until when; 7 days, and 90 at most. It ends with the credential that creates it."""
    instance_id: str | None = None
    """The only instance that waits for the events: when it has ended, so has the URL."""


class EventCallback(Answer):
    """The URL where events may be posted."""

    callback_url: str
    """With the token that is the credential; shown this once."""
    subscriber_id: str
    patterns: tuple[str, ...]
    expiration_time: str
    instance_id: str | None = None


class EventNotification(Body):
    """An event, as the outside service sends it."""

    event_id: Annotated[str, Meta(min_length=1)]
    """The same id again acts once."""
    pattern: str
    timestamp: Moment | None = None
    payload: JSON = None
    correlation_id: str | None = None
    subscriber_id: str
    subscription_id: str | None = None


# Like a webhook it is there when its maker has gone.
@EVENTS.post("/callbacks", permission=Permission.LISTENERS_WRITE, status=201, other_statuses=(404,))
async def add_event_callback(call: Call[NoQuery], body: EventCallbackRequest) -> EventCallback:
    """Create a URL that an outside service may post events to, until it expires."""
    # A principal cannot hand on a permission that it lacks.
    refuse_unless(call.principal, Permission.EVENTS_PUBLISH)
    now = call.service.clock.now()
    until = body.expiration_time or now + USUAL
    if problems := callback_problems(body.subscriber_id, body.patterns, until, now):
        raise InvalidInput("the callback is not valid", problems)
    instance_id = body.instance_id
    if instance_id is not None:
        instance_id = (await call.workspace.instance(instance_id)).id
    principal = call.principal
    until = min(until, now + LONGEST, principal.expires_at or until)
    ticket = EventTicket(
        tenant=principal.tenant,
        subscriber_id=body.subscriber_id,
        patterns=body.patterns,
        until_ms=epoch_ms(until),
        instance_id=instance_id,
        maker=principal.credential if principal.credential.startswith(KEY) else None,
    )
    token = await call.service.event_tickets.token(ticket)
    made = EventCallback(
        callback_url=f"{call.service.url.rstrip('/')}{CALLBACK}?token={token}",
        subscriber_id=body.subscriber_id,
        patterns=body.patterns,
        expiration_time=iso(until),
        instance_id=body.instance_id,
    )
    call.after = {
        "subscriberId": made.subscriber_id,
        "patterns": list(made.patterns),
        "expirationTime": made.expiration_time,
        "instanceId": made.instance_id,
    }
    return made


async def _ticket(call: Call[CallbackQuery]) -> EventTicket:
    ticket = await call.service.event_tickets.said(call.query.token)
    now: datetime = call.service.clock.now()
    if (
        ticket is None
        or ticket.is_over(now)
        or (ticket.maker is not None and await call.service.has_ended(ticket.maker))
    ):
        raise Refusal(401, "TEN-3064", "the token is not one of this service, or has expired")
    return ticket


@INTERNAL.post(
    CALLBACK,
    other_statuses=(401, 403, 409, 410),
    size="value",
    is_public=True,
    is_audited=False,
    admit=_ticket,
)
async def event_callback(call: Call[CallbackQuery], body: EventNotification) -> None:
    """Hand in an event of an outside service."""
    ticket: EventTicket = call.admitted
    _refuse_unless_for(ticket, body)
    sender = Principal(
        tenant=ticket.tenant,
        name=ticket.subscriber_id,
        credential=f"callback:{ticket.subscriber_id}",
        role=Role.VIEWER,
        scopes=frozenset(),
        kind="callback",
    )
    workspace = call.service.workspace(sender)
    await _refuse_when_over(workspace, ticket, body.event_id)
    # The request is unauthenticated for the pipeline: its principal is in the ticket.
    await _note(call, sender, "asked", body)
    await workspace.publish(
        body.pattern,
        body.payload,
        id=body.event_id,
        correlation_id=body.correlation_id,
        timestamp=body.timestamp,
    )
    await _note(call, sender, "done", body, is_waited_for=False)


def _refuse_unless_for(ticket: EventTicket, body: EventNotification) -> None:
    if body.subscriber_id != ticket.subscriber_id:
        raise Refusal(422, WRONG_FIELD, "the notification is for another subscriber than the token")
    if not ticket.allows(body.pattern):
        raise Forbidden(
            "the token is not for events of this name",
            code="TEN-5013",
            advice="Ask for a callback whose patterns fit the event.",
        )


async def _refuse_when_over(workspace: EngineWorkspace, ticket: EventTicket, event_id: str) -> None:
    """410 once the instance has ended; an event that was handed in before may be repeated."""
    if ticket.instance_id is None:
        return
    page = await workspace.page(InstanceFilter(ids=(ticket.instance_id,)), limit=1)
    if any(not row.status.is_final for row in page.items):
        return
    try:
        await workspace.event(event_id)
    except NotFound:
        message = "the instance that the token is for has ended"
        raise Refusal(410, "TEN-3065", message) from None


async def _note(
    call: Call[CallbackQuery],
    sender: Principal,
    outcome: str,
    body: EventNotification,
    *,
    is_waited_for: bool = True,
) -> None:
    await call.service.audit.record(
        principal=sender,
        action="event_callback",
        target=CALLBACK,
        outcome=outcome,
        source=call.source,
        request_id=call.request_id,
        before=None,
        after={"eventId": body.event_id, "pattern": body.pattern},
        is_waited_for=is_waited_for,
    )
