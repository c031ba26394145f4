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
from tenuto.api.body_reader import BodyDeadline
from tenuto.api.browsers import Browsers
from tenuto.api.call import NO_QUERY, Call, ClientGone
from tenuto.api.entity_tags import is_known
from tenuto.api.operation import Operation
from tenuto.api.problems import BROKEN, MEDIA, Refusal, Told, broken, told
from tenuto.api.request_metrics import measured
from tenuto.api.request_parser import (
    WRONG_FIELD,
    read_json,
    read_query,
    read_struct,
    refuse_media,
    refuse_size,
)
from tenuto.api.routes import Found, Routes
from tenuto.api.service import Service
from tenuto.api.shapes import Query
from tenuto.model.errors import Forbidden, TenutoError, Unauthenticated

log = logging.getLogger("tenuto.api")

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")
_SECURITY: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_SECURITY_TEXT = {name.decode(): value.decode() for name, value in _SECURITY}
_USUAL: tuple[tuple[bytes, bytes], ...] = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
_WITHOUT_BODY = (204, 304)
"""Not even its length is said (RFC 9110, 8.6)."""
_POLICY_VIOLATION = 1008
_FOREIGN = frozenset({"TEN-5020", "TEN-5021"})
"""Refusals for where a request comes from."""
_OFFERED = "tenuto.bearer."
_NOBODY = Principal(tenant="", name="", role=Role.VIEWER, scopes=frozenset(), kind="system")
"""Whoever asks for what is public: they may do nothing, and belong to nobody."""
_encode = msgspec.json.Encoder().encode

Headers = Mapping[str, str]
Pairs = list[tuple[bytes, bytes]]


class IncomingRequest:
    """A request or a socket on its way through the pipeline, and what is known of it so far."""

    __slots__ = ("call", "found", "headers", "principal", "request_id", "scope")

    def __init__(self, scope: Scope, headers: Headers, request_id: str) -> None:
        self.scope = scope
        self.headers = headers
        self.request_id = request_id
        self.found: Found | None = None
        self.principal: Principal | None = None
        """None where nobody says who they are, and nobody has to."""
        self.call: Call[Any] | None = None
        """Once the operation may be asked."""

    @property
    def path(self) -> str:
        return str(self.scope["path"])

    @property
    def source(self) -> str | None:
        """From where it came."""
        client = self.scope.get("client")
        return str(client[0]) if client else None


