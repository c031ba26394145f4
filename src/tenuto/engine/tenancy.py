"""Tenancy of instances: checked with the store before anything of an instance is shown."""

from __future__ import annotations

from tenuto.engine.engine import Engine
from tenuto.engine.turns.held import Held
from tenuto.model.errors import not_there
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.protocol import Store


async def refuse_foreign(store: Store, tenant: str, id: str) -> None:
    """NotFound unless the instance is the tenant's: nothing else is read."""
    query = InstanceQuery(ids=(id,), limit=1, tenant=tenant)
    if not (await store.seen_by(tenant).instances.page(query)).items:
        raise not_there(id)


async def held_by(engine: Engine, tenant: str, id: str, *, is_known: bool = False) -> Held:
    """The current state of a tenant's instance; NotFound when there is none.

    Another tenant's is not even loaded: the time that takes would reveal that it exists. An engine
    holds instances of all tenants in memory, so the store, which may have row-level security, is
    asked, unless the instance `is_known` to be this tenant's.
    """
    if not is_known:
        await refuse_foreign(engine.store, tenant, id)
    held = await engine.state_of(id)
    if held.tenant != tenant:
        raise not_there(id)
    return held
