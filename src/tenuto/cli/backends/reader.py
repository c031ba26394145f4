"""A store that is read beside a running engine, and how stores are named."""

from __future__ import annotations

import os
import shlex
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Final

from tenuto.cli.backends.place import STORE, tenant_flag, tenant_of
from tenuto.compose import (
    MEMORY,
    as_typed,
    is_postgres,
    open_reader,
    sqlite_path,
    without_password,
)
from tenuto.model.checks import aware
from tenuto.model.errors import NotFound, StoreUnavailable, TenutoError
from tenuto.model.json import Given, Object, as_json
from tenuto.ports import Clock, SystemClock, SystemIds
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.protocol import Store
from tenuto.workspace.values import ANY_INSTANCE, InstanceFilter, Page, Summary
from tenuto.workspace.views import summary_of

if TYPE_CHECKING:
    from tenuto.engine.definitions.plans import Plans
    from tenuto.engine.events.inspector import Inspector
    from tenuto.engine.turns.held import Held
    from tenuto.engine.turns.loader import Loader
    from tenuto.model.search_terms import SearchTerm

_LOOK_EVERY: Final = 0.3
"""Seconds between polls of the log of an instance: one row each."""


class Reader:
    """A store that is read while another process may be writing it."""

    def __init__(self, url: str, store: Store, clock: Clock) -> None:
        self.url = url
        self.tenant = tenant_of(url)
        self.store = store
        self.clock = clock

    # Loaded when they are needed: a list of instances needs none of them.

    @cached_property
    def plans(self) -> Plans:
        """Its definitions, compiled."""
        from tenuto.engine.definitions.plans import Plans

        return Plans(self.store, self.clock)

    @cached_property
    def loader(self) -> Loader:
        """Folds logs."""
        from tenuto.engine.turns.loader import Loader

        return Loader(self.store, self.plans)

    @cached_property
    def inspector(self) -> Inspector:
        """Finds near misses."""
        from tenuto.engine.events.inspector import inspector_of

        return inspector_of(self.store, self.plans, self.loader, self.clock)

    async def page(
        self,
        which: InstanceFilter = ANY_INSTANCE,
        *,
        variables: Mapping[str, Given] | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Summary]:
        """A page of the tenant's instances, newest first."""
        terms: tuple[SearchTerm, ...] = ()
        if variables is not None:
            from tenuto.engine.definitions.search_terms import terms_for

            wanted = as_json(dict(variables))
            assert isinstance(wanted, dict)
            terms = await terms_for(self.plans, self.tenant, which.workflow, wanted)
        query = InstanceQuery(
            tenant=self.tenant,
            ids=which.ids,
            statuses=which.status,
            definition_id=which.workflow,
            correlation_id=which.correlation_id,
            current_step=which.current_step,
            created_from=aware(which.created_from, "createdFrom"),
            created_before=aware(which.created_before, "createdBefore"),
            terms=terms,
            limit=limit,
            after=cursor,
        )
        found = await self.store.instances.page(query)
        return Page(items=[summary_of(row) for row in found.items], next_cursor=found.next_after)

    async def held(self, id: str) -> Held:
        """An instance, folded from its log."""
        found = (await self.loader.load([id])).get(id)
        if found is None:
            raise NotFound(f"there is no instance {id}")
        if isinstance(found, TenutoError):
            raise found
        return found

    async def history(self, id: str, after: int = 0) -> list[Object]:
        """The log after an entry, oldest first."""
        from tenuto.workspace.instance import history_view

        history: list[Object] = []
        while rows := await self.store.instances.entries(id, after=after):
            history += [history_view(row) for row in rows]
            after = rows[-1].seq
        return history

    async def changes(self, id: str, after: int = 0) -> AsyncGenerator[None, None]:
        """Yields when the log has grown: a process beside the engine has to poll."""
        known = after
        while True:
            await self.clock.sleep(_LOOK_EVERY)
            with suppress(StoreUnavailable):
                found = (await self.store.instances.newest_seqs([id])).get(id, 0)
                if found != known:
                    known = found
                    yield

    async def explain(self, id: str) -> Object:
        """Why an instance is not moving."""
        from tenuto.engine.events.explainer import Explainer, explanation_view

        explainer = Explainer(self.store, self.loader, self.inspector, self.clock)
        return explanation_view(await explainer.explain(await self.loader.look_at(id)))


@asynccontextmanager
async def reading(url: str) -> AsyncIterator[Reader]:
    """The store at `url`, to be read, and to leave mailbox messages; it takes no engine's lock."""
    refuse_memory(url)
    clock = SystemClock()
    store = open_reader(url)
    await store.open(SystemIds().short(), clock.now())
    try:
        yield Reader(url, store, clock)
    finally:
        await store.close(clock.now(), clean=True)


def make_room(url: str) -> None:
    """Make the folder of the default store; a folder that was named is not guessed at."""
    if url != STORE:
        return
    folder = sqlite_path(url).parent
    folder.mkdir(mode=0o700, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")


async def require_there(url: str) -> None:
    """StoreUnavailable for a store that does not exist or has an old schema; it is not changed."""
    async with reading(url):
        return


def refuse_memory(url: str) -> None:
    """StoreUnavailable for a store in memory: no other process can read it."""
    if url == MEMORY:
        raise StoreUnavailable(
            f"{MEMORY} belongs to one process and cannot be looked at from another",
            advice="Name a file or a database: --store sqlite:///FILE.",
        )


def listen_url(url: str) -> str | None:
    """The server itself, where the store is reached through a pooler."""
    return os.environ.get("TENUTO_LISTEN_URL") if is_postgres(url) else None


def store_flag(url: str) -> str:
    """The options that name this store in a command; empty where it is the default one."""
    if url == os.environ.get("TENUTO_STORE", STORE):
        return tenant_flag(url)
    return f" --store {shlex.quote(as_typed(url))}{tenant_flag(url)}"


def described(url: str) -> str:
    """A store as people know it: its file, or its database; never its password."""
    if url == MEMORY:
        return "memory"
    return without_password(url) if is_postgres(url) else str(sqlite_path(url))
