"""The app of a server elsewhere: deploy, start, publish, and references to instances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from tenuto.client.connection import NEXT_AFTER, PATIENCE, Ask, Connection, part
from tenuto.client.dead_letters import DeadLetters
from tenuto.client.instance import RemoteInstance
from tenuto.client.keys import RemoteKeys
from tenuto.client.listeners import RemoteSubscriptions, RemoteWebhooks
from tenuto.client.pages import every
from tenuto.client.publishing import Publishing
from tenuto.client.refusals import error_of
from tenuto.client.shapes import InstanceItem, Page, SavedWorkflow, StartResult, Version
from tenuto.model.checks import aware
from tenuto.model.errors import TenutoError, not_there
from tenuto.model.json import JSON, Given, Object, as_json
from tenuto.model.status import Status
from tenuto.ports import Clock, Ids
from tenuto.python_form.workflow import WorkflowFunction
from tenuto.workspace.documents import read_definition
from tenuto.workspace.values import Published, Start, Summary


class Client:
    """A service elsewhere, with the names that `Tenuto` has.

    Use it as `async with Client("https://tenuto.example", key="tnt_…") as client:`. Several
    addresses of one service may be given: where one does not answer, the next is asked; by what
    only reads, and by starts and events, which have a key, as soon as one has said nothing for
    `next_after` seconds. What fails on the way is tried again for `patience` seconds, where that
    cannot do anything twice.
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
        """`tenant` is for the administrator of all of them: every other key belongs to one."""
        self._connection = Connection(
            url,
            key,
            tenant=tenant,
            patience=patience,
            next_after=next_after,
            clock=clock,
            ids=ids,
        )
        self._publishing = Publishing(self._connection)
        self._deployed: dict[WorkflowFunction[..., Any], int] = {}
        self.webhooks = RemoteWebhooks(self._connection)
        """Addresses that are told of events: add, list, remove, enable."""
        self.subscriptions = RemoteSubscriptions(self._connection)
        """Addresses that somebody outside has named, until they expire."""
        self.dead_letters = DeadLetters(self._connection)
        """What could not be done: list, get, retry, discard."""
        self.keys = RemoteKeys(self._connection)
        """API keys: create, list, revoke."""

    @property
    def connection(self) -> Connection:
        """The way to the server, for what has no name here."""
        return self._connection

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
        """Let go of the connections."""
        await self._connection.close()

    # -- definitions

    async def deploy(
        self, definition: Mapping[str, JSON] | str | Path | WorkflowFunction[..., Any]
    ) -> int:
        """Save a definition and return its version.

        It is a dict, the path of a JSON file, or a workflow function, with which those are saved
        that it starts as steps. Its tasks run where they are registered: in the service or in its
        workers. InvalidDefinition lists all that is wrong.
        """
        if isinstance(definition, WorkflowFunction):
            return await self._deploy_flow(definition, set())
        return (await self.save(read_definition(definition))).version

    async def save(self, document: JSON) -> SavedWorkflow:
        """Save a definition and say under which id and version."""
        return await self._connection.ask(Ask("POST", "/workflows", body=document), SavedWorkflow)

    async def definition(self, id: str, version: int | None = None) -> Version:
        """A definition as it was saved, without a version the newest; NotFound."""
        return await self._connection.get(f"/workflows/{part(id)}", Version, version=version)

    async def definition_ids(self) -> list[str]:
        """The ids of all definitions, in order."""
        found = await every(self._connection, "/workflows", Page[dict[str, Any]])
        return [each["id"] for each in found]

    async def remove_definition(self, id: str, *, force: bool = False) -> None:
        """Let a definition be as if it were not there; its instances keep their versions.

        Conflict while instances of it run, unless `force` cancels them: they are asked to, one
        after the other, from when this returns.
        """
        await self._connection.do(Ask("DELETE", f"/workflows/{part(id)}", {"force": force}))

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
        the same content gives the instance that the first call made; without one the client makes
        one up, so that a request that is sent again starts nothing twice.
        """
        if isinstance(workflow, WorkflowFunction):
            if version is None:
                version = self._deployed.get(workflow) or await self.deploy(workflow)
            workflow = workflow.id
        asked = Start(
            workflow=workflow,
            input=as_json(input),
            correlation_id=correlation_id,
            priority=priority,
            deadline=deadline,
            instance_id=instance_id,
            version=version,
        )
        ask = Ask(
            "POST",
            f"/workflows/{part(workflow)}/start",
            body=_body(asked),
            headers={"idempotency-key": key or self._own_key()},
            may_overlap=True,
        )
        started = await self._connection.ask(ask, StartResult)
        return self.at(started.instance_id or "")

    async def start_many(self, asked: Sequence[Start]) -> list[RemoteInstance | TenutoError]:
        """Start up to 1,000 at once; what is wrong with one is in its place and keeps no other."""
        items = [
            {
                **_body(each),
                "workflowId": each.workflow,
                "idempotencyKey": each.key or self._own_key(),
            }
            for each in asked
        ]
        ask = Ask("POST", "/instances/batch", body={"items": items}, may_overlap=True)
        answer = await self._connection.ask(ask, dict[str, list[StartResult]])
        return [
            self.at(each.instance_id or "") if each.error is None else error_of(each.error)
            for each in answer["results"]
        ]

    def at(self, id: str) -> RemoteInstance:
        """A reference to an instance that may not be there: it says so when it is asked."""
        return RemoteInstance(self._connection, id)

    async def instance(self, id: str) -> RemoteInstance:
        """A reference to an instance; NotFound when there is none."""
        page = await self.page(ids=id, limit=1)
        if not page.items:
            raise not_there(id)
        return self.at(id)

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
        wanted = (status,) if isinstance(status, str) else tuple(status)
        page = await self.page(
            status=",".join(Status(name) for name in wanted) or None,
            workflowId=workflow,
            correlationId=correlation_id,
            currentStep=current_step,
            variables=None if variables is None else msgspec.json.encode(variables).decode(),
            limit=limit,
        )
        return [each.summary() for each in page.items]

    async def page(self, **query: object) -> Page[InstanceItem]:
        """A page of instances, by the parameters that the API has."""
        return await self._connection.get("/instances", Page[InstanceItem], **query)

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

        Without an `id` the client makes one up, so that an event that is sent again acts once.
        """
        event = {
            "id": id,
            "pattern": pattern,
            "payload": payload,
            "correlationId": correlation_id,
            "timestamp": aware(timestamp, "timestamp"),
        }
        return await self._publishing.one(event, dry_run=dry_run)

    async def publish_all(
        self, document: Given, *, dry_run: bool = False
    ) -> list[Published | TenutoError]:
        """Publish the events of a document: one, or an array of up to 1,000; a result each."""
        return await self._publishing.all(as_json(document), dry_run=dry_run)

    async def event(self, id: str) -> Object:
        """An event of the inbox, whom it reached and nearly reached; NotFound."""
        return await self._connection.get(f"/events/{part(id)}", dict[str, Any])

    # -- inner

    def _own_key(self) -> str:
        return f"client/{self._connection.ids.short()}{self._connection.ids.short()}"

    async def _deploy_flow(
        self, flow: WorkflowFunction[..., Any], seen: set[WorkflowFunction[..., Any]]
    ) -> int:
        seen.add(flow)
        for child in flow.children:
            if child not in seen:
                await self._deploy_flow(child, seen)
        saved = await self.save(flow.checked())
        self._deployed[flow] = saved.version
        return saved.version


def _body(asked: Start) -> dict[str, object]:
    return {
        "input": asked.input,
        "correlationId": asked.correlation_id,
        "priority": asked.priority,
        "deadline": aware(asked.deadline, "deadline"),
        "instanceId": asked.instance_id,
        "version": asked.version,
    }
