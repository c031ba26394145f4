"""One request, as the operation that answers it sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from tenuto.access.principal import Principal
from tenuto.api.service import Service
from tenuto.model.traces import read_traceparent
from tenuto.tracing.current import current_traceparent
from tenuto.workspace import Workspace

QueryT = TypeVar("QueryT")


class Call(Generic[QueryT]):
    """Who asks for what; and, where it is not the usual, with which status it is answered."""

    __slots__ = (
        "body",
        "headers",
        "path",
        "principal",
        "query",
        "request_id",
        "response_headers",
        "service",
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
        self.status: int | None = None
        """Another one than the operation's own, which it documents."""
        self.response_headers: dict[str, str] = {}

    @property
    def traceparent(self) -> str | None:
        """The trace that the request belongs to: as it is measured here, else as it came."""
        return current_traceparent() or read_traceparent(self.headers.get("traceparent"))


class NoQuery:
    """What an operation without query parameters is given."""


NO_QUERY = NoQuery()
