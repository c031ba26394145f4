"""Operations: what can be asked of the service, by whom, in which words and with which answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from tenuto.access.permissions import Permission

Method: TypeAlias = Literal["GET", "POST", "PUT", "DELETE", "WEBSOCKET"]
Size: TypeAlias = Literal["command", "value", "outcome", "batch", "document"]
"""How large a body may be: a few words, what is started or published, what came of a task, many of
them, a definition."""
Handler: TypeAlias = Callable[..., Awaitable[Any]]
"""Called with the Call, and with the body where the operation has one. What it returns is encoded,
unless it is a Starlette response; None has no body."""

API = "/api/v1"
JSON_MEDIA = ("application/json",)


class Operation(Struct, frozen=True, kw_only=True, eq=False):
    """One thing that can be asked for."""

    name: str
    method: Method
    path: str
    permission: Permission | None
    """Who may ask; None only where it is public. What declares neither cannot be reached."""
    handler: Handler
    request: Any = None
    """The type of its body; None where it has none."""
    query: type[Struct] | None = None
    """Its query parameters; None where it has none."""
    response: Any = None
    """The type of what it answers; None where that has no body."""
    status: int = 200
    other_statuses: tuple[int, ...] = ()
    """What else it may answer beside what every operation may."""
    summary: str
    tag: str
    is_public: bool = False
    """Whether it answers anybody, also where a credential is needed; it shows nobody's data."""
    is_audited: bool
    """Whether it changes something, so that who asked for it is kept."""
    is_frequent: bool = False
    """Whether it is asked for so often that what came of it is recorded without being waited for;
    that it was asked for is durable before."""
    size: Size = "command"
    media: tuple[str, ...] = JSON_MEDIA
    """What its body may be."""
    may_be_empty: bool = False
    """Whether the body may be left out: then everything in it is as by default."""
    is_raw: bool = False
    """Whether the handler reads the body itself, from `call.body`."""
    response_media: str = "application/json"


def operation(  # noqa: PLR0913 - one for each thing that is said of it
    method: Method,
    path: str,
    *,
    summary: str,
    tag: str,
    permission: Permission | None = None,
    request: object = None,
    query: type[Struct] | None = None,
    response: object = None,
    status: int = 200,
    other_statuses: tuple[int, ...] = (),
    is_public: bool = False,
    is_audited: bool | None = None,
    is_frequent: bool = False,
    size: Size = "command",
    media: tuple[str, ...] = JSON_MEDIA,
    may_be_empty: bool = False,
    is_raw: bool = False,
    response_media: str = "application/json",
) -> Callable[[Handler], Operation]:
    """Make an operation of a function; its name is the function's."""

    def of(handler: Handler) -> Operation:
        return Operation(
            name=handler.__name__,
            method=method,
            path=path,
            permission=permission,
            handler=handler,
            request=request,
            query=query,
            response=response,
            status=status,
            other_statuses=other_statuses,
            summary=summary,
            tag=tag,
            is_public=is_public,
            is_audited=method not in ("GET", "WEBSOCKET") if is_audited is None else is_audited,
            is_frequent=is_frequent,
            size=size,
            media=media,
            may_be_empty=may_be_empty,
            is_raw=is_raw,
            response_media=response_media,
        )

    return of
