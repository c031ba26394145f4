"""The declared tasks of a server."""

from __future__ import annotations

import msgspec

from tenuto.client.instance import RemoteInstance
from tenuto.client.operations import Operations
from tenuto.client.pages import up_to
from tenuto.model.json import Given
from tenuto.model.task_definition import TaskDefinition
from tenuto.workspace.values import DeclaredTask, ListedTask, Page


class RemoteTaskDefinitions:
    """Tasks that the tenant has declared."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    async def add(self, task: TaskDefinition) -> DeclaredTask:
        """Declare a task; Conflict if the id is in use."""
        return await self._operations.add_task(task)

    async def put(self, task: TaskDefinition) -> DeclaredTask:
        """Declare a task, or change it."""
        return await self._operations.put_task(task.id, task)

    async def get(self, id: str) -> DeclaredTask:
        """A declared task; NotFound."""
        return await self._operations.get_task(id)

    async def remove(self, id: str) -> None:
        """Remove the declaration of a task; NotFound."""
        await self._operations.remove_task(id)

    async def execute(
        self,
        id: str,
        input: Given = None,
        *,
        key: str | None = None,
        correlation_id: str | None = None,
    ) -> RemoteInstance:
        """Run a task on its own, as an instance of a workflow of one step; NotFound."""
        ids = self._operations.connection.ids
        started = await self._operations.execute_task(
            id, input=input, correlation_id=correlation_id, key=key or f"client/{ids.short()}"
        )
        return RemoteInstance(self._operations, started.instance_id)

    async def list(self, *, after: str = "", limit: int = 100) -> list[DeclaredTask]:
        """Declared tasks with ids after `after`, ordered by id."""
        # A cursor is the server's own: there is none for an id.
        found = await up_to(
            limit, self._operations.list_tasks, lambda each: each.is_declared and each.id > after
        )
        return [msgspec.convert(each, DeclaredTask, from_attributes=True) for each in found]

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[ListedTask]:
        """A page of tasks that are declared, run by the server, or taken by workers, by id."""
        return await self._operations.list_tasks(limit=limit, cursor=cursor)
