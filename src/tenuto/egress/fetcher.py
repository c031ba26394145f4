"""GET requests, under the same rules as sending."""

from __future__ import annotations

import asyncio

import aiohttp

from tenuto.egress.http import HttpSender
from tenuto.egress.urls import private_problem, url_problem
from tenuto.ports import Page

_PART = 65_536


class HttpFetcher(HttpSender):
    """Gets small documents; over TLS, unless private addresses are allowed."""

    async def get(self, url: str, *, seconds: float, most: int) -> Page:
        problem = url_problem(url)
        if problem is None and not self._may_be_private:
            problem = private_problem(url)
            if problem is None and not url.startswith("https://"):
                problem = "it does not begin with https://"
        if problem is not None:
            return Page(None, error=f"the URL cannot be used: {problem}")
        try:
            async with (
                asyncio.timeout(seconds),
                self._open_session().get(
                    url, headers={"accept-encoding": "identity"}, allow_redirects=False
                ) as answer,
            ):
                return await read_answer(answer, most)
        except TimeoutError:
            return Page(None, error=f"no answer within {seconds:g} s")
        except aiohttp.ClientConnectorError as error:
            return Page(None, error=self._not_connected(error))
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Page(None, error=f"{type(error).__name__}: {error}")


async def read_answer(answer: aiohttp.ClientResponse, most: int) -> Page:
    """The answer, unless it is larger than `most` bytes."""
    body = bytearray()
    async for part in answer.content.iter_chunked(_PART):
        body += part
        if len(body) > most:
            return Page(None, error=f"the answer has more than {most:,} bytes")
    return Page(answer.status, bytes(body))
