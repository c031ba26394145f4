"""What a principal can do with one instance."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import UNSET, UnsetType

from tenuto.model.edited import EditedInput
from tenuto.model.json import JSON, Given, Object
from tenuto.model.status import Status
from tenuto.workspace.values import Page


class Instance(Protocol):
    """One instance, by its id."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    async def status(self) -> Status:
        """Its status now."""
        ...

    async def state(self) -> Object:
        """Its input, variables, steps and open waits."""
        ...

    async def details(self) -> Object:
        """The whole instance as JSON."""
        ...

    async def context(self) -> Object:
        """`{ctx, system}`: the names that expressions see, and values that the engine noted."""
        ...

    async def waits(self) -> list[JSON]:
        """Its open waits for events and decisions, oldest first, each with its `nearMisses`."""
        ...

    async def explain(self) -> Object:
        """Why it makes no progress, as a tree of causes; once it has ended, how it ended."""
        ...

    async def widget(self, widget_type: str, config: Given) -> Object:
        """A context value, shaped for a widget: `{instanceId, status, ready, data, error?}`."""
        ...

    async def history(self, after: int = 0, *, last: int | None = None) -> list[Object]:
        """Its log after the entry of number `after`, oldest first; at most the `last` entries."""
        ...

    async def logs(
        self, step: str | None = None, *, iteration: str | None = None, attempt: int | None = None
    ) -> list[Object]:
        """The lines that its tasks logged and printed; those of a step, or of one attempt."""
        ...

    async def log_page(
        self,
        step: str | None = None,
        *,
        iteration: str | None = None,
        attempt: int | None = None,
        limit: int = 1_000,
        cursor: str | None = None,
    ) -> Page[Object]:
        """A page of these lines; `cursor` is the `next_cursor` of the page before."""
        ...

    def changes(self, after: int = 0) -> AsyncGenerator[None, None]:
        """Yields each time its log may have grown beyond the entry of number `after`.

        It does not end by itself. It may also yield when nothing has changed.
        """
        ...

    async def result(self, timeout: float | None = None) -> JSON:  # noqa: ASYNC109 - its public name
        """Wait for its end and return its output.

        Raises WorkflowFailed, WorkflowCancelled, or TimeoutError after `timeout` seconds.
        """
        ...

    async def cancel(self, reason: str | None = None, *, should_compensate: bool = True) -> Status:
        """Cancel it, and undo its completed steps if `should_compensate`; may be repeated."""
        ...

    async def undo_plan(self, reason: str | None = None) -> Object:
        """The steps that a cancellation would undo now, in order and with their inputs."""
        ...

    async def pause(self, reason: str | None = None, until: datetime | None = None) -> Status:
        """Dispatch nothing new, until resumed or until `until`."""
        ...

    async def resume(self) -> Status:
        """Continue after a pause."""
        ...

    async def skip_delay(self, step: str, iteration: str = "") -> Status:
        """End a delay of a test run now; Conflict where it is no test run, or in no delay."""
        ...

    async def retry(self, *, edited: EditedInput | None = None) -> Status:
        """Continue after FAILED: failed steps, and steps withdrawn because of them, run again.

        A quarantined instance is released instead, and goes on where it stood.

        `edited` is a new input for one of its tasks, instead of the one that it failed with.
        """
        ...

    async def retry_compensation(
        self, step: str, iteration: str = "", *, input: JSON | UnsetType = UNSET
    ) -> Status:
        """Retry a compensation that was given up; the status of the instance stays the same.

        `input` replaces the input that it failed with.
        """
        ...

    async def decide(
        self,
        step: str,
        decision: str,
        *,
        by: str | None = None,
        roles: Sequence[str] | None = None,
        form: JSON = None,
        iteration: str = "",
    ) -> Status:
        """Decide `"approved"` or `"rejected"` on the approval `step`.

        `by` is the person who decides, in `roles`; by default, the principal in its own roles.
        """
        ...

    async def rerun(
        self,
        from_step: str | None = None,
        *,
        input: JSON | UnsetType = UNSET,
        version: int | None = None,
        key: str | None = None,
    ) -> Instance:
        """Start a new instance like this one, from `from_step` on; this one does not change."""
        ...
