"""Data sources and queries: versions follow one another, and a source stays while it is named."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from tenuto.store.parts.data_queries import DataQueryRow
from tenuto.store.parts.data_sources import DataSourceRow
from tenuto.store.protocol import Store
from tests.store.situations import moment

pytestmark = pytest.mark.asyncio


def source(id: str = "stock", version: int = 1, tenant: str = "default") -> DataSourceRow:
    return DataSourceRow(
        tenant=tenant,
        id=id,
        version=version,
        document=b'{"v":%d}' % version,
        created_at=moment(1),
        created_by="ada",
        changed_at=moment(version),
        changed_by="bob",
    )


def query(
    id: str = "by-sku", version: int = 1, tenant: str = "default", of: str = "stock"
) -> DataQueryRow:
    return DataQueryRow(
        tenant=tenant,
        id=id,
        version=version,
        data_source_id=of,
        document=b'{"v":%d}' % version,
        created_at=moment(1),
        created_by="ada",
        changed_at=moment(version),
        changed_by=None,
    )


async def test_a_source_is_stored_only_after_the_version_before(store: Store) -> None:
    sources = store.data_sources
    assert not await sources.save(source(version=2)), "there is no first one"
    assert await sources.save(source())
    assert await sources.save(source()), "the same again"
    assert not await sources.save(replace(source(), document=b"other"))
    assert not await sources.save(source(version=3))
    assert await sources.save(source(version=2))
    assert await sources.get("default", "stock") == source(version=2)
    assert await sources.get("other", "stock") is None
    anew = replace(source(version=3), created_at=moment(9))
    assert not await sources.save(anew), "it was made anew meanwhile"


async def test_a_query_needs_its_source(store: Store) -> None:
    assert not await store.data_queries.save(query()), "there is no source"
    await store.data_sources.save(source())
    await store.data_sources.save(source(tenant="other"))
    assert await store.data_queries.save(query())
    assert await store.data_queries.save(query()), "the same again"
    assert not await store.data_queries.save(query(version=3))
    assert not await store.data_queries.save(query(version=2, of="nowhere"))
    assert await store.data_queries.save(query(version=2))
    assert not await store.data_queries.save(query("of-none", tenant="third"))
    assert await store.data_queries.get("default", "by-sku") == query(version=2)
    assert await store.data_queries.get("other", "by-sku") is None


async def test_a_source_stays_while_a_query_names_it(store: Store) -> None:
    await store.data_sources.save(source())
    await store.data_queries.save(query())
    assert not await store.data_sources.remove("default", "stock")
    assert await store.data_sources.get("default", "stock") == source()
    assert await store.data_queries.remove("default", "by-sku")
    assert not await store.data_queries.remove("default", "by-sku")
    assert await store.data_sources.remove("default", "stock")
    assert not await store.data_sources.remove("default", "stock")
    assert await store.data_sources.get("default", "stock") is None


async def test_no_query_is_left_without_its_source_when_both_change_at_once(store: Store) -> None:
    for number in range(8):
        await store.data_sources.save(source(f"s{number}"))
        saved, removed = await asyncio.gather(
            store.data_queries.save(query(f"q{number}", of=f"s{number}")),
            store.data_sources.remove("default", f"s{number}"),
        )
        assert saved is not removed


async def test_lists_are_ordered_by_id_and_belong_to_their_tenant(store: Store) -> None:
    for each in (source("b"), source("a"), source("c"), source("a", tenant="other")):
        assert await store.data_sources.save(each)
    assert await store.data_sources.page("default") == [source("a"), source("b"), source("c")]
    assert await store.data_sources.page("default", after="a", limit=1) == [source("b")]
    assert await store.data_sources.stored("default", 2) == 2
    assert await store.data_sources.stored("default", 10) == 3
    for row in (query("y", of="a"), query("x", of="b"), query("z", of="a")):
        assert await store.data_queries.save(row)
    assert await store.data_queries.page("default", after="x") == [
        query("y", of="a"),
        query("z", of="a"),
    ]
    of_a = await store.data_queries.page("default", data_source_id="a", after="y")
    assert of_a == [query("z", of="a")]
    assert await store.data_queries.page("other") == []
    assert await store.data_queries.stored("default", 10) == 3
