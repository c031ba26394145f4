"""POST requests whose responses are read, under the same rules as sending."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import aiohttp

from tenuto.egress.fetcher import read_answer
from tenuto.egress.http import HttpSender
from tenuto.egress.urls import private_problem, url_problem
from tenuto.ports import Page


class HttpCaller(HttpSender):
    """Posts, and reads the response."""

    async def call(
        self, url: str, headers: Mapping[str, str], body: bytes, *, seconds: float, most: int
    ) -> Page:
        problem = url_problem(url)
        if problem is None and not self._may_be_private:
            problem = private_problem(url)
        if problem is not None:
            return Page(None, error=f"the URL cannot be used: {problem}")
        try:
            async with (
                asyncio.timeout(seconds),
                self._open_session().post(
                    url,
                    data=body,
                    headers={**headers, "accept-encoding": "identity"},
                    allow_redirects=False,
                ) as answer,
            ):
                return await read_answer(answer, most)
        except TimeoutError:
            return Page(None, error=f"no answer within {seconds:g} s")
        except aiohttp.ClientConnectorError as error:
            return Page(None, error=self._not_connected(error))
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Page(None, error=type(error).__name__)
