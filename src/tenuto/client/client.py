"""The workspace of a remote service, over HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from tenuto.client.approvals import RemoteApprovals
from tenuto.client.audit import RemoteAudit
from tenuto.client.bulk import RemoteBulk
from tenuto.client.connection import API, NEXT_AFTER, PATIENCE, Ask, Connection, part
from tenuto.client.data_sources import RemoteDataQueries, RemoteDataSources
from tenuto.client.dead_letters import RemoteDeadLetters
from tenuto.client.instance import RemoteInstance
from tenuto.client.keys import RemoteKeys
from tenuto.client.limits import RemoteLimits
from tenuto.client.listeners import RemoteSubscriptions, RemoteWebhooks
from tenuto.client.operations import Operations
from tenuto.client.pages import every, up_to
from tenuto.client.refusals import error_of
from tenuto.client.schedules import RemoteCalendars, RemoteSchedules
from tenuto.client.secrets import RemoteSecrets
from tenuto.client.shapes import EventAnswer, results_of
from tenuto.client.task_definitions import RemoteTaskDefinitions
from tenuto.client.test_runs import RemoteTestRuns
from tenuto.client.whole_instances import whole_instances
from tenuto.client.workers import RemoteWorkers
from tenuto.model.checks import aware
from tenuto.model.errors import Problem, TenutoError, not_there
from tenuto.model.json import JSON, Given, Object, as_json
from tenuto.model.status import Status
from tenuto.ports import Clock, Ids
from tenuto.python_form.workflow import WorkflowFunction
from tenuto.workspace.documents import Deployer
from tenuto.workspace.values import (
    ANY_INSTANCE,
    DefinitionVersion,
    InstanceFilter,
    Page,
    Published,
    SavedWorkflow,
    Start,
    Summary,
    statuses_of,
)

_STOPPED = "tenuto-schedules-stopped"


class Client:
    """A remote service, with the methods of `Tenuto`.

    Use it as `async with Client("https://tenuto.example", key="tnt_…") as client:`. Several
    addresses of one service may be given: if one does not answer, the client asks the next. Reads,
    starts and events can be repeated safely, so the client asks the next address after
    `next_after` seconds without an answer. It repeats failed requests for `patience` seconds,
    unless a repetition could act twice.
    """

    def __init__(
        self,
        url: str | Sequence[str],
        key: str | None = None,
        *,
        tenant: str | None = None,
        patience: float = PATIENCE,
        next_after: float = NEXT_AFTER,
        clock: Clock | None = None,
        ids: Ids | None = None,
    ) -> None:
        """`tenant` is for keys of an administrator of all tenants; other keys have one tenant."""
        self.connection = Connection(
            url,
            key,
            tenant=tenant,
            patience=patience,
            next_after=next_after,
            clock=clock,
            ids=ids,
        )
        """The HTTP connection to the service."""
        self.operations = Operations(self.connection)
        """Every operation of the API, under its name in the API."""
        self._deployer = Deployer(self._saved_version, lambda: self.schedules)
        self.webhooks = RemoteWebhooks(self.operations)
        """Addresses that are notified of events: add, change, list, get, remove, enable."""
        self.subscriptions = RemoteSubscriptions(self.operations)
        """Addresses that are notified of events until they expire."""
        self.dead_letters = RemoteDeadLetters(self.operations)
        """Tasks whose failure nothing handled, poison tasks, and late results."""
        self.task_definitions = RemoteTaskDefinitions(self.operations)
        """Tasks that the tenant has declared: add, put, list, get, remove, execute."""
        self.schedules = RemoteSchedules(self.operations)
        """What is started at certain times: save, list, get, pause, resume, trigger, backfill."""
        self.limits = RemoteLimits(self.operations)
        """How many instances run at once, and which wait: get, set, queue, promote, hold."""
        self.calendars = RemoteCalendars(self.operations)
        """Business calendars: save, list, get, days, import_dates, add, remove."""
        self.data_sources = RemoteDataSources(self.operations)
        """Databases that data queries read: save, list, get, uses, test, remove."""
        self.data_queries = RemoteDataQueries(self.operations)
        """Statements that workflows run by their ids: save, list, get, uses, run, remove."""
        self.secrets = RemoteSecrets(self.operations)
        """Values that steps use and no record shows: put, list, page, get, remove."""
        self.workers = RemoteWorkers(self.operations)
        self.approvals = RemoteApprovals(self.operations)
        """Workers that were seen within the last hour: list, page."""
        self.bulk = RemoteBulk(self.operations)
        """Actions over many instances or dead letters: start, list, get, cancel."""
        self.test_runs = RemoteTestRuns(self.operations)
        """Runs of definitions that are not saved: start, publish, stop."""
        self.keys = RemoteKeys(self.operations)
        """The API keys of the tenant: create, list, revoke."""
        self.audit = RemoteAudit(self.operations)
        """The audit log of the tenant: page, export, verify."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self.connection.close()

    # -- definitions

    async def deploy(
        self, definition: Mapping[str, JSON] | str | Path | WorkflowFunction[..., Any]
    ) -> int:
        """Save a definition and return its version.

        It is a dict, the path of a JSON or YAML file, or a workflow function; the workflow
        functions that it starts as steps are saved too. Its tasks run where they are registered: in
        the service or in its workers. InvalidDefinition lists all problems; warnings are logged.
        """
        return await self._deployer.deploy(definition)

    async def save(self, document: JSON) -> SavedWorkflow:
        """Save a definition and return its id and version; without an id it is a new one."""
        id = document.get("id") if isinstance(document, dict) else None
        if isinstance(id, str) and id:
            return await self.operations.put_workflow(id, document)
        return await self.operations.save_workflow(document)

    async def definition(self, id: str, version: int | None = None) -> DefinitionVersion:
        """A definition as it was saved; the newest version unless one is given. NotFound."""
        return await self.operations.get_workflow(id, version=version)

    async def definition_ids(self) -> list[str]:
        """The ids of all definitions, in order."""
        return [str(each["id"]) for each in await every(self.operations.list_workflows)]

    async def definition_page(self, *, limit: int = 100, cursor: str | None = None) -> Page[Object]:
        """A page of definitions, ordered by id: `{id, version, name, description, createdAt}`."""
        return await self.operations.list_workflows(limit=limit, cursor=cursor)

    async def newest_definitions(self, limit: int = 100) -> list[DefinitionVersion]:
        """The newest versions of definitions as they were saved, ordered by id."""
        listed = partial(self.operations.list_workflows, include="definition")
        return [msgspec.convert(each, DefinitionVersion) for each in await up_to(limit, listed)]

    async def remove_definition(self, id: str, *, force: bool = False) -> int:
        """Remove a definition; its instances keep their versions.

        Conflict while instances of it run, unless `force` cancels them: a bulk operation, which
        goes on after this returns. Returns how many schedules start nothing any more.
        """
        query = {"force": force} if force else {}
        asked = Ask("DELETE", f"{API}/workflows/{part(id)}", query, gives_nothing=True)
        answered = await self.connection.send(asked)
        stopped = answered.headers.get(_STOPPED, "")
        return int(stopped) if stopped.isdecimal() else 0

    # -- instances

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
    ) -> RemoteInstance:
        """Start an instance; when this returns, it is durable.

        A workflow function is deployed first, unless this client has done so. The same `key` with
        the same content gives the instance that the first call started. Without a key the client
        generates one, so that a repeated request starts nothing twice.
        """
        if isinstance(workflow, WorkflowFunction):
            if version is None:
                version = await self._deployer.version_of(workflow)
            workflow = workflow.id
        started = await self.operations.start_workflow(
            workflow,
            input=as_json(input),
            correlation_id=correlation_id,
            priority=priority,
            deadline=aware(deadline, "deadline"),
            instance_id=instance_id,
            version=version,
            key=key or self._own_key(),
        )
        return self.at(started.instance_id)

    async def start_many(self, asked: Sequence[Start]) -> list[RemoteInstance | TenutoError]:
        """Start up to 1,000 at once; a refused start gives an error at its place."""
        answer = await self.operations.start_batch(
            items=[self._item(each) for each in asked], is_repeatable=True
        )
        return [
            self.at(each.instance_id) if each.error is None else error_of(each.error)
            for each in answer.results
        ]

    def at(self, id: str) -> RemoteInstance:
        """A reference to an instance, without a look-up; its methods raise NotFound."""
        return RemoteInstance(self.operations, id)

    async def instance(self, id: str) -> RemoteInstance:
        """A reference to an instance; NotFound when there is none."""
        if not (await self.page(InstanceFilter(ids=(id,)), limit=1)).items:
            raise not_there(id)
        return self.at(id)

    async def instances(  # noqa: PLR0913 - one for each filter
        self,
        *,
        status: Status | str | Iterable[Status | str] = (),
        workflow: str | None = None,
        correlation_id: str | None = None,
        key: str | None = None,
        current_step: str | None = None,
        updated_from: datetime | None = None,
        updated_before: datetime | None = None,
        waiting_for: str | None = None,
        roots: bool = False,
        parent_id: str | None = None,
        variables: Mapping[str, Given] | None = None,
        limit: int = 100,
    ) -> list[Summary]:
        """Instances, newest first.

        `variables` selects instances whose variables have these values. It needs `workflow`, and
        names that the workflow lists in `options.searchable`; else InvalidInput.
        """
        which = InstanceFilter(
            status=statuses_of(status),
            workflow=workflow,
            correlation_id=correlation_id,
            key=key,
            current_step=current_step,
            updated_from=updated_from,
            updated_before=updated_before,
            waiting_for=waiting_for,
            roots=roots,
            parent_id=parent_id,
        )
        return await up_to(limit, partial(self.page, which, variables=variables))

    async def page(
        self,
        which: InstanceFilter = ANY_INSTANCE,
        *,
        variables: Mapping[str, Given] | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Summary]:
        """A page of instances, newest first; `cursor` is the `next_cursor` of the page before."""
        page = await self.operations.list_instances(
            status=",".join(which.status) or None,
            workflow_id=which.workflow,
            correlation_id=which.correlation_id,
            key=which.key,
            current_step=which.current_step,
            ids=",".join(which.ids) or None,
            created_from=which.created_from,
            created_before=which.created_before,
            updated_from=which.updated_from,
            updated_before=which.updated_before,
            waiting_for=which.waiting_for,
            roots=which.roots or None,
            parent_id=which.parent_id,
            text=which.text,
            variables=None if variables is None else msgspec.json.encode(variables).decode(),
            limit=limit,
            cursor=cursor,
        )
        return Page(items=[each.summary() for each in page.items], next_cursor=page.next_cursor)

    async def details(self, ids: Sequence[str]) -> list[Object]:
        """Whole instances as JSON, in the order of `ids`; unknown ids are left out."""
        return await whole_instances(self.connection, ids)

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

        Without an `id` the client generates one, so that a repeated event acts once.
        """
        event = {
            "id": id,
            "pattern": pattern,
            "payload": payload,
            "correlationId": correlation_id,
            "timestamp": aware(timestamp, "timestamp"),
        }
        given = {name: value for name, value in event.items() if value is not None}
        answer = await self.operations.publish_events(
            self._named(given), dry_run=dry_run or None, is_repeatable=True
        )
        assert isinstance(answer, EventAnswer)
        published = answer.result()
        if isinstance(published, TenutoError):
            raise published
        return published

    async def publish_all(
        self, document: Given, *, dry_run: bool = False
    ) -> list[Published | TenutoError]:
        """Publish the events of a document: one, or an array of up to 1,000; a result each."""
        # A single event is sent as an array too, so that a refusal is its result, not an exception.
        events = document if isinstance(document, list) else [document]
        named = [self._named(each) for each in events]
        answers = await self.operations.publish_events(
            named, dry_run=dry_run or None, is_repeatable=True
        )
        return results_of(answers)

    async def event(self, id: str) -> Object:
        """An event of the inbox with its deliveries and near misses; NotFound."""
        return await self.operations.get_event(id)

    async def events(
        self, *, pattern: str | None = None, since: datetime | None = None, limit: int = 100
    ) -> list[Object]:
        """Events of the inbox, newest first; without `since` those of the last 24 hours."""
        listed = partial(self.operations.list_events, pattern=pattern, since=since, order="desc")
        return await up_to(limit, listed)

    async def event_page(
        self,
        *,
        pattern: str | None = None,
        since: datetime | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Object]:
        """A page of the inbox, newest first; without `since` those of the last 24 hours."""
        return await self.operations.list_events(
            pattern=pattern, since=since, order="desc", limit=limit, cursor=cursor
        )

    async def stats(self, hours: int = 24) -> Object:
        """Counts of the instances of the last `hours`, and of waiting jobs and webhooks."""
        return await self.operations.get_stats(hours=hours)

    # -- helpers

    async def _saved_version(self, document: JSON) -> tuple[int, Sequence[Problem]]:
        saved = await self.save(document)
        return saved.version, saved.problems

    def _own_key(self) -> str:
        return f"client/{self.connection.ids.short()}{self.connection.ids.short()}"

    def _named(self, event: Any) -> Any:  # noqa: ANN401 - any JSON
        """The event with an id; a document that is no event is refused by the server."""
        if not isinstance(event, dict) or "pattern" not in event or event.get("id") is not None:
            return event
        return {**event, "id": self.connection.ids.instance_id(self.connection.clock.now())}

    def _item(self, asked: Start) -> dict[str, object]:
        return {
            "workflowId": asked.workflow,
            "input": asked.input,
            "correlationId": asked.correlation_id,
            "priority": asked.priority,
            "deadline": aware(asked.deadline, "deadline"),
            "instanceId": asked.instance_id,
            "version": asked.version,
            "idempotencyKey": asked.key or self._own_key(),
        }
