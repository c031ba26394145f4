"""Addresses of databases: resolved once, checked, and connected to as they were checked."""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tenuto.data.failures import unavailable
from tenuto.data.source import Server
from tenuto.egress import Allowance, Allowances

if TYPE_CHECKING:
    from collections.abc import Sequence

NO_ADDRESS = "the host of the data source has no address that may be used"


class Resolver(Protocol):
    """Resolves names; the look-ups of outgoing requests are one."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> Sequence[Any]:
        """Addresses, each with a key `host`; OSError."""
        ...

    async def close(self) -> None: ...


class Network:
    """Finds the addresses of hosts that may be connected to."""

    def __init__(self, allowances: Allowances, resolver: Resolver | None = None) -> None:
        """`allowances`: private hosts and networks, by tenant."""
        self._allowances = allowances
        self._resolver = resolver

    def of(self, tenant: str) -> TenantNetwork:
        """The network as a tenant may use it."""
        return TenantNetwork(self._names(), self._allowances.of(tenant))

    async def close(self) -> None:
        if self._resolver is not None:
            await self._resolver.close()

    def _names(self) -> Resolver:
        if self._resolver is None:
            # aiohttp only where a data source is used. What may be used is decided for each tenant.
            from tenuto.egress.allowances import EVERYTHING  # noqa: PLC0415
            from tenuto.egress.lookups import LookUps  # noqa: PLC0415

            self._resolver = LookUps(EVERYTHING)
        return self._resolver


class TenantNetwork(NamedTuple):
    """Addresses that one tenant may connect to."""

    resolver: Resolver
    allowance: Allowance

    async def addresses(self, host: str, port: int) -> list[str]:
        """Addresses that may be connected to; QueryFailed where there are none."""
        try:
            found = await self.resolver.resolve(host, port, socket.AF_UNSPEC)
        except OSError:
            raise unavailable(NO_ADDRESS) from None
        is_named = self.allowance.names(host)
        addresses = dict.fromkeys(str(each["host"]) for each in found)
        allowed = [each for each in addresses if is_named or self.allowance.admits(each)]
        if not allowed:
            raise unavailable(NO_ADDRESS)
        return allowed


class _NamedContext(ssl.SSLContext):
    """TLS with the server of a name, whatever address is connected to."""

    name = ""

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,  # noqa: FBT001, FBT002 - as its base
        server_hostname: str | bytes | None = None,  # noqa: ARG002
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        return super().wrap_bio(incoming, outgoing, server_side, self.name, session)


async def tls_context(server: Server) -> ssl.SSLContext | None:
    """TLS as a data source asks for it; None: without."""
    if server.tls == "off":
        return None
    # It reads the certificates of the machine.
    return await asyncio.to_thread(_context, server)


def _context(server: Server) -> ssl.SSLContext:
    context = _NamedContext(ssl.PROTOCOL_TLS_CLIENT)
    context.name = server.host
    if server.tls == "require":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        context.load_default_certs()
    return context
