"""How many of the instances that a store has are only tried out: they do not count."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta

from tenuto.model.rehearsal import PREFIX
from tenuto.model.status import Status
from tenuto.store.protocol import InstanceQuery, Store

_MOST = 1_000
"""Of more test runs at a time the rest is counted: each is gone within the hour."""
_SKEW = timedelta(days=1)
"""Another process may be ahead."""
_OPEN = tuple(each for each in Status if not each.is_final)


async def active_test_runs(store: Store, now: datetime) -> int:
    """Test runs that have not ended, of all tenants."""
    by_tenant: defaultdict[str, list[str]] = defaultdict(list)
    for tenant, id in await store.old_rehearsals(now + _SKEW, _MOST):
        # There is one instance of each, of the same name.
        by_tenant[tenant].append(id.removeprefix(PREFIX))
    active = 0
    for tenant, ids in by_tenant.items():
        query = InstanceQuery(statuses=_OPEN, ids=tuple(ids), tenant=tenant, limit=_MOST)
        active += len((await store.instances(query)).items)
    return active
