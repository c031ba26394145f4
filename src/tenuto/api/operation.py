"""Declarations of operations: path, permission, body, result and documentation of each.

An operation is declared by decorating its handler with a method of the `Resource` that it belongs
to. The handler's signature declares the types, its docstring is the summary, and the decorator adds
what differs from the usual:

    NOTES = Resource(f"{API}/notes", tag="notes", read=…, write=…)

    @NOTES.post(status=201)
    async def add_note(call: Call[NoQuery], body: NoteRequest) -> Note:
        \"\"\"Attach a note to an instance.\"\"\"
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict, Unpack, get_args, get_type_hints

from msgspec import Struct
from starlette.websockets import WebSocket

from tenuto.access.permissions import Permission

Method: TypeAlias = Literal["GET", "POST", "PUT", "DELETE", "WEBSOCKET"]
Size: TypeAlias = Literal["command", "value", "outcome", "batch", "document"]
"""The size class of a body: a few fields, an input or event, a task's outcome, a batch of those, a
definition."""
Handler: TypeAlias = Callable[..., Awaitable[Any]]
"""Called with the Call, and with the body where the operation has one. Its result is encoded as
JSON, unless it is a Starlette response; None is answered without a body."""
Header: TypeAlias = tuple[str, str]
"""The name of a request header, and its description."""

API = "/api/v1"
JSON_MEDIA = ("application/json",)


class Operation(Struct, frozen=True, kw_only=True, eq=False):
    """One operation of the service."""

    name: str
    method: Method
    path: str
    permission: Permission | None
    """None only where it is public. An operation that declares neither is not reachable."""
    otherwise: Permission | None = None
    """Another permission that is enough for some records: the handler refuses the others."""
    handler: Handler
    request: Any
    """The type of its body; None where it has none."""
    query: type[Struct] | None
    """Its query parameters; None where it has none."""
    response: Any
    """The type of its result; None where the answer has no body."""
    status: int
    other_statuses: tuple[int, ...] = ()
    """Statuses of its own beside those that every operation may answer with."""
    summary: str
    tag: str
    headers: tuple[Header, ...] = ()
    """Request headers with a meaning of their own, for the documentation."""
    is_public: bool = False
    """Whether no credential is needed; a public operation shows no tenant's data."""
    is_audited: bool
    """Whether it changes something, so that the audit log records each call."""
    is_frequent: bool = False
    """Whether it is called so often that its outcome is recorded without waiting for the store;
    the line that it was asked for is durable before it begins."""
    size: Size = "command"
    media: tuple[str, ...] = JSON_MEDIA
    """Media types that its body may have."""
    may_be_empty: bool = False
    """Whether the body may be left out: then every field has its default."""
    is_raw: bool = False
    """Whether the handler reads the body itself, from `call.body`."""
    response_media: str = "application/json"
    admit: Callable[..., Awaitable[Any]] | None = None
    """Checks a credential of the operation's own before a body is read; its result is kept as
    `call.admitted`."""


class Facts(TypedDict, total=False):
    """Facts of an operation that are not in its handler's signature, see Operation."""

    permission: Permission
    otherwise: Permission
    request: Any
    response: Any
    status: int
    other_statuses: tuple[int, ...]
    headers: tuple[Header, ...]
    is_public: bool
    is_audited: bool
    is_frequent: bool
    size: Size
    media: tuple[str, ...]
    may_be_empty: bool
    is_raw: bool
    response_media: str
    admit: Callable[..., Awaitable[Any]]


Decorator: TypeAlias = Callable[[Handler], Operation]


class Resource(Struct, frozen=True):
    """Operations on one kind of record: they share a path, a tag and two permissions."""

    path: str
    tag: str
    read: Permission | None = None
    """Needed for GET and for sockets, unless the operation names another."""
    write: Permission | None = None
    """Needed for POST, PUT and DELETE, unless the operation names another."""

    def get(self, path: str = "", **facts: Unpack[Facts]) -> Decorator:
        return self._declare("GET", path, facts)

    def post(self, path: str = "", **facts: Unpack[Facts]) -> Decorator:
        return self._declare("POST", path, facts)

    def put(self, path: str = "", **facts: Unpack[Facts]) -> Decorator:
        return self._declare("PUT", path, facts)

    def delete(self, path: str = "", **facts: Unpack[Facts]) -> Decorator:
        return self._declare("DELETE", path, facts)

    def websocket(self, path: str = "", **facts: Unpack[Facts]) -> Decorator:
        return self._declare("WEBSOCKET", path, facts)

    def _declare(self, method: Method, path: str, facts: Facts) -> Decorator:
        is_read = method in ("GET", "WEBSOCKET")

        def of(handler: Handler) -> Operation:
            types = _declared_types(handler)
            given: dict[str, Any] = {
                "permission": self.read if is_read else self.write,
                "request": types.request,
                "response": types.response,
                "is_audited": not is_read,
                **facts,
            }
            is_empty = given["response"] is None and method != "WEBSOCKET"
            given.setdefault("status", 204 if is_empty else 200)
            made = Operation(
                name=handler.__name__,
                method=method,
                path=self.path + path,
                handler=handler,
                query=types.query,
                summary=inspect.getdoc(handler) or "",
                tag=self.tag,
                **given,
            )
            assert made.response != dict[str, Any] or "response" in facts, f"{made.name}: response"
            return made

        return of


class _Types(NamedTuple):
    request: Any
    query: type[Struct] | None
    response: Any


def _declared_types(handler: Handler) -> _Types:
    """The types that a handler's signature declares."""
    hints = get_type_hints(handler, include_extras=True)
    response = hints.pop("return")
    call, *body = hints.values()
    query = get_args(call)[0]
    return _Types(
        request=body[0] if body and body[0] is not WebSocket else None,
        query=query if issubclass(query, Struct) else None,
        response=None if response is type(None) else response,
    )
