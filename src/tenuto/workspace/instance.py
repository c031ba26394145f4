"""References to instances: read their state, wait for their result, command them."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Sequence
from datetime import datetime

import msgspec
from msgspec import UNSET, UnsetType

from tenuto.core.ending import output_of
from tenuto.core.foreseen_undo import undo_plan
from tenuto.core.view import compensation_view, context_of, error_view, state_of
from tenuto.engine.definitions.reruns import plan_rerun
from tenuto.engine.definitions.start_checks import raise_rejection, refuse_unfit
from tenuto.engine.engine import Engine
from tenuto.engine.events.event_views import waits_view
from tenuto.engine.events.explainer import Explainer, explanation_view
from tenuto.engine.tenancy import held_by, refuse_foreign
from tenuto.engine.turns.approvals import (
    decision_asked,
    refuse_bad_form,
    refuse_unless_said_before,
)
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.requests import Answer
from tenuto.model.checks import refuse_bad_ids
from tenuto.model.durations import from_epoch_ms, iso
from tenuto.model.edited import EditedInput
from tenuto.model.errors import (
    Conflict,
    InvalidInput,
    NotAvailable,
    NotFound,
    WorkflowCancelled,
    WorkflowFailed,
    not_there,
)
from tenuto.model.inputs import CompensationRetryAsked, Input, ResumeAsked, RetryAsked
from tenuto.model.json import JSON, Given, Object
from tenuto.model.log import SHAPE_KEY, LogRow
from tenuto.model.status import Status
from tenuto.model.tenants import DEFAULT_TENANT
from tenuto.model.test_run import is_test_run
from tenuto.workspace.commands import Commands, refuse_misfit
from tenuto.workspace.widgets import read_config, shape

EMBEDDED = "app"
"""The principal of a program that uses its own engine."""
_LOOK_EVERY = 0.3
"""Seconds between looks at what other processes do to an instance."""
WORKFLOW_REMOVED = "its workflow was removed"
"""The reason for cancelling the instances of a removed definition."""


class InstanceRef:
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
        self._engine = engine
        self._tenant = tenant
        self._by = by
        self._is_known = is_known
        self.id = id

    def __repr__(self) -> str:
        return f"InstanceRef({self.id!r})"

    async def status(self) -> Status:
        """Its status now."""
        return (await self._held()).state.status

    async def state(self) -> Object:
        """Its input, variables, steps and open waits."""
        held = await self._held()
        return state_of(held.plan, held.state)

    async def waits(self) -> list[JSON]:
        """What it waits for, the oldest first: events, and decisions with those who may decide.

        A wait for an event has its `nearMisses`: the latest events of its pattern that it did not
        take, up to a hundred within 24 hours, each with the parts of the condition that were false.
        """
        held = await self._held()
        return waits_view(held, await self._engine.inspector.near_events(held))

    async def explain(self) -> Object:
        """Why it makes no progress, as a tree of causes; once it has ended, how it ended.

        `{instanceId, status, summary, causes: [{kind, stepId?, iteration?, message, since?, until?,
        details, causes}]}`. It waits for an event (with those that came near), a decision, a timer,
        a retry or a worker; a task or a child of it runs; it is paused, or being undone; or the
        process that worked for it is silent.
        """
        engine = self._engine
        await self._refuse_unless_known()
        explainer = Explainer(
            engine.store,
            engine.loader,
            engine.inspector,
            engine.clock,
            runner=engine.runner,
            policies=engine.declared_tasks.of,
        )
        return explanation_view(await explainer.explain(await self._held()))

    async def widget(self, widget_type: str, config: Given) -> Object:
        """A context value, shaped for a widget: `{instanceId, status, ready, data, error?}`.

        `widget_type` is `"table"`, `"chart"`, `"number"` or `"text"`. `config` has the `path` of
        the value, from the names of the context, where `output` is the workflow's once it has
        completed; a table takes `columns` (paths within a row) and `limit`, a chart `x`, `y` (one
        path within an item, or several) and `limit`, a number `format` (`number`, `integer`,
        `percent`), a text `format` (`text`, `json`) and `limit`. `data` is `{columns, rows}`,
        `{series: [{name, points: [{x, y}]}]}`, `{value}` or `{text}`; while there is nothing at the
        path it is null and `ready` is false. InvalidInput lists all that is wrong with the config.
        """
        wanted = read_config(widget_type, config)
        held = await self._held()
        context = context_of(held.plan, held.state)
        if held.state.status is Status.COMPLETED:
            context["output"] = output_of(held.plan, held.state)
        return shape(wanted, self.id, held.state.status, context)

    async def context(self) -> Object:
        """`{ctx, system}`: the names that expressions see, and values that the engine noted."""
        held = await self._held()
        return {"ctx": context_of(held.plan, held.state), "system": held.state.system}

    async def details(self) -> Object:
        """The whole instance as JSON."""
        return instance_view(await self._held())

    async def history(self, after: int = 0) -> list[Object]:
        """Its log after the entry of number `after`, oldest first."""
        await self._refuse_unless_known()
        seen = self._engine.store.seen_by(self._tenant)
        items: list[Object] = []
        last = after
        while rows := await seen.instances.entries(self.id, after=last):
            items += [history_view(row) for row in rows]
            last = rows[-1].seq
        if last == 0:
            raise not_there(self.id)
        return items

    async def changes(self, after: int = 0) -> AsyncGenerator[None, None]:
        """Yields each time its log may have grown beyond the entry of number `after`.

        It does not end by itself. It may also yield when nothing has changed.
        """
        await self._refuse_unless_known()
        engine, changed = self._engine, asyncio.Event()
        stop = engine.listen(lambda draft: changed.set() if draft.instance_id == self.id else None)
        try:
            while True:
                # Another process may be working on it: its changes are seen in the store alone.
                newest = (await engine.store.instances.newest_seqs([self.id])).get(self.id, 0)
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

    async def cancel(self, reason: str | None = None, *, should_compensate: bool = True) -> Status:
        """Cancel it, and undo its completed steps if `should_compensate`; may be repeated."""
        return await self._ask(self._commands.cancel(reason, should_compensate=should_compensate))

    async def undo_plan(self, reason: str | None = None) -> Object:
        """The steps that a cancellation would undo now, in order and with their inputs.

        `{plan: [{stepId, compensationFor, iteration, input}], skipped: [{stepId, reason}]}`. Of the
        default input there is no `workflowInput` and `workflowState`: they are the same for all.
        `children: [{stepId, instanceId}]`, where there are any, run now and undo themselves.
        """
        asked = self._commands.cancel(reason)
        held = await self._held()
        return undo_plan(held.plan, held.state, asked)

    async def pause(self, reason: str | None = None, until: datetime | None = None) -> Status:
        """Dispatch nothing new, until resumed or until `until`."""
        return await self._ask(self._commands.pause(reason, until))

    async def resume(self) -> Status:
        """Continue after a pause."""
        return await self._ask(ResumeAsked(by=self._by))

    async def retry(self, *, edited: EditedInput | None = None) -> Status:
        """Continue after FAILED: failed steps, and steps withdrawn because of them, run again.

        A quarantined instance is released instead, and goes on where it stood.

        `edited` is a new input for one of its tasks, instead of the one that it failed with;
        InvalidInput if it does not match the declared input schema of the task.
        """
        return await self._retry(self._commands.retry(edited), is_edited=edited is not None)

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
        """Decide `"approved"` or `"rejected"` on the approval `step`, in the name of `by`.

        `by` and `roles` say who decides: this is not checked. Without `by` it is the principal of
        the workspace. `form` is kept in the step's output. In a loop, `iteration` says in which.
        Raises Forbidden when the approval is for others, InvalidInput with every problem of the
        form, Conflict when it was decided before or its time is over, NotFound when there is no
        such approval. The same decision by the same person again changes nothing.
        """
        asked = decision_asked(
            step,
            decision,
            by=self._by if by is None else by,
            roles=roles or (),
            form=form,
            iteration=iteration,
        )
        engine = self._engine
        held = await self._held()
        refuse_bad_form(held, asked, engine.clock.now(), engine.settings.limits)
        answer = await engine.ask(self.id, asked)
        if answer.rejection is not None:
            await refuse_unless_said_before(engine.store, held, asked, answer.rejection)
        return answer.status

    async def retry_compensation(
        self, step: str, iteration: str = "", *, input: JSON | UnsetType = UNSET
    ) -> Status:
        """Retry a compensation that was given up; the status of the instance stays the same.

        `input` replaces the input that it failed with.
        """
        asked = self._commands.retry_compensation(step, iteration, input)
        return await self._retry(asked, is_edited=input is not UNSET)

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

    @property
    def _commands(self) -> Commands:
        return Commands(self._by, self._engine.settings.limits)

    async def _retry(
        self, asked: RetryAsked | CompensationRetryAsked, *, is_edited: bool
    ) -> Status:
        if is_edited:
            seen = self._engine.store.seen_by(self._tenant)
            await refuse_misfit(seen, self._tenant, (await self._held()).plan, asked)
        return await self._ask(asked)

    async def _ask(self, input: Input) -> Status:
        await self._refuse_unless_known()
        answer = await self._engine.ask(self.id, input)
        rejection = answer.rejection
        if rejection is not None:
            raise Conflict(rejection.message, code=rejection.code, status=answer.status)
        return answer.status

    async def _held(self) -> Held:
        held = await held_by(self._engine, self._tenant, self.id, is_known=self._is_known)
        self._is_known = True
        return held

    async def _refuse_unless_known(self) -> None:
        """NotFound unless it is this tenant's, which never changes: it is looked up once."""
        if self._is_known:
            return
        await refuse_foreign(self._engine, self._tenant, self.id)
        self._is_known = True


