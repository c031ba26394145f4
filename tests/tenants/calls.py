"""Everything that can be asked of an instance, or of a tenant, with ids that may be another's.

The tables name every public method: one that is added is added here, or a test fails.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime
from typing import TypeAlias

from tenuto.workspace.approvals import TenantApprovals
from tenuto.workspace.audit import TenantAudit
from tenuto.workspace.bulk import BulkOperations
from tenuto.workspace.calendars import Calendars
from tenuto.workspace.data_sources import DataQueries, DataSources
from tenuto.workspace.dead_letters import DeadLetters
from tenuto.workspace.definitions import Definitions
from tenuto.workspace.engine_workspace import EngineWorkspace
from tenuto.workspace.events import Events
from tenuto.workspace.instance import InstanceRef
from tenuto.workspace.keys import TenantKeys
from tenuto.workspace.limits import Limits
from tenuto.workspace.schedules import Schedules
from tenuto.workspace.secrets import TenantSecrets
from tenuto.workspace.starting import Starting
from tenuto.workspace.task_definitions import TaskDefinitions
from tenuto.workspace.test_runs import TestRuns
from tenuto.workspace.values import Start
from tenuto.workspace.webhooks import Subscriptions, Webhooks
from tenuto.workspace.workers import TenantWorkers

LONG_AGO, A_DAY = datetime(2026, 1, 1, tzinfo=UTC), date(2026, 1, 1)
OfInstance: TypeAlias = Callable[[InstanceRef], Awaitable[object]]
OfWorkspace: TypeAlias = Callable[[EngineWorkspace, str], Awaitable[object]]

OF_INSTANCE: dict[str, OfInstance] = {
    "status": lambda it: it.status(),
    "state": lambda it: it.state(),
    "waits": lambda it: it.waits(),
    "explain": lambda it: it.explain(),
    "widget": lambda it: it.widget("text", {"path": "input"}),
    "context": lambda it: it.context(),
    "details": lambda it: it.details(),
    "history": lambda it: it.history(),
    "logs": lambda it: it.logs(),
    "log_page": lambda it: it.log_page(limit=1),
    "result": lambda it: it.result(timeout=5),
    "cancel": lambda it: it.cancel("mine now"),
    "undo_plan": lambda it: it.undo_plan(),
    "pause": lambda it: it.pause(),
    "resume": lambda it: it.resume(),
    "skip_delay": lambda it: it.skip_delay("a"),
    "retry": lambda it: it.retry(),
    "time_out_step": lambda it: it.time_out_step("a"),
    "decide": lambda it: it.decide("ask", "approved", by="ann"),
    "retry_compensation": lambda it: it.retry_compensation("a"),
    "rerun": lambda it: it.rerun(),
}

PARTS: dict[str, type] = {
    "definitions": Definitions,
    "starting": Starting,
    "inbox": Events,
    "webhooks": Webhooks,
    "subscriptions": Subscriptions,
    "dead_letters": DeadLetters,
    "task_definitions": TaskDefinitions,
    "workers": TenantWorkers,
    "approvals": TenantApprovals,
    "schedules": Schedules,
    "calendars": Calendars,
    "data_sources": DataSources,
    "data_queries": DataQueries,
    "secrets": TenantSecrets,
    "limits": Limits,
    "bulk": BulkOperations,
    "test_runs": TestRuns,
    "keys": TenantKeys,
    "audit": TenantAudit,
}
"""By their attributes, the parts of a workspace."""

BY_INSTANCE: dict[str, OfWorkspace] = {
    "instance": lambda mine, id: mine.instance(id),
    "test_runs.stop": lambda mine, id: mine.test_runs.stop(id),
    "limits.promote": lambda mine, id: mine.limits.promote(id),
    "limits.hold": lambda mine, id: mine.limits.hold(id),
    "limits.remove_rule": lambda mine, id: mine.limits.remove_rule(id),
    "limits.release": lambda mine, id: mine.limits.release(id),
    "test_runs.publish": lambda mine, id: mine.test_runs.publish(id, {"pattern": "a.b"}),
}
BY_DEAD_LETTER: dict[str, OfWorkspace] = {
    "dead_letters.row": lambda mine, id: mine.dead_letters.row(id),
    "dead_letters.get": lambda mine, id: mine.dead_letters.get(id),
    "dead_letters.retry": lambda mine, id: mine.dead_letters.retry(id),
    "dead_letters.discard": lambda mine, id: mine.dead_letters.discard(id),
}
BY_WORKFLOW: dict[str, OfWorkspace] = {
    "definition": lambda mine, id: mine.definition(id),
    "remove_definition": lambda mine, id: mine.remove_definition(id),
    "definitions.row": lambda mine, id: mine.definitions.row(id),
    "definitions.remove": lambda mine, id: mine.definitions.remove(id),
    "definitions.withdraw": lambda mine, id: mine.definitions.withdraw(id),
    "start": lambda mine, id: mine.start(id),
    "starting.begin": lambda mine, id: mine.starting.begin(Start(workflow=id)),
    "starting.begin_of": lambda mine, id: mine.starting.begin_of(
        {"id": id}, Start(workflow=id, version=1)
    ),
}
BY_EVENT: dict[str, OfWorkspace] = {
    "event": lambda mine, id: mine.event(id),
    "inbox.get": lambda mine, id: mine.inbox.get(id),
}
BY_WEBHOOK: dict[str, OfWorkspace] = {
    "webhooks.remove": lambda mine, id: mine.webhooks.remove(id),
    "webhooks.get": lambda mine, id: mine.webhooks.get(id),
    "webhooks.change": lambda mine, id: mine.webhooks.change(id, "https://example.com/x", "a.b"),
    "webhooks.enable": lambda mine, id: mine.webhooks.enable(id),
    "webhooks.deliveries": lambda mine, id: mine.webhooks.deliveries(id),
    "webhooks.resend": lambda mine, id: mine.webhooks.resend(id),
}
BY_SUBSCRIPTION: dict[str, OfWorkspace] = {
    "subscriptions.remove": lambda mine, id: mine.subscriptions.remove(id),
    "subscriptions.get": lambda mine, id: mine.subscriptions.get(id),
    "subscriptions.enable": lambda mine, id: mine.subscriptions.enable(id),
    "subscriptions.deliveries": lambda mine, id: mine.subscriptions.deliveries(id),
    "subscriptions.resend": lambda mine, id: mine.subscriptions.resend(id),
}
BY_TASK: dict[str, OfWorkspace] = {
    "task_definitions.get": lambda mine, id: mine.task_definitions.get(id),
    "task_definitions.remove": lambda mine, id: mine.task_definitions.remove(id),
    "task_definitions.execute": lambda mine, id: mine.task_definitions.execute(id),
    "task_definitions.lone_workflow": lambda mine, id: mine.task_definitions.lone_workflow(id),
}
BY_BULK: dict[str, OfWorkspace] = {
    "bulk.get": lambda mine, id: mine.bulk.get(id),
    "bulk.cancel": lambda mine, id: mine.bulk.cancel(id),
}
BY_SCHEDULE: dict[str, OfWorkspace] = {
    "schedules.row": lambda mine, id: mine.schedules.row(id),
    "schedules.get": lambda mine, id: mine.schedules.get(id),
    "schedules.pause": lambda mine, id: mine.schedules.pause(id),
    "schedules.resume": lambda mine, id: mine.schedules.resume(id),
    "schedules.trigger": lambda mine, id: mine.schedules.trigger(id),
    "schedules.backfill": lambda mine, id: mine.schedules.backfill(id, LONG_AGO, LONG_AGO),
    "schedules.preview": lambda mine, id: mine.schedules.preview(id),
    "schedules.ticks": lambda mine, id: mine.schedules.ticks(id),
    "schedules.tick_page": lambda mine, id: mine.schedules.tick_page(id),
    "schedules.remove": lambda mine, id: mine.schedules.remove(id),
}
BY_CALENDAR: dict[str, OfWorkspace] = {
    "calendars.get": lambda mine, id: mine.calendars.get(id),
    "calendars.uses": lambda mine, id: mine.calendars.uses(id),
    "calendars.days": lambda mine, id: mine.calendars.days(id, A_DAY, A_DAY),
    "calendars.add": lambda mine, id: mine.calendars.add(id, LONG_AGO, "PT4H"),
    "calendars.between": lambda mine, id: mine.calendars.between(id, LONG_AGO, LONG_AGO),
    "calendars.import_dates": lambda mine, id: mine.calendars.import_dates(id, "BEGIN:VCALENDAR"),
    "calendars.remove": lambda mine, id: mine.calendars.remove(id),
}
BY_DATA_SOURCE: dict[str, OfWorkspace] = {
    "data_sources.get": lambda mine, id: mine.data_sources.get(id),
    "data_sources.uses": lambda mine, id: mine.data_sources.uses(id),
    "data_sources.test": lambda mine, id: mine.data_sources.test(id),
    "data_sources.remove": lambda mine, id: mine.data_sources.remove(id),
}
BY_DATA_QUERY: dict[str, OfWorkspace] = {
    "data_queries.get": lambda mine, id: mine.data_queries.get(id),
    "data_queries.uses": lambda mine, id: mine.data_queries.uses(id),
    "data_queries.run": lambda mine, id: mine.data_queries.run(id),
    "data_queries.remove": lambda mine, id: mine.data_queries.remove(id),
}
BY_SECRET: dict[str, OfWorkspace] = {
    "secrets.get": lambda mine, name: mine.secrets.get(name),
    "secrets.remove": lambda mine, name: mine.secrets.remove(name),
}
BY_KEY: dict[str, OfWorkspace] = {"keys.revoke": lambda mine, id: mine.keys.revoke(id)}
BY_ID = (
    *(BY_INSTANCE, BY_DEAD_LETTER, BY_WORKFLOW, BY_EVENT, BY_WEBHOOK, BY_SUBSCRIPTION),
    *(BY_TASK, BY_BULK, BY_SCHEDULE, BY_CALENDAR, BY_DATA_SOURCE, BY_DATA_QUERY),
    *(BY_SECRET, BY_KEY),
)

ONLY_OWN = frozenset(
    {
        *("definition_ids", "definition_page", "deploy", "newest_definitions", "save"),
        *("details", "instances", "page", "start_many", "stats"),
        *("event_page", "events", "publish", "publish_all"),
        *("audit.page", "audit.verify"),
        *(
            "bulk.list",
            "bulk.page",
            "bulk.start",
            "bulk.start_on_dead_letters",
            "bulk.start_backfill",
        ),
        *("schedules.create", "schedules.save", "schedules.list", "schedules.page"),
        "schedules.preview_document",
        *("calendars.create", "calendars.save", "calendars.list", "calendars.page"),
        "calendars.known",
        *("data_sources.create", "data_sources.save", "data_sources.list", "data_sources.page"),
        *("data_queries.create", "data_queries.save", "data_queries.list", "data_queries.page"),
        *("data_sources.is_saved", "data_queries.is_saved"),
        *("limits.get", "limits.set", "limits.queue", "limits.uses"),
        *("limits.rules", "limits.add_rule"),
        *("dead_letters.list", "dead_letters.page", "dead_letters.rows"),
        *("dead_letters.groups", "dead_letters.workflows"),
        *("definitions.ids", "definitions.newest", "definitions.save", "definitions.versions"),
        *("definitions.checked", "definitions.create", "definitions.page", "definitions.warnings"),
        "definitions.undeclared",
        *("definitions.unknown_calendars", "definitions.unknown_queries"),
        "definitions.unknown_secrets",
        *("inbox.latest", "inbox.list", "inbox.publish", "inbox.publish_all"),
        "inbox.publish_given",
        *("keys.create", "keys.list"),
        *("secrets.put", "secrets.list", "secrets.page"),
        *("starting.begin_many", "starting.begun"),
        *("subscriptions.add", "subscriptions.list"),
        *("task_definitions.add", "task_definitions.list", "task_definitions.put"),
        "task_definitions.register",
        "task_definitions.page",
        "test_runs.start",
        *("workers.list", "workers.page", "approvals.page"),
        *("webhooks.add", "webhooks.list"),
    }
)
"""What names nothing that could be another's, or leaves out what is; seen in what it answers."""


def methods_of(kind: type) -> set[str]:
    """What can be asked of it and waited for."""
    return {
        name
        for name, each in inspect.getmembers(kind, inspect.iscoroutinefunction)
        if not name.startswith("_")
    }
