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
    entries = [entry(id) for id in "abcdef"]
    await store.audit.append(entries[:1])
    before = store.statements
    await store.audit.append(entries[1:3])
    assert store.statements == before + 1

    other = await opened(url, "p2")
    await other.audit.append(entries[3:4])
    await store.audit.append(entries[4:5])
    before = store.statements
    await store.audit.append(entries[5:])
    assert store.statements == before + 1
    assert await store.audit.lines("acme", after=0, limit=9) == chained(NO_HEAD, entries)


async def test_of_several_chains_those_are_extended_whose_ends_are_known(
    url: str, opened: Opener
) -> None:
    store, other = await opened(url, "p1"), await opened(url, "p2")
    tenants = ("a", "b", "c")
    for tenant in tenants[:2]:
        await store.audit.append([entry("1", tenant)])
    await other.audit.append([entry("2", "b")])
    written = await store.audit.append([entry("3", tenant) for tenant in tenants])
    assert [(row.entry.tenant, row.number) for row in written] == [("a", 2), ("b", 3), ("c", 1)]
    for tenant in tenants:
        rows = await store.audit.lines(tenant, after=0, limit=9)
        assert rows == chained(NO_HEAD, [row.entry for row in rows])


async def test_an_entry_that_ends_its_chain_is_not_written_again(url: str, opened: Opener) -> None:
    store = await opened(url, "p1")
    [first] = await store.audit.append([entry("a")])
    assert await store.audit.append([entry("a")]) == [first]
    assert await store.audit.lines("acme", after=0, limit=9) == [first]
