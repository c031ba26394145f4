"""A server, looked at like a store: instances are folded here from the log that it gives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from tenuto.cli.hearing import hearing
from tenuto.cli.places import ServerUrl, tenant_of
from tenuto.core import Plan, blank, fold_all
from tenuto.definition import compile_definition
from tenuto.engine.events.inspector import NearEvents
from tenuto.engine.events.near_misses import NearEvent
from tenuto.engine.turns.held import Held
from tenuto.expr import Miss
from tenuto.model.causes import Explanation
from tenuto.model.durations import epoch_ms
from tenuto.model.errors import Forbidden, NotFound, TenutoError, Unauthenticated
from tenuto.model.events import Event
from tenuto.model.json import JSON, Object
from tenuto.model.log import LogRow, UnknownEntry, from_row
from tenuto.ports import Clock, SystemClock
from tenuto.store.parts.instances import InstancePage, InstanceQuery, InstanceRow
from tenuto.store.parts.waits import WaitKey

if TYPE_CHECKING:
    from tenuto.client import Client
    from tenuto.client.shapes import InstanceItem

PATIENCE = 5.0
"""Seconds for which somebody at a terminal is kept waiting by a server that is not there."""

FOLLOWING = 90.0
"""The same for somebody who follows an instance already: a service that is restarted comes back."""


@asynccontextmanager
async def connected(url: ServerUrl, *, tenant: str | None = None) -> AsyncIterator[Client]:
    """A client of the server that was named."""
    from tenuto.client import Client

    tenant = tenant or other_tenant(tenant_of(url))
    async with Client(url.addresses, url.key, tenant=tenant, patience=PATIENCE) as client:
        try:
            yield client
        except Unauthenticated as error:
            # A server speaks of headers; at a terminal there are none.
            advice = "Put an API key into TENUTO_KEY, or give one with --api-key."
            if url.key is not None:
                advice = "See whether the key in TENUTO_KEY, or behind --api-key, is the right one."
            raise Unauthenticated(error.message, code=error.code, advice=advice) from error


def other_tenant(name: str) -> str | None:
    """A tenant that has to be said: a key belongs to one already."""
    return None if name == "default" else name


class ServerReader:
    """What looking commands need, from a server."""

    def __init__(self, url: ServerUrl, client: Client) -> None:
        self.url = url
        self.client = client
        self.clock: Clock = SystemClock()

    async def instances(
        self, query: InstanceQuery, variables: Object | None = None
    ) -> InstancePage:
        """A page of instances; with `variables` of those that have these values."""
        page = await self.client.page(
            status=",".join(query.statuses) or None,
            workflowId=query.definition_id,
            correlationId=query.correlation_id,
            currentStep=query.current_step,
            ids=",".join(query.ids) or None,
            createdFrom=query.created_from,
            createdBefore=query.created_before,
            variables=None if variables is None else msgspec.json.encode(variables).decode(),
            limit=query.limit,
            cursor=query.after,
        )
        return InstancePage([_row(each) for each in page.items], page.next_cursor)

    async def held(self, id: str) -> Held:
        """An instance as its log says it is now."""
        page = await self.instances(InstanceQuery(ids=(id,), limit=1))
        if not page.items:
            raise NotFound(f"there is no instance {id}")
        row = page.items[0]
        try:
            version = await self.client.definition(row.definition_id, row.definition_version)
        except Forbidden as error:
            raise Forbidden(
                error.message,
                code=error.code,
                advice="An instance is drawn with its definition: let the key have the scope "
                "workflows:read beside instances:read.",
            ) from error
        plan = Plan(compile_definition(version.definition))
        return await self.advanced(Held(blank(id), plan, row.tenant))

    async def advanced(self, held: Held) -> Held:
        """The same instance with what was recorded since."""
        rows = await self.client.at(held.state.id).history(after=held.state.version)
        try:
            state = fold_all(held.plan, held.state, [from_row(_log_row(each)) for each in rows])
        except UnknownEntry as error:
            raise TenutoError(
                f"the server is newer than this program, which cannot read {error}", code="TEN-4005"
            ) from None
        return Held(state, held.plan, held.tenant)

    async def history(self, id: str, after: int = 0) -> list[Object]:
        """The log behind an entry."""
        return await self.client.at(id).history(after=after)

    @asynccontextmanager
    async def watching(self, id: str, after: int) -> AsyncIterator[asyncio.Event]:
        """An event that is set when the server tells of something new."""
        from tenuto.client.hearing import news_of

        async def listen(grown: asyncio.Event) -> None:
            async for _ in news_of(self.client.connection, id, after):
                grown.set()

        connection = self.client.connection
        patience, connection.patience = connection.patience, FOLLOWING
        try:
            async with hearing(listen) as grown:
                yield grown
        finally:
            connection.patience = patience

    async def near_events(self, held: Held) -> NearEvents:
        """The events that the open waits of an instance did not take."""
        if not held.state.open_waits:
            return {}
        found: NearEvents = {}
        for wait in await self.client.at(held.state.id).waits():
            assert isinstance(wait, dict)
            names = (str(wait.get(name, "")) for name in ("stepId", "iteration", "armId"))
            misses = wait.get("nearMisses", [])
            assert isinstance(misses, list)
            found[WaitKey(held.state.id, *names)] = [
                _near(each, str(wait.get("eventPattern"))) for each in misses
            ]
        return found

    async def explained(self, id: str) -> Explanation:
        """Why an instance is not moving."""
        answer = await self.client.at(id).explain()
        return msgspec.convert(_snake(answer), Explanation)


def _row(item: InstanceItem) -> InstanceRow:
    return InstanceRow(
        id=item.id,
        tenant=item.tenant,
        definition_id=item.workflow_definition_id,
        definition_version=item.definition_version,
        status=item.status,
        correlation_id=item.correlation_id,
        priority=item.priority,
        deadline=item.deadline,
        created_at=item.created_at,
        updated_at=item.updated_at,
        started_at=item.started_at,
        completed_at=item.completed_at,
        current_steps=item.current_steps,
        parent_id=item.parent_id,
        root_id=item.root_id,
        rerun_of=item.rerun_of,
        output=_encoded(item.output),
        last_error=_encoded(item.last_error),
        cancellation=_encoded(item.cancellation),
    )


def _log_row(item: Object) -> LogRow:
    view = msgspec.convert(item, _Entry)
    return LogRow(
        seq=view.seq,
        event_type=view.event_type,
        node_id=view.node_id,
        iteration=view.iteration,
        attempt=view.attempt or 0,
        node_status=view.node_status,
        output_variable=view.output_variable,
        payload=msgspec.json.encode(view.payload) if view.payload else None,
        error_message=view.error_message,
        at_ms=epoch_ms(view.at),
    )


class _Entry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    seq: int
    event_type: str
    node_id: str | None
    iteration: str
    attempt: int | None
    node_status: str | None
    output_variable: str | None
    payload: object
    error_message: str | None
    at: datetime


def _near(view: JSON, pattern: str) -> NearEvent:
    assert isinstance(view, dict)
    failed = view["failed"]
    assert isinstance(failed, list)
    at = datetime.fromisoformat(str(view["at"]))
    event = Event(id=str(view["eventId"]), pattern=pattern, payload=None, received_at=at)
    return NearEvent(event, [_miss(each) for each in failed])


def _miss(view: JSON) -> Miss:
    assert isinstance(view, dict)
    error = view.get("error")
    compares = error is None and (view["left"], view["right"]) != (None, None)
    return Miss(
        str(view["expression"]),
        view.get("left"),
        view.get("right"),
        None if error is None else str(error),
        "and" if compares else None,
    )


def _snake(explanation: Object) -> Object:
    causes = explanation["causes"]
    assert isinstance(causes, list)
    return {
        "instance_id": explanation["instanceId"],
        "status": explanation["status"],
        "summary": explanation["summary"],
        "causes": [_cause(each) for each in causes],
    }


def _cause(cause: JSON) -> Object:
    assert isinstance(cause, dict)
    inner = cause["causes"]
    assert isinstance(inner, list)
    rest = {name: value for name, value in cause.items() if name != "stepId"}
    return {**rest, "step_id": cause.get("stepId"), "causes": [_cause(each) for each in inner]}


def _encoded(value: object) -> bytes | None:
    return None if value is None else msgspec.json.encode(value)
