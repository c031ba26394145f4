"""Which store a command acts on, and how it is opened for reading beside a running engine."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from msgspec.structs import replace

from tenuto.cli.defaults import STORE
from tenuto.cli.hearing import hearing
from tenuto.cli.places import ServerUrl, tenant_of
from tenuto.compose import (
    MEMORY,
    as_typed,
    is_postgres,
    open_reader,
    sqlite_path,
    without_password,
)
from tenuto.engine.definitions.plans import Plans
from tenuto.engine.definitions.search_terms import terms_for
from tenuto.engine.events.explainer import Explainer
from tenuto.engine.events.inspector import NearEvents, inspector_of
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.loader import Loader
from tenuto.instances import history_view
from tenuto.model.causes import Explanation
from tenuto.model.errors import NotFound, StoreUnavailable, TenutoError
from tenuto.model.json import Object
from tenuto.model.tenants import DEFAULT_TENANT
from tenuto.ports import Clock, SystemClock, SystemIds
from tenuto.store.parts.instances import InstancePage, InstanceQuery
from tenuto.store.protocol import Store

_LOOK_EVERY = 0.3
"""Seconds between looks at what other processes do: one row each."""


class Reader:
    """A store that is read while another process may be writing it."""

    def __init__(self, url: str, store: Store, clock: Clock) -> None:
        self.url = url
        self.store = store
        self.clock = clock
        self.plans = Plans(store, clock)
        self.loader = Loader(store, self.plans)
        self.inspector = inspector_of(store, self.plans, self.loader, clock)

    async def instances(
        self, query: InstanceQuery, variables: Object | None = None
    ) -> InstancePage:
        """A page of instances of the tenant that is meant; with `variables` of those that fit."""
        query = replace(query, tenant=tenant_of(self.url))
        if variables is not None:
            workflow = query.definition_id
            terms = await terms_for(self.plans, query.tenant, workflow, variables)
            query = replace(query, terms=terms)
        return await self.store.instances.page(query)

    async def held(self, id: str) -> Held:
        """An instance from its log."""
        found = (await self.loader.load([id])).get(id)
        if found is None:
            raise NotFound(f"there is no instance {id}")
        if isinstance(found, TenutoError):
            raise found
        return found

    async def advanced(self, held: Held) -> Held:
        """The same instance as it is now."""
        return await self.held(held.state.id)

    async def history(self, id: str, after: int = 0) -> list[Object]:
        """The log behind an entry, oldest first."""
        history: list[Object] = []
        while rows := await self.store.instances.entries(id, after=after):
            history += [history_view(row) for row in rows]
            after = rows[-1].seq
        return history

    @asynccontextmanager
    async def watching(self, id: str, after: int) -> AsyncIterator[asyncio.Event]:
        """An event that is set when its log has grown: a process beside the engine has to look."""

        async def look(grown: asyncio.Event) -> None:
            known = after
            while True:
                await self.clock.sleep(_LOOK_EVERY)
                with suppress(StoreUnavailable):
                    found = (await self.store.instances.newest_seqs([id])).get(id, 0)
                    if found != known:
                        known = found
                        grown.set()

        async with hearing(look) as grown:
            yield grown

    async def near_events(self, held: Held) -> NearEvents:
        """The events that the open waits of an instance did not take."""
        return await self.inspector.near_events(held)

    async def explained(self, id: str) -> Explanation:
        """Why an instance is not moving."""
        explainer = Explainer(self.store, self.loader, self.inspector, self.clock)
        return await explainer.explain(await self.loader.look_at(id))


@asynccontextmanager
async def reading(url: str) -> AsyncIterator[Reader]:
    """The store at `url`, for looking and for leaving mail; the engine's lock is not taken."""
    refuse_memory(url)
    clock = SystemClock()
    store = open_reader(url)
    await store.open(SystemIds().short(), clock.now())
    try:
        yield Reader(url, store, clock)
    finally:
        await store.close(clock.now(), clean=True)


def make_room(url: str) -> None:
    """Make the folder of the default store; a folder that somebody named is not guessed at."""
    if url != STORE:
        return
    folder = sqlite_path(url).parent
    folder.mkdir(exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")


async def require_there(url: str) -> None:
    """A mistyped store has nothing to go on with and is not made, nor is an old one changed."""
    async with reading(url):
        return


def refuse_memory(url: str) -> None:
    """What is kept in memory is gone with its process: there is nothing to look at."""
    if url == MEMORY:
        raise StoreUnavailable(
            f"{MEMORY} belongs to one process and cannot be looked at from another",
            advice="Name a file or a database: --store sqlite:///FILE.",
        )


def listen_url(url: str) -> str | None:
    """The server itself, where the store is reached through a pooler."""
    return os.environ.get("TENUTO_LISTEN_URL") if is_postgres(url) else None


def store_flag(url: str) -> str:
    """What has to be typed to name this place again: nothing where it is the usual one."""
    tenant = tenant_of(url)
    whose = "" if tenant == DEFAULT_TENANT else f" --tenant {shlex.quote(tenant)}"
    if isinstance(url, ServerUrl):
        is_usual = url == os.environ.get("TENUTO_SERVER")
        return whose if is_usual else f" --server {shlex.quote(url)}{whose}"
    if url == os.environ.get("TENUTO_STORE", STORE):
        return whose
    return f" --store {shlex.quote(as_typed(url))}{whose}"


def described(url: str) -> str:
    """A store as people know it: its file, or its database; never its password."""
    if isinstance(url, ServerUrl):
        return str(url)
    if url == MEMORY:
        return "memory"
    return without_password(url) if is_postgres(url) else str(sqlite_path(url))
