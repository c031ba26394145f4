"""Serves an app over HTTP until it is stopped, and then lets requests end."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import math
import socket
from collections.abc import AsyncIterator, Iterator
from typing import cast

import uvicorn

from tenuto.api.config import ServiceConfig
from tenuto.api.connections import Connections, connection_bounds
from tenuto.api.http_protocol import (
    BoundedHttp,
    BoundedSocket,
    Counts,
    Patience,
    UnfinishedRequests,
    WaitingRequests,
)
from tenuto.api.pipeline import RequestPipeline
from tenuto.api.service import Service
from tenuto.metrics.families import of_connections
from tenuto.model.errors import TenutoError

log = logging.getLogger("tenuto.api")

_LONGEST_IDLE = 75
"""Seconds for which a connection without requests is kept."""

_LONGEST_MESSAGE = 64_000
"""Bytes of one message of a client on a socket."""


class _Server(uvicorn.Server):
    """Leaves signals to the process, since they stop more than the server."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def bind(config: ServiceConfig) -> socket.socket:
    """The listening socket of the configured address; TenutoError where it is in use."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    # Only of a socket that says it is TCP does asyncio send small answers at once.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((config.host.strip("[]"), config.port))
    except OSError as error:
        listener.close()
        raise TenutoError(
            f"cannot listen on {config.host}:{config.port}: {error.strerror}",
            code="TEN-4020",
            advice="Stop what listens there, or choose another port with --port.",
        ) from error
    return listener


def url_of(listener: socket.socket) -> str:
    """The URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextlib.asynccontextmanager
async def serving(pipeline: RequestPipeline, listener: socket.socket) -> AsyncIterator[None]:
    """Serve inside of this context; leaving it lets requests under way end."""
    service = pipeline.service
    connections = Connections(service.clock, connection_bounds())
    service.metrics.sources.append(
        lambda: of_connections(
            files=connections.bounds.files,
            most=connections.bounds.total,
            is_open=connections.open,
            refused=connections.refused,
        )
    )
    log.info("connections: %s", connections.bounds.described)
    in_pieces = WaitingRequests()
    config = uvicorn.Config(
        pipeline,
        http=http_protocol(service, connections, in_pieces),
        ws=_protocol(BoundedSocket, connections=connections, in_pieces=in_pieces),
        ws_max_size=_LONGEST_MESSAGE,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_LONGEST_IDLE,
        timeout_graceful_shutdown=_drain_seconds(service),
    )
    server = _Server(config)
    running = asyncio.ensure_future(server.serve(sockets=[listener]))
    try:
        while not server.started and not running.done():
            await service.clock.sleep(0.01)
        service.url = service.config.public_url or url_of(listener)
        service.start()
        pushing = asyncio.ensure_future(service.push.run())
        sampling = asyncio.ensure_future(service.queue_depths.run())
        try:
            async with service.pressure.watching():
                yield
        finally:
            pushing.cancel()
            sampling.cancel()
    finally:
        try:
            await _leave(service)
        finally:
            server.should_exit = True
            await asyncio.gather(running, service.push.finish(service.config.drain_seconds))
            await service.close()


def http_protocol(
    service: Service, connections: Connections, in_pieces: WaitingRequests
) -> type[asyncio.Protocol]:
    return _protocol(
        BoundedHttp,
        clock=service.clock,
        ids=service.ids,
        counts=Counts(
            connections,
            UnfinishedRequests(service.config.unfinished_requests),
            WaitingRequests(),
            in_pieces,
        ),
        patience=Patience(
            service.config.head_seconds, service.config.taking_seconds, _drain_seconds(service)
        ),
        refusals=service.repeated_refusals,
    )


def _drain_seconds(service: Service) -> int:
    return max(1, math.ceil(service.config.drain_seconds))


def _protocol(kind: type[asyncio.Protocol], **bounds: object) -> type[asyncio.Protocol]:
    # uvicorn only calls it, with the arguments of every protocol.
    return cast("type[asyncio.Protocol]", functools.partial(kind, **bounds))


async def _leave(service: Service) -> None:
    """Become not ready, then end waiting requests; connections are closed after that."""
    service.leaving.set()
    if service.config.linger_seconds > 0:
        await service.clock.sleep(service.config.linger_seconds)
    await service.stop()