def instance_view(held: Held) -> Object:
    """An instance in JSON, with the names of the specification."""
    state = held.state
    view: Object = {
        "id": state.id,
        "workflowDefinitionId": state.definition_id,
        "definitionVersion": state.definition_version,
        **outcome_view(held),
        "state": state_of(held.plan, state),
        "input": state.input,
        "version": state.version,
        "correlationId": state.correlation_id,
        "compensationState": compensation_view(state.compensation),
        **({"parentId": state.parent.id} if state.parent else {}),
        "rootId": state.parent.root_id if state.parent else state.id,
        "tenant": held.tenant,
        "priority": state.priority,
        "deadline": _moment(state.deadline),
        "createdAt": _moment(state.created_at),
        "updatedAt": _moment(state.updated_at),
        "startedAt": _moment(state.started_at),
        "completedAt": _moment(state.completed_at),
    }
    if state.rerun_of is not None:
        view["rerunOf"] = state.rerun_of
    return view


def outcome_view(held: Held) -> Object:
    """The outcome of an instance so far, without the rest of it."""
    state = held.state
    return {
        "status": state.status.value,
        "output": output_of(held.plan, state) if state.status is Status.COMPLETED else None,
        "lastError": error_view(state.last_error) if state.last_error else None,
        "cancellation": msgspec.to_builtins(state.cancellation),
    }


def history_view(row: LogRow) -> Object:
    """A line of the log in JSON."""
    payload: Object = msgspec.json.decode(row.payload) if row.payload else {}
    payload.pop(SHAPE_KEY, None)
    return {
        "seq": row.seq,
        "eventType": row.event_type,
        "nodeId": row.node_id,
        "iteration": row.iteration,
        "attempt": row.attempt,
        "nodeStatus": row.node_status,
        "outputVariable": row.output_variable,
        "payload": payload,
        "errorMessage": row.error_message,
        "at": iso(from_epoch_ms(row.at_ms)),
    }


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
        refuse_unfit(plan, rerun.started.input, engine.settings, engine.registry)
    except (Conflict, InvalidInput, NotAvailable, NotFound):
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
    )
    raise_rejection(answer)
    return answer


async def _to_rerun(engine: Engine, tenant: str, id: str) -> Held:
    earlier = await held_by(engine, tenant, id)
    if is_test_run(earlier.state.definition_id):
        raise Conflict("a test run is not run again", code="TEN-3071")
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


def _moment(moment: datetime | None) -> str | None:
    return iso(moment) if moment else None
