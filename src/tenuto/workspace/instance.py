"""References to instances of an engine: read, waited for, commanded."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator

import msgspec
from msgspec import UNSET, UnsetType

from tenuto.core.ending import output_of
from tenuto.engine.definitions.reruns import plan_rerun
from tenuto.engine.definitions.start_checks import raise_rejection
from tenuto.engine.engine import Engine
from tenuto.engine.events.explainer import Explainer
from tenuto.engine.tenancy import held_by
from tenuto.engine.turns.approvals import refuse_unless_said_before
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.requests import Answer
from tenuto.model.checks import refuse_bad_ids, refuse_bad_text
from tenuto.model.errors import (
    Conflict,
    InvalidInput,
    NotFound,
    WorkflowCancelled,
    WorkflowFailed,
)
from tenuto.model.inputs import DecisionAsked, Input, TimeOutAsked
from tenuto.model.json import JSON
from tenuto.model.own_names import is_callback
from tenuto.model.status import Status
from tenuto.model.tenants import DEFAULT_TENANT
from tenuto.model.test_run import is_test_run
from tenuto.workspace.stored_instance import StoredInstance

EMBEDDED = "app"
"""The principal of a program that uses its own engine."""
_LOOK_EVERY = 0.3
"""Seconds between looks at what other processes do to an instance."""
WORKFLOW_REMOVED = "its workflow was removed"
"""The reason for cancelling the instances of a removed definition."""


class InstanceRef(StoredInstance):
    """One instance of a tenant, by its id; one of another tenant is not there."""

    def __init__(
        self,
        engine: Engine,
        id: str,
        *,
        tenant: str = DEFAULT_TENANT,
        by: str = EMBEDDED,
        is_known: bool = False,
    ) -> None:
        """`by` is who asks, for its log; `is_known` where it is known to be the tenant's."""
        super().__init__(engine, id, tenant=tenant, by=by, is_known=is_known)
        self._engine = engine

    async def changes(self, after: int = 0) -> AsyncGenerator[None, None]:
        """Yields each time its log may have grown beyond the entry of number `after`.

        It does not end by itself. It may also yield when nothing has changed.
        """
        await self._refuse_unless_known()
        engine, changed, id = self._engine, asyncio.Event(), self.id
        stop = engine.listen(lambda draft: changed.set() if draft.instance_id == id else None)
        try:
            while True:
                # Another process may be working on it: its changes are seen in the store alone.
                newest = (await engine.store.instances.newest_seqs([id])).get(id, 0)
                if newest != after:
                    after = newest
                    yield
                await engine.clock.wait(changed, _LOOK_EVERY)
                changed.clear()
        finally:
            stop()

    async def result(self, timeout: float | None = None) -> JSON:  # noqa: ASYNC109 - its public name
        """Wait for its end and return its output.

        Raises WorkflowFailed, WorkflowCancelled, or TimeoutError after `timeout` seconds.
        """
        try:
            async with asyncio.timeout(timeout):
                await self._refuse_unless_known()
                held = await self._engine.final_state(self.id)
        except TimeoutError:
            message = f"instance {self.id} has not ended within {timeout} s; it goes on"
            raise TimeoutError(message) from None
        state = held.state
        if state.status is Status.FAILED:
            assert state.last_error is not None
            raise WorkflowFailed(state.last_error)
        if state.status is Status.CANCELLED:
            assert state.cancellation is not None
            raise WorkflowCancelled(state.cancellation)
        return output_of(held.plan, state)

    async def rerun(
        self,
        from_step: str | None = None,
        *,
        input: JSON | UnsetType = UNSET,
        version: int | None = None,
        key: str | None = None,
    ) -> InstanceRef:
        """Start a new instance like this one, from `from_step` on; this one does not change.

        What completed and is neither that step nor after it is taken over; without `from_step`
        everything runs again. `input` and `version` replace those of this instance. At most one
        instance is made under a `key`, as of starts. NotFound where its workflow was removed.
        """
        made = await begin_rerun(
            self._engine,
            self._tenant,
            self.id,
            from_step=from_step,
            input=input,
            version=version,
            key=key,
        )
        return InstanceRef(
            self._engine, made.instance_id, tenant=self._tenant, by=self._by, is_known=True
        )

    async def time_out_step(
        self, step_id: str, iteration: str = "", *, attempt: int | None = None
    ) -> Status:
        """Time out an open wait or a running attempt, with the consequence of its own time-out.

        Conflict unless the step is open, at this attempt if one is named.
        """
        refuse_bad_text(step_id=step_id, iteration=iteration)
        asked = TimeOutAsked(node=step_id, iteration=iteration, by=self._by, attempt=attempt)
        return await self._ask(asked)

    async def _ask(self, asked: Input) -> Status:
        await self._refuse_unless_known()
        answer = await self._engine.ask(self.id, asked)
        rejection = answer.rejection
        if rejection is not None:
            raise Conflict(rejection.message, code=rejection.code, status=answer.status)
        return answer.status

    async def _decide(self, held: Held, asked: DecisionAsked) -> Status:
        answer = await self._engine.ask(self.id, asked)
        if answer.rejection is not None:
            await refuse_unless_said_before(self._engine.store, held, asked, answer.rejection)
        return answer.status

    async def _held(self) -> Held:
        held = await held_by(self._engine, self._tenant, self.id, is_known=self._is_known)
        self.id, self._is_known = held.state.id, True
        return held

    def _explainer(self) -> Explainer:
        engine = self._engine
        return Explainer(
            engine.store,
            engine.loader,
            engine.inspector,
            engine.clock,
            runner=engine.runner,
            policies=engine.policies.of,
            estimate=engine.estimate,
            waits=engine.gate.waits,
        )


