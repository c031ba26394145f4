"""One instance: what needs a store alone, for every back end that has one.

A back end says how a state is read, and how a command reaches the engine of the instance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TypeVar

from msgspec import UNSET, UnsetType

from tenuto.core.ending import output_of
from tenuto.core.foreseen_undo import undo_plan
from tenuto.core.view import context_of, state_of
from tenuto.engine.definitions.large_documents import LARGE
from tenuto.engine.events.event_views import waits_view
from tenuto.engine.events.explainer import Explainer, causes_in, explanation_view
from tenuto.engine.tenancy import stored_id
from tenuto.engine.turns.approvals import decision_asked, refuse_bad_form
from tenuto.engine.turns.held import Held
from tenuto.model.checks import refuse_bad_text, within
from tenuto.model.edited import EditedInput
from tenuto.model.errors import not_there
from tenuto.model.inputs import (
    CompensationRetryAsked,
    DecisionAsked,
    Input,
    ResumeAsked,
    RetryAsked,
    SkipDelayAsked,
)
from tenuto.model.json import JSON, Given, Object
from tenuto.model.status import Status
from tenuto.store.protocol import Parts
from tenuto.workspace.commands import Commands, refuse_misfit
from tenuto.workspace.cursors import read_cursor
from tenuto.workspace.history import history_view
from tenuto.workspace.instance_views import instance_view
from tenuto.workspace.large_instances import of_whole
from tenuto.workspace.source import Source
from tenuto.workspace.task_logs import (
    LinesCursor,
    LinesOf,
    all_lines,
    page_of_lines,
    refuse_unknown_step,
)
from tenuto.workspace.values import MOST_ITEMS, Page
from tenuto.workspace.widgets import cells_of, read_config, shape

_CELLS_AT_ONCE = 5_000
"""Values of a widget that take at most some milliseconds to look up, where they are small."""

Made = TypeVar("Made")

_MANY_CAUSES = 100
"""So many causes take a millisecond to be shown."""
_MANY_UNDONE = 10
"""Compensation steps from which on an undo plan is made in a thread."""


class StoredInstance(ABC):
    """One instance of a tenant, by its id; one of another tenant is not there."""

    def __init__(
        self, source: Source, id: str, *, tenant: str, by: str, is_known: bool = False
    ) -> None:
        """`by` is who asks, for its log; `is_known` where it is known to be the tenant's."""
        self._source = source
        self._tenant = tenant
        self._by = by
        self._is_known = is_known
        self.id = id

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    # -- what a back end has of its own

    @abstractmethod
    async def _held(self) -> Held:
        """The instance, folded from its log; NotFound where it is another tenant's."""

    @abstractmethod
    async def _ask(self, asked: Input) -> Status:
        """Have a command executed; Conflict where it is refused."""

    @abstractmethod
    async def _decide(self, held: Held, asked: DecisionAsked) -> Status:
        """Have a decision executed."""

    def _explainer(self) -> Explainer:
        source = self._source
        return Explainer(source.store, source.loader, source.inspector, source.clock)

    # -- read and commanded

    async def status(self) -> Status:
        """Its status now."""
        return (await self._held()).state.status

    async def state(self) -> Object:
        """Its input, variables, steps and open waits."""
        held = await self._held()
        return await self._of_whole(held, lambda: state_of(held.plan, held.state))

    async def waits(self) -> list[JSON]:
        """What it waits for, the oldest first: events, and decisions with those who may decide.

        A wait for an event has its `nearMisses`: events of its pattern that it nearly took, of the
        last hundred within 24 hours, each with the parts of the condition that were false.
        """
        held = await self._held()
        near = await self._source.inspector.near_events(held)
        return await self._of_whole(held, lambda: waits_view(held, near))

    async def explain(self) -> Object:
        """Why it makes no progress, as a tree of causes; once it has ended, how it ended.

        `{instanceId, status, summary, causes: [{kind, stepId?, iteration?, message, since?, until?,
        details, causes}]}`. It waits for an event (with those that came near), a decision, a timer,
        a retry or a worker; a task or a child of it runs; it is paused, or being undone; or the
        process that worked for it is silent.
        """
        held = await self._held()
        explained = await self._explainer().explain(held)
        if causes_in(explained.causes) < _MANY_CAUSES:
            return explanation_view(explained)
        view = partial(explanation_view, explained)
        return await self._source.plans.values.aside(view, tenant=self._tenant)

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

        def named() -> Object:
            context = context_of(held.plan, held.state)
            if held.state.status is Status.COMPLETED:
                context["output"] = output_of(held.plan, held.state)
            # A path may say where it begins: expressions do. A variable of this name wins.
            context.setdefault("ctx", dict(context))
            return context

        context = await self._of_whole(held, named)
        made = partial(shape, wanted, self.id, held.state.status, context)
        is_small = held.state.context_bytes <= LARGE
        if is_small and cells_of(wanted, context) <= _CELLS_AT_ONCE:
            return made()
        return await self._source.plans.values.aside(made, tenant=self._tenant)

    async def context(self) -> Object:
        """`{ctx, system}`: the names that expressions see, and values that the engine noted."""
        held = await self._held()
        context = await self._of_whole(held, lambda: context_of(held.plan, held.state))
        return {"ctx": context, "system": held.state.system}

    async def details(self) -> Object:
        """The whole instance as JSON."""
        held = await self._held()
        return await self._of_whole(held, lambda: instance_view(held))

    async def history(self, after: int = 0, *, last: int | None = None) -> list[Object]:
        """Its log after the entry of number `after`, oldest first; at most the `last` entries."""
        await self._refuse_unless_known()
        seen = self._seen
        items: list[Object] = []
        if last is not None:
            # Entries are numbered without gaps: only those that are wanted are read.
            newest = (await self._source.store.instances.newest_seqs([self.id])).get(self.id, 0)
            after = max(after, newest - last)
        read = after
        while rows := await seen.instances.entries(self.id, after=read):
            items += [history_view(row) for row in rows]
            read = rows[-1].seq
        if read == 0:
            raise not_there(self.id)
        return items if last is None else items[len(items) - min(last, len(items)) :]

    async def logs(
        self, step: str | None = None, *, iteration: str | None = None, attempt: int | None = None
    ) -> list[Object]:
        """The lines that its tasks logged and printed; those of a step, or of one attempt.

        Each is `{stepId, iteration, attempt, number, at, text}` with the `stream` that it was
        printed to, or the `level` and `logger` that it was logged with; a line with `dropped`
        stands for so many that were left out. They are written a moment after they were printed,
        and may be lost when a process dies. NotFound where there is no such step.
        """
        return await all_lines(
            lambda cursor: self.log_page(step, iteration=iteration, attempt=attempt, cursor=cursor)
        )

    async def log_page(
        self,
        step: str | None = None,
        *,
        iteration: str | None = None,
        attempt: int | None = None,
        limit: int = 1_000,
        cursor: str | None = None,
    ) -> Page[Object]:
        """A page of these lines; `cursor` is the `next_cursor` of the page before.

        Lines that other processes write at the same time may come before the end of a page.
        """
        within(limit, "limit", 1, MOST_ITEMS)
        begin = read_cursor(cursor, LinesCursor)
        await self._refuse_unless_known()
        if step is not None:
            refuse_unknown_step((await self._held()).plan, step)
        which = LinesOf(self._tenant, self.id, step, iteration, attempt)
        return await page_of_lines(self._seen, which, limit, begin)

    async def cancel(self, reason: str | None = None, *, should_compensate: bool = True) -> Status:
        """Cancel it, and undo its completed steps if `should_compensate`; may be repeated."""
        return await self._ask(self._commands.cancel(reason, should_compensate=should_compensate))

    async def undo_plan(self, reason: str | None = None) -> Object:
        """The steps that a cancellation would undo now, in order and with their inputs.

        `{plan: [{stepId, compensationFor, iteration, input}], skipped: [{stepId, reason}]}`. Of
        more than a hundred the later ones have no `workflowInput` and `workflowState`: they are the
        same for all. So do those behind 4 MB of inputs, and behind 8 MB none is shown.
        `children: [{stepId, instanceId}]`, where there are any, run now and undo themselves.
        """
        asked = self._commands.cancel(reason)
        held = await self._held()
        # The inputs of a few steps may be large, and their expressions costly.
        is_large = len(held.plan.undo_steps) > _MANY_UNDONE
        return await self._of_whole(
            held, lambda: undo_plan(held.plan, held.state, asked), is_large=is_large
        )

    async def pause(self, reason: str | None = None, until: datetime | None = None) -> Status:
        """Dispatch nothing new, until resumed or until `until`."""
        return await self._ask(self._commands.pause(reason, until))

    async def resume(self) -> Status:
        """Continue after a pause."""
        return await self._ask(ResumeAsked(by=self._by))

    async def skip_delay(self, step: str, iteration: str = "") -> Status:
        """End a delay of a test run now; Conflict where it is no test run, or in no delay."""
        refuse_bad_text(step=step, iteration=iteration)
        return await self._ask(SkipDelayAsked(node=step, iteration=iteration, by=self._by))

    async def retry(self, *, edited: EditedInput | None = None) -> Status:
        """Continue after FAILED: failed steps, and steps withdrawn because of them, run again.

        A quarantined instance is released instead, and goes on where it stood.

        `edited` is a new input for one of its tasks, instead of the one that it failed with;
        InvalidInput if it does not match the declared input schema of the task.
        """
        return await self._retry(self._commands.retry(edited), is_edited=edited is not None)

    async def retry_compensation(
        self, step: str, iteration: str = "", *, input: JSON | UnsetType = UNSET
    ) -> Status:
        """Retry a compensation that was given up; the status of the instance stays the same.

        `input` replaces the input that it failed with.
        """
        asked = self._commands.retry_compensation(step, iteration, input)
        return await self._retry(asked, is_edited=input is not UNSET)

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
        held = await self._held()
        refuse_bad_form(held, asked, self._source.clock.now(), self._source.settings.limits)
        return await self._decide(held, asked)

    # -- inner

    async def _of_whole(
        self, held: Held, work: Callable[[], Made], *, is_large: bool = False
    ) -> Made:
        return await of_whole(self._source, held, work, is_large=is_large)

    @property
    def _seen(self) -> Parts:
        return self._source.store.seen_by(self._tenant)

    @property
    def _commands(self) -> Commands:
        return Commands(self._by, self._source.settings.limits)

    async def _retry(
        self, asked: RetryAsked | CompensationRetryAsked, *, is_edited: bool
    ) -> Status:
        if is_edited:
            await refuse_misfit(self._seen, self._tenant, (await self._held()).plan, asked)
        return await self._ask(asked)

    async def _refuse_unless_known(self) -> None:
        """NotFound unless it is this tenant's, which never changes: it is looked up once."""
        if self._is_known:
            return
        self.id = await stored_id(self._source.store, self._tenant, self.id)
        self._is_known = True
