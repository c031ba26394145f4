"""The way in for Python programs: deploy, start, publish, and references to instances."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, cast
from uuid import UUID

import msgspec

from tenuto.compose import build_engine, open_store
from tenuto.definition import parse_document
from tenuto.engine.event_views import event_view, near_view, targets_view
from tenuto.engine.inspector import DryRun
from tenuto.engine.settings import Settings
from tenuto.engine.starting import (
    raise_rejection,
    refuse_bad_input,
    refuse_unknown_tasks,
)
from tenuto.engine.taking import Taking
from tenuto.events import GivenEvent, name_problems
from tenuto.instances import InstanceRef, Summary
from tenuto.model.checks import aware, refuse_bad_ids
from tenuto.model.errors import InvalidInput, NotFound, Problem, TenutoError
from tenuto.model.events import Event
from tenuto.model.inputs import Started
from tenuto.model.json import JSON, Given, Object, as_json
from tenuto.model.status import Status
from tenuto.ports import Clock, Ids, Sender
from tenuto.python_form.workflow import WorkflowFunction
from tenuto.store.protocol import EventResult, InstanceQuery, Store
from tenuto.tasks.collector import COLLECTOR
from tenuto.tasks.registry import DEFAULT_REGISTRY, Registry
from tenuto.tasks.watchdog import Watchdog
from tenuto.webhooks import Subscriptions, Webhooks

TENANT = "default"

_Listeners = TypeVar("_Listeners", Webhooks, Subscriptions)


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an event."""

    event_id: str
    duplicate: bool
    """Whether it was published before: then what it did the first time is told."""
    resumed: int
    """How many waits took it."""
    cancelled: int = 0
    """How many instances it cancels."""
    started: int = 0
    """How many instances it starts."""
    is_dry: bool = False
    """Whether nothing was stored."""
    targets: tuple[Object, ...] = ()
    """Of a dry run: whom the event would reach. Each says `what` would be done, `resumed`,
    `cancelled`, `started` or `refused` with its `reason`, and where."""
    near_misses: tuple[Object, ...] = ()
    """Of a dry run: whom it would nearly reach, and which parts of their conditions are false."""


def _published(event: Event, result: EventResult) -> Published:
    return Published(
        event_id=event.id,
        duplicate=result.outcome == "duplicate",
        resumed=result.resumed,
        cancelled=result.cancelled,
        started=result.started,
    )


