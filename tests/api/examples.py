"""For every operation of the registry a request that it takes, about the things of one tenant.

What is special is said in the tables; the rest follows from the path and from the type of the body,
so that a new operation has an example from the day on which it is registered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import msgspec
from msgspec import inspect

from tenuto import Tenuto
from tenuto.access.keys import Keys, KeyWish
from tenuto.access.principal import Principal
from tenuto.access.roles import Role
from tenuto.api.operation import Operation
from tenuto.model.json import Object
from tenuto.model.task_definition import TaskDefinition
from tenuto.ports import SystemIds

_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
_FIXED = {"stepId": "ask", "path": "input", "type": "text"}
"""Parameters that name a part of something, whosever it is."""


class Things(NamedTuple):
    """What a tenant has: ids by the word that stands before them in paths."""

    tenant: str
    admin: str
    """A key that opens all of it."""
    ids: Mapping[str, str]

    @property
    def mark(self) -> str:
        """Stands in everything that the tenant has; no other tenant ever sees it."""
        return mark_of(self.tenant)

    def id_of(self, thing: str) -> str:
        return self.ids.get(thing, f"{thing}-of-{self.tenant}")


class Example(NamedTuple):
    """A request."""

    path: str
    """With its query."""
    body: object
    names: frozenset[str]
    """Things that the path names by their ids."""


def mark_of(tenant: str) -> str:
    return f"known-to-{tenant}-alone"


async def furnished(app: Tenuto, tenant: str) -> Things:
    """A tenant with one of each thing."""
    workspace, mark = app.workspace(tenant, "owner"), mark_of(tenant)
    maker = Principal(tenant=tenant, name="owner", role=Role.ADMIN, kind="system")
    keys = Keys(app.engine.store, app.engine.clock, SystemIds())
    key = await keys.create(maker, KeyWish(name=mark, role="admin"))
    flow = f"approve-{tenant}"
    await workspace.deploy(_approval(flow, mark))
    await workspace.deploy(_refused(f"refuse-{tenant}"))
    waiting = await workspace.start(flow, {"note": mark}, correlation_id=mark, key=f"key-{tenant}")
    failed = await workspace.start(f"refuse-{tenant}", {"note": mark})
    await app.engine.final_state(failed.id)
    [letter], _ = await workspace.dead_letters.rows(1)
    hook = await workspace.webhooks.add(
        f"https://hooks.example.com/{mark}", "never.told", description=mark
    )
    subscription = await workspace.subscriptions.add(
        f"https://hooks.example.com/{mark}", "never.told", subscriber_id=mark
    )
    event_id, task = f"event-{tenant}", f"task-{tenant}"
    await workspace.publish("never.heard", {"note": mark}, id=event_id)
    await workspace.task_definitions.add(TaskDefinition(id=task, kind="pull", description=mark))
    calendar = await workspace.calendars.save(_calendar(f"calendar-{tenant}", mark))
    schedule = await workspace.schedules.save(_schedule(f"schedule-{tenant}", flow, mark))
    source = await workspace.data_sources.save(_data_source(f"source-{tenant}", mark))
    query = await workspace.data_queries.save(_data_query(f"query-{tenant}", source.id, mark))
    secret = await workspace.secrets.put(f"SECRET_{tenant.replace('-', '_')}", f"value of {mark}")
    ids = {
        "data-sources": source.id,
        "data-queries": query.id,
        "calendars": calendar.id,
        "schedules": schedule.id,
        "secrets": secret.name,
        "workflows": flow,
        "instances": waiting.id,
        "dead-letters": letter.id,
        "webhooks": hook.id,
        "subscriptions": subscription.id,
        "events": event_id,
        "keys": key.row.id,
        "tasks": task,
    }
    return Things(tenant, key.text, ids)


def example_of(operation: Operation, things: Things) -> Example:
    """A request for an operation, about these things."""
    named: set[str] = set()
    words = operation.path.split("/")
    for at, word in enumerate(words):
        found = _PARAMETER.fullmatch(word)
        if found is None:
            continue
        fixed = _FIXED.get(found[1])
        if fixed is None:
            named.add(words[at - 1])
            fixed = things.id_of(words[at - 1])
        words[at] = quote(fixed, safe="")
    path = "/".join(words)
    query = _queries(things).get(operation.name)
    if query:
        path += "?" + urlencode(query)
    body = _bodies(things).get(operation.name)
    if body is None and operation.request is not None:
        body = _made(inspect.type_info(operation.request))
    return Example(path, body, frozenset(named))


def _queries(things: Things) -> Mapping[str, Mapping[str, str]]:
    """Every query that can name something."""
    return {
        "list_instances": {"ids": things.id_of("instances")},
        "list_audit": {"target": f"/api/v1/workflows/{things.id_of('workflows')}"},
        "list_events": {"pattern": "never.heard"},
        "task_callback": {"token": "made-up"},
        "event_callback": {"token": "made-up"},
        "schedule_callback": {"token": "made-up"},
        "list_schedules": {"workflowId": things.id_of("workflows")},
        "list_calendar_days": {"from": "2026-12-20", "to": "2026-12-31"},
    }


def _bodies(things: Things) -> Mapping[str, object]:
    """Bodies that name something, or that no type describes."""
    flow, instance = things.id_of("workflows"), things.id_of("instances")
    return {
        "save_workflow": _approval("mine"),
        "put_workflow": _approval(flow),
        "validate_workflow": _approval(flow),
        "start_workflow": {"input": {}, "correlationId": "mine"},
        "start_batch": {"items": [{"workflowId": flow}, {"workflowId": flow, "version": 1}]},
        "publish_events": {"pattern": "never.heard", "payload": {"instanceId": instance}},
        "decide_on_step": {"decision": "approved"},
        "add_webhook": {"url": "https://hooks.example.com/mine", "patterns": ["never.told"]},
        "put_webhook": {"url": "https://hooks.example.com/other", "patterns": ["never.told"]},
        "add_subscription": {
            "subscriberId": "mine",
            "callbackUrl": "https://hooks.example.com/mine",
            "patterns": ["never.told"],
        },
        "add_event_callback": {"subscriberId": "mine", "patterns": ["never.told"]},
        "add_schedule_callback": {
            "scheduleId": "mine",
            "payload": {"workflowInstanceId": instance, "stepId": "ask", "operation": "timeout"},
        },
        "create_key": {"name": "mine", "role": "viewer"},
        "shape_widget": {"widgetType": "text", "widgetConfig": {"path": "input"}},
        "add_calendar": _calendar("mine"),
        "put_calendar": _calendar(things.id_of("calendars")),
        "add_data_source": _data_source("mine"),
        "put_data_source": _data_source(things.id_of("data-sources")),
        "add_data_query": _data_query("mine", things.id_of("data-sources")),
        "put_data_query": _data_query(things.id_of("data-queries"), things.id_of("data-sources")),
        "add_working_time": {"from": "2030-01-01T00:00:00Z", "duration": "PT4H"},
        "add_schedule": _schedule("mine", flow),
        "put_schedule": _schedule(things.id_of("schedules"), flow),
        "preview_schedule_document": _schedule("mine", flow),
        "put_secret": {"value": "a value", "destinations": ["api.example.com"]},
        "put_concurrency": {"workflowTypeLimits": {flow: 1_000}},
        "put_task": {"id": things.id_of("tasks"), "kind": "pull"},
    }


def _made(kind: inspect.Type) -> Any:  # noqa: ANN401 - JSON of some type
    """The smallest JSON of a type: what it requires, and no more."""
    match kind:
        case inspect.StructType():
            return {each.encode_name: _made(each.type) for each in kind.fields if each.required}
        case inspect.UnionType():
            return _made(kind.types[0])
        case inspect.StrType():
            return "x" * (kind.min_length or 1)
        case inspect.BoolType():
            return False
        case inspect.IntType() | inspect.FloatType():
            return kind.ge or 1
        case inspect.DateTimeType():
            return "2030-01-01T00:00:00Z"
        case inspect.EnumType():
            return msgspec.to_builtins(next(iter(kind.cls)))
        case inspect.LiteralType():
            return kind.values[0]
        case inspect.ListType() | inspect.VarTupleType() | inspect.SetType():
            return [_made(kind.item_type)] * (kind.min_length or 1)
        case _:
            return {}


def _approval(id: str, description: str = "mine") -> Object:
    step: Object = {"stepId": "ask", "type": "APPROVAL", "assignees": {"roles": [*Role]}}
    return {"id": id, "description": description, "steps": [step]}


def _calendar(id: str, description: str = "mine") -> Object:
    week: Object = {"mon": ["09:00-17:00"]}
    metadata: Object = {"description": description}
    return {"id": id, "timezone": "Europe/Berlin", "week": week, "metadata": metadata}


def _schedule(id: str, flow: str, description: str = "mine") -> Object:
    return {
        "id": id,
        "cron": "0 9 1 1 *",
        "target": {"workflowId": flow},
        "metadata": {"description": description},
    }


def _data_source(id: str, description: str = "mine") -> Object:
    return {"id": id, "kind": "sqlite", "file": "stock.db", "description": description}


def _data_query(id: str, source: str, description: str = "mine") -> Object:
    sql = "SELECT 1 AS one"
    return {"id": id, "dataSourceId": source, "sql": sql, "description": description}


def _refused(id: str) -> Object:
    return {"id": id, "steps": [{"stepId": "reserve", "type": "TASK", "taskId": "refuse"}]}
