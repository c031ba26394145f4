"""Instances: listed and looked at."""

from __future__ import annotations

from tenuto.access.permissions import Permission
from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import API, operation
from tenuto.api.shapes import (
    InstanceItem,
    InstanceView,
    Limit,
    Moment,
    Page,
    Query,
    instance_item,
    split,
)
from tenuto.model.json import Object
from tenuto.model.status import Status
from tenuto.store.protocol import InstanceQuery

TAG = "instances"


class InstancesQuery(Query, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which instances; several values of one parameter are separated by commas."""

    status: str | None = None
    workflow_id: str | None = None
    correlation_id: str | None = None
    current_step: str | None = None
    ids: str | None = None
    created_from: Moment | None = None
    created_before: Moment | None = None
    limit: Limit = 100
    cursor: str | None = None


@operation(
    "GET",
    f"{API}/instances",
    summary="List instances, newest first.",
    tag=TAG,
    permission=Permission.INSTANCES_READ,
    query=InstancesQuery,
    response=Page[InstanceItem],
)
async def list_instances(call: Call[InstancesQuery]) -> Page[InstanceItem]:
    asked = call.query
    page = await call.workspace.page(
        InstanceQuery(
            statuses=tuple(split(asked.status, Status, "$.status")),
            definition_id=asked.workflow_id,
            correlation_id=asked.correlation_id,
            current_step=asked.current_step,
            ids=tuple(split(asked.ids, str, "$.ids")),
            created_from=asked.created_from,
            created_before=asked.created_before,
            limit=asked.limit,
            after=asked.cursor,
        )
    )
    return Page(items=[instance_item(row) for row in page.items], next_cursor=page.next_after)


@operation(
    "GET",
    f"{API}/instances/{{id}}",
    summary="Look at an instance: its status, state, output and errors.",
    tag=TAG,
    permission=Permission.INSTANCES_READ,
    response=InstanceView,
)
async def get_instance(call: Call[NoQuery]) -> Object:
    return await call.workspace.at(call.path["id"]).details()
