"""Live updates of instances: a socket for many, and a stream for one."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from starlette.websockets import WebSocket

from tenuto.access.permissions import Permission
from tenuto.api.call import Call, NoQuery
from tenuto.api.live.event_stream import MEDIA, EventStream
from tenuto.api.live.socket import LiveSocket
from tenuto.api.operation import API, Resource
from tenuto.api.problems import Refusal
from tenuto.api.request_parser import WRONG_FIELD
from tenuto.api.shapes import Query

LIVE = Resource("", tag="live", read=Permission.INSTANCES_READ)
_FARTHEST = 2**53


class StreamQuery(Query):
    """Where the stream begins and ends."""

    since: Annotated[int, Meta(ge=0, lt=_FARTHEST)] | None = None
    """The seq of the last known entry; the header `Last-Event-ID`, after a break, takes
    precedence."""
    until_end: bool = False
    """Whether the stream ends with the instance; else it stays open."""


@LIVE.websocket("/ws")
async def watch_instances(call: Call[NoQuery], socket: WebSocket) -> None:
    """Watch instances: join and leave them, and get their live updates."""
    await LiveSocket(call.service, call.principal, call.headers, socket).run()


@LIVE.get(
    f"{API}/instances/{{id}}/stream",
    response=str,
    headers=(("Last-Event-ID", "The id of the last event that came; before `since`."),),
    response_media=MEDIA,
)
async def stream_instance(call: Call[StreamQuery]) -> EventStream:
    """Live updates of an instance, as server-sent events; their ids are seqs."""
    since = _last_id(call.headers.get("last-event-id"))
    feed = call.service.live.follow(
        call.principal.tenant,
        call.path["id"],
        since if since is not None else call.query.since or 0,
        until_end=call.query.until_end,
    )
    return EventStream(call.service, call.principal, call.headers, feed)


def _last_id(given: str | None) -> int | None:
    if given is None:
        return None
    text = given.strip()
    is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(_FARTHEST))
    if not is_number or int(text) >= _FARTHEST:
        message = f"{given[:80]!r} is no id of an event of this stream"
        raise Refusal(422, WRONG_FIELD, message, "Send the id of the last event that came.")
    return int(text)
