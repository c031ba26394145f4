"""The way in for Python programs: deploy, start, publish, and references to instances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tenuto.compose import build_engine, open_store
from tenuto.engine.settings import Settings
from tenuto.instances import InstanceRef, Summary
from tenuto.model.checks import refuse_bad_ids
from tenuto.model.errors import TenutoError
from tenuto.model.json import JSON, Given, Object
from tenuto.model.status import Status
from tenuto.model.tenants import refuse_bad_tenant
from tenuto.ports import Clock, Ids, Sender
from tenuto.published import Published
from tenuto.python_form.workflow import WorkflowFunction
from tenuto.store.protocol import Store
from tenuto.tasks.collector import COLLECTOR
from tenuto.tasks.registry import DEFAULT_REGISTRY, Registry
from tenuto.tasks.watchdog import Watchdog
from tenuto.workspace import Start, Workspace


class Tenuto:
    """An engine in this process, over a database, a SQLite file or, without a URL, in memory.

    Use it as `async with Tenuto("sqlite:///orders.db") as app:`; leaving the block stops in good
    order. `postgresql://USER:PASSWORD@HOST/DATABASE` may be open in any number of processes; where
    it leads to a pooler such as PgBouncer, `listen_url` names the server itself.
    """

    def __init__(
        self,
        store: str | Store | None = None,
        *,
        listen_url: str | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
        tasks: Registry | None = None,
        sender: Sender | None = None,
    ) -> None:
        """What is not given is the real one: the clock, the ids, and what sends requests out."""
        self.tasks = Registry(behind=DEFAULT_REGISTRY) if tasks is None else tasks
        self.task = self.tasks.task
        """Registers a task with this app alone; it is looked up before those of `@task`."""
        if store is None or isinstance(store, str):
            store = open_store(store, listen_url=listen_url)
        self.engine = build_engine(
            store, self.tasks, settings=settings, clock=clock, ids=ids, sender=sender
        )
        self._own = Workspace(self.engine, self.tasks)
        """What this program itself does: tenant `default`, in the name of `app`."""
        self.webhooks = self._own.webhooks
        """Addresses that are told of events: add, list, remove, enable."""
        self.subscriptions = self._own.subscriptions
        """Addresses that somebody outside has named, until they expire."""
        self._spares_program = False
        self._watchdog = Watchdog(
            self.engine.clock, threshold=self.engine.settings.report_block_after
        )

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
        return taken_over

    async def close(self) -> None:
        """Stop in good order: running tasks get their grace, the rest goes on next time."""
        self._watchdog.stop()
        if self._spares_program:
            self._spares_program = False
            COLLECTOR.spare_no_more()
        await self.engine.close()

    async def deploy(
        self, definition: Mapping[str, JSON] | str | Path | WorkflowFunction[..., Any]
    ) -> int:
        """Save a definition and return its version.

        It is a dict, the path of a JSON file, or a workflow function, with which those are saved
        that it starts as steps. The same content again makes no new version. InvalidDefinition
        lists all that is wrong.
        """
        return await self._own.deploy(definition)

    async def start(
        self,
        workflow: str | WorkflowFunction[..., Any],
        input: Given = None,
        *,
        key: str | None = None,
        correlation_id: str | None = None,
        priority: int = 0,
        deadline: datetime | None = None,
        instance_id: str | None = None,
        version: int | None = None,
    ) -> InstanceRef:
        """Start an instance; when this returns, it is durable.

        A workflow function is deployed first, unless this app has done so; it is that version
        which is started. The same `key` with the same content gives the instance that the first
        call made.
        """
        return await self._own.start(
            workflow,
            input,
            key=key,
            correlation_id=correlation_id,
            priority=priority,
            deadline=deadline,
            instance_id=instance_id,
            version=version,
        )

    async def start_many(self, asked: Sequence[Start]) -> list[InstanceRef | TenutoError]:
        """Start several at once; what is wrong with one is in its place and keeps no other."""
        return await self._own.start_many(asked)

    async def instance(self, id: str) -> InstanceRef:
        """A reference to an instance; NotFound when there is none."""
        return await self._own.instance(id)

    async def instances(
        self,
        *,
        status: Status | str | Iterable[Status | str] = (),
        workflow: str | None = None,
        correlation_id: str | None = None,
        current_step: str | None = None,
        variables: Mapping[str, Given] | None = None,
        limit: int = 100,
    ) -> list[Summary]:
        """Instances, newest first.

        `variables`: those that have these values, by names that the workflow lists in
        `options.searchable`; InvalidInput where it does not, or where no workflow is named.
        """
        return await self._own.instances(
            status=status,
            workflow=workflow,
            correlation_id=correlation_id,
            current_step=current_step,
            variables=variables,
            limit=limit,
        )

    async def publish(
        self,
        pattern: str,
        payload: Given = None,
        *,
        id: str | None = None,
        correlation_id: str | None = None,
        timestamp: datetime | None = None,
        dry_run: bool = False,
    ) -> Published:
        """Publish an event; when this returns it is durable and its targets are recorded.

        With `dry_run` nothing is stored and nobody hears of it: the answer says what the event
        would do now, to whom, and to whom nearly.
        """
        return await self._own.publish(
            pattern,
            payload,
            id=id,
            correlation_id=correlation_id,
            timestamp=timestamp,
            dry_run=dry_run,
        )

    async def publish_all(
        self, document: Given, *, dry_run: bool = False
    ) -> list[Published | TenutoError]:
        """Publish the events of a document: one, or an array of up to 1,000; a result each.

        They have Tenuto's own form, `{id?, pattern, payload?, correlationId?, timestamp?}`, or are
        CloudEvents in JSON. When this returns all are durable that could be taken; what is wrong
        with one is an error in its place and keeps none of the others. InvalidInput when it is no
        such document.
        """
        return await self._own.publish_all(document, dry_run=dry_run)

    async def event(self, id: str) -> Object:
        """An event of the inbox; NotFound when there is none.

        With its `deliveries`: whom it woke, cancelled and started, who refused it, and for whom it
        came too late; and its `nearMisses`: whom that is open now it nearly reached.
        """
        return await self._own.event(id)

    def workspace(self, tenant: str, actor: str) -> Workspace:
        """The engine as somebody else sees it: what `actor` of `tenant` may reach, and no more.

        That they are who they are is yours to know. Workflows, instances, events, keys and
        listeners are each tenant's own, and nothing goes from one to the other. The ids of
        instances are unique over all of them: a start under an id that another tenant has is a
        Conflict, which tells nothing else.
        """
        refuse_bad_tenant(tenant)
        refuse_bad_ids(actor=actor)
        return Workspace(self.engine, self.tasks, tenant=tenant, actor=actor)

    @property
    def untold(self) -> Mapping[str, str]:
        """Instances of which this process cannot tell those who listen, and why.

        A newer program wrote to them, or the store refuses what there is to tell. They are tried
        again ever less often; everything else is told meanwhile. Webhooks and subscriptions that
        cannot be read, and are told nothing because of it, are named too.
        """
        return self.engine.outbox.drainer.undelivered


__all__ = ["Published", "Tenuto"]
