"""Requests to a server, or to the next of several: tried again where that is safe."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final, NamedTuple, TypeAlias, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import aiohttp
import msgspec

from tenuto.client.refusals import STRANGE, error_from
from tenuto.model.errors import (
    MAY_BE_WRITTEN,
    OVER_QUOTA,
    InvalidInput,
    Overloaded,
    Problem,
    StoreUnavailable,
    TenutoError,
)
from tenuto.model.json import JSON
from tenuto.ports import Clock, Ids, SystemClock, SystemIds

T = TypeVar("T")
Socket: TypeAlias = aiohttp.ClientWebSocketResponse

API: Final = "/api/v1"
PATIENCE: Final = 30.0
"""Seconds that are spent on trying again, unless the client says otherwise."""
NO_SERVER: Final = "TEN-4030"
NOT_KNOWN: Final = "TEN-4032"
_ANSWER_WITHIN: Final = 30.0
"""Seconds that a server has to answer, beside what it was asked to wait."""
NEXT_AFTER: Final = 5.0
"""Seconds of silence after which the next address is tried, unless the client says otherwise."""
_CONNECT_WITHIN: Final = 5.0
"""Seconds that a connection may take to open, before the next address is tried."""
_SILENT: Final = 45.0
"""Seconds of silence after which a stream is taken for broken: a server says more often that it is
there."""
_LONGEST_LINE: Final = 1 << 22
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 3.0
_NOTHING_ACCEPTED: Final = frozenset({429, 503})
_OF_PROXIES: Final = frozenset({502, 503, 504})
"""What a proxy says where the server behind it gave no answer."""
_STORED: Final = "TEN-4015"
_NOT_RECORDED: Final = "TEN-5030"
_MAY_BE_DONE: Final = frozenset({STRANGE, MAY_BE_WRITTEN, _STORED, _NOT_RECORDED})
"""Codes of a 503 that do not say that nothing was accepted."""
_RANDOM: Final = 1 << 64
_REASON: Final = "tenuto-reason"
_REVEALS: Final = "tenuto-reveals"


class Ask(NamedTuple):
    """A request."""

    method: str
    path: str
    """Behind the server's address, its parts quoted."""
    query: Mapping[str, object] = {}
    body: object = None
    """Sent as JSON; bytes as they are; None: no body."""
    headers: Mapping[str, str] = {}
    is_repeatable: bool = True
    """Whether doing it twice is the same as doing it once."""
    may_overlap: bool = False
    """Whether it may be sent to another address while the first may still be at work on it: it only
    reads, as every GET does, or has a key or id. Otherwise the second might be refused for what
    the first has done."""
    wait: float = 0.0
    """Seconds that the server was asked to wait."""
    gives_nothing: bool = False
    """Whether success has no content: then a removal whose answer was lost counts as done when the
    next request finds nothing."""


