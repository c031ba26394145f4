"""Addresses of databases: resolved once, checked, and connected to as they were checked."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tenuto.data.source import DatabaseKind, DataSource
from tenuto.model.failure import DATABASE_UNAVAILABLE
from tests.data.situations import PASSWORD, Secrets, asking

pytestmark = pytest.mark.asyncio

INNER = (
    *("127.0.0.1", "127.1.2.3", "10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254"),
    *("0.0.0.0", "100.64.0.1", "::1", "::", "fe80::1", "fc00::1", "::ffff:127.0.0.1"),
    *("::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "fd00:ec2::254", "224.0.0.1"),
)
LITERALS = ("127.0.0.1", "2130706433", "0177.0.0.1", "0x7f.1", "127.1", "::1", "localhost")


class Names:
    """Answers of a name server, one for each look-up."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[Any]:
        self.asked.append(host)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [{"host": each, "port": port, "family": family} for each in answer]

    async def close(self) -> None: ...


def source(kind: DatabaseKind, host: str, port: int) -> DataSource:
    return DataSource(
        id="d", kind=kind, host=host, port=port, database="d", user="u", tls="off", secret_ref="P"
    )


@asynccontextmanager
async def listening() -> AsyncIterator[tuple[int, list[bytes]]]:
    """A port of this machine, and what was sent to it."""
    heard: list[bytes] = []

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(b"")
        writer.close()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)
        del reader

    server = await asyncio.start_server(hear, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], heard


@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
async def test_no_name_leads_to_an_inner_address(kind: DatabaseKind) -> None:
    async with listening() as (port, heard):
        for address in INNER:
            there = source(kind, "db.example.com", port)
            names = Names([address])
            async with asking(
                there, may_be_private=False, resolver=names, secrets=Secrets(P=PASSWORD)
            ) as outside:
                failure = await outside.failure("SELECT 1")
            assert (failure.code, address in failure.message) == (DATABASE_UNAVAILABLE, False)
        assert heard == [], "nothing was connected to"


async def test_no_spelling_of_this_machine_is_connected_to() -> None:
    async with listening() as (port, heard):
        for host in LITERALS:
            there = source("postgresql", host, port)
            async with asking(there, may_be_private=False, secrets=Secrets(P=PASSWORD)) as outside:
                failure = await outside.failure("SELECT 1")
            assert failure.code == DATABASE_UNAVAILABLE, host
        assert heard == []


async def test_the_address_that_was_checked_is_the_one_that_is_connected_to() -> None:
    """A name that is resolved anew (DNS rebinding) is resolved once for a connection."""
    async with listening() as (port, heard):
        names = Names(["127.0.0.1"], ["127.0.0.2"])
        there = source("postgresql", "db.example.com", port)
        async with asking(there, resolver=names, secrets=Secrets(P=PASSWORD)) as inside:
            failure = await inside.failure("SELECT 1")
        assert (failure.code, len(names.asked)) == (DATABASE_UNAVAILABLE, 1)
        assert len(heard) == 1


async def test_a_named_host_may_be_private_for_its_tenant_alone() -> None:
    async with listening() as (port, heard):
        there = source("postgresql", "127.0.0.1", port)
        async with asking(there, secrets=Secrets(P=PASSWORD)) as inside:
            pool = await inside.databases.pool("acme", there, (1, 1))
            with pytest.raises(Exception, match="no address that may be used"):
                async with pool.lease(5):
                    pass
        assert heard == []
