"""Records as the audit log keeps them before and after a change: public fields only."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from tenuto.model.durations import iso
from tenuto.model.errors import NotFound, TenutoError
from tenuto.model.json import JSON, Object
from tenuto.store.parts.access import KeyRow
from tenuto.store.parts.dead_letters import DeadLetterRow
from tenuto.store.parts.definitions import DefinitionRow
from tenuto.workspace.data_values import QueryRun, SavedDataQuery, SavedDataSource, SourceTest
from tenuto.workspace.protocol import Instance
from tenuto.workspace.schedule_values import SavedCalendar, SavedSchedule
from tenuto.workspace.secret_values import Secret
from tenuto.workspace.values import BulkOperation, Published, Webhook

if TYPE_CHECKING:
    from tenuto.workspace.data_sources import DataQueries, DataSources
    from tenuto.workspace.secrets import TenantSecrets
    from tenuto.workspace.stored_calendars import StoredCalendars
    from tenuto.workspace.stored_schedules import StoredSchedules
    from tenuto.workspace.task_definitions import Declared, TaskDefinitions
    from tenuto.workspace.webhooks import Subscriptions, Webhooks

_MOST_EVENTS: Final = 10


def definition(row: DefinitionRow | None) -> Object | None:
    """The version of a definition, and the hash of its content."""
    if row is None:
        return None
    return {"id": row.id, "version": row.version, "hash": row.content_hash.hex()}


async def instance(reference: Instance) -> Object:
    """The status of an instance; NotFound."""
    return {"status": (await reference.status()).value}


def listener(each: Webhook) -> Object:
    """A webhook or subscription, without its secret and without the query of its URL."""
    url = each.url.partition("?")[0]
    return {"id": each.id, "url": url, "patterns": list(each.patterns), "state": each.state}


async def listener_before(listeners: Webhooks | Subscriptions, id: str) -> Object | None:
    """A webhook or subscription before the change; None where there is none."""
    return next((listener(each) for each in await listeners.list() if each.id == id), None)


def task(declared: Declared) -> Object:
    """A declared task, without the query of its address."""
    return {
        "id": declared.id,
        "version": declared.version,
        "kind": declared.kind,
        "url": None if declared.url is None else declared.url.partition("?")[0],
        "timeout": declared.timeout,
    }


async def task_before(tasks: TaskDefinitions, id: str) -> Object | None:
    """A declared task, if there is one."""
    with suppress(NotFound):
        return task(await tasks.get(id))
    return None


def schedule(saved: SavedSchedule) -> Object:
    """A schedule, without its input and without the query of its address."""
    target = dict(saved.target)
    url = target.get("callbackUrl")
    if isinstance(url, str):
        target["callbackUrl"] = url.partition("?")[0]
    return {
        "id": saved.id,
        "version": saved.version,
        "status": saved.status,
        "cron": saved.cron,
        "timezone": saved.timezone,
        "executeAt": None if saved.execute_at is None else iso(saved.execute_at),
        "target": target,
        "calendar": saved.calendar,
        "note": saved.note,
    }


async def schedule_before(schedules: StoredSchedules, id: str) -> Object | None:
    """A schedule before the change; None where there is none."""
    with suppress(NotFound):
        return schedule(await schedules.get(id))
    return None


def calendar(saved: SavedCalendar) -> Object:
    """The version of a calendar, and how many dates it has."""
    return {
        "id": saved.id,
        "version": saved.version,
        "timezone": saved.timezone,
        "extends": saved.extends,
        "dates": len(saved.dates),
    }


async def calendar_before(calendars: StoredCalendars, id: str) -> Object | None:
    """A calendar before the change; None where there is none."""
    with suppress(NotFound):
        return calendar(await calendars.get(id))
    return None


def data_source(saved: SavedDataSource) -> Object:
    """A data source, without its description and without the query of its address."""
    return {
        "id": saved.id,
        "version": saved.version,
        "kind": saved.kind,
        "url": None if saved.url is None else saved.url.partition("?")[0],
        "host": saved.host,
        "database": saved.database,
        "user": saved.user,
        "file": saved.file,
        "secretRef": saved.secret_ref,
        "readOnly": saved.read_only,
    }


async def data_source_before(sources: DataSources, id: str) -> Object | None:
    """A data source before the change; None where there is none."""
    with suppress(NotFound):
        return data_source(await sources.get(id))
    return None


def data_query(saved: SavedDataQuery) -> Object:
    """The version of a data query, its source, and a digest of its statement."""
    return {
        "id": saved.id,
        "version": saved.version,
        "dataSourceId": saved.data_source_id,
        "hash": hashlib.sha256(saved.sql.encode()).hexdigest(),
        "maxRows": saved.max_rows,
    }


async def data_query_before(queries: DataQueries, id: str) -> Object | None:
    """A data query before the change; None where there is none."""
    with suppress(NotFound):
        return data_query(await queries.get(id))
    return None


def query_run(run: QueryRun) -> Object:
    """How many rows were read, or why none were."""
    found: Object = {"rowCount": run.row_count, "cached": run.cached}
    return found if run.error is None else {**found, "error": run.error.code}


def source_test(test: SourceTest) -> Object:
    """Whether a database could be connected to."""
    found: Object = {"ok": test.ok}
    return found if test.error is None else {**found, "error": test.error.code}


def secret(kept: Secret) -> Object:
    """A secret, without its value."""
    return {
        "name": kept.name,
        "destinations": None if kept.destinations is None else [*kept.destinations],
        "changedAt": iso(kept.changed_at),
        "changedBy": kept.changed_by,
    }


async def secret_before(secrets: TenantSecrets, name: str) -> Object | None:
    """A secret before the change, without its value; None where there is none."""
    with suppress(NotFound):
        return secret(await secrets.get(name))
    return None


def key(row: KeyRow) -> Object:
    """The permissions of a key, its maker, and whether it is revoked."""
    return {
        "id": row.id,
        "name": row.name,
        "role": row.role,
        "scopes": None if row.scopes is None else list(row.scopes),
        "createdBy": row.created_by,
        "isRevoked": row.revoked_at is not None,
    }


def letter(row: DeadLetterRow) -> Object:
    """A dead letter, without its input."""
    return {
        "id": row.id,
        "kind": row.kind,
        "instanceId": row.instance_id,
        "stepId": row.node,
        "taskId": row.task_id,
        "attempts": row.attempt,
    }


def bulk(shown: BulkOperation) -> Object:
    """A bulk operation and its progress, without its failures."""
    return {
        "id": shown.id,
        "target": shown.target,
        "action": shown.action,
        "status": shown.status,
        "matched": shown.matched,
        "done": shown.done,
        "failed": shown.failed,
    }


def events(results: Sequence[Published | TenutoError]) -> Object:
    """The ids of published events, of many the first; how many were published and refused."""
    taken = [each.event_id for each in results if isinstance(each, Published)]
    shown: list[JSON] = list(taken[:_MOST_EVENTS])
    return {"eventIds": shown, "published": len(taken), "refused": len(results) - len(taken)}
