"""A store that an older program has made: every command says so, in the same words."""

from __future__ import annotations

import asyncio
from pathlib import Path

import apsw
import pytest

from tenuto.store.postgres.address import read_address
from tenuto.store.postgres.migrations import migrate
from tenuto.store.postgres.server import Server
from tenuto.store.postgres.session import Session
from tests.cli.conftest import Terminal, one_of_each
from tests.kit.postgres_database import connected, empty_database

pytestmark = pytest.mark.slow


async def _age(url: str) -> None:
    """A schema that only says that it is old is half migrated, and refused as that."""
    async with connected(url) as connection:
        await connection.execute("DROP SCHEMA tenuto CASCADE")
    session = Session(Server(read_address(url)))
    await migrate(session, newest=1)
    await session.close()


@pytest.fixture(params=["sqlite", "postgres"])
def aged(request: pytest.FixtureRequest, tmp_path: Path) -> Terminal:
    if request.param == "sqlite":
        terminal = Terminal(tmp_path)
        terminal.past(one_of_each)
        connection = apsw.Connection(str(tmp_path / "store.db"))
        connection.execute("UPDATE schema_info SET version = 1")
        connection.close()
        return terminal
    terminal = Terminal(tmp_path, asyncio.run(empty_database("tenuto_cli_old")))
    terminal.past(one_of_each)
    asyncio.run(_age(terminal.store))
    return terminal


def test_every_command_says_that_the_schema_is_old_and_what_to_run(aged: Terminal) -> None:
    errors = set()
    for arguments in (
        ["list"],
        ["show", "@last"],
        ["run", "--instance", "@last"],
        ["run", "--outstanding"],
        ["events", "send", "paid"],
        ["cancel", "@last"],
        ["rerun", "@last"],
    ):
        ended = aged.call(*arguments, "-o", "json")
        assert ended.code == 5, (arguments, ended.out + ended.err)
        error = ended.json["error"]
        errors.add((error["code"], error["message"], error["advice"]))
    ((code, _, advice),) = errors
    assert code == "TEN-4005"
    assert "tenuto migrate" in advice
