"""Changes that are made on a store without a service: lines of the audit log, as a service writes.

The line that a change was asked for is durable before the change begins; its outcome is a second
line with the same request id. Calls inside of a recorded call have no lines of their own.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar

from tenuto.cli.backends.place import ACTOR
from tenuto.cli.served_address import IN_USE
from tenuto.model.errors import NotFound, StoreUnavailable, TenutoError
from tenuto.model.status import Status
from tenuto.workspace import protocol
from tenuto.workspace.data_values import QueryRun, SavedDataQuery, SavedDataSource, SourceTest
from tenuto.workspace.schedule_values import (
    ImportedDates,
    SavedCalendar,
    SavedSchedule,
    TickRecord,
)
from tenuto.workspace.secret_values import Secret
from tenuto.workspace.values import (
    BulkOperation,
    Published,
    SavedWorkflow,
    TestRun,
    Webhook,
)

if TYPE_CHECKING:
    from tenuto.access.audit import AuditLog
    from tenuto.access.principal import Principal
    from tenuto.app import Tenuto
    from tenuto.cli.backends.store_workspace import StoreWorkspace
    from tenuto.model.json import Object
    from tenuto.store.protocol import Store

C = TypeVar("C", bound=type)
T = TypeVar("T")
LookUp: TypeAlias = Callable[[Any, str], Awaitable["Object | None"]]

ACTIONS: Final[Mapping[type, Mapping[str, str]]] = {
    protocol.Workspace: {
        "deploy": "put_workflow",
        "save": "put_workflow",
        "remove_definition": "remove_workflow",
        "start": "start_workflow",
        "start_many": "start_batch",
        "publish": "publish_events",
        "publish_all": "publish_events",
    },
    protocol.Instance: {
        "cancel": "cancel_instance",
        "pause": "pause_instance",
        "resume": "resume_instance",
        "skip_delay": "skip_delay",
        "retry": "retry_instance",
        "retry_compensation": "retry_instance",
        "decide": "decide_on_step",
        "rerun": "rerun_instance",
    },
    protocol.Webhooks: {
        "add": "add_webhook",
        "change": "put_webhook",
        "remove": "remove_webhook",
        "resend": "resend_webhook",
        "enable": "enable_webhook",
    },
    protocol.Subscriptions: {
        "add": "add_subscription",
        "remove": "remove_subscription",
        "resend": "resend_subscription",
        "enable": "enable_subscription",
    },
    protocol.DeadLetters: {"retry": "retry_dead_letter", "discard": "discard_dead_letter"},
    protocol.TaskDefinitions: {
        "add": "add_task",
        "put": "put_task",
        "remove": "remove_task",
        "execute": "execute_task",
    },
    protocol.Schedules: {
        "save": "put_schedule",
        "pause": "pause_schedule",
        "resume": "resume_schedule",
        "trigger": "trigger_schedule",
        "backfill": "backfill_schedule",
        "remove": "remove_schedule",
    },
    protocol.Calendars: {
        "save": "put_calendar",
        "import_dates": "import_calendar_dates",
        "remove": "remove_calendar",
    },
    protocol.DataSources: {
        "save": "put_data_source",
        "test": "test_data_source",
        "remove": "remove_data_source",
    },
    protocol.DataQueries: {
        "save": "put_data_query",
        "run": "run_data_query",
        "remove": "remove_data_query",
    },
    protocol.Secrets: {
        "put": "put_secret",
        "remove": "remove_secret",
    },
    protocol.Limits: {
        "set": "put_concurrency",
        "promote": "promote_queued",
        "hold": "hold_queued",
        "release": "release_queued",
        "add_rule": "add_queue_rule",
        "remove_rule": "remove_queue_rule",
    },
    protocol.Bulk: {
        "start": "start_bulk",
        "start_on_dead_letters": "start_bulk_of_dead_letters",
        "cancel": "cancel_bulk",
    },
    protocol.TestRuns: {
        "start": "start_test_run",
        "publish": "publish_in_test_run",
        "stop": "stop_test_run",
    },
}
"""For each part of the workspace the operations of the service that its changes are; the keys of a
tenant record theirs themselves."""

_MAKES_STORE: Final = frozenset({"put_workflow", "put_schedule", "put_calendar"})
_WHEN_NEW: Final = {
    "put_workflow": "save_workflow",
    "put_schedule": "add_schedule",
    "put_calendar": "add_calendar",
    "put_data_source": "add_data_source",
    "put_data_query": "add_data_query",
}
"""The actions of documents without an id."""
_FREQUENT: Final = frozenset({"start_workflow", "start_batch", "publish_events", "execute_task"})
"""Actions that have succeeded also where their outcome could not be recorded."""
_PRUNES: Final = "prune_instances"
_STARTS: Final = frozenset({"start_workflow", "execute_task", "rerun_instance"})
_DETAILS: Final = ("decision", "by", "step", "iteration")
"""Arguments that a line keeps."""
_COUNTS: Final = {"put_workflow": "version", "remove_workflow": "schedulesStopped"}
"""What a number says that an action gives."""
_BROKEN: Final = "TEN-4000"
"""The code of an error that is none of Tenuto's."""

