"""Requests over HTTP: no redirects, no cookies, no proxies, and only to addresses allowed."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from tenuto.egress.addresses import host_problem, host_refusal, private_problem, url_problem
from tenuto.egress.allowances import EVERYTHING, PUBLIC, Allowance
from tenuto.egress.lookups import LookUp, LookUps
from tenuto.egress.request import (
    LONGEST_URL,
    Answer,
    Headers,
    NoAnswer,
    Request,
    headers_problem,
)
from tenuto.ports import Page, Reply

log = logging.getLogger("tenuto.egress")

Cut: TypeAlias = Callable[[int], int | None]
"""Status → of how many bytes its body is wanted, if not of all."""
_PART = 65_536
_TO_CONNECT = 30.0
"""Seconds for which a connection is waited for."""
_NO_CONNECTION = f"cannot connect: no answer within {_TO_CONNECT:g} s"
_NO_BODY = frozenset({204, 205, 304})


def _let_go(error: BaseException | None) -> None:
    """Free what the frames of an error keep, which keep the error: else it is garbage.

    A thousand failed deliveries would have 75,000 objects, and everything waits for a collection.
    """
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


class _Refused(OSError):
    """A name resolves to an address that is not allowed."""


class HttpSender:
    """Sends requests, independent of each other; connections are reused."""

    def __init__(
        self,
        *,
        may_be_private: bool = False,
        allowance: Allowance = PUBLIC,
        look_up: LookUp | None = None,
    ) -> None:
        """With `may_be_private` also to private addresses, such as this machine.

        `allowance`: private hosts and networks that may be called; `look_up`: asks a name server.
        """
        self._allowance = EVERYTHING if may_be_private else allowance
        self._look_up = look_up
        self._session: aiohttp.ClientSession | None = None
        self._look_ups: LookUps | None = None

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, seconds: float
    ) -> Reply:
        """Send, and wait for a status; the body of the response is never read."""
        page = await self._ask("POST", url, seconds, None, data=body, headers=headers)
        return Reply(page.status, page.error)

    async def call(
        self, url: str, headers: Mapping[str, str], body: bytes, *, seconds: float, most: int
    ) -> Page:
        """Post, and read the response; it does not raise."""
        return self._refused(url) or await self._ask(
            "POST", url, seconds, most, data=body, headers={**headers, **_PLAIN}
        )

    async def get(self, url: str, *, seconds: float, most: int) -> Page:
        """Get a small document; over TLS, unless private addresses are allowed."""
        return self._refused(url, needs_tls=True) or await self._ask(
            "GET", url, seconds, most, headers=_PLAIN
        )

    async def exchange(
        self, request: Request, *, most: int | None, cut: Cut = lambda _: None
    ) -> Answer | NoAnswer:
        """Send a request of a user and read its response, without redirects; it does not raise.

        None of its body is read where `most` is None. `cut`: for which statuses only the beginning
        of the body is read, and how many bytes of it.
        """
        url = self._checked(request)
        if isinstance(url, NoAnswer):
            return url
        headers = CIMultiDict(request.headers)
        headers.setdefault("user-agent", "tenuto")
        headers.update(_PLAIN)
        try:
            return await self._sent(request, url, headers, most, cut)
        except aiohttp.ServerTimeoutError:
            return NoAnswer("connection", _NO_CONNECTION)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            self._note(request.method, url, error)
            return NoAnswer(_kind_of(error), told(error))

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()
        look_ups, self._look_ups = self._look_ups, None
        if look_ups is not None:
            await look_ups.close()

    # -- one request

    def _checked(self, request: Request) -> URL | NoAnswer:
        """The URL of a request, as it is connected to; why it may not be sent."""
        problem = url_problem(request.url, LONGEST_URL)
        if problem is not None:
            return _unusable(problem)
        try:
            url = URL(request.url)
            host = url.raw_host or ""
        except ValueError as error:
            return _unusable(f"it is not a URL: {error}")
        # A name in another script may be another way to write an address.
        if (problem := host_problem(host)) is not None:
            return _unusable(problem)
        if (refusal := host_refusal(host, self._allowance)) is not None:
            return NoAnswer("refused", refusal)
        if (problem := headers_problem(request.headers)) is not None:
            return NoAnswer("headers", problem)
        return url

    async def _sent(
        self, request: Request, url: URL, headers: CIMultiDict[str], most: int | None, cut: Cut
    ) -> Answer | NoAnswer:
        asked = self._open_session().request(
            request.method,
            url,
            data=request.body,
            headers=headers,
            skip_auto_headers=("content-type",),
            allow_redirects=False,
        )
        async with asked as response:
            answer = Answer(
                response.status, request.url, _headers(response), reason=response.reason or ""
            )
            if request.method == "HEAD" or answer.status in _NO_BODY:
                return answer
            if (beginning := cut(answer.status)) is not None:
                return answer._replace(body=await _beginning(response, beginning))
            if most is None:
                return answer
            if (response.content_length or 0) > most:
                return _too_large(most)
            page = await _read(response, most)
            if page.status is None:
                return _too_large(most)
            encoding = (answer.header("content-encoding") or "identity").strip().lower()
            if page.body and encoding != "identity":
                message = f"the response is compressed ({encoding[:20]}), which was not asked for"
                return NoAnswer("encoding", message)
            return answer._replace(body=page.body)

    def _refused(self, url: str, *, needs_tls: bool = False) -> Page | None:
        """The refusal of a URL that may not be used."""
        problem = url_problem(url)
        if problem is None and not self._allowance.is_all:
            problem = private_problem(url, self._allowance)
            if problem is None and needs_tls and not url.startswith("https://"):
                problem = "it does not begin with https://"
        return None if problem is None else Page(None, error=f"the URL cannot be used: {problem}")

    async def _ask(
        self,
        method: str,
        url: str,
        seconds: float,
        most: int | None,
        **sent: Any,  # noqa: ANN401
    ) -> Page:
        """Send a request and read at most so many bytes of its response; None: no body."""
        try:
            async with (
                asyncio.timeout(seconds),
                self._open_session().request(method, url, allow_redirects=False, **sent) as answer,
            ):
                return Page(answer.status) if most is None else await _read(answer, most)
        except aiohttp.ServerTimeoutError:
            return Page(None, error=_NO_CONNECTION)
        except TimeoutError:
            return Page(None, error=f"no answer within {seconds:g} s")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            self._note(method, url, error)
            return Page(None, error=told(error))

    def _note(self, method: str, url: str | URL, error: Exception) -> None:
        if isinstance(error, aiohttp.ClientConnectorError) and self._look_ups is not None:
            # The cached address of the name may be an old one.
            self._look_ups.forget(error.host)
        shown = url if isinstance(url, str) else url.origin()
        log.info("egress: %s %s failed: %s: %s", method, shown, type(error).__name__, error)
        _let_go(error)

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._look_ups = LookUps(self._allowance, look_up=self._look_up)
            connector = aiohttp.TCPConnector(
                limit=0,
                use_dns_cache=False,
                resolver=self._look_ups,
                socket_factory=self._socket,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=_TO_CONNECT),
            )
        return self._session

    def _socket(self, found: tuple[Any, ...]) -> socket.socket:
        """A socket for a resolved address: only here the address that is used is certain."""
        family, kind, protocol, _, address = found
        look_ups = self._look_ups
        if look_ups is None or not look_ups.admits(address[0]):
            raise _Refused(f"{address[0]} is not an address of the public network")
        return socket.socket(family, kind, protocol)


def told(error: Exception) -> str:
    """Why a request failed, for the tenant whose request it was; the log has the whole error.

    The text of an error may have addresses in it that a name of an inner network leads to, or quote
    the response. A name that leads to refused addresses alone is not told from an unknown one.
    """
    if not isinstance(error, aiohttp.ClientConnectorError):
        return type(error).__name__
    match error.os_error:
        case _ if isinstance(error, aiohttp.ClientConnectorDNSError):
            why = "the name of the host has no address that may be used"
        case _Refused():
            why = "the address is not one of the public network"
        case ssl.SSLCertVerificationError(verify_message=str(why)):
            pass
        case ssl.SSLError() as failed:
            why = f"TLS failed: {getattr(failed, 'reason', None) or type(failed).__name__}"
        case OSError(errno=int(number)) if number > 0:
            why = os.strerror(number)
        case other:
            why = type(other).__name__
    return f"cannot connect: {why}"


def _kind_of(error: Exception) -> Literal["refused", "certificate", "connection"]:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return "certificate"
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, _Refused):
        return "refused"
    return "connection"


def _headers(response: aiohttp.ClientResponse) -> Headers:
    # Bytes that are not UTF-8 come as lone surrogates, which no store can keep.
    return tuple(
        (name.lower(), value.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
        for name, value in response.headers.items()
    )


def _unusable(problem: str) -> NoAnswer:
    return NoAnswer("url", f"the URL cannot be used: {problem}")


def _too_large(most: int) -> NoAnswer:
    return NoAnswer("size", f"the answer has more than {most:,} bytes")


async def _read(answer: aiohttp.ClientResponse, most: int) -> Page:
    """The response, unless it is larger than `most` bytes."""
    body = bytearray()
    async for part in answer.content.iter_chunked(_PART):
        body += part
        if len(body) > most:
            return Page(None, error=f"the answer has more than {most:,} bytes")
    return Page(answer.status, bytes(body))


async def _beginning(answer: aiohttp.ClientResponse, most: int) -> bytes:
    """The beginning of a response."""
    body = bytearray()
    async for part in answer.content.iter_chunked(most):
        body += part
        if len(body) >= most:
            break
    return bytes(body[:most])


_PLAIN = {"accept-encoding": "identity"}
"""A compressed response could be far larger than its bytes."""
