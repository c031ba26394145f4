"""The broker client over HTTP."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from datetime import timedelta
from typing import TypeVar, cast
from urllib.parse import quote

import aiohttp
import msgspec

from tenuto.model.errors import (
    Conflict,
    Forbidden,
    NotFound,
    Overloaded,
    StoreUnavailable,
    TenutoError,
)
from tenuto.model.executions import (
    ClaimedTask,
    Heartbeat,
    ReleasedTask,
    ReportAnswer,
    TaskReport,
)
from tenuto.model.task_definition import WorkerTask
from tenuto.model.task_logs import LogChunk
from tenuto.worker.broker_client import NotTaken, RegisteredTask, TooLarge
from tenuto.worker.credential import Credential, Key, NoToken, Shown

_PATIENCE = 30.0
"""Seconds that a server has to answer, beside the wait of a claim."""
_CONNECT_WITHIN = 5.0
_LONGEST_QUOTE = 500
_UNAUTHENTICATED = 401
_TOO_MANY = 429
_ITS_FAULT = 500

T = TypeVar("T")


class _Claimed(msgspec.Struct):
    tasks: list[ClaimedTask]


class _Registered(msgspec.Struct):
    results: list[RegisteredTask]


class _Problem(msgspec.Struct):
    code: str = "TEN-4000"
    detail: str = ""
    advice: str = ""


class _Results(msgspec.Struct):
    results: list[ReportAnswer]


_ANSWERS = cast("type[list[ReportAnswer] | _Results]", list[ReportAnswer] | _Results)
"""The answers to many, as servers of this version and of later ones spell them."""

_BY_STATUS: dict[int, type[TenutoError]] = {
    400: NotTaken,
    _UNAUTHENTICATED: Forbidden,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    422: NotTaken,
    _TOO_MANY: Overloaded,
}


class HttpBrokerClient:
    """Claims and reports at `/api/v1/executions` of a server.

    It may have several addresses: where one does not answer, the next is used from then on.
    """

    def __init__(
        self, servers: str | Sequence[str], *, key: str | Credential | None = None
    ) -> None:
        """`key` is an API key, or the source of a token that is renewed."""
        given = [servers] if isinstance(servers, str) else servers
        self._servers = [f"{each.rstrip('/')}/api/v1/executions" for each in given]
        self._at = 0
        """The index of the address in use."""
        self._headers = {"content-type": "application/json"}
        self._credential = Key(key) if isinstance(key, str) else key
        self._session: aiohttp.ClientSession | None = None

    async def register(self, worker_id: str, tasks: Sequence[WorkerTask]) -> list[RegisteredTask]:
        asked = {"workerId": worker_id, "tasks": tasks}
        return (await self._post("register", asked, _Registered)).results

    async def claim(
        self,
        worker_id: str,
        task_ids: Sequence[str],
        *,
        most: int,
        wait: timedelta,
        lease: timedelta,
        request_id: str | None = None,
        with_outputs: bool = False,
    ) -> list[ClaimedTask]:
        asked = {
            "workerId": worker_id,
            "taskIds": list(task_ids),
            "max": most,
            "wait": wait.total_seconds(),
            "lease": lease.total_seconds(),
            "requestId": request_id,
            "previousOutputs": with_outputs,
        }
        patience = wait.total_seconds() + _PATIENCE
        return (await self._post("claim", asked, _Claimed, patience)).tasks

    async def heartbeat(
        self,
        execution_id: str,
        lease_token: str,
        details: object = None,
        logs: LogChunk | None = None,
    ) -> Heartbeat:
        said: dict[str, object] = {"leaseToken": lease_token}
        if details is not None:
            said["details"] = details
        if logs is not None:
            said["logs"] = logs
        return await self._post(f"{quote(execution_id, safe='')}/heartbeat", said, Heartbeat)

    async def report(self, reports: Sequence[TaskReport]) -> list[ReportAnswer]:
        return _each_once(await self._post("report", {"results": reports}, _ANSWERS), reports)

    async def release(
        self, tasks: Sequence[ReleasedTask], *, patience: float = _PATIENCE
    ) -> list[ReportAnswer]:
        return _each_once(await self._post("release", {"tasks": tasks}, _ANSWERS, patience), tasks)

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _post(
        self, path: str, body: object, answer: type[T], patience: float = _PATIENCE
    ) -> T:
        at = self._at
        try:
            return await self._post_to(self._servers[at], path, body, answer, patience)
        except NoToken:
            # Without a token no other address would do better.
            raise
        except StoreUnavailable:
            # Of requests that fail together only the first moves on to the next address.
            if self._at == at:
                self._at = (at + 1) % len(self._servers)
            raise

    async def _post_to(
        self, server: str, path: str, body: object, answer: type[T], patience: float
    ) -> T:
        url, data = f"{server}/{path}", msgspec.json.encode(body)
        shown = await self._shown()
        status, content = await self._send(url, data, patience, shown)
        if status == _UNAUTHENTICATED and self._credential and self._credential.refused(shown):
            # The token may have been replaced or revoked early: another one is read.
            status, content = await self._send(url, data, patience, await self._shown())
        if status != 200:
            raise _problem(status, content)
        try:
            return msgspec.json.decode(content, type=answer)
        except msgspec.MsgspecError as error:
            raise StoreUnavailable(f"{server} answered something else: {error}") from error

    async def _shown(self) -> Shown:
        return Shown("") if self._credential is None else await self._credential.shown()

    async def _send(
        self, url: str, data: bytes, patience: float, shown: Shown
    ) -> tuple[int, bytes]:
        headers = self._headers
        if shown.text:
            headers = {**headers, "authorization": f"Bearer {shown.text}"}
        try:
            async with (
                asyncio.timeout(patience),
                self._open_session().post(
                    url,
                    data=data,
                    headers=headers,
                    allow_redirects=False,
                ) as response,
            ):
                return response.status, await response.read()
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise StoreUnavailable(f"{url} cannot be reached: {_reason(error)}") from error

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_WITHIN),
            )
        return self._session


def _each_once(
    answered: list[ReportAnswer] | _Results, asked: Sequence[TaskReport] | Sequence[ReleasedTask]
) -> list[ReportAnswer]:
    answers = answered.results if isinstance(answered, _Results) else answered
    if [each.execution_id for each in answers] != [each.execution_id for each in asked]:
        raise StoreUnavailable("the server answered to other tasks than it was asked about")
    return answers


def _problem(status: int, content: bytes) -> TenutoError:
    try:
        told = msgspec.json.decode(content, type=_Problem)
    except msgspec.MsgspecError:
        told = _Problem(detail=content[:_LONGEST_QUOTE].decode("utf-8", "replace"))
    message = f"the server answered {status}: {told.detail}"
    kind = _BY_STATUS.get(status)
    if kind is None:
        kind = StoreUnavailable if status >= _ITS_FAULT else TenutoError
    return kind(message, code=told.code, advice=told.advice)


def _reason(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorError):
        return os.strerror(error.errno) if error.errno else str(error.os_error)
    return str(error) or type(error).__name__