class RequestPipeline:
    """The ASGI application."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._routes = Routes(service.operations)
        self._browsers = Browsers(service.config)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http":
                incoming = self._arrived(scope)
                await measured(
                    self.service, incoming, send, lambda sent: self._http(incoming, receive, sent)
                )
            case "websocket":
                with self.service.metrics.requests.connection("socket"):
                    await self._websocket(self._arrived(scope), WebSocket(scope, receive, send))
            case "lifespan":
                await _lifespan(self.service, receive, send)
            case kind:
                raise NotImplementedError(f"no {kind} comes in here")

    def _arrived(self, scope: Scope) -> IncomingRequest:
        headers = _headers(scope)
        given = headers.get("x-request-id")
        is_good = given is not None and _REQUEST_ID.match(given) is not None
        return IncomingRequest(
            scope, headers, given if given and is_good else self.service.ids.short()
        )

    # -- requests

    async def _http(self, incoming: IncomingRequest, receive: Receive, send: Send) -> None:
        method, request_id = incoming.scope["method"], incoming.request_id
        around: Pairs = [*_SECURITY, (b"x-request-id", request_id.encode())]
        sending = _Sending(_without_body(send) if method == "HEAD" else send)
        try:
            await self._answer(incoming, receive, sending, around)
        except ClientGone:
            log.debug("request %s: gone before it was answered", request_id)
        except TenutoError as error:
            if sending.has_begun:
                raise
            await _refuse(sending, told(error, incoming.path, request_id), around)
        except Exception:
            log.exception("request %s: %s %s", request_id, method, incoming.path)
            if sending.has_begun:
                # Cut off, so that nobody takes a part for the whole.
                raise
            await _refuse(sending, broken(incoming.path, request_id), around)

    async def _answer(
        self, incoming: IncomingRequest, receive: Receive, send: Send, around: Pairs
    ) -> None:
        scope = incoming.scope
        try:
            around += self._from_where(incoming)
            if scope["method"] == "OPTIONS":
                await self._preflight(incoming, send, around)
                return
            method = "GET" if scope["method"] == "HEAD" else scope["method"]
            incoming.found = self._routes.find(method, incoming.path)
            operation = await self._admitted(incoming)
            incoming.call = call = self._call(incoming, operation)
            call.body = await self._body(receive, incoming.headers, operation)
            call.receive = receive
            arguments = _arguments(operation, call)
            if operation.is_audited:
                answer = await self._changed(incoming, operation, call, arguments)
            else:
                answer = await operation.handler(call, *arguments)
        except TenutoError as error:
            await self._note_refusal(incoming, error)
            raise
        if isinstance(answer, Response):
            await answer(scope, receive, _with_headers(send, around))
            return
        if 304 in operation.other_statuses and is_known(
            incoming.headers, call.response_headers.get("etag")
        ):
            call.status, answer = 304, None
        body = b"" if answer is None else _encode(answer)
        headers = [*around, *_USUAL, *_pairs(call.response_headers)]
        if answer is not None:
            headers.append((b"content-type", b"application/json"))
        status = call.status or operation.status
        if status not in _WITHOUT_BODY:
            headers.append((b"content-length", str(len(body)).encode()))
        await _send(send, status, headers, body)

    async def _body(self, receive: Receive, headers: Headers, operation: Operation) -> bytes:
        most = self.service.sizes[operation.size]
        if "content-length" not in headers and "transfer-encoding" not in headers:
            return await _read_body(receive, headers, most)
        async with BodyDeadline(self.service.clock, self.service.config.body_seconds) as patience:
            return await _read_body(receive, headers, most, patience)

    def _from_where(self, incoming: IncomingRequest) -> Pairs:
        """What the answer tells a browser, unless it comes too often or from the wrong place."""
        self.service.count_source(incoming.source or "")
        return self._browsers.checked(incoming.scope["scheme"], incoming.headers)

    async def _preflight(self, incoming: IncomingRequest, send: Send, around: Pairs) -> None:
        methods = self._routes.methods_at(incoming.path)
        if not methods:
            raise self._nowhere(incoming)
        told = self._browsers.preflight(incoming.scope["scheme"], incoming.headers, methods)
        await _send(send, 204, [*around, *_USUAL, *told], b"")

    async def _admitted(self, incoming: IncomingRequest) -> Operation:
        """The operation, once who asks for it may; a wrong credential never passes."""
        found, headers = incoming.found, incoming.headers
        authorization = headers.get("authorization")
        is_public = found is not None and found.operation.is_public
        if not is_public or authorization is not None:
            incoming.principal = principal = await self.service.authentication.authenticate(
                authorization, self.service.clock.now(), tenant=headers.get("tenuto-tenant")
            )
            self.service.count_request(principal)
        if found is None:
            raise self._nowhere(incoming)
        if not is_public:
            permission = found.operation.permission
            assert permission is not None, "what says nothing of who may ask is no route"
            refuse_unless(incoming.principal or _NOBODY, permission)
        return found.operation

    def _call(self, incoming: IncomingRequest, operation: Operation) -> Call[Any]:
        if "\0" in incoming.path:
            # No store takes it, so that nothing is called so.
            raise Refusal(404, "TEN-2033", "nothing has a name with NUL in it")
        query: object = NO_QUERY
        text = incoming.scope["query_string"]
        if operation.query is not None:
            query = read_query(text, operation.query)
        elif text:
            read_query(text, Query)
        assert incoming.found is not None
        return Call(
            service=self.service,
            principal=incoming.principal or _NOBODY,
            path=incoming.found.path,
            query=query,
            headers=incoming.headers,
            request_id=incoming.request_id,
            source=incoming.source,
        )

    def _nowhere(self, incoming: IncomingRequest) -> Refusal:
        methods = self._routes.methods_at(incoming.path)
        if methods and incoming.scope["type"] == "http":
            message = f"{incoming.scope['method']} is nothing that can be asked of {incoming.path}"
            return Refusal(405, "TEN-2034", message, headers={"allow": ", ".join(methods)})
        without = incoming.path.rstrip("/")
        advice = None
        if without != incoming.path and self._routes.methods_at(without):
            advice = f"Leave the slash at the end out: {without}"
        return Refusal(404, "TEN-2033", f"there is nothing at {incoming.path}", advice)

    # -- sockets

    async def _websocket(self, incoming: IncomingRequest, socket: WebSocket) -> None:
        incoming.found = self._routes.find("WEBSOCKET", incoming.path)
        incoming.headers = with_offered_credential(incoming.headers)
        try:
            call, operation = await self._connected(incoming)
        except TenutoError as error:
            await _deny(socket, told(error, incoming.path, incoming.request_id))
            return
        await operation.handler(call, socket)

    async def _connected(self, incoming: IncomingRequest) -> tuple[Call[Any], Operation]:
        try:
            self._from_where(incoming)
            incoming.found = self._routes.find("WEBSOCKET", incoming.path)
            operation = await self._admitted(incoming)
            return self._call(incoming, operation), operation
        except TenutoError as error:
            await self._note_refusal(incoming, error)
            raise

    # -- what is kept of it

    async def _changed(
        self,
        incoming: IncomingRequest,
        operation: Operation,
        call: Call[Any],
        arguments: tuple[Any, ...],
    ) -> object:
        """What a change answers: that it was asked for is durable before it is begun."""
        await self._note(incoming, "asked")
        try:
            answer: object = await operation.handler(call, *arguments)
        except (Forbidden, Unauthenticated, ClientGone):
            raise  # A refusal has a line of its own; of who has gone nothing more is known.
        except Exception as error:
            code = error.code if isinstance(error, TenutoError) else BROKEN
            # What is wrong is told as it is, whether or not the line can be written now.
            await self._note(incoming, "failed", after={"code": code}, is_waited_for=False)
            raise
        await self._note(
            incoming,
            "done",
            before=call.before,
            after=call.after,
            is_waited_for=not operation.is_frequent,
        )
        return answer

    async def _note(
        self,
        incoming: IncomingRequest,
        outcome: str,
        *,
        before: object = None,
        after: object = None,
        is_waited_for: bool = True,
    ) -> None:
        assert incoming.found is not None
        await self.service.audit.record(
            principal=incoming.principal,
            action=incoming.found.operation.name,
            target=incoming.path,
            outcome=outcome,
            source=incoming.source,
            request_id=incoming.request_id,
            before=before,
            after=after,
            is_waited_for=is_waited_for,
        )

    async def _note_refusal(self, incoming: IncomingRequest, error: TenutoError) -> None:
        """Keep everything that somebody was not allowed; mistakes are nobody's business."""
        is_foreign = isinstance(error, Refusal) and error.code in _FOREIGN
        if not is_foreign and not isinstance(error, Forbidden | Unauthenticated):
            return
        action = incoming.found.operation.name if incoming.found is not None else "nothing"
        if incoming.principal is None:
            await self.service.audit.refuse_unauthenticated(
                code=error.code,
                action=action,
                target=incoming.path,
                source=incoming.source,
                request_id=incoming.request_id,
            )
            return
        await self.service.audit.record(
            principal=incoming.principal,
            action=action,
            target=incoming.path,
            outcome="refused",
            source=incoming.source,
            request_id=incoming.request_id,
            before=None,
            after={"code": error.code},
        )


class _Sending:
    """Knows whether an answer has begun: then there cannot be another."""

    __slots__ = ("_send", "has_begun")

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False

    async def __call__(self, message: Message) -> None:
        self.has_begun = True
        await self._send(message)


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


async def _read_body(
    receive: Receive, headers: Headers, most: int, patience: BodyDeadline | None = None
) -> bytes:
    said = headers.get("content-length", "")
    # What has more digits is no number that can be read; the body itself is counted anyway.
    if said.isdecimal() and len(said) <= 18:
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
        if patience is not None:
            patience.size = size
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
                headers={**refusal.headers, **_SECURITY_TEXT},
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
