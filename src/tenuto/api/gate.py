"""The one way in: host, origin, who asks, what they may, how much; then the operation.

Everything that reaches the service comes through here, requests and sockets alike. What an
operation declares is checked before any of its code runs; what declares nothing is not there.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from tenuto.access.principal import Principal, refuse_unless
from tenuto.access.roles import Role
from tenuto.api.bodies import (
    WRONG_FIELD,
    read_json,
    read_query,
    read_struct,
    refuse_media,
    refuse_size,
)
from tenuto.api.call import NO_QUERY, Call
from tenuto.api.operation import Operation
from tenuto.api.origins import Origins
from tenuto.api.problems import MEDIA, Refusal, Told, broken, told
from tenuto.api.routes import Found, Routes
from tenuto.api.service import Service
from tenuto.model.errors import Forbidden, TenutoError, Unauthenticated

log = logging.getLogger("tenuto.api")

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")
_SECURITY: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_USUAL: tuple[tuple[bytes, bytes], ...] = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
_POLICY_VIOLATION = 1008
_OFFERED = "tenuto.bearer."
_NOBODY = Principal(tenant="", name="", role=Role.VIEWER, scopes=frozenset(), kind="system")
"""Whoever asks for what is public: they may do nothing, and belong to nobody."""
_encode = msgspec.json.Encoder().encode

Headers = Mapping[str, str]
Pairs = list[tuple[bytes, bytes]]


class ClientGone(Exception):
    """Whoever asked has left before they had said what they want."""


class Arrival:
    """A request or a socket on its way through the gate, and what is known of it so far."""

    __slots__ = ("found", "headers", "principal", "request_id", "scope")

    def __init__(self, scope: Scope, headers: Headers, request_id: str) -> None:
        self.scope = scope
        self.headers = headers
        self.request_id = request_id
        self.found: Found | None = None
        self.principal: Principal | None = None
        """None where nobody says who they are, and nobody has to."""

    @property
    def path(self) -> str:
        return str(self.scope["path"])

    @property
    def source(self) -> str | None:
        """From where it came."""
        client = self.scope.get("client")
        return str(client[0]) if client else None


class Gate:
    """The ASGI application."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._routes = Routes(service.operations)
        self._origins = Origins(service.config)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http":
                await self._http(self._arrived(scope), receive, send)
            case "websocket":
                await self._websocket(self._arrived(scope), WebSocket(scope, receive, send))
            case "lifespan":
                await _lifespan(self.service, receive, send)
            case kind:
                raise NotImplementedError(f"no {kind} comes in here")

    def _arrived(self, scope: Scope) -> Arrival:
        headers = _headers(scope)
        given = headers.get("x-request-id")
        is_good = given is not None and _REQUEST_ID.match(given) is not None
        return Arrival(scope, headers, given if given and is_good else self.service.ids.short())

    # -- requests

    async def _http(self, arrival: Arrival, receive: Receive, send: Send) -> None:
        method, request_id = arrival.scope["method"], arrival.request_id
        around: Pairs = [*_SECURITY, (b"x-request-id", request_id.encode())]
        try:
            around += self._origins.checked(arrival.headers)
            if method == "OPTIONS":
                methods = self._routes.methods_at(arrival.path)
                around += self._origins.preflight(arrival.headers, methods)
                await _send(send, 204, [*around, *_USUAL], b"")
            elif method == "HEAD":
                await self._answer(arrival, receive, _without_body(send), around)
            else:
                await self._answer(arrival, receive, send, around)
        except ClientGone:
            log.debug("request %s: gone before it was read", request_id)
        except TenutoError as error:
            await _refuse(send, told(error, arrival.path, request_id), around)
        except Exception:
            log.exception("request %s: %s %s", request_id, method, arrival.path)
            await _refuse(send, broken(arrival.path, request_id), around)

    async def _answer(self, arrival: Arrival, receive: Receive, send: Send, around: Pairs) -> None:
        scope = arrival.scope
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        arrival.found = self._routes.find(method, arrival.path)
        try:
            operation = await self._admitted(arrival)
            call = self._call(arrival, operation)
            call.body = await _body(receive, arrival.headers, self.service.sizes[operation.size])
            answer = await operation.handler(call, *_arguments(operation, call))
        except TenutoError as error:
            await self._note(arrival, error)
            raise
        await self._note(arrival, None)
        if isinstance(answer, Response):
            await answer(scope, receive, _with_headers(send, around))
            return
        body = b"" if answer is None else _encode(answer)
        headers = [*around, *_USUAL, *_pairs(call.response_headers)]
        if answer is not None:
            headers.append((b"content-type", b"application/json"))
        headers.append((b"content-length", str(len(body)).encode()))
        await _send(send, call.status or operation.status, headers, body)

    async def _admitted(self, arrival: Arrival) -> Operation:
        """The operation, once who asks for it may; a wrong credential never passes."""
        found, headers = arrival.found, arrival.headers
        authorization = headers.get("authorization")
        is_public = found is not None and found.operation.is_public
        if not is_public or authorization is not None:
            arrival.principal = principal = await self.service.admission.admit(
                authorization, self.service.clock.now(), tenant=headers.get("tenuto-tenant")
            )
            self.service.rates.take(f"{principal.tenant} {principal.kind} {principal.name}")
        if found is None:
            raise self._nowhere(arrival)
        if not is_public:
            permission = found.operation.permission
            assert permission is not None, "what says nothing of who may ask is no route"
            refuse_unless(arrival.principal or _NOBODY, permission)
        return found.operation

    def _call(self, arrival: Arrival, operation: Operation) -> Call[Any]:
        query: object = NO_QUERY
        text = arrival.scope["query_string"]
        if operation.query is not None:
            query = read_query(text, operation.query)
        elif text:
            raise Refusal(422, WRONG_FIELD, "this operation has no query parameters")
        assert arrival.found is not None
        return Call(
            service=self.service,
            principal=arrival.principal or _NOBODY,
            path=arrival.found.path,
            query=query,
            headers=arrival.headers,
            request_id=arrival.request_id,
        )

    def _nowhere(self, arrival: Arrival) -> Refusal:
        methods = self._routes.methods_at(arrival.path)
        if methods and arrival.scope["type"] == "http":
            message = f"{arrival.scope['method']} is nothing that can be asked of {arrival.path}"
            return Refusal(405, "TEN-2034", message, headers={"allow": ", ".join(methods)})
        return Refusal(404, "TEN-2033", f"there is nothing at {arrival.path}")

    # -- sockets

    async def _websocket(self, arrival: Arrival, socket: WebSocket) -> None:
        arrival.found = self._routes.find("WEBSOCKET", arrival.path)
        arrival.headers = with_offered_credential(arrival.headers)
        try:
            self._origins.checked(arrival.headers)
            operation = await self._admitted(arrival)
            call = self._call(arrival, operation)
        except TenutoError as error:
            await self._note(arrival, error)
            await _deny(socket, told(error, arrival.path, arrival.request_id))
            return
        await operation.handler(call, socket)

    # -- what is kept of it

    async def _note(self, arrival: Arrival, error: TenutoError | None) -> None:
        """Keep every change, and everything that somebody was not allowed."""
        audit = self.service.audit
        if audit is None:
            return
        operation = arrival.found.operation if arrival.found is not None else None
        is_refusal = isinstance(error, Forbidden | Unauthenticated)
        is_change = operation is not None and operation.is_audited and error is None
        if not is_refusal and not is_change:
            return
        await audit.record(
            principal=arrival.principal,
            action=operation.name if operation is not None else "nothing",
            target=arrival.path,
            outcome="refused" if is_refusal else "done",
            source=arrival.source,
            request_id=arrival.request_id,
            details={"code": error.code} if error is not None else {},
        )


