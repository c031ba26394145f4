"""One instance of a server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from datetime import datetime
from typing import Any, Final, Literal, cast

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from tenuto.client.live_feed import changes_of
from tenuto.client.operations import Operations
from tenuto.model.edited import EditedInput
from tenuto.model.errors import WorkflowCancelled, WorkflowFailed
from tenuto.model.failure import Cancellation, LastError
from tenuto.model.json import JSON, Given, Object
from tenuto.model.status import Status, read_status
from tenuto.workspace.values import Page

_LONGEST_WAIT: Final = 30.0
"""Seconds that one request waits for an end."""
_PAGE: Final = 1_000


class _Outcome(Struct, frozen=True, kw_only=True, rename="camel"):
    status_name: str = field(name="status")
    output: Any
    last_error: LastError | None
    cancellation: Cancellation | None

    @property
    def status(self) -> Status:
        return read_status(self.status_name)


class RemoteInstance:
    """One instance, by its id, with the methods of `InstanceRef`."""

    def __init__(self, operations: Operations, id: str) -> None:
        self._operations = operations
        self.id = id

    def __repr__(self) -> str:
        return f"RemoteInstance({self.id!r})"

    async def status(self) -> Status:
        """Its status now."""
        return read_status(str((await self.details())["status"]))

    async def state(self) -> Object:
        """Its input, variables, steps and open waits."""
        return cast("Object", (await self.details())["state"])

    async def details(self) -> Object:
        """The whole instance as JSON."""
        return await self._operations.get_instance(self.id)

    async def context(self) -> Object:
        """`{ctx, system}`: the names that expressions see, and values that the engine noted."""
        return await self._operations.get_context(self.id)

    async def waits(self) -> list[JSON]:
        """Its open waits for events and decisions, oldest first, each with its `nearMisses`."""
        return cast("list[JSON]", (await self._operations.get_waits(self.id))["items"])

    async def explain(self) -> Object:
        """Why it makes no progress, as a tree of causes; once it has ended, how it ended."""
        return await self._operations.explain_instance(self.id)

    async def widget(self, widget_type: str, config: Given) -> Object:
        """A context value, shaped for a widget: `{instanceId, status, ready, data, error?}`."""
        kind = cast('Literal["table", "chart", "number", "text"]', widget_type)
        return await self._operations.shape_widget(self.id, widget_type=kind, widget_config=config)

    async def history(self, after: int = 0, *, last: int | None = None) -> list[Object]:
        """Its log after the entry of number `after`, oldest first; at most the `last` entries."""
        items: list[Object] = []
        if last is not None:
            return await self._newest(after, last)
        while True:
            page = await self._operations.get_history(self.id, after=after, limit=_PAGE)
            items += page.items
            if page.next_cursor is None:
                return items
            after = int(page.next_cursor)

    async def _newest(self, after: int, count: int) -> list[Object]:
        """The newest entries after one, oldest first: they are read from the end."""
        items: list[Object] = []
        cursor: int | None = None
        while len(items) < count:
            limit = min(count - len(items), _PAGE)
            page = await self._operations.get_history(
                self.id, cursor=cursor, order="desc", limit=limit
            )
            items += [each for each in page.items if int(str(each["seq"])) > after]
            if page.next_cursor is None or int(page.next_cursor) <= after + 1:
                break
            cursor = int(page.next_cursor)
        return items[::-1]

    async def logs(
        self, step: str | None = None, *, iteration: str | None = None, attempt: int | None = None
    ) -> list[Object]:
        """The lines that its tasks logged and printed; those of a step, or of one attempt."""
        items: list[Object] = []
        cursor: str | None = None
        while True:
            page = await self.log_page(step, iteration=iteration, attempt=attempt, cursor=cursor)
            items += page.items
            cursor = page.next_cursor
            if cursor is None:
                return items

    async def log_page(
        self,
        step: str | None = None,
        *,
        iteration: str | None = None,
        attempt: int | None = None,
        limit: int = _PAGE,
        cursor: str | None = None,
    ) -> Page[Object]:
        """A page of these lines; `cursor` is the `next_cursor` of the page before."""
        if step is None:
            return await self._operations.get_logs(
                self.id, iteration=iteration, attempt=attempt, limit=limit, cursor=cursor
            )
        return await self._operations.get_step_logs(
            self.id, step, iteration=iteration, attempt=attempt, limit=limit, cursor=cursor
        )

    def changes(self, after: int = 0) -> AsyncGenerator[None, None]:
        """Yields each time its log may have grown beyond the entry of number `after`.

        It does not end by itself. It may also yield when nothing has changed.
        """
        return changes_of(self._operations, self.id, after)

    async def result(self, timeout: float | None = None) -> JSON:  # noqa: ASYNC109 - its public name
        """Wait for its end and return its output.

        Raises WorkflowFailed, WorkflowCancelled, or TimeoutError after `timeout` seconds.
        """
        clock = self._operations.connection.clock
        until = None if timeout is None else clock.ticks() + timeout
        while True:
            left = _LONGEST_WAIT if until is None else until - clock.ticks()
            wait = max(min(left, _LONGEST_WAIT), 0.0)
            details = await self._operations.get_instance(self.id, wait=round(wait, 3))
            found = msgspec.convert(details, _Outcome)
            if found.status.is_final:
                return _output(found)
            if until is not None and clock.ticks() >= until:
                raise TimeoutError(
                    f"instance {self.id} has not ended within {timeout} s; it goes on"
                )
            # A service that stops answers at once: the next one is asked, but not in a rush.
            await clock.sleep(0.05)

    async def cancel(self, reason: str | None = None, *, should_compensate: bool = True) -> Status:
        """Cancel it, and undo its completed steps if `should_compensate`; may be repeated."""
        answer = await self._operations.cancel_instance(
            self.id, reason=reason, should_compensate=should_compensate
        )
        return answer.status

    async def undo_plan(self, reason: str | None = None) -> Object:
        """The steps that a cancellation would undo now, in order and with their inputs."""
        return await self._operations.get_undo_plan(self.id, reason=reason)

    async def pause(self, reason: str | None = None, until: datetime | None = None) -> Status:
        """Dispatch nothing new, until resumed or until `until`."""
        return (await self._operations.pause_instance(self.id, reason=reason, until=until)).status

    async def resume(self) -> Status:
        """Continue after a pause."""
        return (await self._operations.resume_instance(self.id)).status

    async def skip_delay(self, step: str, iteration: str = "") -> Status:
        """End a delay of a test run now; Conflict where it is no test run, or in no delay."""
        answer = await self._operations.skip_delay(self.id, step, iteration=iteration)
        return answer.status

    async def retry(self, *, edited: EditedInput | None = None) -> Status:
        """Continue after FAILED: failed steps, and steps withdrawn because of them, run again.

        `edited` is a new input for one of its tasks, instead of the one that it failed with.
        """
        return (await self._operations.retry_instance(self.id, edited=edited)).status

    async def retry_compensation(
        self, step: str, iteration: str = "", *, input: JSON | UnsetType = UNSET
    ) -> Status:
        """Retry a compensation that was given up; the status of the instance stays the same.

        `input` replaces the input that it failed with.
        """
        answer = await self._operations.retry_instance(
            self.id, compensation=step, iteration=iteration, input=input
        )
        return answer.status

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

        With a credential the server knows who decides, and in which role; without one, `by` says
        it. The same decision by the same person again changes nothing.
        """
        answer = await self._operations.decide_on_step(
            self.id,
            step,
            decision=cast('Literal["approved", "rejected"]', decision),
            form=form,
            iteration=iteration,
            by=by,
            roles=roles,
        )
        return answer.status

    async def rerun(
        self,
        from_step: str | None = None,
        *,
        input: JSON | UnsetType = UNSET,
        version: int | None = None,
        key: str | None = None,
    ) -> RemoteInstance:
        """Start a new instance like this one, from `from_step` on; this one does not change.

        At most one is made under a `key`.
        """
        made = await self._operations.rerun_instance(
            self.id, from_step=from_step, input=input, version=version, key=key
        )
        return RemoteInstance(self._operations, made.instance_id)


def _output(found: _Outcome) -> JSON:
    if found.status is Status.FAILED:
        assert found.last_error is not None
        raise WorkflowFailed(found.last_error)
    if found.status is Status.CANCELLED:
        assert found.cancellation is not None
        raise WorkflowCancelled(found.cancellation)
    output: JSON = found.output
    return output
