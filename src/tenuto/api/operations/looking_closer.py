"""Instances explained, and their values shaped for dashboards."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from tenuto.access.permissions import Permission
from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import API, operation
from tenuto.api.shapes import Answer, Body
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status

TAG = "instances"


class ExplanationView(Answer, frozen=True, kw_only=True, rename="camel"):
    """Why an instance is not moving, or how it ended."""

    instance_id: str
    status: Status
    summary: str
    causes: list[dict[str, JSON]]


class WidgetRequest(Body, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which value, and how it is shown."""

    widget_type: Literal["table", "chart", "number", "text"]
    widget_config: JSON


class WidgetView(Answer, frozen=True, kw_only=True, rename="camel"):
    """A value in the shape of a widget; `data` is null while there is none."""

    instance_id: str
    status: Status
    ready: bool
    data: JSON
    error: str | UnsetType = UNSET


@operation(
    "GET",
    f"{API}/instances/{{id}}/explain",
    summary="Learn why an instance is not moving, as a tree of causes.",
    tag=TAG,
    permission=Permission.INSTANCES_READ,
    response=ExplanationView,
)
async def explain_instance(call: Call[NoQuery]) -> Object:
    return await call.workspace.at(call.path["id"]).explain()


@operation(
    "POST",
    f"{API}/instances/{{id}}/widget",
    summary="Shape a value of an instance for a table, a chart, a number or a text.",
    tag=TAG,
    permission=Permission.INSTANCES_READ,
    request=WidgetRequest,
    response=WidgetView,
    is_audited=False,
)
async def shape_widget(call: Call[NoQuery], body: WidgetRequest) -> Object:
    return await call.workspace.at(call.path["id"]).widget(body.widget_type, body.widget_config)
