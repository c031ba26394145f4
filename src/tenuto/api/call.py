"""One request, as the operation that answers it sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Generic, TypeVar

from starlette.types import Receive

from tenuto.access.principal import Principal
from tenuto.api.service import Service
from tenuto.model.traces import read_traceparent
from tenuto.tracing.current import current_traceparent
from tenuto.workspace import Workspace

QueryT = TypeVar("QueryT")
T = TypeVar("T")


class ClientGone(Exception):
    """Whoever asked has left before they were answered."""


class Call(Generic[QueryT]):
    """Who asks for what; and, where it is not the usual, with which status it is answered."""

    __slots__ = (
        "after",
        "before",
        "body",
        "headers",
        "path",
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
        self.workspace: Workspace = service.workspace(principal)
        """The engine as the principal sees it: nothing of another tenant is in it."""
        self.path = path
        """The path's parameters, by their names."""
        self.query = query
        self.headers = headers
        """Their names are in lower case."""
        self.request_id = request_id
        self.body = body
        """As it came, for those few that are not JSON."""
        self.source = source
        """The address that it came from."""
        self.receive: Receive | None = None
        """Where it is heard that whoever asked has left."""
        self.status: int | None = None
        """Another one than the operation's own, which it documents."""
        self.response_headers: dict[str, str] = {}
        self.before: object = None
        """What the audit log keeps of how it was, without secrets; and of how it is `after`."""
        self.after: object = None

    async def while_heard(
        self, work: asyncio.Future[T], unheard: Callable[[T], Awaitable[None]] | None = None
    ) -> T:
        """What comes of `work`, which is called off where nobody waits for it any more.

        `unheard` is given what came of it all the same, where that goes to nobody.
        """
        if self.receive is None:
            return await work
        gone = asyncio.ensure_future(_gone(self.receive))
        is_heard = False
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
            if not work.done() or (unheard is not None and gone.done()):
                raise ClientGone
            is_heard = True
            return work.result()
        finally:
            for each in (work, gone):
                each.cancel()
            [came, _] = await asyncio.gather(work, gone, return_exceptions=True)
            if unheard is not None and not is_heard and not isinstance(came, BaseException):
                await unheard(came)

    @property
    def traceparent(self) -> str | None:
        """The trace that the request belongs to: as it is measured here, else as it came."""
        return current_traceparent() or read_traceparent(self.headers.get("traceparent"))


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class NoQuery:
    """What an operation without query parameters is given."""


NO_QUERY = NoQuery()
