"""Records of a store: dead letters, bulk operations, API keys and the audit log."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from msgspec import UNSET, UnsetType

from tenuto.cli.backends.place import ACTOR
from tenuto.cli.backends.reader import make_room, require_there
from tenuto.compose import MEMORY, is_postgres, migrate_store, sqlite_path
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tenuto.ports import SystemIds
from tenuto.workspace.audit import TenantAudit
from tenuto.workspace.dead_letters import letter_details, letter_view
from tenuto.workspace.keys import TenantKeys
from tenuto.workspace.values import BulkOperation, DeadLetterFilter, InstanceFilter, Page

if TYPE_CHECKING:
    from tenuto.cli.backends.store_workspace import StoreWorkspace
    from tenuto.workspace.bulk import BulkOperations

T = TypeVar("T")


class StoreDeadLetters:
    """The dead letters of a tenant."""

    def __init__(self, space: StoreWorkspace) -> None:
        self._space = space

    async def get(self, id: str) -> Object:
        """A dead letter with the `history` of its step; NotFound."""
        store = (await self._space.reader()).store
        return await letter_details(store, self._space.tenant, id)

    async def list(self, limit: int = 100) -> list[Object]:
        """Dead letters, newest first."""
        store = (await self._space.reader()).store
        return [
            letter_view(row) for row in await store.dead_letters.page(self._space.tenant, limit)
        ]

    async def retry(self, id: str, *, input: JSON | UnsetType = UNSET) -> Status:
        """Retry its task or compensation, and remove the letter; another process runs the steps."""
        await require_there(self._space.url)
        async with self._space.engine() as space:
            status = await space.dead_letters.retry(id, input=input)
        return self._space.done(status, by_others=False)

    async def discard(self, id: str) -> None:
        """Remove a dead letter; the instance stays as it is. NotFound."""
        await require_there(self._space.url)
        async with self._space.engine() as space:
            await space.dead_letters.discard(id)


class StoreBulk:
    """The bulk operations of a tenant.

    Processes that work on the store run them; where there is none, this process does, before the
    call returns.
    """

    def __init__(self, space: StoreWorkspace) -> None:
        self._space = space

    async def start(
        self,
        action: Literal["cancel", "pause", "resume", "retry"],
        which: InstanceFilter,
        *,
        reason: str | None = None,
        should_compensate: bool = True,
        dry_run: bool = False,
        key: str | None = None,
    ) -> BulkOperation:
        """Act on all instances that the filter finds; with `dry_run` only count them."""
        return await self._started(
            lambda bulk: bulk.start(
                action,
                which,
                reason=reason,
                should_compensate=should_compensate,
                dry_run=dry_run,
                key=key,
            ),
            is_dry=dry_run,
        )

    async def start_on_dead_letters(
        self,
        action: Literal["retry", "discard"],
        which: DeadLetterFilter,
        *,
        dry_run: bool = False,
        key: str | None = None,
    ) -> BulkOperation:
        """Act on all dead letters that the filter finds; with `dry_run` only count them."""
        return await self._started(
            lambda bulk: bulk.start_on_dead_letters(action, which, dry_run=dry_run, key=key),
            is_dry=dry_run,
        )

    async def get(self, id: str) -> BulkOperation:
        """A bulk operation and its progress; NotFound."""
        return await self._asked(lambda bulk: bulk.get(id))

    async def cancel(self, id: str) -> BulkOperation:
        """Stop a bulk operation; finished items are not reverted. NotFound."""
        return await self._started(lambda bulk: bulk.cancel(id))

    async def list(self, limit: int = 100) -> list[BulkOperation]:
        """Bulk operations, newest first."""
        return await self._asked(lambda bulk: bulk.list(limit))

    async def _started(
        self, call: Callable[[BulkOperations], Awaitable[BulkOperation]], *, is_dry: bool = False
    ) -> BulkOperation:
        """The operation that the call started or stopped; as it is now, if it was run here."""
        if is_dry:
            return await self._asked(call)
        await require_there(self._space.url)
        made = await self._space.in_bulk(lambda space: call(space.bulk))
        assert made.id is not None
        return await self.get(made.id)

    async def _asked(self, call: Callable[[BulkOperations], Awaitable[T]]) -> T:
        await require_there(self._space.url)
        async with self._space.engine() as space:
            return await call(space.bulk)


class StoreKeys:
    """The API keys of a tenant."""

    def __init__(self, space: StoreWorkspace) -> None:
        self._space = space

    async def create(
        self,
        name: str,
        *,
        role: str,
        scopes: Sequence[str] | None = None,
        expires_at: datetime | None = None,
    ) -> Object:
        """Make a key, which is shown this once; a file that does not exist is made."""
        url = self._space.url
        if url != MEMORY and not is_postgres(url) and not sqlite_path(url).exists():
            make_room(url)
            await migrate_store(url)
        keys = await self._keys()
        return await keys.create(name, role=role, scopes=scopes, expires_at=expires_at)

    async def revoke(self, id: str) -> list[str]:
        """Revoke a key and those that were made by it; the ids of those. NotFound."""
        return await (await self._keys()).revoke(id)

    async def list(self) -> list[Object]:
        """Every key, also expired and revoked ones, oldest first."""
        return await (await self._keys()).list()

    async def _keys(self) -> TenantKeys:
        reader = await self._space.reader()
        return TenantKeys(
            reader.store, reader.clock, SystemIds(), tenant=self._space.tenant, actor=ACTOR
        )


class StoreAudit:
    """The audit log of a tenant."""

    def __init__(self, space: StoreWorkspace) -> None:
        self._space = space

    async def page(self, **query: Any) -> Page[Object]:  # noqa: ANN401 - as TenantAudit has it
        """Lines, newest first; the cursor is the number of the last line that was listed."""
        return await (await self._log()).page(**query)

    async def export(self) -> AsyncIterator[str]:
        """Every line, oldest first: JSON, with its hash."""
        async for line in (await self._log()).export():
            yield line

    async def verify(self, known: str | None = None) -> Object:
        """Read the chain of hashes: `{tenant, lines, hash, problem}`."""
        return await (await self._log()).verify(known)

    async def _log(self) -> TenantAudit:
        return TenantAudit((await self._space.reader()).store.audit, self._space.tenant)
