"""An instance of a store: read beside the engine, commanded through its mailbox.

The engine that has the store open decides on commands. When another process holds a file, or the
store is a database, the command is left in the instance's mailbox, and this process waits until it
was taken. Where no process is at work, this one opens the store for a moment; tasks are not run,
they wait for a process that has them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UNSET, UnsetType

from tenuto.cli.backends.mailbox import handed_in, here_or_by_message
from tenuto.cli.backends.place import ACTOR
from tenuto.cli.backends.reader import Reader
from tenuto.cli.views.terminal import say
from tenuto.core import InstanceState, Rejection, blank, decide
from tenuto.core.approval import NOT_OPEN, is_the_same, refusal
from tenuto.core.foreseen_undo import undo_plan
from tenuto.core.view import context_of, state_of
from tenuto.engine.definitions.reruns import Rerun, plan_rerun
from tenuto.engine.definitions.start_checks import raise_rejection, refuse_bad_input
from tenuto.engine.events.event_views import waits_view
from tenuto.engine.turns.approvals import (
    decision_asked,
    decision_in_log,
    refuse_bad_form,
    refuse_unless_said_before,
    refused_decision,
)
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.requests import Answer
from tenuto.model.durations import iso
from tenuto.model.edited import EditedInput
from tenuto.model.errors import Conflict, StoreUnavailable, not_there
from tenuto.model.ids import start_letter
from tenuto.model.inputs import (
    CancelAsked,
    CompensationRetryAsked,
    DecisionAsked,
    Input,
    ResumeAsked,
    RetryAsked,
)
from tenuto.model.json import JSON, Given, Object
from tenuto.model.policy import DEFAULT_LIMITS, NO_POLICIES, Limits
from tenuto.model.status import Status
from tenuto.ports import SystemIds
from tenuto.store.parts.mailbox import Mail, MailKey
from tenuto.workspace.commands import Commands, refuse_misfit
from tenuto.workspace.instance import instance_view
from tenuto.workspace.values import InstanceFilter

if TYPE_CHECKING:
    from tenuto.app import Tenuto
    from tenuto.cli.backends.store_workspace import StoreWorkspace

_COMMANDS: Final = Commands(ACTOR, DEFAULT_LIMITS)
_END_WITHIN: Final = 15.0
"""Seconds that this process waits for the end of an instance that it cancels itself."""


class StoreInstance:
    """One instance of a store, by its id."""

    def __init__(self, space: StoreWorkspace, id: str, *, is_known: bool = False) -> None:
        """`is_known` where it is known to be the tenant's."""
        self._space = space
        self._is_known = is_known
        self.id = id

    # -- read

    async def held(self) -> Held:
        """The instance, folded from its log; NotFound where it is another tenant's."""
        reader = await self._space.reader()
        held = await reader.held(self.id)
        if held.tenant != self._space.tenant:
            raise not_there(self.id)
        return held

    async def status(self) -> Status:
        """Its status now."""
        return (await self.held()).state.status

    async def state(self) -> Object:
        """Its input, variables, steps and open waits."""
        held = await self.held()
        return state_of(held.plan, held.state)

    async def details(self) -> Object:
        """The whole instance as JSON."""
        return instance_view(await self.held())

    async def context(self) -> Object:
        """`{ctx, system}`: the names that expressions see, and values that the engine noted."""
        held = await self.held()
        return {"ctx": context_of(held.plan, held.state), "system": held.state.system}

    async def waits(self) -> list[JSON]:
        """Its open waits for events and decisions, oldest first, each with its `nearMisses`."""
        held, reader = await self.held(), await self._space.reader()
        return waits_view(held, await reader.inspector.near_events(held))

    async def explain(self) -> Object:
        """Why it makes no progress, as a tree of causes; once it has ended, how it ended."""
        return await (await self._known_reader()).explain(self.id)

    async def history(self, after: int = 0) -> list[Object]:
        """Its log after the entry of number `after`, oldest first."""
        return await (await self._known_reader()).history(self.id, after)

    async def changes(self, after: int = 0) -> AsyncGenerator[None, None]:
        """Yields each time its log may have grown beyond the entry of number `after`."""
        reader = await self._known_reader()
        async for _ in reader.changes(self.id, after):
            yield

    async def undo_plan(self, reason: str | None = None) -> Object:
        """The steps that a cancellation would undo now, in order and with their inputs."""
        asked = _COMMANDS.cancel(reason)
        held = await self.held()
        return undo_plan(held.plan, held.state, asked)

    async def widget(self, widget_type: str, config: Given) -> Object:
        """A context value, shaped for a widget."""
        async with self._space.engine() as space:
            return await space.at(self.id).widget(widget_type, config)

    async def result(self, timeout: float | None = None) -> JSON:  # noqa: ASYNC109 - its public name
        """Wait for its end and return its output."""
        async with self._space.engine() as space:
            return await space.at(self.id).result(timeout)

    # -- commands

    async def cancel(self, reason: str | None = None, *, should_compensate: bool = True) -> Status:
        """Cancel it, and undo its completed steps if `should_compensate`; may be repeated."""
        return await self._command(_COMMANDS.cancel(reason, should_compensate=should_compensate))

    async def pause(self, reason: str | None = None, until: datetime | None = None) -> Status:
        """Dispatch nothing new, until resumed or until `until`."""
        return await self._command(_COMMANDS.pause(reason, until))

    async def resume(self) -> Status:
        """Continue after a pause."""
        return await self._command(ResumeAsked(by=ACTOR))

    async def retry(self, *, edited: EditedInput | None = None) -> Status:
        """Continue after FAILED: failed steps, and steps withdrawn because of them, run again.

        A quarantined instance is released; the processes at work see that within seconds.
        """
        reader = await self._known_reader()
        for each in await reader.store.quarantine.suspects():
            if each.instance_id == self.id and each.is_quarantined:
                await reader.store.quarantine.clear(self.id)
                [row] = (await reader.page(InstanceFilter(ids=(self.id,)), limit=1)).items
                return self._space.done(row.status, by_others=True)
        return await self._command(_COMMANDS.retry(edited))

    async def retry_compensation(
        self, step: str, iteration: str = "", *, input: JSON | UnsetType = UNSET
    ) -> Status:
        """Retry a compensation that was given up; the status of the instance stays the same."""
        return await self._command(_COMMANDS.retry_compensation(step, iteration, input))

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
        """Decide `"approved"` or `"rejected"` on the approval `step`."""
        asked = decision_asked(
            step, decision, by=by or ACTOR, roles=roles or (), form=form, iteration=iteration
        )
        held, reader = await self.held(), await self._space.reader()
        now = reader.clock.now()
        refuse_bad_form(held, asked, now, Limits())
        foreseen = decide(held.plan, held.state, asked, now, NO_POLICIES)
        if foreseen.rejection is not None:
            await refuse_unless_said_before(reader.store, held, asked, foreseen.rejection)
        if not foreseen.entries:
            # The same decision again is no error, and nothing to wait for.
            return self._space.done(held.state.status, by_others=True)

        async def here(app: Tenuto) -> Status:
            answer = await app.engine.ask(self.id, asked)
            if answer.rejection is not None:
                raise refused_decision(answer.rejection)
            return answer.status

        return await self._put(here, lambda: self._decide_by_message(held, asked))

    async def rerun(
        self,
        from_step: str | None = None,
        *,
        input: JSON | UnsetType = UNSET,
        version: int | None = None,
        key: str | None = None,
    ) -> StoreInstance:
        """Start a new instance like this one, from `from_step` on; this one does not change.

        What is taken over is read here. The engine that has the store open starts it: its start is
        left in the mailbox of the new instance.
        """
        if key is not None:
            async with self._space.engine() as space:
                made = await space.at(self.id).rerun(
                    from_step, input=input, version=version, key=key
                )
            return StoreInstance(self._space, made.id)
        reader = await self._space.reader()
        planned = await plan_rerun(
            reader.store,
            reader.plans,
            await self.held(),
            from_step=from_step,
            input=input,
            version=version,
        )
        plan = planned.deployed.plan
        refuse_bad_input(plan, planned.started.input, DEFAULT_LIMITS)
        now = reader.clock.now()
        id = SystemIds().instance_id(now)
        foreseen = decide(plan, blank(id), planned.started, now, NO_POLICIES)
        raise_rejection(
            Answer(
                instance_id=id,
                status=foreseen.state.status,
                version=0,
                rejection=foreseen.rejection,
            )
        )
        await self._put(
            lambda app: _start_here(app, id, planned), lambda: self._start_by_message(id, planned)
        )
        return StoreInstance(self._space, id)

    # -- inner

    async def _known_reader(self) -> Reader:
        """The store; NotFound unless the instance is this tenant's, which is looked up once."""
        if not self._is_known:
            await self._space.instance(self.id)
            self._is_known = True
        return await self._space.reader()

    async def _command(self, asked: Input) -> Status:
        held, reader = await self.held(), await self._space.reader()
        if isinstance(asked, RetryAsked | CompensationRetryAsked):
            await refuse_misfit(reader.store, held.tenant, held.plan, asked)
        foreseen = decide(held.plan, held.state, asked, reader.clock.now(), NO_POLICIES)
        if foreseen.rejection is not None:
            raise _conflict(foreseen.rejection)
        if not foreseen.entries:
            # The same command again is no error, and nothing to wait for.
            return self._space.done(held.state.status, by_others=True)

        async def here(app: Tenuto) -> Status:
            answer = await app.engine.ask(self.id, asked)
            if answer.rejection is not None:
                raise _conflict(answer.rejection)
            return await _settled(app, self.id, asked, answer.status)

        return await self._put(here, lambda: self._command_by_message(asked))

    async def _put(
        self,
        here: Callable[[Tenuto], Awaitable[Status]],
        by_message: Callable[[], Awaitable[tuple[Status, bool]]],
    ) -> Status:
        async with self._space.alone():
            status, by_others = await here_or_by_message(self._space.url, here, by_message)
            return self._space.done(status, by_others=by_others)

    async def _command_by_message(self, asked: Input) -> tuple[Status, bool]:
        reader = await self._space.reader()
        before = (await reader.held(self.id)).state

        async def look() -> Status | None:
            after = (await reader.held(self.id)).state
            return after.status if _took_effect(before, after) else None

        async with handed_in(reader, self._message(reader, asked), look) as (status, app):
            if app is None:
                return status, True
            return await _settled(app, self.id, asked, status), False

    async def _decide_by_message(self, before: Held, asked: DecisionAsked) -> tuple[Status, bool]:
        reader = await self._space.reader()
        message = self._message(reader, asked)
        key = MailKey(message.id, self.id)

        async def look() -> Status | None:
            if await reader.store.mailbox.waiting([key]):
                return None
            return await _decided(reader, before, asked)

        async with handed_in(reader, message, look) as (status, app):
            return status, app is None

    async def _start_by_message(self, id: str, planned: Rerun) -> tuple[Status, bool]:
        reader = await self._space.reader()
        message = Mail(
            id=start_letter(id),
            instance_id=id,
            input=msgspec.json.encode(planned.started),
            created_at=reader.clock.now(),
        )

        async def look() -> Status | None:
            found = await reader.page(InstanceFilter(ids=(id,)), limit=1)
            return found.items[0].status if found.items else None

        async with handed_in(reader, message, look) as (status, app):
            return status, app is None

    def _message(self, reader: Reader, asked: Input) -> Mail:
        now = reader.clock.now()
        return Mail(
            id=f"cli/{iso(now)}/{SystemIds().short()}",
            instance_id=self.id,
            input=msgspec.json.encode(asked),
            created_at=now,
        )


