"""An instance of a store: read beside the engine, commanded through its mailbox.

The engine that has the store open decides on commands. When another process holds a file, or the
store is a database, the command is left in the instance's mailbox, and this process waits until it
was taken. Where no process is at work, this one opens the store for a moment; tasks are not run,
they wait for a process that has them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UNSET, UnsetType

from tenuto.cli.backends.by_engine import by_engine, starting
from tenuto.cli.backends.mailbox import handed_in, here_or_by_message
from tenuto.cli.backends.place import ACTOR
from tenuto.cli.backends.reader import Reader
from tenuto.cli.backends.recorded import recorded
from tenuto.cli.views.terminal import say
from tenuto.core import Rejection, blank, decide
from tenuto.core.approval import NOT_OPEN, is_the_same, refusal
from tenuto.engine.definitions.reruns import Rerun, plan_rerun
from tenuto.engine.definitions.start_checks import raise_rejection, refuse_bad_input
from tenuto.engine.turns.approvals import (
    decision_in_log,
    refuse_unless_said_before,
    refused_decision,
)
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.quarantine import release
from tenuto.engine.turns.requests import Answer
from tenuto.model.durations import iso
from tenuto.model.edited import EditedInput
from tenuto.model.errors import Conflict, StoreUnavailable, not_there
from tenuto.model.ids import start_letter
from tenuto.model.inputs import (
    DecisionAsked,
    Input,
)
from tenuto.model.json import JSON, Object
from tenuto.model.policy import DEFAULT_LIMITS, FORESEEN
from tenuto.model.status import Status
from tenuto.store.parts.mailbox import Mail, MailKey
from tenuto.workspace.protocol import Instance
from tenuto.workspace.stored_instance import StoredInstance
from tenuto.workspace.values import InstanceFilter

if TYPE_CHECKING:
    from tenuto.app import Tenuto
    from tenuto.cli.backends.store_workspace import StoreWorkspace

_LOOK_EVERY: Final = 0.3
"""Seconds between polls of the log of an instance: one row each."""
_END_WITHIN: Final = 15.0
"""Seconds that this process waits for the end of an instance that it cancels itself."""


async def _status_before(one: StoreInstance, id: str) -> Object | None:
    """As its row has it: its log is not read for this."""
    found = (await one.space.page(InstanceFilter(ids=(id,)), limit=1)).items
    return {"status": found[0].status.value} if found else None


@recorded(Instance, _status_before)
class StoreInstance(StoredInstance):
    """One instance of a store, by its id."""

    def __init__(self, space: StoreWorkspace, id: str, *, is_known: bool = False) -> None:
        """`is_known` where it is known to be the tenant's."""
        super().__init__(space.reader, id, tenant=space.tenant, by=ACTOR, is_known=is_known)
        self.space = space
        self._reader = space.reader

    @asynccontextmanager
    async def lent(self, *, is_new: bool = False) -> AsyncIterator[object]:
        """The same instance with an engine."""
        async with self.space.lent(is_new=is_new) as space:
            yield space.at(self.id)

    async def held(self) -> Held:
        """The instance, folded from its log; NotFound where it is another tenant's."""
        await self._refuse_unless_known()
        held = await self._reader.held(self.id)
        if held.tenant != self._tenant:
            raise not_there(self.id)
        return held

    _held = held
    result = by_engine(Instance.result)
    _rerun_once = starting(Instance.rerun)

    async def changes(self, after: int = 0) -> AsyncGenerator[None, None]:
        """Yields when the log has grown: a process beside the engine has to poll."""
        await self._refuse_unless_known()
        reader = self._reader
        while True:
            await reader.clock.sleep(_LOOK_EVERY)
            with suppress(StoreUnavailable):
                found = (await reader.store.instances.newest_seqs([self.id])).get(self.id, 0)
                if found != after:
                    after = found
                    yield

    async def retry(self, *, edited: EditedInput | None = None) -> Status:
        """Continue after FAILED: failed steps, and steps withdrawn because of them, run again.

        A quarantined instance is released, and goes on where it stood unless it had failed; the
        processes at work see that within seconds.
        """
        await self._refuse_unless_known()
        if await release(self._reader.store, self.id) and edited is None:
            [row] = (await self.space.page(InstanceFilter(ids=(self.id,)), limit=1)).items
            if row.status is not Status.FAILED:
                return self.space.done(row.status, by_others=True)
        return await super().retry(edited=edited)

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
            return await self._rerun_once(from_step, input=input, version=version, key=key)
        reader = self._reader
        planned = await plan_rerun(
            reader.store,
            reader.plans,
            await self._held(),
            from_step=from_step,
            input=input,
            version=version,
        )
        plan = planned.deployed.plan
        refuse_bad_input(plan, planned.started.input, DEFAULT_LIMITS)
        now = reader.clock.now()
        id = reader.ids.instance_id(now)
        foreseen = decide(plan, blank(id), planned.started, now, FORESEEN)
        raise_rejection(
            Answer(
                instance_id=id,
                status=foreseen.state.status,
                version=0,
                rejection=foreseen.rejection,
            )
        )
        mail = Mail(
            id=start_letter(id),
            instance_id=id,
            input=msgspec.json.encode(planned.started),
            created_at=now,
            is_sealed=planned.is_sealed,
        )
        made = self.space.at(id, is_known=True)
        await self._put(mail, lambda app: _start_here(app, id, planned), made.status)
        return made

    # -- inner

    async def _decide(self, held: Held, asked: DecisionAsked) -> Status:
        reader = self._reader
        foreseen = decide(held.plan, held.state, asked, reader.clock.now(), FORESEEN)
        if foreseen.rejection is not None:
            await refuse_unless_said_before(reader.store, held, asked, foreseen.rejection)
        if not foreseen.entries:
            # The same decision again is no error, and nothing to wait for.
            return self.space.done(held.state.status, by_others=True)

        async def here(app: Tenuto) -> Status:
            answer = await app.engine.ask(self.id, asked)
            if answer.rejection is not None:
                raise refused_decision(answer.rejection)
            return answer.status

        return await self._put(self._message(asked), here, lambda: _decided(reader, held, asked))

    async def _ask(self, asked: Input) -> Status:
        held = await self._held()
        now = self._reader.clock.now()
        foreseen = decide(held.plan, held.state, asked, now, FORESEEN)
        if foreseen.rejection is not None:
            raise _conflict(foreseen.rejection)
        if not foreseen.entries:
            # The same command again is no error, and nothing to wait for.
            return self.space.done(held.state.status, by_others=True)

        async def here(app: Tenuto) -> Status:
            answer = await app.engine.ask(self.id, asked)
            if answer.rejection is not None:
                raise _conflict(answer.rejection)
            return await _settled(app, self.id, answer.status)

        return await self._put(self._message(asked), here, self.status)

    async def _put(
        self,
        mail: Mail,
        here: Callable[[Tenuto], Awaitable[Status]],
        seen: Callable[[], Awaitable[Status]],
    ) -> Status:
        """What `here` gives, where this process is the engine; else `seen`, once `mail` is taken.

        A turn takes a message and stores what came of it in one transaction.
        """
        reader, key = self._reader, MailKey(mail.id, mail.instance_id)

        async def look() -> Status | None:
            return None if await reader.store.mailbox.waiting([key]) else await seen()

        async def by_message() -> tuple[Status, bool]:
            async with handed_in(reader, mail, look) as (status, app):
                if app is None:
                    return status, True
                return await _settled(app, mail.instance_id, status), False

        async with self.space.alone():
            status, by_others = await here_or_by_message(self.space.url, here, by_message)
            return self.space.done(status, by_others=by_others)

    def _message(self, asked: Input) -> Mail:
        now = self._reader.clock.now()
        return Mail(
            id=f"cli/{iso(now)}/{self._reader.ids.short()}",
            instance_id=self.id,
            input=msgspec.json.encode(asked),
            created_at=now,
        )


def _conflict(refused: Rejection) -> Conflict:
    """The error that the same command raises in Python."""
    return Conflict(refused.message, code=refused.code)


async def _settled(app: Tenuto, instance_id: str, status: Status) -> Status:
    """Wait for the end of a cancelled instance: no other process is there when its grace is over.

    Its compensation is left to a process that has the tasks.
    """
    changed, has_said = asyncio.Event(), False
    stop = app.engine.listen(lambda _: changed.set())
    try:
        async with asyncio.timeout(_END_WITHIN):
            while True:
                changed.clear()
                state = (await app.engine.state_of(instance_id)).state
                is_ending = state.cancellation is not None and state.compensation is None
                if state.status.is_final or not is_ending:
                    return state.status
                if not has_said:
                    has_said = True
                    say("running steps have their grace period …", style="dim")
                await changed.wait()
    except (TimeoutError, StoreUnavailable):
        # The command is recorded: a cancellation ends with the next process at the latest.
        return status
    finally:
        stop()


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
    answer = await app.engine.start(
        deployed.plan,
        started,
        instance_id=id,
        tenant=planned.tenant,
        is_sealed=planned.is_sealed,
    )
    raise_rejection(answer)
    return answer.status