_IS_INSIDE: ContextVar[bool] = ContextVar("inside of a recorded call", default=False)


class _Changing(Protocol):
    """An object of this back end that changes something."""

    @property
    def space(self) -> StoreWorkspace: ...


def recorded(part: type, before: LookUp | None = None) -> Callable[[C], C]:
    """A class decorator: the changes of this part of the workspace are recorded.

    `before` gives what is changed as it was, by its id; NotFound.
    """

    def with_lines(kind: C) -> C:
        for name, action in ACTIONS[part].items():
            setattr(kind, name, _recorded(getattr(kind, name), action, before))
        return kind

    return with_lines


def _recorded(method: Callable[..., Any], action: str, before: LookUp | None) -> Callable[..., Any]:
    signature = inspect.signature(method)

    @wraps(method)
    async def called(self: _Changing, /, *args: object, **kwargs: object) -> object:
        given = signature.bind(self, *args, **kwargs).arguments
        if _IS_INSIDE.get() or given.get("dry_run"):
            return await method(self, *args, **kwargs)
        inside = _IS_INSIDE.set(True)
        try:
            async with AsyncExitStack() as stack:
                store: Store = self.space.reader.store
                if action in _MAKES_STORE:
                    # There may be no store before: it is made by the engine that saves.
                    space = await stack.enter_async_context(self.space.lent(is_new=True))
                    store = space.engine.store
                ours = self.space
                target = _target(self, given)
                lines = _Lines(
                    action=_action(action, target, given),
                    target=target,
                    log=ours.audit_log(store),
                    request_id=ours.reader.ids.short(),
                    tenant=ours.tenant,
                    reason=given.get("reason") or ours.reason,
                    details={each: given[each] for each in _DETAILS if given.get(each)},
                )
                look = None if before is None else lambda: before(self, target)
                return await lines.around(look, lambda: method(self, *args, **kwargs))
        finally:
            _IS_INSIDE.reset(inside)

    return called


def _action(action: str, target: str, given: Mapping[str, Any]) -> str:
    """As a client of a service names it."""
    is_new = "document" in given and not target
    return _WHEN_NEW.get(action, action) if is_new else action


async def recorded_here(
    app: Tenuto,
    tenant: str,
    action: str,
    target: str,
    change: Callable[[], Awaitable[T]],
    *,
    reason: str | None = None,
) -> T:
    """The result of a change that a command makes with an engine of its own, with both lines."""
    from tenuto.access.audit import AuditLog

    engine = app.engine
    lines = _Lines(
        action=action,
        target=target,
        log=AuditLog(engine.store.audit, engine.clock, engine.ids),
        request_id=engine.ids.short(),
        tenant=tenant,
        reason=reason,
    )
    return await lines.around(None, change)


async def record_reveal(space: StoreWorkspace, action: str, target: str) -> None:
    """One line, durable before masked values are shown."""
    reader = space.reader
    await space.audit_log(reader.store).record(
        principal=_local(space.tenant),
        action=action,
        target=target,
        outcome="done",
        request_id=reader.ids.short(),
        after={"revealed": True},
    )


def _local(tenant: str) -> Principal:
    """A program that has the store open, and so everything in it."""
    from tenuto.access.principal import Principal
    from tenuto.access.roles import Role

    return Principal(tenant=tenant, name=ACTOR, role=Role.ADMIN, kind="local")


