"""One request, as the operation that answers it sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar

from starlette.types import Receive

from tenuto.access.principal import Principal
from tenuto.api.service import Service
from tenuto.model.traces import read_traceparent
from tenuto.tracing.current import current_traceparent
from tenuto.workspace.engine_workspace import EngineWorkspace

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
        self.workspace: EngineWorkspace = service.workspace(principal)
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
        self,
        work: asyncio.Future[T],
        *,
        seconds: float | None = None,
        unheard: Callable[[T], Awaitable[None]] | None = None,
    ) -> None:
        """Wait until `work` is done; it is called off where nobody waits for it any more.

        That is a ClientGone, or TimeoutError after so many seconds. `unheard` is given what came of
        it all the same, where that goes to nobody.
        """
        gone = None if self.receive is None else asyncio.ensure_future(_gone(self.receive))
        waiting: list[asyncio.Future[Any]] = [work] if gone is None else [work, gone]
        is_heard = False
        try:
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            has_left = gone is not None and gone.done()
            if not work.done():
                raise ClientGone if has_left else TimeoutError
            if has_left and unheard is not None:
                raise ClientGone
            is_heard = True
        finally:
            for each in waiting:
                each.cancel()
            came = (await asyncio.gather(*waiting, return_exceptions=True))[0]
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
