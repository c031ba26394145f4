"""A store that is read beside a running engine, and how stores are named."""

from __future__ import annotations

import os
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from tenuto.cli.backends.late_store import LateStore
from tenuto.cli.backends.place import STORE, tenant_flag, tenant_of
from tenuto.compose import MEMORY, LateSeals, as_typed, is_postgres, sqlite_path, without_password
from tenuto.model.errors import StoreUnavailable
from tenuto.ports import Clock, Ids, Seals, SystemClock, SystemIds
from tenuto.store.row_sizes import RowSizes

if TYPE_CHECKING:
    from tenuto.engine.definitions.plans import Plans
    from tenuto.engine.document_bytes import DocumentBytes
    from tenuto.engine.events.inspector import Inspector
    from tenuto.engine.settings import Settings
    from tenuto.engine.turns.held import Held
    from tenuto.engine.turns.loader import Loader


class Reader:
    """A store that is read while another process may be writing it; a source of records."""

    is_catching_up = False

    def __init__(self, url: str, *, allow_private: bool = False) -> None:
        """`allow_private`: webhooks may have addresses of private networks."""
        self.url = url
        self.tenant = tenant_of(url)
        self.store = LateStore(url)
        self.clock: Clock = SystemClock()
        self.ids: Ids = SystemIds()
        self.row_sizes = RowSizes()
        self._allow_private = allow_private

    @cached_property
    def seals(self) -> Seals:
        """Encrypts secrets."""
        return LateSeals(self.store)

    # Loaded when they are needed: a list of instances needs none of them.

    @cached_property
    def settings(self) -> Settings:
        """Those of an engine that is asked for nothing else."""
        from tenuto.engine.settings import Settings

        return Settings(private_webhooks=self._allow_private)

    @cached_property
    def plans(self) -> Plans:
        """Its definitions, compiled."""
        from tenuto.engine.definitions.plans import Plans

        return Plans(self.store, self.clock)

    @cached_property
    def document_bytes(self) -> DocumentBytes:
        """Counts before the first addition; a command ends before it would count again."""
        from tenuto.engine.document_bytes import DocumentBytes

        quotas = self.settings.quotas
        return DocumentBytes(self.store, self.clock, lambda work: work.close(), quotas)

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

    async def held(self, id: str) -> Held:
        """An instance, folded from its log."""
        return await self.loader.look_at(id)

    async def close(self) -> None:
        """Close the store; the next call of a verb opens it again."""
        await self.store.close(self.clock.now(), clean=True)


@asynccontextmanager
async def reading(url: str) -> AsyncIterator[Reader]:
    """The store at `url`, open."""
    reader = Reader(url)
    await reader.store.opened()
    try:
        yield reader
    finally:
        await reader.close()


def make_room(url: str) -> None:
    """Make the folder of the default store; a folder that was named is not guessed at."""
    if url != STORE:
        return
    folder = sqlite_path(url).parent
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        ignore = folder / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise StoreUnavailable(
            f"the folder {folder} of the store cannot be made: {error.strerror}",
            code="TEN-4004",
            advice="Work in a folder that this user may write, or name a store: "
            "--store sqlite:///FILE.",
        ) from error


async def require_there(url: str) -> None:
    """StoreUnavailable for a store that does not exist or has an old schema; it is not changed."""
    async with reading(url):
        return


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
