"""Requests over HTTP: no redirects, no cookies, no proxies, and only to addresses allowed."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from typing import Any

import aiohttp

from tenuto.egress.addresses import address_problem
from tenuto.ports import Reply


class _Refused(OSError):
    """A name leads to an address that must not be sent to."""


class HttpSender:
    """Sends requests, each on its own; connections are kept for the next."""

    def __init__(self, *, may_be_private: bool = False) -> None:
        """With `may_be_private` also to addresses of no public network, such as this machine."""
        self._may_be_private = may_be_private
        self._session: aiohttp.ClientSession | None = None

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, seconds: float
    ) -> Reply:
        """Send, and wait for a status; the body of an answer is never read."""
        try:
            async with (
                asyncio.timeout(seconds),
                self._open_session().post(
                    url, data=body, headers=headers, allow_redirects=False
                ) as answer,
            ):
                return Reply(answer.status)
        except TimeoutError:
            return Reply(None, f"no answer within {seconds:g} s")
        except aiohttp.ClientConnectorError as error:
            return Reply(None, f"cannot connect: {error.os_error}")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Reply(None, f"{type(error).__name__}: {error}")

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=0, use_dns_cache=False, socket_factory=self._socket
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                timeout=aiohttp.ClientTimeout(total=None),
            )
        return self._session

    def _socket(self, found: tuple[Any, ...]) -> socket.socket:
        """A socket for an address that a name led to: the one moment at which it is certain."""
        family, kind, protocol, _, address = found
        problem = None if self._may_be_private else address_problem(address[0])
        if problem is not None:
            raise _Refused(problem)
        return socket.socket(family, kind, protocol)
