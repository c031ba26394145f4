"""The way in for Python programs: an engine in this process, and its workspace."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from tenuto.built_in.protocol import Executors
from tenuto.compose import build_engine, encrypted, open_store
from tenuto.encryption.codec import Codec
from tenuto.encryption.settings import EncryptionSettings
from tenuto.engine.settings import Settings
from tenuto.model.checks import refuse_bad_ids
from tenuto.model.tenants import refuse_bad_tenant
from tenuto.ports import Clock, Ids, Sender
from tenuto.store.protocol import Store
from tenuto.tasks.capture import CAPTURE
from tenuto.tasks.collector import COLLECTOR
from tenuto.tasks.registry import DEFAULT_REGISTRY, Registry
from tenuto.tasks.watchdog import Watchdog
from tenuto.workspace.bulk import BulkRunner
from tenuto.workspace.engine_workspace import EngineWorkspace


class Tenuto(EngineWorkspace):
    """An engine in this process, over a database, a SQLite file or, without a URL, in memory.

    Use it as `async with Tenuto("sqlite:///orders.db") as app:`; leaving the block stops in good
    order. `postgresql://USER:PASSWORD@HOST/DATABASE` may be open in any number of processes; where
    it leads to a pooler such as PgBouncer, `listen_url` names the server itself.

    It is the workspace of the program itself: tenant `default`, in the name of `app`.
    """

    def __init__(  # noqa: PLR0913 - one for each port
        self,
        store: str | Store | None = None,
        *,
        listen_url: str | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
        tasks: Registry | None = None,
        sender: Sender | None = None,
        executors: Executors | None = None,
        encryption: Codec | EncryptionSettings | None = None,
    ) -> None:
        """The clock, the ids and the sender of requests are the real ones by default.

        So are `executors`, which do the work of javascript, http and dataQuery nodes.
        `encryption`: the keys with which secrets, and instances of definitions with
        `options.encrypt`, are stored.
        """
        registry = Registry(behind=DEFAULT_REGISTRY) if tasks is None else tasks
        if store is None or isinstance(store, str):
            store = open_store(
                store, listen_url=listen_url, settings=settings, encryption=encryption
            )
        elif encryption is not None or store.around is None:
            store = encrypted(store, encryption)
        engine = build_engine(
            store,
            registry,
            settings=settings,
            clock=clock,
            ids=ids,
            sender=sender,
            executors=executors,
        )
        self.bulk_runner = BulkRunner(engine)
        """Runs the bulk operations of the store in the background, once one was asked for here."""
        super().__init__(engine, self.bulk_runner)
        self.task = registry.task
        """Registers a task with this app alone; it is looked up before those of `@task`."""
        self._spares_program = self._captures = False
        self._watchdog = Watchdog(engine.clock, threshold=engine.settings.report_block_after)

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def open(self) -> int:
        """Open the store and take over what an earlier process left; returns how many."""
        taken_over = await self.engine.open()
        self._watchdog.start()
        self._spares_program = True
        COLLECTOR.spare()
        if self.engine.settings.task_logs:
            self._captures = True
            CAPTURE.begin()
        return taken_over

    async def close(self) -> None:
        """Stop in good order: running tasks get their grace, the rest goes on next time."""
        self._watchdog.stop()
        try:
            await self.bulk_runner.stop()
            await self.engine.close()
        finally:
            # Not before: with the settings of the program each collection walks all instances that
            # are in memory, while the last of their writes wait.
            if self._spares_program:
                self._spares_program = False
                COLLECTOR.spare_no_more()
            if self._captures:
                self._captures = False
                CAPTURE.end()

    def workspace(self, tenant: str, actor: str) -> EngineWorkspace:
        """The workspace of the principal `actor` of `tenant`, who is not checked.

        Workflows, instances, events, keys and webhooks are each tenant's own, and nothing goes
        from one to the other. The ids of instances are unique over all of them: a start under an
        id that another tenant has is a Conflict, which tells nothing else.
        """
        refuse_bad_tenant(tenant)
        refuse_bad_ids(actor=actor)
        return EngineWorkspace(self.engine, self.bulk_runner, tenant=tenant, actor=actor)

    @property
    def untold(self) -> Mapping[str, str]:
        """Instances of which this process cannot notify listeners, and why.

        A newer program wrote to them, or the store refuses the events. They are tried again ever
        less often; everything else is delivered meanwhile. Webhooks and subscriptions that cannot
        be read, and are sent nothing because of it, are named too.
        """
        return self.engine.outbox.drainer.undelivered


__all__ = ["Tenuto"]
