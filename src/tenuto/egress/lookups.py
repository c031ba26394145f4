"""DNS look-ups in threads of their own: a name without an answer delays only itself.

A look-up in a thread cannot be interrupted. So each name has at most one at a time; one that takes
too long is abandoned; and names that timed out before share a few of the threads, never all.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple, TypeAlias

from aiohttp.abc import AbstractResolver, ResolveResult

from tenuto.egress.allowances import PUBLIC, Allowance

log = logging.getLogger("tenuto.egress")

THREADS = 32
MOST_DOUBTFUL = 8
"""The most threads for names whose last look-up timed out."""
PATIENCE = 5.0
"""Seconds for which an answer is waited for."""
_KEPT = 120.0
"""Seconds for which an answer is cached; it is dropped if connecting fails."""
_MOST_KEPT = 10_000


class Name(NamedTuple):
    """A name that is looked up."""

    host: str
    port: int
    family: socket.AddressFamily


LookUp: TypeAlias = Callable[[Name], list[ResolveResult]]
"""Asks a name server, in a thread; OSError."""


class _Kept(NamedTuple):
    answer: list[ResolveResult]
    until: float


class LookUps(AbstractResolver):
    """Finds the addresses of names."""

    def __init__(
        self,
        allowance: Allowance = PUBLIC,
        *,
        patience: float = PATIENCE,
        look_up: LookUp | None = None,
    ) -> None:
        """`look_up` asks a name server: without one that of the system."""
        self._allowance = allowance
        self._patience = patience
        self._look_up = look_up or system_look_up
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="tenuto look-up")
        self._running: dict[Name, asyncio.Future[list[ResolveResult]]] = {}
        self._overdue: set[Name] = set()
        """Abandoned look-ups."""
        self._doubtful: set[str] = set()
        """Names whose last look-up timed out."""
        self._kept: dict[Name, _Kept] = {}
        self._inner: dict[str, None] = {}
        """Private addresses that were found for hosts which may have one."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a name; OSError if there are none, or none in time."""
        name = Name(host, port, family)
        loop = asyncio.get_running_loop()
        kept = self._kept.get(name)
        if kept is not None and kept.until > loop.time():
            return self._allowed(host, kept.answer)
        running = self._running.get(name) or self._begin(name)
        if name in self._overdue:
            raise OSError(f"the name server has not answered for {host} yet")
        try:
            async with asyncio.timeout(self._patience):
                return self._allowed(host, await asyncio.shield(running))
        except TimeoutError:
            if not running.done():
                self._overdue.add(name)
                self._doubtful.add(host)
            raise OSError(f"no name server has answered for {host}") from None

    @property
    def running(self) -> list[asyncio.Future[list[ResolveResult]]]:
        """Look-ups that have no answer yet, including abandoned ones."""
        return list(self._running.values())

    def forget(self, host: str) -> None:
        """Drop the cached addresses of a name, since connecting failed."""
        for name in [each for each in self._kept if each.host == host]:
            del self._kept[name]

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _begin(self, name: Name) -> asyncio.Future[list[ResolveResult]]:
        if name.host in self._doubtful:
            asked = sum(each.host in self._doubtful for each in self._running)
            if asked >= MOST_DOUBTFUL:
                raise OSError(f"too many names like {name.host} are not answered for")
        loop = asyncio.get_running_loop()
        running = loop.run_in_executor(self._threads, self._look_up, name)
        self._running[name] = running
        running.add_done_callback(partial(self._ended, name))
        return running

    def _ended(self, name: Name, running: asyncio.Future[list[ResolveResult]]) -> None:
        del self._running[name]
        was_overdue = name in self._overdue
        self._overdue.discard(name)
        if running.cancelled() or running.exception() is not None:
            return
        if not was_overdue:
            self._doubtful.discard(name.host)
        answer = running.result()
        if self._may_be_kept(name.host, answer):
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[name] = _Kept(answer, running.get_loop().time() + _KEPT)

    def admits(self, address: str) -> bool:
        """Whether an address may be connected to: a public one, or one that is allowed."""
        return self._allowance.admits(address) or address in self._inner

    def _allowed(self, host: str, answer: list[ResolveResult]) -> list[ResolveResult]:
        """The addresses that may be used; a name with none is as good as unknown."""
        if self._allowance.names(host):
            self._remember(each["host"] for each in answer)
            return answer
        refused = [each["host"] for each in answer if not self._allowance.admits(each["host"])]
        if refused:
            log.warning("egress: %s leads to %s, not to a public address", host, ", ".join(refused))
        allowed = [each for each in answer if each["host"] not in refused]
        if not allowed:
            raise OSError(f"{host} has no public address")
        return allowed

    def _remember(self, addresses: Iterable[str]) -> None:
        for address in addresses:
            if not self._allowance.admits(address):
                if len(self._inner) >= _MOST_KEPT:
                    self._inner.clear()
                self._inner[address] = None

    def _may_be_kept(self, host: str, answer: list[ResolveResult]) -> bool:
        """A name with a refused address is not cached: its record may be corrected."""
        return self._allowance.names(host) or all(
            self._allowance.admits(each["host"]) for each in answer
        )


def system_look_up(name: Name) -> list[ResolveResult]:
    """Ask the name server of the system."""
    found = socket.getaddrinfo(
        name.host,
        name.port,
        type=socket.SOCK_STREAM,
        family=name.family,
        flags=socket.AI_ADDRCONFIG,
    )
    return [
        ResolveResult(
            hostname=name.host,
            host=socket.getnameinfo(address, _NUMERIC)[0],
            port=name.port,
            family=family,
            proto=protocol,
            flags=_NUMERIC,
        )
        for family, _, protocol, _, address in found
    ]


_NUMERIC = socket.NI_NUMERICHOST | socket.NI_NUMERICSERV
