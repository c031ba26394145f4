"""Metrics, traces and the access log of requests."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from starlette.types import Message, Send

from tenuto.api.service import Service
from tenuto.logs.context import about
from tenuto.metrics.requests import NOWHERE
from tenuto.model.traces import read_traceparent

if TYPE_CHECKING:
    from tenuto.api.incoming import IncomingRequest

log = logging.getLogger("tenuto.access")

_STREAM = b"text/event-stream"
_QUIET = frozenset({"health", "ready", "metrics"})
"""Polled by machines: logged at debug level only, as what is refused under load."""


async def measured(
    service: Service,
    incoming: IncomingRequest,
    send: Send,
    answer: Callable[[Send], Awaitable[None]],
) -> None:
    """Answer a request, and count it by its operation and status."""
    requests, ticks = service.metrics.requests, service.clock.ticks
    began, status = ticks(), 0
    with ExitStack() as connections:
        span = None
        if service.spans is not None:
            came = read_traceparent(incoming.headers.get("traceparent"))
            span = connections.enter_context(service.spans.request(incoming.scope["method"], came))
        connections.enter_context(requests.connection("request"))

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if service.leaving.is_set():
                    # The client has to connect anew, and finds a process that stays.
                    message["headers"] = [*message["headers"], (b"connection", b"close")]
                if _is_stream(message):
                    connections.enter_context(requests.connection("stream"))
            await send(message)

        with about(requestId=incoming.request_id):
            await answer(sent)
        name = NOWHERE if incoming.found is None else incoming.found.operation.name
        if span is not None:
            span.update_name(name)
            span.set_attribute("http.response.status_code", status)
    seconds = ticks() - began
    requests.answered(name, status, seconds)
    level = logging.DEBUG if name in _QUIET or incoming.is_shed else logging.INFO
    if log.isEnabledFor(level):
        _write_line(level, incoming, name, status, seconds)


def _is_stream(message: Message) -> bool:
    return any(name == b"content-type" and _STREAM in value for name, value in message["headers"])


def _write_line(
    level: int, incoming: IncomingRequest, name: str, status: int, seconds: float
) -> None:
    principal = incoming.principal
    log.log(
        level,
        "%s %s %d",
        incoming.scope["method"],
        incoming.path,
        status,
        extra={
            "requestId": incoming.request_id,
            "tenant": None if principal is None else principal.tenant,
            "actor": None if principal is None else principal.name,
            "operation": name,
            "status": status,
            "durationMs": round(seconds * 1000, 3),
            "source": incoming.source,
        },
    )