async def begin_rerun(
    engine: Engine,
    tenant: str,
    id: str,
    *,
    from_step: str | None = None,
    input: JSON | UnsetType = UNSET,
    version: int | None = None,
    key: str | None = None,
) -> Answer:
    """Make a new instance of one; the answer says whether it was made before."""
    refuse_bad_ids(key=key)
    content_hash = _rerun_hash(id, from_step, input, version) if key is not None else b""
    try:
        earlier = await _to_rerun(engine, tenant, id)
        rerun = await plan_rerun(
            engine.store, engine.plans, earlier, from_step=from_step, input=input, version=version
        )
        plan = rerun.deployed.plan
        await engine.plans.inputs.refuse_unfit(
            plan, rerun.started.input, engine.settings, engine.registry, tenant=tenant
        )
    except (Conflict, InvalidInput, NotFound):
        # Of what was made before, the definition may have changed or gone since.
        before = None if key is None else await engine.turns.begun(tenant, key, content_hash)
        if before is None:
            raise
        return before
    answer = await engine.start(
        plan,
        rerun.started,
        key=key,
        content_hash=content_hash,
        tenant=tenant,
        needs_definition=True,
        is_sealed=rerun.is_sealed,
    )
    raise_rejection(answer)
    return answer


async def _to_rerun(engine: Engine, tenant: str, id: str) -> Held:
    earlier = await held_by(engine, tenant, id)
    if is_test_run(earlier.state.definition_id):
        raise Conflict("a test run is not run again", code="TEN-3071")
    if is_callback(earlier.state.definition_id):
        raise Conflict("a callback is sent by its schedule alone", code="TEN-3071")
    return earlier


def _rerun_hash(
    id: str, from_step: str | None, input: JSON | UnsetType, version: int | None
) -> bytes:
    """What makes two reruns the same; of what cannot be kept, nothing that another one has."""
    own = [] if isinstance(input, UnsetType) else [input]
    try:
        content = msgspec.json.encode([id, from_step, version, own], order="deterministic")
    except (TypeError, ValueError):
        return b""
    return hashlib.sha256(b"rerun" + content).digest()
