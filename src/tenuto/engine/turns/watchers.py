"""Waiters for the end of instances, whichever process sees it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable

from tenuto.engine.turns.held import Held
from tenuto.engine.turns.loader import Loader
from tenuto.model.errors import TenutoError
from tenuto.model.status import Status
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.protocol import Store

_FINAL = tuple(status for status in Status if status.is_final)
_PAGE = 1_000


class Watchers:
    """Futures by instance. They are registered first, and then the log is read."""

    def __init__(
        self, store: Store, loader: Loader, run_here: Callable[[str], Held | None]
    ) -> None:
        """`run_here`: the instance, if this process will see its end."""
        self._store = store
        self._loader = loader
        self._run_here = run_here
        self._futures: dict[str, list[asyncio.Future[Held]]] = {}
        self._tenants: dict[str, str] = {}
        """The tenants of the awaited instances."""

    async def end_of(self, instance_id: str, refuse: Callable[[], None]) -> Held:
        """The instance once it has ended; `refuse` raises when this process will not see it."""
        future: asyncio.Future[Held] = asyncio.get_running_loop().create_future()
        futures = self._futures.setdefault(instance_id, [])
        futures.append(future)
        try:
            held = self._run_here(instance_id) or await self._loader.look_at(instance_id)
            if held.state.status.is_final:
                return held
            self._tenants[instance_id] = held.tenant
            refuse()
            return await future
        finally:
            futures.remove(future)
            if not futures:
                self._futures.pop(instance_id, None)
                self._tenants.pop(instance_id, None)

    def saw(self, instance_id: str, held: Held) -> None:
        """An instance has ended."""
        for future in self._futures.get(instance_id, ()):
            if not future.done():
                future.set_result(held)

    def cannot_see(self, instance_id: str, error: TenutoError) -> None:
        """An instance goes on, or has ended, in a way that this program cannot read."""
        for future in self._futures.get(instance_id, ()):
            if not future.done():
                future.set_exception(error)

    def abandon(self, error: TenutoError) -> None:
        """This process will see no more ends."""
        for futures in self._futures.values():
            for future in futures:
                if not future.done():
                    future.set_exception(error)

    async def run_once(self) -> int:
        """Look for ends that other processes have seen; returns how many there were.

        An instance at rest here may be woken up elsewhere: its owner is looked up each time.
        """
        by_tenant: defaultdict[str, list[str]] = defaultdict(list)
        for instance_id, tenant in self._tenants.items():
            if self._run_here(instance_id) is None:
                by_tenant[tenant].append(instance_id)
        ended: list[str] = []
        for tenant, ids in by_tenant.items():
            for first in range(0, len(ids), _PAGE):
                query = InstanceQuery(
                    tenant=tenant,
                    ids=tuple(ids[first : first + _PAGE]),
                    statuses=_FINAL,
                    limit=_PAGE,
                )
                ended += [row.id for row in (await self._store.instances.page(query)).items]
        for instance_id, held in (await self._loader.load(ended)).items() if ended else ():
            if isinstance(held, Held):
                self.saw(instance_id, held)
            else:
                self.cannot_see(instance_id, held)
        return len(ended)
