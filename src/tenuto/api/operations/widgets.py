"""Widgets for pages elsewhere: a signed token shows one value of one instance, and nothing else."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.websockets import WebSocket

from tenuto.access.permissions import Permission
from tenuto.access.principal import Principal
from tenuto.access.roles import Role
from tenuto.api.call import Call, NoQuery
from tenuto.api.incoming import offered
from tenuto.api.live.widget_socket import WidgetSocket
from tenuto.api.operation import API, Resource
from tenuto.api.operations.instances import WidgetRequest, WidgetView
from tenuto.api.problems import Refusal
from tenuto.api.request_parser import WRONG_FIELD
from tenuto.api.shapes import Answer
from tenuto.api.signed_tokens import LONGEST
from tenuto.api.widget_tickets import WidgetTicket
from tenuto.model.durations import epoch_ms, from_epoch_ms, iso
from tenuto.model.json import Object
from tenuto.store.parts.access import KEY
from tenuto.workspace.widgets import read_config

WIDGETS = Resource(API, tag="widgets", write=Permission.INSTANCES_READ)
HEADER = "tenuto-widget-token"
_OFFERED = "tenuto.widget."
"""Before the token in a subprotocol, since a browser sets no header of a socket."""
_MOST_DAYS = 90
_WITHOUT_A_KEY = timedelta(days=1)
"""A token that no key made ends so soon: there is no key to revoke it by."""


class WidgetTokenRequest(WidgetRequest):
    """The value, the widget that shows it, and until when."""

    days: Annotated[int, Meta(ge=1, le=_MOST_DAYS)] = 30
    """It also ends with the credential that creates it; after a day, if that is not an API key."""


class WidgetToken(Answer):
    """The token of a widget, and its page."""

    token: str
    """Shown this once: it is not stored."""
    path: str
    """The page that shows the widget, from the service's URL on; browsers do not send what follows
    `#`."""
    expires_at: str


class SharedWidget(WidgetView):
    """A value shaped for a widget, and how to show it."""

    widget_type: str
    title: str
    """The path of the value."""
    format: str
    expires_at: str


@WIDGETS.post("/instances/{id}/widget-tokens", status=201)
async def create_widget_token(call: Call[NoQuery], body: WidgetTokenRequest) -> WidgetToken:
    """Create a token that shows one value of an instance, without a key, until it expires."""
    instance = await call.workspace.instance(call.path["id"])
    config = read_config(body.widget_type, body.widget_config)
    principal, now = call.principal, call.service.clock.now()
    until = now + timedelta(days=body.days)
    until = min(until, principal.expires_at or until)
    maker = principal.credential if principal.credential.startswith(KEY) else None
    if maker is None:
        until = min(until, now + _WITHOUT_A_KEY)
    ticket = WidgetTicket(
        tenant=principal.tenant,
        instance_id=instance.id,
        type=body.widget_type,
        config=msgspec.convert(body.widget_config, dict),
        until_ms=epoch_ms(until),
        maker=maker,
    )
    token = await call.service.widget_tickets.token(ticket)
    if len(token) > LONGEST:
        message = f"the token would have {len(token):,} characters, and {LONGEST:,} are the most"
        raise Refusal(422, WRONG_FIELD, message, "Name fewer or shorter paths.")
    call.after = {"widgetType": body.widget_type, "path": config.path, "expiresAt": iso(until)}
    return WidgetToken(token=token, path=f"/widgets/{instance.id}#{token}", expires_at=iso(until))


async def _ticket(call: Call[NoQuery]) -> WidgetTicket:
    service, headers = call.service, call.headers
    token = headers.get(HEADER) or offered(headers, _OFFERED) or ""
    ticket = await service.widget_tickets.said(token)
    if (
        ticket is None
        or ticket.instance_id != call.path["id"]
        or ticket.is_over(service.clock.now())
        or (ticket.maker is not None and await service.has_ended(ticket.maker))
    ):
        raise Refusal(
            401,
            "TEN-5024",
            "the token is not one of this service, or has expired",
            "Ask for a new one where the page that shows the widget was made.",
        )
    return ticket


@WIDGETS.get(
    "/widgets/{id}",
    headers=((HEADER.title(), "The token of the widget: it is the credential."),),
    other_statuses=(404,),
    is_public=True,
    admit=_ticket,
    response=SharedWidget,
)
async def get_widget(call: Call[NoQuery]) -> Object:
    """Get the value that a token shows, shaped for its widget."""
    return await _shown(call, call.admitted)


@WIDGETS.websocket("/widgets/{id}/ws", is_public=True, admit=_ticket)
async def watch_widget(call: Call[NoQuery], socket: WebSocket) -> None:
    """Get the value that a token shows, and again whenever it changes."""
    ticket: WidgetTicket = call.admitted
    watching = WidgetSocket(
        call.service,
        socket,
        admit=partial(_ticket, call),
        shown=partial(_shown, call, ticket),
    )
    await watching.run(ticket.tenant, ticket.instance_id)


async def _shown(call: Call[NoQuery], ticket: WidgetTicket) -> Object:
    viewer = Principal(
        tenant=ticket.tenant,
        name="widget",
        credential="widget",
        role=Role.VIEWER,
        scopes=frozenset(),
        kind="callback",
    )
    config = read_config(ticket.type, ticket.config)
    shown = (
        await call.service.workspace(viewer)
        .at(ticket.instance_id)
        .widget(ticket.type, ticket.config)
    )
    return {
        **shown,
        "widgetType": ticket.type,
        "title": config.path,
        "format": config.format,
        "expiresAt": iso(from_epoch_ms(ticket.until_ms)),
    }