class Answered(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    server: str
    """Who answered."""


class _Unanswered(StoreUnavailable):
    """The request was sent, and may have been done."""


class Connection:
    """The way to one service, which several addresses may lead to."""

    def __init__(
        self,
        urls: str | Sequence[str],
        key: str | None,
        *,
        tenant: str | None = None,
        patience: float = PATIENCE,
        next_after: float = NEXT_AFTER,
        clock: Clock | None = None,
        ids: Ids | None = None,
    ) -> None:
        given = [urls] if isinstance(urls, str) else list(urls)
        self.urls = [_checked(each) for each in given]
        if not self.urls:
            raise _no_url("", "no address is given")
        self.clock: Clock = clock or SystemClock()
        self.ids: Ids = ids or SystemIds()
        self.patience = patience
        """Seconds that are spent on trying a request again."""
        self.dead_after: float | None = None
        """Seconds after which a server to which no connection can be made is given up, if that is
        less than its patience."""
        self._next_after = next_after
        self.connect_within = _CONNECT_WITHIN
        self._at = 0
        """Which of the addresses is asked next: the one that answered last."""
        self._headers = {"accept": "application/json"}
        if key is not None:
            self._headers["authorization"] = f"Bearer {key}"
        if tenant is not None:
            self._headers["tenuto-tenant"] = tenant
        self._session: aiohttp.ClientSession | None = None
        self.answered: Callable[[Answered], None] | None = None
        """Called with each answer, a refusal too."""

    def because(self, reason: str | None) -> None:
        """Have the service's audit log keep a reason with the changes that follow."""
        self._headers.pop(_REASON, None)
        if reason is not None:
            self._headers[_REASON] = quote(reason, safe=" ", errors="replace")

    def reveal(self) -> None:
        """Have the service's audit log keep that the reads that follow show masked values."""
        self._headers[_REVEALS] = "true"

    @property
    def url(self) -> str:
        """The address that is asked first."""
        return self.urls[self._at]

    async def get(self, path: str, answer: type[T], **query: object) -> T:
        """The answer to a GET of the API."""
        return await self.ask(Ask("GET", path, query), answer)

    async def ask(self, ask: Ask, answer: type[T]) -> T:
        """What a request to the API is answered with; the error that the app would raise."""
        answered = await self.send(ask._replace(path=API + ask.path))
        return self.decoded(answered, answer)

    async def do(self, ask: Ask) -> None:
        """A request to the API that is answered with nothing."""
        await self.send(ask._replace(path=API + ask.path, gives_nothing=True))

    def decoded(self, answered: Answered, answer: type[T]) -> T:
        """An answer as what it should be."""
        try:
            return msgspec.json.decode(answered.body, type=answer)
        except msgspec.MsgspecError as error:
            raise StoreUnavailable(
                f"{answered.server} answered something that is not understood: {error}",
                code=STRANGE,
            ) from error

    async def send(self, ask: Ask) -> Answered:
        """What a request is answered with; anything but success is raised."""
        begun = self.clock.ticks()
        tried = 0
        may_be_done = False
        while True:
            tried += 1
            at = self._at
            failed: TenutoError
            try:
                answered = await self._once(ask, self.urls[at], self._silence(ask, tried))
            except StoreUnavailable as error:
                if error.code == NOT_KNOWN:
                    raise
                failed, pause = error, self._pause(tried)
                may_be_done = may_be_done or isinstance(error, _Unanswered)
            else:
                if answered.status < 300 or (may_be_done and _is_gone(ask, answered)):
                    return answered
                failed = _worth_repeating(ask, answered)
                may_be_done = may_be_done or failed.code in _MAY_BE_DONE
                pause = max(self._pause(tried), _retry_after(answered))
            self._pass_over(at)
            # Another address may do better, and at once.
            if tried % len(self.urls):
                continue
            if self.clock.ticks() + pause > begun + self._patience_for(failed):
                raise failed
            await self.clock.sleep(pause)

    async def lines(self, ask: Ask) -> AsyncGenerator[str, None]:
        """An answer that goes on, line after line; StoreUnavailable where it breaks off."""
        at, server = self._at, self.url
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=self.connect_within, sock_read=_SILENT
        )
        try:
            async with self._open_session().get(
                f"{server}{ask.path}{_query(ask.query)}",
                headers={**self._headers_of(ask), "accept": "text/event-stream"},
                allow_redirects=False,
                timeout=timeout,
            ) as response:
                if response.status >= 300:
                    raise error_from(response.status, await response.read(), server)
                async for line in response.content:
                    yield line.decode().rstrip("\r\n")
        except (TimeoutError, ValueError, aiohttp.ClientError, OSError) as error:
            # One of the others may be there.
            self._pass_over(at)
            raise _unreachable(server, error) from error

    @asynccontextmanager
    async def socket(self, ask: Ask) -> AsyncIterator[Socket]:
        """A WebSocket; StoreUnavailable where it cannot be opened."""
        at, server = self._at, self.url
        headers = {"authorization", "tenuto-tenant"} & self._headers.keys()
        try:
            opened = await self._open_session().ws_connect(
                f"{server}{ask.path}{_query(ask.query)}",
                headers={name: self._headers[name] for name in headers},
            )
        except aiohttp.WSServerHandshakeError as error:
            raise error_from(error.status, b"", server) from error
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            self._pass_over(at)
            raise _unreachable(server, error) from error
        async with opened:
            yield opened

    async def close(self) -> None:
        """Close the connections; a further request opens them again."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _patience_for(self, failed: TenutoError) -> float:
        is_dead = failed.code == NO_SERVER and not isinstance(failed, _Unanswered)
        if is_dead and self.dead_after is not None:
            return min(self.dead_after, self.patience)
        return self.patience

    def _pass_over(self, at: int) -> None:
        """Ask another address from now on, unless another request has passed it over already."""
        if self._at == at:
            self._at = (at + 1) % len(self.urls)

    def _silence(self, ask: Ask, tried: int) -> float | None:
        """How long a server may say nothing; None: as long as an answer may take.

        Only while an address is left that was not asked yet, and may be: the last has its time.
        """
        has_others = tried < len(self.urls)
        may_go_on = ask.is_repeatable and (ask.may_overlap or ask.method == "GET")
        return self._next_after + ask.wait if has_others and may_go_on else None

    async def _once(self, ask: Ask, server: str, silence: float | None) -> Answered:
        is_once = ask.method == "DELETE" or not ask.is_repeatable
        try:
            async with (
                asyncio.timeout(_ANSWER_WITHIN + ask.wait),
                self._open_session().request(
                    ask.method,
                    f"{server}{ask.path}{_query(ask.query)}",
                    data=None if ask.body is None else _encoded(ask.body),
                    headers=self._headers_of(ask),
                    allow_redirects=False,
                    timeout=aiohttp.ClientTimeout(
                        total=None, sock_connect=self.connect_within, sock_read=silence
                    ),
                    middlewares=[_once_only] if is_once else [],
                ) as response,
            ):
                body = await response.read()
                answered = Answered(response.status, response.headers, body, server)
                if self.answered is not None:
                    self.answered(answered)
                return answered
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise _unreachable(server, error) from error
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            if ask.is_repeatable:
                raise _Unanswered(_cannot_reach(server, error), code=NO_SERVER) from error
            raise _not_known(f"{server} did not answer: {_reason(error)}") from error

    def _headers_of(self, ask: Ask) -> dict[str, str]:
        typed = {} if ask.body is None else {"content-type": "application/json"}
        return {**self._headers, **typed, **ask.headers}

    def _pause(self, tried: int) -> float:
        """Longer each time, and by chance: those who were sent away do not come back together."""
        most = min(_FIRST_PAUSE * 2.0 ** min(tried, 16), _LONGEST_PAUSE)
        return most * (0.5 + int(self.ids.short(), 16) / _RANDOM / 2)

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),
                read_bufsize=_LONGEST_LINE,
            )
        return self._session


class _BrokenOff(aiohttp.ClientError):
    """The connection broke under a request."""


async def _once_only(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """The library would send a removal or a PUT again by itself.

    The second would be refused for what the first has done.
    """
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _BrokenOff(str(error)) from error


def _is_gone(ask: Ask, answered: Answered) -> bool:
    """Whether a 404 means that an earlier request, whose answer was lost, has removed it."""
    if ask.method != "DELETE" or answered.status != 404 or not ask.gives_nothing:
        return False
    return error_from(answered.status, answered.body, answered.server).code != STRANGE


def _worth_repeating(ask: Ask, answered: Answered) -> TenutoError:
    """What a request that may be sent again was refused with; of any other it is raised."""
    refused = error_from(answered.status, answered.body, answered.server)
    if isinstance(refused, Overloaded):
        refused.retry_after = int(_retry_after(answered)) or None
    is_proxy = answered.status in _OF_PROXIES and refused.code == STRANGE
    is_over_quota = refused.code == OVER_QUOTA
    if is_over_quota or (answered.status not in _NOTHING_ACCEPTED and not is_proxy):
        raise refused
    if ask.is_repeatable or refused.code not in _MAY_BE_DONE:
        return refused
    raise _not_known(refused.message) if is_proxy else refused


def part(text: str) -> str:
    """A name as a part of a path."""
    return quote(text, safe="")


def _query(given: Mapping[str, object]) -> str:
    said = {name: _said(value) for name, value in given.items() if value is not None}
    return f"?{urlencode(said)}" if said else ""


def _said(value: object) -> str:
    plain: JSON = msgspec.to_builtins(value)
    if isinstance(plain, bool):
        return "true" if plain else "false"
    return str(plain)


def _encoded(body: object) -> bytes:
    if isinstance(body, bytes):
        return body
    try:
        return msgspec.json.encode(body)
    except (TypeError, ValueError) as error:
        problem = Problem(
            code="TEN-2004", path="$", message=str(error), advice="Pass JSON: text, numbers, …"
        )
        raise InvalidInput("what was given is not JSON", [problem]) from error


def _retry_after(answered: Answered) -> float:
    said = answered.headers.get("retry-after", "")
    return float(said) if said.isdecimal() else 0.0


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise _no_url(url, f"{url!r} is not the address of a server")
    return url.rstrip("/")


def _no_url(url: str, message: str) -> InvalidInput:
    problem = Problem(
        code="TEN-2620",
        path="url",
        message=message if url else "no address is given",
        advice="Write it as in http://127.0.0.1:8484.",
    )
    return InvalidInput(message, [problem])


def _unreachable(server: str, error: Exception) -> StoreUnavailable:
    return StoreUnavailable(_cannot_reach(server, error), code=NO_SERVER)


def _cannot_reach(server: str, error: Exception) -> str:
    return f"cannot reach {server}: {_reason(error)}"


def _not_known(why: str) -> StoreUnavailable:
    return StoreUnavailable(f"whether it was done is not known: {why}", code=NOT_KNOWN)


def _reason(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorError):
        return os.strerror(error.errno) if error.errno else str(error.os_error)
    return str(error) or type(error).__name__
