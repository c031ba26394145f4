"""Requests over HTTP: no redirects, no cookies, no proxies, and only to addresses allowed."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from typing import Any

import aiohttp

from tenuto.egress.addresses import address_problem
from tenuto.egress.lookups import LookUps
from tenuto.ports import Reply


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
            return Reply(None, self._not_connected(error))
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Reply(None, f"{type(error).__name__}: {error}")

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()
        look_ups, self._look_ups = self._look_ups, None
        if look_ups is not None:
            await look_ups.close()

    def _not_connected(self, error: aiohttp.ClientConnectorError) -> str:
        """Why it could not be connected; the cached address of the name is dropped."""
        if self._look_ups is not None and error.host is not None:
            self._look_ups.forget(error.host)
        return f"cannot connect: {error.os_error}"

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
