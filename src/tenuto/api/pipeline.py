"""The request pipeline: host, origin, authentication, permission, size; then the operation.

Every request and every socket passes it. The declarations of an operation are checked before any of
its code runs, and an operation that is not declared cannot be reached.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from typing import Any
from urllib.parse import quote

from msgspec import inspect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

from tenuto.access.permissions import Permission
from tenuto.access.principal import LOCAL, Principal, refuse_unless
from tenuto.access.roles import Role
from tenuto.api.base_path import BasePath
from tenuto.api.body_reader import read_body
from tenuto.api.browsers import Browsers, refuse_relayed
from tenuto.api.call import NO_QUERY, Call, ClientGone
from tenuto.api.entity_tags import is_known
from tenuto.api.incoming import IncomingRequest, with_offered_credential
from tenuto.api.large_documents.answers import answer_without_tracebacks
from tenuto.api.operation import Operation
from tenuto.api.problems import Refusal, broken, problem_answer
from tenuto.api.request_audit import RequestAudit
from tenuto.api.request_metrics import measured
from tenuto.api.request_parser import (
    WRONG_FIELD,
    read_query,
    read_struct,
    refuse_media,
)
from tenuto.api.request_turns import RequestTurns
from tenuto.api.responses import (
    PIECE,
    SECURITY,
    Pairs,
    ResponseSender,
    answer_body,
    deny_socket,
    send_answer,
    send_preflight,
    send_refusal,
    with_headers,
    without_body,
)
from tenuto.api.routes import Routes
from tenuto.api.service import Service
from tenuto.api.shapes import Query, items_in
from tenuto.api.shedding import changes_in_turn, shed_kinds, takes_turns
from tenuto.api.ui.pages import UiPages
from tenuto.api.untaken_answers import who_takes
from tenuto.engine.load.pressure import Sheddable
from tenuto.model.errors import StoreUnavailable, TenutoError, may_be_written
from tenuto.model.moments import moments_in, spelled

log = logging.getLogger("tenuto.api")

_NOT_COUNTED = nullcontext()
_ANONYMOUS = Principal(tenant="", name="", role=Role.VIEWER, scopes=frozenset(), kind="system")
"""The client of a public operation: without permissions and without a tenant."""


class RequestPipeline:
    """The ASGI application."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._routes = Routes(service.operations)
        self._base = BasePath(service.config.public_url, self._routes)
        self._pages = UiPages(
            service.operations,
            base=self._base.quoted,
            folder=service.config.ui_folder,
        )
        self._browsers = Browsers(service.config)
        self._audit = RequestAudit(service.audit)
        self._shed = shed_kinds(service.operations)
        self._in_turn = frozenset(each.name for each in service.operations if takes_turns(each))
        changes = (each.name for each in service.operations if changes_in_turn(each))
        self._changes_in_turn = frozenset(changes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http":
                incoming = self._incoming(scope)
                await measured(
                    self.service, incoming, send, lambda sent: self._http(incoming, receive, sent)
                )
            case "websocket":
                incoming = self._incoming(scope)
                with self.service.metrics.requests.connection("socket"):
                    await self._websocket(incoming, WebSocket(scope, receive, send))
            case "lifespan":
                await _lifespan(self.service, receive, send)
            case kind:
                raise NotImplementedError(f"ASGI scope {kind} is not supported")

    def _incoming(self, scope: Scope) -> IncomingRequest:
        return IncomingRequest(scope, self.service.ids, self._base.without(scope["path"]))

    # -- requests

    async def _http(self, incoming: IncomingRequest, receive: Receive, send: Send) -> None:
        method, request_id = incoming.scope["method"], incoming.request_id
        around: Pairs = [*SECURITY, (b"x-request-id", request_id.encode())]
        sent = without_body(send) if method == "HEAD" else send
        sender = ResponseSender(sent, self.service.clock)
        try:
            await self._answer(incoming, receive, sender, around)
        except ClientGone:
            log.debug("request=%s: client disconnected before the answer", request_id)
        except asyncio.CancelledError:
            # The process stops, and has waited for the answer for long enough.
            if not sender.has_begun:
                stopped = may_be_written("the service stopped before the answer was known")
                answer = problem_answer(stopped, incoming.path, request_id)
                await send_refusal(sender, answer, around)
                return  # it is answered: for the server it is no failure
            if self.service.stopping.is_set():
                return  # the server logs a traceback for each that is not ended by its answer
            raise
        except TenutoError as error:
            if sender.has_begun:
                raise
            if isinstance(error, StoreUnavailable):
                # The client is not told where the store is.
                log.warning("request=%s refused: %s", request_id, error)
            refused = problem_answer(error, incoming.path, request_id)
            if incoming.is_shed is not None:
                self.service.repeated_refusals.keep(incoming, incoming.is_shed, refused, around)
            await send_refusal(sender, refused, around)
        except Exception:
            log.exception("request=%s failed: %s %s", request_id, method, incoming.path)
            if sender.has_begun:
                # Cut the connection, so that the client sees that the response is incomplete.
                raise
            await send_refusal(sender, broken(incoming.path, request_id), around)
        finally:
            if incoming.place is not None:
                incoming.place.leave()

    async def _answer(
        self, incoming: IncomingRequest, receive: Receive, send: Send, around: Pairs
    ) -> None:
        scope = incoming.scope
        try:
            around += self._check_source(incoming)
            if scope["method"] == "OPTIONS":
                await send_preflight(send, [*around, *self._preflight(incoming)])
                return
            method = "GET" if scope["method"] == "HEAD" else scope["method"]
            incoming.found = self._routes.find(method, incoming.path)
            page = await self._page(incoming, method)
            if page is not None:
                await page(scope, receive, with_headers(send, around))
                return
            operation = await self._permitted(incoming)
            kind = self._refuse_under_load(incoming, operation)
            incoming.read = _read_of(incoming)
            around += self._environment(incoming)
            call = self._call(incoming, operation)
            if operation.admit is not None:
                call.admitted = await operation.admit(call)
            config = self.service.config
            most = self.service.sizes[operation.size]
            call.body = await read_body(
                receive, incoming.headers, most, self.service.clock, config.body_seconds
            )
            call.receive = receive
            if kind == "starts" and incoming.place is None:
                # Not before its body is there: a client may take its time for that.
                incoming.place = self.service.pressure.starts.enter(call.principal.tenant)
            call.place = incoming.place
            answer = await self._perform_in_turn(incoming, operation, call)
        except TenutoError as error:
            await self._audit.refusal(incoming, error)
            raise
        if isinstance(answer, Response):
            with self._held(incoming, len(getattr(answer, "body", b""))):
                await answer(scope, receive, with_headers(send, around))
            return
        if 304 in operation.other_statuses and is_known(
            incoming.headers, call.response_headers.get("etag")
        ):
            call.status, answer = 304, None
        elif incoming.read:
            # Before it is made: a read that may wait for its answer took no turn.
            self._refuse_again(incoming)
        if _has_moments(operation.response):
            answer = spelled(answer)
        body = answer_body(answer)
        del answer  # what it was made of is not kept until the client has taken it
        with self._held(incoming, len(body)):
            if not call.principal.may(Permission.WORKFLOWS_WRITE):
                body = await answer_without_tracebacks(
                    self.service.answer_process,
                    body,
                    call.principal.tenant,
                    is_change=_is_change(incoming),
                )
            status = call.status or operation.status
            await send_answer(send, status, body, call.response_headers, around)

    def _held(self, incoming: IncomingRequest, size: int) -> AbstractContextManager[None]:
        """Counts a large answer while it is sent; TenutoError where there is no room for it."""
        if incoming.read and size:
            self.service.untaken.know(incoming.read, size if size > PIECE else 0)
        if size <= PIECE:
            return _NOT_COUNTED
        who = who_takes(incoming.principal, incoming.source)
        return self.service.untaken.holding(who, size, is_change=_is_change(incoming))

    async def _perform(
        self, incoming: IncomingRequest, operation: Operation, call: Call[Any]
    ) -> object:
        arguments = await _arguments(operation, call)
        for body in arguments:
            # A batch counts as what it holds; the request itself was the first.
            self.service.count_request(call.principal, items_in(body) - 1)
        if not operation.is_audited:
            return await self._audit.read(incoming, lambda: operation.handler(call, *arguments))
        return await self._audit.change(incoming, call, lambda: operation.handler(call, *arguments))

    async def _perform_in_turn(
        self, incoming: IncomingRequest, operation: Operation, call: Call[Any]
    ) -> object:
        turns = self._turns(incoming, operation)
        if turns is None:
            return await self._perform(incoming, operation, call)
        # A request without a credential is of no tenant.
        tenant = call.principal.tenant or who_takes(incoming.principal, incoming.source)
        await self._enter(incoming, call, tenant, turns)
        clock, sharing = self.service.clock, self.service.app.engine.shared.sharing
        began = clock.ticks()
        try:
            if incoming.read:
                self._refuse_again(incoming)
            return await self._perform(incoming, operation, call)
        finally:
            # The answer does not wait for the rest; the next one in its turn does.
            is_in_loop = turns is self.service.read_turns
            rest = sharing.rest_after(clock.ticks() - began, tenant, is_in_loop=is_in_loop)
            if rest:
                clock.call_later(rest, partial(turns.leave, tenant))
            else:
                turns.leave(tenant)

    def _turns(self, incoming: IncomingRequest, operation: Operation) -> RequestTurns | None:
        """The turns that it waits for; None: it is made at once."""
        if operation.name in self._changes_in_turn:
            return self.service.change_turns
        # What waits for a change keeps no turn meanwhile.
        is_waiting = b"wait=" in incoming.scope["query_string"]
        is_in_turn = operation.name in self._in_turn and not is_waiting
        return self.service.read_turns if is_in_turn or self._was_large(incoming) else None

    def _was_large(self, incoming: IncomingRequest) -> bool:
        """Whether a read has to wait for its turn, since its newest answer was large."""
        # Who has the answer is not sent it again; who waits for a change keeps no turn meanwhile.
        may_wait = "if-none-match" in incoming.headers or b"wait=" in incoming.scope["query_string"]
        return self.service.untaken.was_large(incoming.read) and not may_wait

    def _refuse_again(self, incoming: IncomingRequest) -> None:
        who = who_takes(incoming.principal, incoming.source)
        self.service.untaken.refuse_again(who, incoming.read)

    async def _enter(
        self, incoming: IncomingRequest, call: Call[Any], tenant: str, turns: RequestTurns
    ) -> None:
        """Wait for its turn; ClientGone where the client has closed the connection; Overloaded."""
        size = len(call.body)
        if incoming.principal is None:
            await turns.enter(tenant, size)
            return
        turn = turns.ask(tenant, size)
        if turn.done():
            return

        async def leave(_: None) -> None:
            turns.leave(tenant)

        await call.while_connected(turn, undelivered=leave)
        turn.result()

    def _check_source(self, incoming: IncomingRequest) -> Pairs:
        """CORS headers for the answer; refuses a foreign host or origin, and too many requests."""
        self.service.count_source(incoming.source or "")
        return self._browsers.checked(incoming.scope["scheme"], incoming.headers)

    def _refuse_under_load(
        self, incoming: IncomingRequest, operation: Operation
    ) -> Sheddable | None:
        """Overloaded, before a body is read: a refusal must cost little; else what it counts as."""
        kind = self._shed.get(operation.name)
        if kind is not None and incoming.principal is not None and not incoming.is_passed:
            incoming.is_shed = kind
            self.service.pressure.refuse(kind, incoming.principal.tenant)
            incoming.is_shed = None
        return kind

    def _environment(self, incoming: IncomingRequest) -> Pairs:
        """The name of the environment, for principals: commands show where they act."""
        name = self.service.config.environment
        if name is None or incoming.principal is None:
            return []
        return [(b"tenuto-environment", quote(name).encode())]

    def _preflight(self, incoming: IncomingRequest) -> Pairs:
        methods = self._routes.methods_at(incoming.path)
        if not methods:
            raise self._no_operation(incoming)
        return self._browsers.preflight(incoming.scope["scheme"], incoming.headers, methods)

    async def _permitted(self, incoming: IncomingRequest) -> Operation:
        """Authenticate the client, check its permission, and return the operation.

        Public operations refuse an invalid credential too.
        """
        found, headers = incoming.found, incoming.headers
        authorization = headers.get("authorization")
        is_public = found is not None and found.operation.is_public
        if not is_public or authorization is not None:
            incoming.principal = principal = await self.service.authenticate(
                headers, incoming.source
            )
            self.service.count_request(principal)
            if principal == LOCAL:
                refuse_relayed(headers)
        if found is None:
            raise self._no_operation(incoming)
        if not is_public:
            permission = found.operation.permission
            assert permission is not None, "an operation without a permission is not routed"
            principal, otherwise = incoming.principal or _ANONYMOUS, found.operation.otherwise
            if otherwise is None or not principal.may(otherwise):
                refuse_unless(principal, permission)
        return found.operation

    def _call(self, incoming: IncomingRequest, operation: Operation) -> Call[Any]:
        if "\0" in incoming.path:
            # No store accepts NUL, so no record has it in its name.
            raise Refusal(404, "TEN-2033", "no record has NUL in its name")
        query: object = NO_QUERY
        text = incoming.scope["query_string"]
        if operation.query is not None:
            query = read_query(text, operation.query)
        elif text:
            read_query(text, Query)
        assert incoming.found is not None
        return Call(
            service=self.service,
            principal=incoming.principal or _ANONYMOUS,
            path=incoming.found.path,
            query=query,
            headers=incoming.headers,
            request_id=incoming.request_id,
            source=incoming.source,
        )

    async def _page(self, incoming: IncomingRequest, method: str) -> Response | None:
        """A file or a page of the web UI, which are for everybody: they have no data."""
        if method != "GET" or incoming.found is not None:
            return None
        # Files need no policy of their own, and wait for nothing.
        is_page = "text/html" in incoming.headers.get("accept", "")
        origins = await self.service.sign_in_origins() if is_page else ()
        return self._pages.find(incoming.path, incoming.headers, connect=origins)

    def _no_operation(self, incoming: IncomingRequest) -> Refusal:
        methods = self._routes.methods_at(incoming.path)
        if methods and incoming.scope["type"] == "http":
            message = f"{incoming.scope['method']} is not a method of {incoming.path}"
            return Refusal(405, "TEN-2034", message, headers={"allow": ", ".join(methods)})
        without = incoming.path.rstrip("/")
        advice = None
        if without != incoming.path and self._routes.methods_at(without):
            advice = f"Leave out the slash at the end: {without}"
        return Refusal(404, "TEN-2033", f"there is no operation at {incoming.path}", advice)

    # -- sockets

    async def _websocket(self, incoming: IncomingRequest, socket: WebSocket) -> None:
        incoming.found = self._routes.find("WEBSOCKET", incoming.path)
        incoming.headers = with_offered_credential(incoming.headers)
        try:
            self._check_source(incoming)
            operation = await self._permitted(incoming)
            call = self._call(incoming, operation)
            if operation.admit is not None:
                call.admitted = await operation.admit(call)
        except TenutoError as error:
            try:
                await self._audit.refusal(incoming, error)
            except TenutoError as unrecorded:
                error = unrecorded
            await deny_socket(socket, problem_answer(error, incoming.path, incoming.request_id))
            return
        await operation.handler(call, socket)


def _is_change(incoming: IncomingRequest) -> bool:
    """Whether a request may have changed something."""
    return incoming.scope["method"] not in ("GET", "HEAD")


def _read_of(incoming: IncomingRequest) -> int:
    """As in `IncomingRequest`."""
    scope = incoming.scope
    if scope["method"] != "GET":
        return 0
    who = who_takes(incoming.principal, incoming.source)
    return hash((who, incoming.path, scope["query_string"]))


@cache
def _has_moments(response: Any) -> bool:  # noqa: ANN401 - a type
    """Whether results of a type have moments, which `msgspec` would spell in its own way."""
    return response is not None and any(True for _ in moments_in(inspect.type_info(response)))


async def _arguments(operation: Operation, call: Call[Any]) -> tuple[Any, ...]:
    if operation.is_raw:
        return ()
    if operation.request is None:
        if call.body:
            raise Refusal(422, WRONG_FIELD, "this operation takes no body")
        return ()
    if not call.body and operation.may_be_empty:
        return (read_struct({}, operation.request),)
    refuse_media(call.headers.get("content-type"), operation.media)
    return (read_struct(await call.json(), operation.request),)


async def _lifespan(service: Service, receive: Receive, send: Send) -> None:
    """Start the service; stop it, which ends live connections before the app is closed.

    The owner of the app opens and closes it.
    """
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            service.start()
        else:
            await service.stop()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