def dry_published(event: Event, found: DryRun) -> Published:
    """What would become of an event."""
    return msgspec.structs.replace(
        _published(event, found.result),
        is_dry=True,
        targets=tuple(targets_view(found.whom)),
        near_misses=tuple(near_view(found.near)),
    )


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
        self.webhooks = self._listeners(Webhooks)
        """Addresses that are told of events: add, list, remove, enable."""
        self.subscriptions = self._listeners(Subscriptions)
        """Addresses that somebody outside has named, until they expire."""
        engine = self.engine
        self._taking = Taking(engine.clock, engine.ids, engine.settings.limits)
        self._flows: dict[WorkflowFunction[..., Any], int] = {}
        """Workflow functions that were deployed through this app, each with its version."""
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
        if isinstance(definition, WorkflowFunction):
            return await self._deploy_flow(definition, set())
        document = _document(definition)
        return (await self.engine.plans.save(TENANT, document)).version

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
        refuse_bad_ids(key=key, correlationId=correlation_id)
        asked_for = version
        if isinstance(workflow, WorkflowFunction):
            if version is None:
                version = self._flows.get(workflow) or await self.deploy(workflow)
            workflow = workflow.id
        deployed = await self.engine.plans.for_start(TENANT, workflow, version)
        deployed.refuse_unavailable()
        plan = deployed.plan
        if self.engine.settings.unknown_tasks == "fail":
            refuse_unknown_tasks(plan, self.tasks)
        value = as_json(input)
        refuse_bad_input(plan, value, self.engine.settings.limits)
        started = Started(
            definition_id=workflow,
            definition_version=deployed.version,
            input=value,
            correlation_id=correlation_id,
            priority=priority,
            deadline=aware(deadline, "deadline"),
        )
        answer = await self.engine.start(
            plan,
            started,
            instance_id=_uuid(instance_id),
            key=key,
            content_hash=_content_hash(started, asked_for) if key is not None else b"",
        )
        raise_rejection(answer)
        return InstanceRef(self.engine, answer.instance_id)

    async def instance(self, id: str) -> InstanceRef:
        """A reference to an instance; NotFound when there is none."""
        found = await self.engine.store.instances(InstanceQuery(ids=(id,), limit=1))
        if not found.items:
            raise NotFound(f"there is no instance {id}")
        return InstanceRef(self.engine, id)

    async def instances(
        self,
        *,
        status: Status | str | Iterable[Status | str] = (),
        workflow: str | None = None,
        correlation_id: str | None = None,
        current_step: str | None = None,
        limit: int = 100,
    ) -> list[Summary]:
        """Instances, newest first."""
        wanted = (status,) if isinstance(status, str) else tuple(status)
        page = await self.engine.store.instances(
            InstanceQuery(
                statuses=tuple(Status(name) for name in wanted),
                definition_id=workflow,
                correlation_id=correlation_id,
                current_step=current_step,
                limit=limit,
            )
        )
        return [Summary.of(row) for row in page.items]

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
        refuse_bad_ids(id=id, correlationId=correlation_id)
        given = GivenEvent(
            pattern=pattern,
            payload=as_json(payload),
            id=id,
            correlation_id=correlation_id,
            timestamp=aware(timestamp, "timestamp"),
        )
        wrong = name_problems(pattern, "$.pattern")
        return await self._publish(self._taking.event(given, problems=wrong), dry_run=dry_run)

    async def publish_all(
        self, document: Given, *, dry_run: bool = False
    ) -> list[Published | TenutoError]:
        """Publish the events of a document: one, or an array of up to 1,000; a result each.

        They have Tenuto's own form, `{id?, pattern, payload?, correlationId?, timestamp?}`, or are
        CloudEvents in JSON. When this returns all are durable that could be taken; what is wrong
        with one is an error in its place and keeps none of the others. InvalidInput when it is no
        such document.
        """
        taken = self._taking.events(as_json(document))
        return await asyncio.gather(
            *(self._publish_if_taken(each, dry_run=dry_run) for each in taken)
        )

    async def event(self, id: str) -> Object:
        """An event of the inbox; NotFound when there is none.

        With its `deliveries`: whom it woke, cancelled and started, who refused it, and for whom it
        came too late; and its `nearMisses`: whom that is open now it nearly reached.
        """
        return event_view(await self.engine.inspector.event(id))

    async def _publish_if_taken(
        self, taken: Event | TenutoError, *, dry_run: bool
    ) -> Published | TenutoError:
        if isinstance(taken, TenutoError):
            return taken
        try:
            return await self._publish(taken, dry_run=dry_run)
        except TenutoError as error:
            return error

    async def _publish(self, event: Event, *, dry_run: bool) -> Published:
        if dry_run:
            return dry_published(event, await self.engine.inspector.dry_run(event))
        return _published(event, await self.engine.publish(event))

    @property
    def untold(self) -> Mapping[str, str]:
        """Instances of which this process cannot tell those who listen, and why.

        A newer program wrote to them, or the store refuses what there is to tell. They are tried
        again ever less often; everything else is told meanwhile.
        """
        return self.engine.telling.drainer.untold

    def _listeners(self, kind: type[_Listeners]) -> _Listeners:
        engine = self.engine
        return kind(
            engine.store,
            engine.clock,
            engine.ids,
            may_be_private=engine.settings.private_webhooks,
            changed=engine.telling.hint,
        )

    async def _deploy_flow(
        self, flow: WorkflowFunction[..., Any], seen: set[WorkflowFunction[..., Any]]
    ) -> int:
        seen.add(flow)
        for child in flow.children:
            if child not in seen:
                await self._deploy_flow(child, seen)
        saved = await self.engine.plans.save(TENANT, flow.checked())
        self._flows[flow] = saved.version
        return saved.version


def _document(definition: Mapping[str, JSON] | str | Path) -> JSON:
    if isinstance(definition, Mapping):
        return cast("Object", dict(definition))
    path = Path(definition)
    try:
        text = path.read_bytes()
    except OSError as error:
        raise NotFound(f"cannot read {path}: {error.strerror}", code="TEN-3001") from error
    return parse_document(text, str(path))


def _uuid(instance_id: str | None) -> str | None:
    if instance_id is None:
        return None
    try:
        return str(UUID(instance_id))
    except (ValueError, AttributeError, TypeError) as error:
        raise InvalidInput(
            "the instance id cannot be used",
            [
                Problem(
                    code="TEN-2008",
                    path="$.instanceId",
                    message=f"{instance_id!r} is not a UUID",
                    advice="Leave it out and one is made, or pass str(uuid.uuid4()).",
                )
            ],
        ) from error


def _content_hash(started: Started, version: int | None) -> bytes:
    """What makes two starts the same: not the version that happened to be the newest."""
    content = msgspec.structs.replace(started, definition_version=version or 0)
    return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).digest()


__all__ = ["Published", "Tenuto"]
