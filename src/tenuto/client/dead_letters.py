"""The dead letters of a server."""

from __future__ import annotations

from msgspec import UNSET, UnsetType, convert

from tenuto.client.operations import Operations
from tenuto.client.pages import up_to
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tenuto.workspace.values import ALL_DEAD_LETTERS, DeadLetterFilter, DeadLetterGroups, Page


class RemoteDeadLetters:
    """Tasks whose failure nothing handled, poison tasks, and late results."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    async def get(self, id: str) -> Object:
        """A dead letter with the `history` of its step; NotFound."""
        return await self._operations.get_dead_letter(id)

    async def retry(self, id: str, *, input: JSON | UnsetType = UNSET) -> Status:
        """Retry its task or compensation, and remove the dead letter. Conflict if impossible.

        `input` replaces the input that the task failed with.
        """
        return (await self._operations.retry_dead_letter(id, input=input)).status

    async def discard(self, id: str) -> None:
        """Remove a dead letter; the instance stays as it is. NotFound."""
        await self._operations.discard_dead_letter(id)

    async def list(self, limit: int = 100) -> list[Object]:
        """Dead letters, newest first."""
        return await up_to(limit, self._operations.list_dead_letters)

    async def page(
        self,
        *,
        kind: str | None = None,
        task_id: str | None = None,
        workflow: str | None = None,
        step_id: str | None = None,
        code: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Object]:
        """A page of dead letters, newest first; `code` is that of their error."""
        return await self._operations.list_dead_letters(
            kind=kind,
            task_id=task_id,
            workflow_id=workflow,
            step_id=step_id,
            code=code,
            limit=limit,
            cursor=cursor,
        )

    async def groups(self, which: DeadLetterFilter = ALL_DEAD_LETTERS) -> DeadLetterGroups:
        """The newest dead letters that a filter finds, by cause; the most frequent first."""
        found = await self._operations.group_dead_letters(
            kind=which.kind,
            task_id=which.task_id,
            workflow_id=which.workflow,
            step_id=which.step_id,
            code=which.code,
            instance_id=which.instance_id,
            created_from=which.created_from,
            created_before=which.created_before,
        )
        return convert(found, DeadLetterGroups)
