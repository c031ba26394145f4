"""One request, as its operation sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Generic, TypeVar

from starlette.types import Receive

from tenuto.access.principal import Principal
from tenuto.api.request_parser import read_json
from tenuto.api.service import Service
from tenuto.engine.load.starts_under_way import Place
from tenuto.model.json import JSON
from tenuto.model.traces import read_traceparent
from tenuto.tracing.current import current_traceparent
from tenuto.workspace.engine_workspace import EngineWorkspace

QueryT = TypeVar("QueryT")
T = TypeVar("T")


class ClientGone(Exception):
    """The client has disconnected before the answer."""


class Call(Generic[QueryT]):
    """The request of an operation, and what it sets of the answer."""

    __slots__ = (
        "admitted",
        "after",
        "before",
        "body",
        "headers",
        "path",
        "place",
        "principal",
        "query",
        "receive",
        "request_id",
        "response_headers",
        "service",
        "source",
        "status",
        "workspace",
    )

    def __init__(
        self,
        *,
        service: Service,
        principal: Principal,
        path: Mapping[str, str],
        query: QueryT,
        headers: Mapping[str, str],
        request_id: str,
        body: bytes = b"",
        source: str | None = None,
    ) -> None:
        self.service = service
        self.principal = principal
        self.workspace: EngineWorkspace = service.workspace(principal)
        """The engine as the principal sees it, without records of other tenants."""
        self.path = path
        """Path parameters by name."""
        self.query = query
        self.headers = headers
        """By lower-case names."""
        self.request_id = request_id
        self.admitted: Any = None
        """What the operation's own credential was found to be, see `Operation.admit`."""
        self.body = body
        """As it came, for the operations that read it themselves."""
        self.source = source
        """The client's address."""
        self.place: Place | None = None
        """Of a start, among those under way: left as soon as the start is durable."""
        self.receive: Receive | None = None
        """Receives the client's disconnect."""
        self.status: int | None = None
        """Set to answer with another status than the operation's own."""
        self.response_headers: dict[str, str] = {}
        self.before: object = None
        """The record before the change, for the audit log, without secrets; and `after` it."""
        self.after: object = None

    async def json(self) -> JSON:
        """The JSON of the body; 400 where it is none."""
        return await self.read(partial(read_json, self.body))

    async def read(self, work: Callable[[], T]) -> T:
        """What `work` makes of the body: in a thread where it is large."""
        values, tenant = self.workspace.engine.plans.values, self.principal.tenant
        return await values.read(len(self.body), work, tenant=tenant, may_refuse=False)

    async def while_connected(
        self,
        work: asyncio.Future[T],
        *,
        seconds: float | None = None,
        undelivered: Callable[[T], Awaitable[None]] | None = None,
    ) -> None:
        """Wait until `work` is done; it is cancelled where the client disconnects.

        Then it raises ClientGone; after so many seconds TimeoutError; Unauthenticated where the
        credential is not valid any more. If `work` had a result all the same, `undelivered` is
        given it.
        """
        gone = None if self.receive is None else asyncio.ensure_future(_gone(self.receive))
        waiting: list[asyncio.Future[Any]] = [work] if gone is None else [work, gone]
        is_delivered = False
        try:
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            has_left = gone is not None and gone.done()
            if not has_left:
                await self.service.authenticate_again(self.headers)
            if not work.done():
                raise ClientGone if has_left else TimeoutError
            if has_left and undelivered is not None:
                raise ClientGone
            is_delivered = True
        finally:
            for each in waiting:
                each.cancel()
            result = (await asyncio.gather(*waiting, return_exceptions=True))[0]
            if (
                undelivered is not None
                and not is_delivered
                and not isinstance(result, BaseException)
            ):
                await undelivered(result)

    @property
    def traceparent(self) -> str | None:
        """The trace of the request: the current span's, else the one in its headers."""
        return current_traceparent() or read_traceparent(self.headers.get("traceparent"))


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class NoQuery:
    """The query of an operation without query parameters."""


NO_QUERY = NoQuery()
