"""The backend over a store beside an engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tenuto.cli.backends.reader import described, make_room, store_flag
from tenuto.cli.backends.store_workspace import StoreWorkspace
from tenuto.cli.live_feed import set_by
from tenuto.ports import Clock, SystemClock

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Finding
    from tenuto.cli.local_run import RunOptions
    from tenuto.cli.test_runs import TestRunOptions
    from tenuto.engine.events.inspector import NearEvents
    from tenuto.engine.turns.held import Held
    from tenuto.model.json import Object


class StoreBackend:
    """A store, opened when it is needed."""

    is_anonymous = False

    def __init__(self, url: str, *, allow_private: bool = False) -> None:
        self.url = url
        self.space = StoreWorkspace(url, allow_private=allow_private)
        self.clock: Clock = SystemClock()
        self.tenant = self.space.tenant

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.space.reader.close()

    @property
    def described(self) -> str:
        """Its file, or its database."""
        return described(self.url)

    def once_known(self, tell: Callable[[], None]) -> AbstractContextManager[object]:
        """At once."""
        tell()
        return nullcontext()

    @property
    def flag(self) -> str:
        """The options that name it in a command."""
        return store_flag(self.url)

    @property
    def is_worked_on(self) -> bool:
        """Whether a process runs the steps of what the last call has set going."""
        return self.space.is_worked_on

    async def has_process(self) -> bool:
        """Whether an engine has the file open, or works on the database."""
        return await self.space.reader.store.members.workers() > 0

    def because(self, reason: str | None) -> None:
        """Have the audit log keep a reason with the changes that follow."""
        self.space.reason = reason

    async def reveal(self, action: str, target: str) -> None:
        """Have the audit log keep that masked values are shown, before they are read."""
        from tenuto.cli.backends.recorded import record_reveal

        await record_reveal(self.space, action, target)

    def kept_open(self) -> AbstractAsyncContextManager[object]:
        """One engine for several definitions."""
        make_room(self.url)
        return self.space.engine(is_guest=True)

    async def held(self, id: str) -> Held:
        """An instance, folded from its log; NotFound."""
        return await self.space.at(id).held()

    async def held_with_log(self, id: str) -> tuple[Held, list[Object]]:
        """The same, and the entries of its log."""
        return await self.held(id), await self.space.at(id).history()

    async def advanced(self, held: Held) -> Held:
        """The same instance as it is now."""
        return await self.held(held.state.id)

    async def near_events(self, held: Held) -> NearEvents:
        """The events that its open waits did not take."""
        return await self.space.reader.inspector.near_events(held)

    def watching(self, id: str, after: int) -> AbstractAsyncContextManager[asyncio.Event]:
        """An event that is set when the log of an instance has grown after an entry."""
        # A look-up of its tenant would fail while the store is away; the changes wait for it.
        return set_by(self.space.at(id, is_known=True).changes(after))

    async def run(self, options: RunOptions) -> int:
        """Run it with an engine in this process."""
        from tenuto.cli.local_run import run

        return await run(self.url, options)

    async def run_outstanding(self, options: RunOptions) -> int:
        """Go on with an engine in this process."""
        from tenuto.cli.open_instances import run_outstanding

        return await run_outstanding(self.url, options)

    async def run_test(self, options: TestRunOptions) -> int:
        """Run it with an engine in this process."""
        from tenuto.cli.test_runs import run_test_here

        return await run_test_here(self.url, options)

    def findings(self) -> AsyncIterator[Finding]:
        """Its disk, schema, clock, tenants and pooler."""
        from tenuto.cli.doctor import store_findings

        return store_findings(self)
