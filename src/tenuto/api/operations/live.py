"""Instances as they go: a socket, and a stream for each."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from starlette.websockets import WebSocket

from tenuto.access.permissions import Permission
from tenuto.api.bodies import WRONG_FIELD
from tenuto.api.call import Call, NoQuery
from tenuto.api.live.event_stream import MEDIA, EventStream
from tenuto.api.live.socket import LiveSocket
from tenuto.api.operation import API, Resource
from tenuto.api.problems import Refusal
from tenuto.api.shapes import Query

LIVE = Resource("", tag="live", read=Permission.INSTANCES_READ)
_FARTHEST = 2**53


class StreamQuery(Query):
    """From where on."""

    since: Annotated[int, Meta(ge=0, lt=_FARTHEST)] | None = None
    """The seq of the last entry that is known; the header `Last-Event-ID` says it again after a
    break, and wins."""
    until_end: bool = False
    """Whether the stream ends with the instance; else it waits for what may follow."""


@LIVE.websocket("/ws")
async def watch_instances(call: Call[NoQuery], socket: WebSocket) -> None:
    """Watch instances: join and leave them, and hear what happens to them."""
    await LiveSocket(call.service, call.principal, call.headers, socket).run()


@LIVE.get(
    f"{API}/instances/{{id}}/stream",
    response=str,
    headers=(("Last-Event-ID", "The id of the last event that came; before `since`."),),
    response_media=MEDIA,
)
async def stream_instance(call: Call[StreamQuery]) -> EventStream:
    """Hear what happens to an instance, as server-sent events; their ids are seqs."""
    since = _last_id(call.headers.get("last-event-id"))
    room = call.service.live.follow(
        call.principal.tenant,
        call.path["id"],
        since if since is not None else call.query.since or 0,
        until_end=call.query.until_end,
    )
    return EventStream(call.service, call.principal, call.headers, room)


def _last_id(given: str | None) -> int | None:
    if given is None:
        return None
    text = given.strip()
    is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(_FARTHEST))
    if not is_number or int(text) >= _FARTHEST:
        message = f"{given[:80]!r} is no id of an event of this stream"
        raise Refusal(422, WRONG_FIELD, message, "Send the id of the last event that came.")
    return int(text)