class _Lines:
    """The lines of one change."""

    def __init__(
        self,
        *,
        action: str,
        target: str,
        log: AuditLog,
        request_id: str,
        tenant: str,
        reason: str | None,
        details: Object | None = None,
    ) -> None:
        self._action = action
        self._target = target
        self._log = log
        self._request_id = request_id
        self._principal = _local(tenant)
        self._reason: Object = {} if reason is None else {"reason": reason}
        self._details = details or {}

    async def around(
        self,
        before: Callable[[], Awaitable[Object | None]] | None,
        change: Callable[[], Awaitable[T]],
    ) -> T:
        """The result of a change, once its outcome is recorded."""
        await self._write("asked", after=self._reason)
        try:
            earlier = None
            if before is not None:
                with suppress(NotFound):
                    earlier = await before()
            result = await change()
        except Exception as error:
            is_away = isinstance(error, StoreUnavailable) and error.code != IN_USE
            if not is_away:
                # Else it is not known what came of it, and the line has no second one.
                code = error.code if isinstance(error, TenutoError) else _BROKEN
                with suppress(StoreUnavailable):
                    await self._write("failed", after={"code": code})
            raise
        after = {**self._reason, **self._details, **_after(self._action, result)}
        try:
            await self._write("done", before=earlier, after=after)
        except StoreUnavailable:
            if self._action not in _FREQUENT:
                raise
        return result

    async def _write(self, outcome: str, *, before: object = None, after: object) -> None:
        await self._log.record(
            principal=self._principal,
            action=self._action,
            target=self._target,
            outcome=outcome,
            request_id=self._request_id,
            before=before,
            after=after or None,
        )


def _target(changing: _Changing, given: Mapping[str, Any]) -> str:
    """The id of what is changed, as far as it is known before."""
    own = getattr(changing, "id", None)
    if isinstance(own, str):
        return own
    _, *values = given.values()
    first = values[0] if values else None
    if isinstance(first, Mapping):
        # A schedule may be called by either name.
        first = first.get("id", first.get("scheduleId"))
    found = first if isinstance(first, str) else getattr(first, "id", None)
    return str(found) if isinstance(found, str) else ""


def _after(action: str, result: object) -> Object:
    """What a change gives, as a service records it."""
    from tenuto.workspace import audit_values

    match result:
        case Status():
            return {"status": result.value}
        case SavedWorkflow():
            return {"id": result.id, "version": result.version}
        case Webhook():
            return audit_values.listener(result)
        case BulkOperation():
            return audit_values.bulk(result)
        case Published():
            return audit_values.events([result])
        case TestRun():
            return {"instanceId": result.instance_id, "status": result.status.value}
        case list():
            return _of_many(action, result)
        case SavedSchedule() | SavedCalendar() | ImportedDates() | TickRecord():
            return _of_schedules(result)
        case dict() if action == _PRUNES:
            return {"forgotten": result}
        case Secret() | SavedDataSource() | SavedDataQuery() | QueryRun() | SourceTest():
            return _of_data(result)
        case int():
            return {_COUNTS.get(action, "hastened"): result}
        case _:
            pass
    id = getattr(result, "id", None)
    return {} if id is None else {"instanceId" if action in _STARTS else "id": str(id)}


def _of_many(action: str, results: list[Any]) -> Object:
    from tenuto.workspace import audit_values

    if action != "start_batch":
        return audit_values.events(results)
    refused = sum(isinstance(each, TenutoError) for each in results)
    return {"started": len(results) - refused, "refused": refused}


def _of_schedules(result: SavedSchedule | SavedCalendar | ImportedDates | TickRecord) -> Object:
    from tenuto.workspace import audit_values

    match result:
        case SavedSchedule():
            return audit_values.schedule(result)
        case SavedCalendar():
            return audit_values.calendar(result)
        case ImportedDates():
            return audit_values.calendar(result.calendar)
        case TickRecord():
            return {"outcome": result.outcome, "instanceId": result.instance_id}


def _of_data(
    result: Secret | SavedDataSource | SavedDataQuery | QueryRun | SourceTest,
) -> Object:
    from tenuto.workspace import audit_values

    match result:
        case Secret():
            return audit_values.secret(result)
        case SavedDataSource():
            return audit_values.data_source(result)
        case SavedDataQuery():
            return audit_values.data_query(result)
        case QueryRun():
            return audit_values.query_run(result)
        case SourceTest():
            return audit_values.source_test(result)
