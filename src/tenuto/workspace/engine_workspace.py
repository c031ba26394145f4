"""The workspace of one principal of one tenant over an engine in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from tenuto.built_in.data_query import DataQueryExecutor
from tenuto.data.queries import QueryRunner
from tenuto.engine.engine import Engine
from tenuto.engine.tenancy import stored_id
from tenuto.model.errors import Problem, TenutoError
from tenuto.model.graph import DataQuery
from tenuto.model.json import JSON, Given, Object, as_json
from tenuto.model.tenants import DEFAULT_TENANT
from tenuto.python_form.workflow import WorkflowFunction
from tenuto.workspace.bulk import BulkOperations, BulkRunner
from tenuto.workspace.calendars import Calendars
from tenuto.workspace.definitions import Definitions, Saved
from tenuto.workspace.documents import Deployer
from tenuto.workspace.events import Events
from tenuto.workspace.instance import EMBEDDED, WORKFLOW_REMOVED, InstanceRef
from tenuto.workspace.limits import Limits
from tenuto.workspace.own_limits import of_new_version
from tenuto.workspace.schedules import Schedules
from tenuto.workspace.starting import Starting
from tenuto.workspace.stored_workspace import StoredWorkspace
from tenuto.workspace.task_definitions import TaskDefinitions
from tenuto.workspace.test_runs import TestRuns
from tenuto.workspace.values import (
    InstanceFilter,
    Published,
    Start,
)


class EngineWorkspace(StoredWorkspace):
    """What one principal of one tenant can do; records of another tenant are not there."""

    def __init__(
        self,
        engine: Engine,
        bulk_runner: BulkRunner,
        *,
        tenant: str = DEFAULT_TENANT,
        actor: str = EMBEDDED,
    ) -> None:
        """`actor` is the principal: commands are recorded in its name."""
        super().__init__(engine, tenant=tenant, actor=actor)
        self.engine = engine
        self.tasks = engine.registry
        self._bulk_runner = bulk_runner
        self._deployer = Deployer(self._saved_version, lambda: self.schedules)

    # -- definitions

    async def deploy(
        self, definition: Mapping[str, JSON] | str | Path | WorkflowFunction[..., Any]
    ) -> int:
        """Save a definition and return its version.

        It is a dict, the path of a JSON or YAML file, or a workflow function, with which those are
        saved that it starts as steps. The same content again makes no new version.
        InvalidDefinition lists all problems; warnings are logged.
        """
        return await self._deployer.deploy(definition)

    @property
    def definitions(self) -> Definitions:
        """The definitions as the store has them."""
        engine, declared = self.engine, self.engine.declared_tasks.of(self.tenant).tasks
        return Definitions(
            engine,
            self.tenant,
            lambda task: task in declared or task in engine.registry,
            self._input_schema,
        )

    async def save(self, document: JSON) -> Saved:
        """Save a definition and return its id and version; without an id it is a new one."""
        return await self.definitions.save(document)

    async def remove_definition(self, id: str, *, force: bool = False) -> int:
        """Remove a definition; its instances keep their versions.

        Conflict while instances of it run, unless `force` cancels them: a bulk operation, which
        goes on after this returns. Returns how many schedules start nothing any more.
        """
        if not force:
            await self.definitions.remove(id)
            return await self.engine.schedules.removed_workflow(self.tenant, id)
        await self.definitions.withdraw(id)
        stopped = await self.engine.schedules.removed_workflow(self.tenant, id)
        await self.bulk.start("cancel", InstanceFilter(workflow=id), reason=WORKFLOW_REMOVED)
        return stopped

    # -- instances

    @property
    def starting(self) -> Starting:
        """Starts of instances, with what became of each."""
        return Starting(self.engine, self.tenant, self.actor)

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

        A workflow function is deployed first, unless this workspace has done so; that version is
        started. The same `key` with the same content gives the instance that the first call made.
        """
        deployed = version
        if isinstance(workflow, WorkflowFunction):
            if version is None:
                deployed = await self._deployer.version_of(workflow)
            workflow = workflow.id
        asked = Start(
            workflow=workflow,
            input=as_json(input),
            key=key,
            correlation_id=correlation_id,
            priority=priority,
            deadline=deadline,
            instance_id=instance_id,
            version=version,
        )
        return self._own((await self.starting.begin(asked, version=deployed)).instance_id)

    async def start_many(self, asked: Sequence[Start]) -> list[InstanceRef | TenutoError]:
        """Start several at once; a refused start gives an error at its place."""
        return [
            each if isinstance(each, TenutoError) else self._own(each.instance_id)
            for each in await self.starting.begin_many(asked)
        ]

    async def instance(self, id: str) -> InstanceRef:
        """A reference to an instance; NotFound when there is none."""
        return self._own(await stored_id(self.engine.store, self.tenant, id))

    def at(self, id: str, *, by: str | None = None) -> InstanceRef:
        """A reference to an instance, without a look-up; its methods raise NotFound.

        `by` is in whose name commands are recorded, where that is not the principal.
        """
        return InstanceRef(self.engine, id, tenant=self.tenant, by=by or self.actor)

    # -- events

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

        With `dry_run` nothing is stored and nothing is notified: the result has what the event
        would reach now, and what it would nearly reach.
        """
        return await self.inbox.publish(
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
        CloudEvents in JSON. When this returns all are durable that were accepted; an event that is
        refused is an error in its place. InvalidInput when it is no such document.
        """
        return await self.inbox.publish_all(document, dry_run=dry_run)

    @cached_property
    def inbox(self) -> Events:
        """The events of the tenant."""
        return Events(self.engine, self.tenant, self.engine.publish)

    # -- parts: one for each further kind of record

    @property
    def task_definitions(self) -> TaskDefinitions:
        """Tasks that the tenant has declared: add, put, list, get, remove, execute."""
        return TaskDefinitions(self.engine, self.tenant, self.actor)

    @property
    def calendars(self) -> Calendars:
        """Business calendars: save, list, get, days, import_dates, add, remove."""
        return Calendars(self.engine, self.tenant, self.actor)

    @property
    def limits(self) -> Limits:
        """How many instances run at once, and which wait: get, set, queue, promote, hold."""
        return Limits(self.engine, self.tenant, self.actor)

    @property
    def schedules(self) -> Schedules:
        """What is started at certain times: save, list, get, pause, resume, trigger, backfill."""
        return Schedules(self.engine, self.tenant, self.actor, self.calendars, self.bulk)

    @property
    def bulk(self) -> BulkOperations:
        """Actions over many instances or dead letters: start, list, get, cancel."""
        return BulkOperations(self._bulk_runner, self.tenant, self.actor)

    @property
    def test_runs(self) -> TestRuns:
        """Runs of definitions that are not saved: start, publish, stop."""
        return TestRuns(self.engine, self.tenant)

    # -- inner

    def _input_schema(self, task: str) -> Object | None:
        """What is known of the input of a task: by its declaration, else by its function."""
        declared = self.engine.declared_tasks.input_schema(self.tenant, task)
        function = self.engine.registry.get(task)
        return declared if declared or function is None else function.input_schema

    async def _saved_version(self, document: JSON) -> tuple[int, Sequence[Problem]]:
        id, store = document.get("id") if isinstance(document, dict) else None, self.engine.store
        before = await store.definitions.get(self.tenant, id) if isinstance(id, str) else None
        version = (await self.engine.plans.save(self.tenant, document)).version
        lowered = await of_new_version(store, before, version)
        return version, (*await self.definitions.warnings(document), *lowered)

    def _query_runner(self) -> QueryRunner | None:
        executor = self.engine.executors.get(DataQuery)
        return executor.queries if isinstance(executor, DataQueryExecutor) else None

    def _own(self, id: str) -> InstanceRef:
        """An instance of this tenant; never for an id that came from outside."""
        return InstanceRef(self.engine, id, tenant=self.tenant, by=self.actor, is_known=True)

    def _listeners_changed(self) -> None:
        self.engine.outbox.hint()

    def _listener_hastened(self, id: str) -> None:
        self.engine.outbox.wake(id)

    def _adding_listeners(self) -> asyncio.Lock:
        return self.engine.outbox.adding(self.tenant)
