"""Dead letters of a workspace."""

from __future__ import annotations

from typing import Protocol

from msgspec import UNSET, UnsetType

from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tenuto.workspace.values import ALL_DEAD_LETTERS, DeadLetterFilter, DeadLetterGroups, Page


class DeadLetters(Protocol):
    """Tasks whose failure nothing handled, poison tasks, and late results."""

    async def get(self, id: str) -> Object:
        """A dead letter with the `history` of its step; NotFound."""
        ...

    async def retry(self, id: str, *, input: JSON | UnsetType = UNSET) -> Status:
        """Retry its task or compensation, and remove the dead letter. Conflict if impossible.

        `input` replaces the input that the task failed with.
        """
        ...

    async def discard(self, id: str) -> None:
        """Remove a dead letter; the instance stays as it is. NotFound."""
        ...

    async def list(self, limit: int = 100) -> list[Object]:
        """Dead letters, newest first."""
        ...

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
        ...

    async def groups(self, which: DeadLetterFilter = ALL_DEAD_LETTERS) -> DeadLetterGroups:
        """The newest dead letters that a filter finds, by cause; the most frequent first."""
        ...
