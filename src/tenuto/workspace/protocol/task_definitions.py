"""Declared tasks of a workspace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tenuto.model.json import Given
from tenuto.model.task_definition import TaskDefinition
from tenuto.workspace.protocol.instance import Instance
from tenuto.workspace.values import DeclaredTask, ListedTask, Page


class TaskDefinitions(Protocol):
    """Tasks that the tenant has declared."""

    async def add(self, task: TaskDefinition) -> DeclaredTask:
        """Declare a task; Conflict if the id is in use."""
        ...

    async def put(self, task: TaskDefinition) -> DeclaredTask:
        """Declare a task, or change it."""
        ...

    async def get(self, id: str) -> DeclaredTask:
        """A declared task; NotFound."""
        ...

    async def remove(self, id: str) -> None:
        """Remove the declaration of a task; NotFound."""
        ...

    async def execute(
        self,
        id: str,
        input: Given = None,
        *,
        key: str | None = None,
        correlation_id: str | None = None,
    ) -> Instance:
        """Run a task on its own, as an instance of a workflow of one step; NotFound."""
        ...

    async def list(self, *, after: str = "", limit: int = 100) -> Sequence[DeclaredTask]:
        """Declared tasks with ids after `after`, ordered by id."""
        ...

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[ListedTask]:
        """A page of tasks that are declared, run by the process that answers, or taken by workers.

        Ordered by id.
        """
        ...
