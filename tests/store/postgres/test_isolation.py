"""Another idea of isolation, set for the database or for a role in it, changes nothing here."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator

import pytest

from tenuto.store.parts.turns import Outcome, Ownership
from tenuto.store.postgres.address import read_address
from tenuto.store.postgres.queries import numbered
from tenuto.store.postgres.server import Server
from tenuto.store.postgres.session import Session
from tests.kit.pgbouncer import pgbouncer, pgbouncer_program
from tests.kit.postgres_database import connected, empty_database
from tests.kit.postgres_plugin import did_not_run
from tests.kit.postgres_server import USER
from tests.store.postgres.conftest import Opener
from tests.store.situations import begin, step, turn

ISOLATION = numbered("SELECT current_setting('transaction_isolation')")


async def strict_database() -> str:
    url = await empty_database("tenuto_strict")
    name = url.rpartition("/")[2]
    level = "SET default_transaction_isolation = 'serializable'"
    async with connected(url) as connection:
        await connection.execute(f'ALTER DATABASE "{name}" {level}')
        await connection.execute(f'ALTER ROLE {USER} IN DATABASE "{name}" {level}')
    async with connected(url) as connection:
        [(found,)] = await connection.fetch(ISOLATION.sql)
    assert found == "serializable"
    return url


@pytest.fixture(params=["direct", "pooled"])
def strict_url(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """Such a database, also by way of PgBouncer; None where there is none."""
    url = asyncio.run(strict_database())
    program = pgbouncer_program()
    if request.param == "direct":
        yield url
    elif program is None:
        did_not_run(request.node.nodeid, "PgBouncer is not installed (apt-get install pgbouncer)")
        yield None
    else:
        with pgbouncer(program, url) as through:
            yield through


@pytest.mark.asyncio
async def test_every_statement_sees_what_others_have_committed(strict_url: str | None) -> None:
    if strict_url is None:
        return
    session = Session(Server(read_address(strict_url)))
    levels = [
        await session.fetch(ISOLATION, {}),
        await session.commit(ISOLATION, {}),
        await session.transaction(lambda inner: inner.fetch(ISOLATION, {})),
        await session.transaction(
            lambda inner: inner.fetch(ISOLATION, {}), begin="begin_migration"
        ),
    ]
    await session.close()
    assert [rows[0][0] for rows in levels] == ["read committed"] * 4


@pytest.mark.asyncio
async def test_a_transaction_says_its_isolation_itself(empty_url: str) -> None:
    """Also on a connection whose settings somebody has changed."""
    session = Session(Server(read_address(empty_url)))
    await session.fetch(
        numbered("SELECT set_config('default_transaction_isolation', 'repeatable read', false)"), {}
    )
    for begun in ("begin", "begin_pooled", "begin_migration"):
        [(found,)] = await session.transaction(
            lambda inner: inner.fetch(ISOLATION, {}), begin=begun
        )
        assert found == "read committed"
    await session.close()


@pytest.mark.asyncio
async def test_of_two_that_write_the_same_entry_one_wins_as_ever(
    strict_url: str | None, opened: Opener
) -> None:
    if strict_url is None:
        return
    stores = {name: await opened(strict_url, name) for name in ("p1", "p2")}
    await stores["p1"].turns.commit(turn("t0", begin("i1"), process_id="p1"))
    for version in range(1, 9):
        results = await asyncio.gather(
            *[
                store.turns.commit(turn(f"{name}-{version}", step("i1", version), process_id=name))
                for name, store in stores.items()
            ]
        )
        outcomes = Counter(result.writes["i1"].outcome for result in results)
        assert outcomes == {Outcome.WON: 1, Outcome.LOST: 1}
    taken = turn("t9", step("i1", 9, ownership=Ownership.TAKE), process_id="p1")
    assert (await stores["p1"].turns.commit(taken)).writes["i1"].outcome is Outcome.WON
    assert not (await stores["p2"].members.beat()).has_orphans
    for store in stores.values():
        store.abandon()