def _conflict(refused: Rejection) -> Conflict:
    """The error that the same command raises in Python."""
    return Conflict(refused.message, code=refused.code)


async def _settled(app: Tenuto, instance_id: str, asked: Input, status: Status) -> Status:
    """Wait for the end of a cancelled instance: no other process is there when its grace is over.

    Its compensation is left to a process that has the tasks.
    """
    if not isinstance(asked, CancelAsked) or status.is_final:
        return status
    say("running steps have their grace period …", style="dim")
    changed = asyncio.Event()
    stop = app.engine.listen(lambda _: changed.set())
    try:
        async with asyncio.timeout(_END_WITHIN):
            while True:
                changed.clear()
                state = (await app.engine.state_of(instance_id)).state
                if state.status.is_final or state.compensation is not None:
                    return state.status
                await changed.wait()
    except (TimeoutError, StoreUnavailable):
        # The cancellation is recorded: it ends with the next process at the latest.
        return status
    finally:
        stop()


def _took_effect(before: InstanceState, after: InstanceState) -> bool:
    if before.status.is_final:
        # Nothing but this command makes the log of one that has ended longer.
        return after.version > before.version
    return (
        after.status.is_final
        or (before.pause is None) is not (after.pause is None)
        or (before.cancellation is None) is not (after.cancellation is None)
    )


async def _decided(reader: Reader, before: Held, asked: DecisionAsked) -> Status:
    """The status since the message was taken; its refusal, where another decision was first."""
    id, version = before.state.id, before.state.version
    held = await reader.held(id)
    said = await decision_in_log(reader.store, id, asked, after=version)
    if said is not None and is_the_same(said, asked):
        return held.state.status
    refused = refusal(held.plan, held.state, asked, reader.clock.now())
    raise refused_decision(
        refused or Rejection(code=NOT_OPEN, message=f"{asked.node} took no decision at that moment")
    )


async def _start_here(app: Tenuto, id: str, planned: Rerun) -> Status:
    started = planned.started
    deployed = await app.engine.plans.get(
        planned.tenant, started.definition_id, started.definition_version
    )
    answer = await app.engine.start(deployed.plan, started, instance_id=id, tenant=planned.tenant)
    raise_rejection(answer)
    return answer.status
