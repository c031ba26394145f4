"""The one way out for requests of tenants: each may call the public network, and what is allowed.

Tenants with the same allowance share connections; others do not, so that a connection to a private
address is used by those alone who may open it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tenuto.egress.allowances import Allowance, Allowances
from tenuto.egress.redirects import MOST, STATUSES, redirected
from tenuto.egress.request import Answer, NoAnswer, Request
from tenuto.ports import Page, Reply

if TYPE_CHECKING:
    from tenuto.egress.http import Cut, HttpSender
    from tenuto.egress.lookups import LookUp

_PORTS = {"http": 80, "https": 443}


class EgressClient:
    """Sends requests of tenants."""

    def __init__(self, allowances: Allowances, *, look_up: LookUp | None = None) -> None:
        """`look_up` asks a name server: without one that of the system."""
        self._allowances = allowances
        self._look_up = look_up
        self._senders: dict[Allowance, HttpSender] = {}

    async def send(
        self,
        tenant: str,
        request: Request,
        *,
        most: int | None,
        cut: Cut = lambda _: None,
        seconds: float = math.inf,
        follows: Callable[[int], bool] = lambda _: True,
        may_call: Callable[[str, int], bool] = lambda _host, _port: True,
    ) -> Answer | NoAnswer:
        """Send a request and read at most so many bytes of the answer; it does not raise.

        At most five redirects are followed, those whose status `follows` accepts; the address of
        each is checked as that of the first. `may_call` is asked about each host and port. `cut`:
        for which statuses only the beginning of the body is read, and how many bytes of it.
        """
        try:
            async with asyncio.timeout(None if math.isinf(seconds) else seconds):
                return await self._followed(
                    tenant, request, most=most, cut=cut, follows=follows, may_call=may_call
                )
        except TimeoutError:
            return NoAnswer("time", f"no answer within {seconds:g} s")

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, seconds: float, *, tenant: str
    ) -> Reply:
        """Send for a tenant, and wait for a status; no redirect is followed. It does not raise."""
        return await self._of(tenant).post(url, headers, body, seconds)

    async def call(
        self,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        *,
        tenant: str,
        seconds: float,
        most: int,
    ) -> Page:
        """Post for a tenant, and read the response; no redirect is followed. It does not raise."""
        return await self._of(tenant).call(url, headers, body, seconds=seconds, most=most)

    async def close(self) -> None:
        senders, self._senders = self._senders, {}
        for sender in senders.values():
            await sender.close()

    async def _followed(
        self,
        tenant: str,
        request: Request,
        *,
        most: int | None,
        cut: Cut,
        follows: Callable[[int], bool],
        may_call: Callable[[str, int], bool],
    ) -> Answer | NoAnswer:
        sender = self._of(tenant)
        for hop in range(MOST + 1):
            answer = _refusal(request.url, may_call) or await sender.exchange(
                request, most=most, cut=cut
            )
            if isinstance(answer, NoAnswer):
                is_led_there = hop > 0 and answer.kind in ("url", "refused")
                message = f"a redirect is not followed: {answer.message}"
                return NoAnswer("redirect", message) if is_led_there else answer
            location = answer.header("location")
            if location is None or answer.status not in STATUSES or not follows(answer.status):
                return answer
            following = redirected(request, answer.status, location)
            if isinstance(following, str):
                return NoAnswer("redirect", f"a redirect is not followed: {following}")
            request = following
        return NoAnswer("redirect", f"more than {MOST} redirects")

    def _of(self, tenant: str) -> HttpSender:
        allowance = self._allowances.of(tenant)
        sender = self._senders.get(allowance)
        if sender is None:
            from tenuto.egress.http import HttpSender  # noqa: PLC0415 - aiohttp only where used

            sender = HttpSender(allowance=allowance, look_up=self._look_up)
            self._senders[allowance] = sender
        return sender


def _refusal(url: str, may_call: Callable[[str, int], bool]) -> NoAnswer | None:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return None  # no URL, which is said in other words
    return None if may_call(host, port) else NoAnswer("refused", f"{host} may not be called")
