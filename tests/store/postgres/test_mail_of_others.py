"""A look into the mailbox costs what is new, however much there is that others have in hand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio

from tenuto.store.parts.turns import Ownership
from tenuto.store.postgres.driver import Connection
from tenuto.store.postgres.queries import statement
from tenuto.store.postgres.server import _SETTINGS
from tests.kit.postgres_database import connected
from tests.kit.tcp_proxy import TcpProxy, proxy_to
from tests.store.postgres.conftest import Opener
from tests.store.situations import aside, mail, turn

pytestmark = pytest.mark.asyncio

_LETTERS = """
INSERT INTO tenuto.mailbox (id, instance_id, input, created_at, claimed_by, is_unseen)
SELECT kind.name || n, kind.name || n, '', 0, kind.claimed_by, kind.is_unseen
FROM generate_series({first}, {last}) AS n,
    (VALUES ('mine', 'p1', false), ('theirs', 'p2', false), ('passed on', 'p2', true))
    AS kind (name, claimed_by, is_unseen);
"""


@pytest_asyncio.fixture
async def proxy(url: str) -> AsyncIterator[TcpProxy]:
    async with proxy_to(url) as made:
        yield made


async def letters_read(connection: Connection) -> int:
    """How many rows and index entries of the mailbox a look of p1 touches."""
    sent = statement("claim_mail", "tenuto")
    values = {"process_id": "'p1'", "limit": "500", "after": "0"}
    values |= {"again": "false", "passed_over": "'{}'", "only_own": "false"}
    values |= {"letter_ids": "'{}'", "letter_instances": "'{}'"}
    given = ", ".join(values[name] for name in sent.parameters)
    await connection.execute(f"PREPARE look AS {sent.sql}")
    [(explained,)] = await connection.fetch(
        f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE look ({given})"
    )
    await connection.execute("DEALLOCATE look")
    return sum(map(_touched, _nodes(json.loads(explained)[0]["Plan"])))


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from _nodes(inner)


def _touched(node: dict[str, Any]) -> int:
    if node.get("Relation Name") != "mailbox" or "Scan" not in node["Node Type"]:
        return 0
    rows = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
    return int(node["Actual Loops"] * rows)


async def test_a_look_reads_nothing_that_anybody_has_in_hand(url: str, opened: Opener) -> None:
    first, second = await opened(url, "p1"), await opened(url, "p2")
    del second
    read: list[int] = []
    async with connected(url) as connection:
        for name, value in _SETTINGS.items():
            await connection.fetch("SELECT set_config($1, $2, false)", name, value)
        for begin, end in ((1, 10), (11, 10_000)):
            await connection.execute(_LETTERS.format(first=begin, last=end))
            await connection.execute("ANALYZE tenuto.mailbox")
            read.append(await letters_read(connection))
        await first.mailbox.send([mail(f"new{number}", f"new{number}") for number in range(3)])
        with_news = await letters_read(connection)
    assert read[0] == read[1] <= 5
    assert with_news <= read[0] + 2 * 3 + 3


async def test_what_is_for_instances_of_others_is_looked_at_once(url: str, opened: Opener) -> None:
    first, second = await opened(url, "p1"), await opened(url, "p2")
    ids = [f"i{number:04}" for number in range(1_200)]
    await first.mailbox.send([mail(id, id) for id in ids])
    taking = [aside(id, ownership=Ownership.TAKE) for id in ids]
    await second.turns.commit(turn("t1", *taking, process_id="p2"))
    assert await first.mailbox.claim(500, again=False) == []
    async with connected(url) as connection:
        left = "SELECT count(*) FROM tenuto.mailbox WHERE claimed_by = 'p2' AND is_unseen"
        assert await connection.fetch(left) == [(len(ids),)]
        assert await letters_read(connection) <= 5
    assert [each.id for each in await second.mailbox.claim(2_000, again=False)] == ids


async def test_letters_of_a_claim_whose_answer_got_lost_come_with_the_next(
    url: str, proxy: TcpProxy, opened: Opener
) -> None:
    store = await opened(proxy.url(url), connections=1)
    assert await store.mailbox.claim(10, again=False) == []  # from now on the statement is known
    await store.mailbox.send([mail("m1", "i1")])
    proxy.lose_answers()
    looking = asyncio.create_task(store.mailbox.claim(10, again=False))
    await proxy.lost.wait()
    async with connected(url) as connection:
        claimed = "SELECT 1 FROM tenuto.mailbox WHERE claimed_by = 'p1'"
        while not await connection.fetch(claimed):
            await connection.fetch("SELECT pg_sleep(0.01)")
    proxy.mend()
    proxy.cut()
    assert [each.id for each in await looking] == ["m1"]
