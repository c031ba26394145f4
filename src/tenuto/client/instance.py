"""One instance that a server has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType

from tenuto.client.connection import Ask, Connection, part
from tenuto.model.errors import WorkflowCancelled, WorkflowFailed
from tenuto.model.failure import Cancellation, LastError
from tenuto.model.json import JSON, Given, Object
from tenuto.model.status import Status

_LONGEST_WAIT: Final = 30.0
"""Seconds that one request waits for an end."""
_PAGE: Final = 1_000


class Stands(Struct, frozen=True, kw_only=True, rename="camel"):
    """Where an instance stands now."""

    instance_id: str
    status: Status


class _Details(Struct, frozen=True, kw_only=True, rename="camel"):
    status: Status
    output: Any
    last_error: LastError | None
    cancellation: Cancellation | None


class _Entries(Struct, frozen=True, kw_only=True, rename="camel"):
    items: list[dict[str, Any]]
    next_cursor: str | None


class _Waits(Struct, frozen=True, kw_only=True):
    items: list[Any]


class RemoteInstance:
    """One instance, by its id; what it can be asked has the names of `InstanceRef`."""

    def __init__(self, connection: Connection, id: str) -> None:
        self._connection = connection
        self._path = f"/instances/{part(id)}"
        self.id = id

    def __repr__(self) -> str:
        return f"RemoteInstance({self.id!r})"

    async def status(self) -> Status:
        """Where it stands now."""
        return Status(str((await self.details())["status"]))

    async def state(self) -> Object:
        """Its input, variables, steps and open waits."""
        state = (await self.details())["state"]
        assert isinstance(state, dict)
        return state

    async def details(self) -> Object:
        """The whole instance as JSON."""
        return await self._get("")

    async def context(self) -> Object:
        """`{ctx, system}`: what expressions see, and what the system noted beside it."""
        return await self._get("/context")

    async def waits(self) -> list[JSON]:
        """What it waits for, the oldest first, with the events that it nearly took."""
        return (await self._connection.get(f"{self._path}/waits", _Waits)).items

    async def undo_plan(self) -> Object:
        """What would be undone if it were cancelled now, in which order and with which input."""
        return await self._get("/undo-plan")

    async def explain(self) -> Object:
        """Why it is not moving, as a tree of causes; of one that has ended, how."""
        return await self._get("/explain")

    async def widget(self, widget_type: str, config: Given) -> Object:
        """A value of it, shaped for a widget: `{instanceId, status, ready, data, error?}`."""
        asked = {"widgetType": widget_type, "widgetConfig": config}
        return await self._connection.ask(
            Ask("POST", f"{self._path}/widget", body=asked, may_overlap=True), dict[str, Any]
        )

    async def history(self, after: int = 0) -> list[Object]:
        """Its log behind the entry of number `after`, oldest first."""
        items: list[Object] = []
        while True:
            page = await self._connection.get(
                f"{self._path}/history", _Entries, after=after, limit=_PAGE
            )
            items += page.items
            if page.next_cursor is None:
                return items
            after = int(page.next_cursor)

    async def result(self, timeout: float | None = None) -> JSON:  # noqa: ASYNC109 - its public name
        """Wait for its end and return its output.

        Raises WorkflowFailed, WorkflowCancelled, or TimeoutError after `timeout` seconds.
        """
        clock = self._connection.clock
        until = None if timeout is None else clock.ticks() + timeout
        while True:
            left = _LONGEST_WAIT if until is None else until - clock.ticks()
            wait = max(min(left, _LONGEST_WAIT), 0.0)
            ask = Ask("GET", self._path, {"wait": round(wait, 3)}, wait=wait)
            found = await self._connection.ask(ask, _Details)
            if found.status.is_final:
                return _output(found)
            if until is not None and clock.ticks() >= until:
                raise TimeoutError(
                    f"instance {self.id} has not ended within {timeout} s; it goes on"
                )
            # A service that stops answers at once: the next one is asked, but not in a rush.
            await clock.sleep(0.05)

    async def cancel(self, reason: str | None = None, *, should_compensate: bool = True) -> Status:
        """End it, and undo what it has done unless that is to stay; asking again is no mistake."""
        body = {"reason": reason, "shouldCompensate": should_compensate}
        return await self._command("cancel", body, is_repeatable=True)

    async def pause(self, reason: str | None = None, until: datetime | None = None) -> Status:
        """Dispatch nothing new, until resumed or until `until`."""
        return await self._command("pause", {"reason": reason, "until": until})

    async def resume(self) -> Status:
        """Go on after a pause."""
        return await self._command("resume", {})

    async def retry(self) -> Status:
        """Let a FAILED one go on: what failed, and what that withdrew, runs again."""
        return await self._command("retry", {})

    async def retry_compensation(self, step: str, iteration: str = "") -> Status:
        """Try a compensation again that was given up; the status stays what it is."""
        return await self._command("retry", {"compensation": step, "iteration": iteration})

    async def rerun(
        self,
        from_step: str | None = None,
        *,
        input: JSON | UnsetType = UNSET,
        version: int | None = None,
        key: str | None = None,
    ) -> RemoteInstance:
        """Make a new instance of it, from `from_step` on; this one does not change.

        At most one is made under a `key`.
        """
        body: dict[str, object] = {"fromStep": from_step, "version": version}
        if input is not UNSET:
            body["input"] = input
        ask = Ask(
            "POST",
            f"{self._path}/rerun",
            body=body,
            headers={} if key is None else {"idempotency-key": key},
            is_repeatable=key is not None,
            may_overlap=True,
        )
        made = await self._connection.ask(ask, Stands)
        return RemoteInstance(self._connection, made.instance_id)

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
        it. The same decision by the same person again changes nothing and is no mistake.
        """
        body = {
            "decision": decision,
            "form": form,
            "iteration": iteration,
            "by": by,
            "roles": None if roles is None else list(roles),
        }
        return await self._command(f"steps/{part(step)}/decision", body, is_repeatable=True)

    async def _get(self, path: str) -> Object:
        return await self._connection.get(self._path + path, dict[str, Any])

    async def _command(
        self, path: str, body: Mapping[str, object], *, is_repeatable: bool = False
    ) -> Status:
        ask = Ask("POST", f"{self._path}/{path}", body=body, is_repeatable=is_repeatable)
        return (await self._connection.ask(ask, Stands)).status


def _output(found: _Details) -> JSON:
    if found.status is Status.FAILED:
        assert found.last_error is not None
        raise WorkflowFailed(found.last_error)
    if found.status is Status.CANCELLED:
        assert found.cancellation is not None
        raise WorkflowCancelled(found.cancellation)
    output: JSON = found.output
    return output
