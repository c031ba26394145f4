"""Tenancy of instances: checked with the store before anything of an instance is shown."""

from __future__ import annotations

from uuid import UUID, uuid5

from tenuto.engine.engine import Engine
from tenuto.engine.turns.held import Held
from tenuto.model.errors import not_there
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.protocol import Store

_NAMESPACE = UUID("3f0f4d6e-5d0c-5b2e-9a55-0d8a3c1f7b62")


def own_id(tenant: str, id: str) -> str:
    """The id of an instance whose chosen id is another tenant's: it belongs to this tenant alone.

    Ids are unique over all tenants. To answer that one is taken would tell that it exists; so the
    tenant gets an instance of its own, which the chosen id finds too.
    """
    # Whatever is asked for has one, also text that is no id.
    text = f"{tenant}/{id.lower()}".encode("utf-8", "replace").decode()
    return str(uuid5(_NAMESPACE, text))


async def stored_id(store: Store, tenant: str, id: str) -> str:
    """The id by which the store has a tenant's instance; NotFound, and nothing else is read."""
    query = InstanceQuery(ids=(id, own_id(tenant, id)), limit=2, tenant=tenant)
    rows = (await store.seen_by(tenant).instances.page(query)).items
    found = {row.id for row in rows}
    if not found:
        raise not_there(id)
    return id if id in found else found.pop()


async def held_by(engine: Engine, tenant: str, id: str, *, is_known: bool = False) -> Held:
    """The current state of a tenant's instance; NotFound when there is none.

    Another tenant's is not even loaded: the time that takes would reveal that it exists. An engine
    holds instances of all tenants in memory, so the store, which may have row-level security, is
    asked, unless the instance `is_known` to be this tenant's.
    """
    held = await engine.state_of(id if is_known else await stored_id(engine.store, tenant, id))
    if held.tenant != tenant:
        raise not_there(id)
    return held
