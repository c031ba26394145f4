"""Temporary."""

# mypy: ignore-errors
from __future__ import annotations

from typing import Any, cast

import msgspec

from tenuto.client import Client
from tenuto.client.connection import API, Ask
from tenuto.client.hearing import news_of
from tenuto.client.instance import RemoteInstance
from tenuto.workspace.protocol import Workspace
from tenuto.workspace.values import ANY_INSTANCE, Page, Summary


class _I(RemoteInstance):
    def changes(self, after=0):
        return news_of(self._connection, self.id, after)


class _A:
    def __init__(self, c):
        self.c = c

    async def page(self, **q):
        p = await self.c.get("/audit", dict[str, Any], **q)
        return Page(items=p["items"], next_cursor=p["nextCursor"])

    async def export(self):
        a = await self.c.send(Ask("GET", f"{API}/audit/export"))
        for line in a.body.decode().splitlines():
            yield line

    async def verify(self, known=None):
        return await self.c.get("/audit/verify", dict[str, Any], known=known)


class _C:
    def __init__(self, c):
        self.c = c

    def __getattr__(self, n):
        return getattr(self.c, n)

    def at(self, id):
        return _I(self.c.connection, id)

    @property
    def audit(self):
        return _A(self.c.connection)

    async def page(self, which=ANY_INSTANCE, *, variables=None, limit=100, cursor=None):
        page = await self.c.page(
            status=",".join(which.status) or None,
            workflowId=which.workflow,
            correlationId=which.correlation_id,
            currentStep=which.current_step,
            ids=",".join(which.ids) or None,
            createdFrom=which.created_from,
            createdBefore=which.created_before,
            variables=None if variables is None else msgspec.json.encode(variables).decode(),
            limit=limit,
            cursor=cursor,
        )
        return Page(
            items=[
                Summary(
                    id=i.id,
                    workflow=i.workflow_definition_id,
                    version=i.definition_version,
                    status=i.status,
                    created_at=i.created_at,
                    updated_at=i.updated_at,
                    current_steps=i.current_steps,
                    correlation_id=i.correlation_id,
                    last_error=i.last_error,
                    started_at=i.started_at,
                    completed_at=i.completed_at,
                    parent_id=i.parent_id,
                    tenant=i.tenant,
                )
                for i in page.items
            ],
            next_cursor=page.next_cursor,
        )


def adapted(client: Client) -> Workspace:
    return cast("Workspace", _C(client))