def with_offered_credential(headers: Headers) -> Headers:
    """The headers of a socket; a browser, which sets none, offers a credential as subprotocol."""
    if "authorization" in headers:
        return headers
    for offer in headers.get("sec-websocket-protocol", "").split(","):
        if offer.strip().startswith(_OFFERED):
            credential = offer.strip().removeprefix(_OFFERED)
            return {**headers, "authorization": f"Bearer {credential}"}
    return headers


def _arguments(operation: Operation, call: Call[Any]) -> tuple[Any, ...]:
    if operation.is_raw:
        return ()
    if operation.request is None:
        if call.body:
            raise Refusal(422, WRONG_FIELD, "this operation has no body")
        return ()
    if not call.body and operation.may_be_empty:
        return (read_struct({}, operation.request),)
    refuse_media(call.headers.get("content-type"), operation.media)
    return (read_struct(read_json(call.body), operation.request),)


def _headers(scope: Scope) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        # One that comes twice counts as both, so that nobody reads one and checks the other.
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


async def _body(receive: Receive, headers: Headers, most: int) -> bytes:
    said = headers.get("content-length", "")
    if said.isdecimal():
        refuse_size(int(said), most)
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        part = message.get("body", b"")
        size += len(part)
        refuse_size(size, most)
        parts.append(part)
        more = message.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def _refuse(send: Send, refusal: Told, around: Pairs) -> None:
    body = _encode(refusal.details)
    headers = [
        *around,
        *_USUAL,
        *_pairs(refusal.headers),
        (b"content-type", MEDIA.encode()),
        (b"content-length", str(len(body)).encode()),
    ]
    await _send(send, refusal.details.status, headers, body)


async def _send(send: Send, status: int, headers: Pairs, body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _deny(socket: WebSocket, refusal: Told) -> None:
    if "websocket.http.response" in socket.scope.get("extensions", {}):
        await socket.send_denial_response(
            Response(
                _encode(refusal.details),
                status_code=refusal.details.status,
                headers=refusal.headers,
                media_type=MEDIA,
            )
        )
    else:
        await socket.close(_POLICY_VIOLATION)


def _with_headers(send: Send, around: Pairs) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *around]
        await send(message)

    return sent


def _without_body(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.body":
            message["body"] = b""
        await send(message)

    return sent


def _pairs(headers: Mapping[str, str]) -> Pairs:
    return [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]


async def _lifespan(service: Service, receive: Receive, send: Send) -> None:
    """Whoever made the app opens and closes it; those who watch are let go before."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            service.start()
        else:
            await service.stop()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
