"""Requests that built-in tasks send: what an egress client does for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct


class Answered(Struct, frozen=True, kw_only=True):
    """The response to a request."""

    status: int
    url: str
    """The one that answered, after redirects."""
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    reason: str = ""


class NotSent(Exception):
    """A request that was refused, or has no answer; the text says why, and names no address."""


class Requests(Protocol):
    """The egress client of a process."""

    async def send(
        self,
        method: str,
        url: str,
        *,
        tenant: str,
        headers: tuple[tuple[str, str], ...],
        body: bytes | None,
        seconds: float,
        most: int,
        may_call: Callable[[str, int], bool],
    ) -> Answered:
        """Send it, and read at most so many bytes of the response; NotSent.

        `may_call` is asked about the host and the port, also of each redirect.
        """
        ...
