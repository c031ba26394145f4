"""Whose an instance is: the store is asked before anything of it is shown to anybody."""

from __future__ import annotations

from tenuto.engine.engine import Engine
from tenuto.engine.turns.held import Held
from tenuto.model.errors import not_there
from tenuto.store.parts.instances import InstanceQuery


async def refuse_foreign(engine: Engine, tenant: str, id: str) -> None:
    """NotFound unless it is the tenant's: nothing but that is read."""
    query = InstanceQuery(ids=(id,), limit=1, tenant=tenant)
    if not (await engine.store.seen_by(tenant).instances.page(query)).items:
        raise not_there(id)


async def held_by(engine: Engine, tenant: str, id: str, *, is_known: bool = False) -> Held:
    """A tenant's instance as its log says it is now; NotFound when there is none.

    Another tenant's is not even loaded: how long that takes would tell that it is there. And an
    engine holds those of all tenants in memory, so that the store, which may have a wall between
    them, is asked, unless it `is_known` to be this one's.
    """
    if not is_known:
        await refuse_foreign(engine, tenant, id)
    held = await engine.state_of(id)
    if held.tenant != tenant:
        raise not_there(id)
    return held
