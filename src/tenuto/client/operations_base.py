"""Requests of operations, as the generated methods make them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, TypedDict, TypeVar, Unpack, cast

from msgspec import UNSET, Raw

from tenuto.client.connection import API, Answered, Ask, Connection, Socket
from tenuto.model.json import JSON, Object
from tenuto.workspace.values import Page

T = TypeVar("T")

_NULL: Final = Raw(b"null")
_ACCEPTED: Final = 202


class Facts(TypedDict, total=False):
    """Facts of a request, see `Ask`."""

    query: Mapping[str, object]
    body: object
    fields: Mapping[str, object]
    """The fields of the body; one that is None or UNSET is left out."""
    headers: Mapping[str, str | None]
    is_repeatable: bool
    may_overlap: bool
    wait: float
    is_of_api: bool
    """Whether the path is below that of the API."""


class OperationsBase:
    """Sends the requests of operations over one connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    async def _ask(self, gives: type[T], method: str, path: str, **facts: Unpack[Facts]) -> T:
        return self.connection.decoded(await self._send(method, path, facts), gives)

    async def _ask_results(self, method: str, path: str, **facts: Unpack[Facts]) -> Object:
        """`{results: […]}`; a server of an older version may answer with the bare list."""
        either = cast("type[Object | list[JSON]]", Object | list[JSON])
        answer = await self._ask(either, method, path, **facts)
        return {"results": answer} if isinstance(answer, list) else answer

    async def _page(
        self, gives: type[Page[T]], path: str, limit: int | None, cursor: str | None
    ) -> Page[T]:
        return await self._ask(gives, "GET", path, query={"limit": limit, "cursor": cursor})

    async def _ask_if_accepted(
        self, gives: type[T], method: str, path: str, **facts: Unpack[Facts]
    ) -> T | None:
        answered = await self._send(method, path, facts, gives_nothing=True)
        # 204: it is done. 404: it was done by a request whose answer was lost.
        is_accepted = answered.status == _ACCEPTED
        return self.connection.decoded(answered, gives) if is_accepted else None

    async def _do(self, method: str, path: str, **facts: Unpack[Facts]) -> None:
        await self._send(method, path, facts, gives_nothing=True)

    async def _text(self, method: str, path: str, **facts: Unpack[Facts]) -> str:
        return (await self._send(method, path, facts)).body.decode()

    def _lines(self, path: str, **facts: Unpack[Facts]) -> AsyncGenerator[str, None]:
        return self.connection.lines(_request("GET", path, facts))

    def _socket(self, path: str, **facts: Unpack[Facts]) -> AbstractAsyncContextManager[Socket]:
        return self.connection.socket(_request("GET", path, facts))

    async def _send(
        self, method: str, path: str, facts: Facts, *, gives_nothing: bool = False
    ) -> Answered:
        ask = _request(method, path, facts)._replace(gives_nothing=gives_nothing)
        return await self.connection.send(ask)


def null(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """The value of a field that is sent also where it is None."""
    return _NULL if value is None else value


def _request(method: str, path: str, facts: Facts) -> Ask:
    body, fields = facts.get("body"), facts.get("fields")
    if fields is not None:
        # A field that has no value is left out: a server of an older version may not know it.
        body = {name: it for name, it in fields.items() if it is not None and it is not UNSET}
    headers = {name: each for name, each in facts.get("headers", {}).items() if each is not None}
    return Ask(
        method,
        API + path if facts.get("is_of_api", True) else path,
        facts.get("query", {}),
        body,
        headers,
        facts.get("is_repeatable", True),
        facts.get("may_overlap", False),
        facts.get("wait", 0.0),
    )
