"""A line of the audit log takes one statement where this process knows the end of its chain."""

from __future__ import annotations

import pytest

from tenuto.store.parts.audit import NO_HEAD, chained
from tests.store.postgres.conftest import Opener
from tests.store.test_access import entry

pytestmark = pytest.mark.asyncio


async def test_a_line_behind_one_of_the_same_process_takes_one_statement(
    url: str, opened: Opener
) -> None:
    store = await opened(url, "p1")
    entries = [entry(id) for id in "abcdefgh"]
    for one in entries[:2]:
        await store.audit.append([one])
    before = store.statements
    await store.audit.append(entries[2:4])
    assert store.statements == before + 1

    other = await opened(url, "p2")
    await other.audit.append(entries[4:5])
    for one in entries[5:7]:
        await store.audit.append([one])
    before = store.statements
    await store.audit.append(entries[7:])
    assert store.statements == before + 1
    assert await store.audit.lines("acme", after=0, limit=9) == chained(NO_HEAD, entries)


async def test_processes_that_write_by_turns_look_for_the_end_first(
    url: str, opened: Opener
) -> None:
    stores = [await opened(url, "p1"), await opened(url, "p2")]
    entries = [entry(str(n)) for n in range(12)]
    taken: list[int] = []
    for n, one in enumerate(entries):
        before = stores[n % 2].statements
        await stores[n % 2].audit.append([one])
        taken.append(stores[n % 2].statements - before)
    assert taken[2:] == [5] * 10, "no statement was in vain"
    assert await stores[0].audit.lines("acme", after=0, limit=99) == chained(NO_HEAD, entries)


async def test_of_several_chains_those_are_extended_whose_ends_are_known(
    url: str, opened: Opener
) -> None:
    store, other = await opened(url, "p1"), await opened(url, "p2")
    tenants = ("a", "b", "c")
    for tenant in tenants[:2]:
        for id in ("0", "1"):
            await store.audit.append([entry(id, tenant)])
    await other.audit.append([entry("2", "b")])
    written = await store.audit.append([entry("3", tenant) for tenant in tenants])
    assert [(row.entry.tenant, row.number) for row in written] == [("a", 3), ("b", 4), ("c", 1)]
    for tenant in tenants:
        rows = await store.audit.lines(tenant, after=0, limit=9)
        assert rows == chained(NO_HEAD, [row.entry for row in rows])


async def test_an_entry_that_ends_its_chain_is_not_written_again(url: str, opened: Opener) -> None:
    store = await opened(url, "p1")
    rows = [(await store.audit.append([entry(id)]))[0] for id in "abc"]
    assert await store.audit.append([entry("c")]) == rows[2:]
    assert await store.audit.lines("acme", after=0, limit=9) == rows
