"""Requests over HTTP: no redirects, no cookies, no proxies, and only to addresses allowed."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import Mapping
from typing import Any

import aiohttp

from tenuto.egress.addresses import address_problem, private_problem, url_problem
from tenuto.egress.lookups import LookUps
from tenuto.ports import Page, Reply

log = logging.getLogger("tenuto.egress")

_PART = 65_536


class _Refused(OSError):
    """A name resolves to an address that is not allowed."""


class HttpSender:
    """Sends requests, independent of each other; connections are reused."""

    def __init__(self, *, may_be_private: bool = False) -> None:
        """With `may_be_private` also to private addresses, such as this machine."""
        self._may_be_private = may_be_private
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

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()
        look_ups, self._look_ups = self._look_ups, None
        if look_ups is not None:
            await look_ups.close()

    def _refused(self, url: str, *, needs_tls: bool = False) -> Page | None:
        """The refusal of a URL that may not be used."""
        problem = url_problem(url)
        if problem is None and not self._may_be_private:
            problem = private_problem(url)
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
        except TimeoutError:
            return Page(None, error=f"no answer within {seconds:g} s")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if isinstance(error, aiohttp.ClientConnectorError) and self._look_ups is not None:
                # The cached address of the name may be an old one.
                self._look_ups.forget(error.host)
            log.info("egress: %s %s failed: %s: %s", method, url, type(error).__name__, error)
            return Page(None, error=told(error))

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._look_ups = LookUps(may_be_private=self._may_be_private)
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
                timeout=aiohttp.ClientTimeout(total=None),
            )
        return self._session

    def _socket(self, found: tuple[Any, ...]) -> socket.socket:
        """A socket for a resolved address: only here the address that is used is certain."""
        family, kind, protocol, _, address = found
        problem = None if self._may_be_private else address_problem(address[0])
        if problem is not None:
            raise _Refused(problem)
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


async def _read(answer: aiohttp.ClientResponse, most: int) -> Page:
    """The response, unless it is larger than `most` bytes."""
    body = bytearray()
    async for part in answer.content.iter_chunked(_PART):
        body += part
        if len(body) > most:
            return Page(None, error=f"the answer has more than {most:,} bytes")
    return Page(answer.status, bytes(body))


_PLAIN = {"accept-encoding": "identity"}
"""A compressed response could be far larger than its bytes."""
