"""Secrets of tenants: the last value that was written counts, and no tenant has another's."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tenuto.store.parts.secrets import SecretRow
from tenuto.store.protocol import Store
from tests.store.situations import moment

pytestmark = pytest.mark.asyncio


def row(name: str = "API_KEY", tenant: str = "default") -> SecretRow:
    return SecretRow(
        tenant=tenant,
        name=name,
        sealed=b"\xc1 sealed",
        destinations=None,
        changed_at=moment(1),
        changed_by="ada",
    )


async def test_the_last_value_that_was_written_counts(store: Store) -> None:
    await store.secrets.put(row())
    await store.secrets.put(row())
    assert await store.secrets.get("default", "API_KEY") == row()
    changed = replace(row(), sealed=b"other", destinations=("api.example.com", "orders"))
    await store.secrets.put(changed)
    assert await store.secrets.get("default", "API_KEY") == changed
    assert await store.secrets.get("default", "OTHER") is None


async def test_an_empty_list_of_destinations_is_not_every_destination(store: Store) -> None:
    await store.secrets.put(replace(row(), destinations=()))
    found = await store.secrets.get("default", "API_KEY")
    assert found is not None
    assert found.destinations == ()


async def test_no_tenant_has_the_secrets_of_another(store: Store) -> None:
    await store.secrets.put(row())
    await store.secrets.put(replace(row(tenant="other"), sealed=b"theirs"))
    assert await store.secrets.get("default", "API_KEY") == row()
    assert await store.secrets.page("third") == []
    assert not await store.secrets.remove("third", "API_KEY")
    assert await store.secrets.remove("other", "API_KEY")
    assert not await store.secrets.remove("other", "API_KEY")
    assert await store.secrets.page("default") == [row()]


async def test_lists_are_ordered_by_name_and_counts_end_at_a_limit(store: Store) -> None:
    for name in ("C", "A", "B"):
        await store.secrets.put(row(name))
    assert await store.secrets.page("default") == [row("A"), row("B"), row("C")]
    assert await store.secrets.page("default", after="A", limit=1) == [row("B")]
    assert await store.secrets.count("default", 10) == 3
    assert await store.secrets.count("default", 2) == 2
