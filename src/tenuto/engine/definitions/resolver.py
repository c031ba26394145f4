"""Resolves sub-workflows: the version, and whether it accepts the step's input."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

from tenuto.engine.definitions.plans import Deployed, Plans
from tenuto.engine.definitions.start_checks import TOO_MANY_BYTES
from tenuto.engine.loops import BackgroundTasks
from tenuto.engine.turns.requests import Request
from tenuto.engine.turns.sharing import Sharing
from tenuto.model.effects import ResolveChild
from tenuto.model.errors import NotFound, StoreUnavailable, TenutoError
from tenuto.model.failure import (
    INVALID_INPUT,
    NOT_AVAILABLE,
    TOO_LARGE,
    UNKNOWN_TASK,
    UNKNOWN_WORKFLOW,
    Failure,
)
from tenuto.model.inputs import ChildResolved, TaskFailed
from tenuto.model.json import JSON
from tenuto.model.policy import OUTAGE_RETRY_SECONDS, Limits
from tenuto.ports import Clock

log = logging.getLogger(__name__)

_AT_ONCE = 50
"""So many are reported in each round of the event loop."""
_LONGEST = 0.002
"""Seconds in one round, where their inputs take long to check."""


class _Wanted(NamedTuple):
    """Which definition steps start."""

    tenant: str
    workflow_id: str
    version: int | None


class Resolver:
    """Reports the version of a sub-workflow, or the failure of the step that starts it."""

    def __init__(
        self,
        *,
        plans: Plans,
        clock: Clock,
        background: BackgroundTasks,
        report: Callable[[Request], None],
        is_missing: Callable[[str], bool],
        limits: Limits,
        sharing: Sharing | None = None,
    ) -> None:
        self._sharing = sharing or Sharing()
        self._plans = plans
        self._clock = clock
        self._background = background
        self._report = report
        self._is_missing = is_missing
        """Whether no process will ever run a task."""
        self._limits = limits
        self._waiting: dict[_Wanted, list[tuple[str, ResolveChild]]] = {}
        """Orders of which none is answered from a definition that was read before it came."""
        self._accepted: tuple[Deployed, JSON] | None = None
        """The last input that was checked, and fits: each child of a loop may have the same one."""

    def ask(self, instance_id: str, tenant: str, order: ResolveChild) -> None:
        """Have `ChildResolved` reported, or `TaskFailed`, once a store that is away is back."""
        wanted = _Wanted(tenant, order.workflow_id, order.version)
        waiting = self._waiting.get(wanted)
        if waiting is None:
            waiting = self._waiting[wanted] = []
            _ = self._background.spawn(self._resolve_all(wanted))
        waiting.append((instance_id, order))

    async def _resolve_all(self, wanted: _Wanted) -> None:
        """Read the definition once for all orders that wait, of a loop over thousands, say."""
        try:
            while orders := self._waiting[wanted]:
                self._waiting[wanted] = []
                deployed = await self._found_at_last(wanted)
                began = self._clock.ticks()
                for number, (instance_id, order) in enumerate(orders, 1):
                    await self._resolve(instance_id, order, deployed, wanted.tenant)
                    took = self._clock.ticks() - began
                    if took > _LONGEST or number % _AT_ONCE == 0:
                        rest = self._sharing.rest_after(took, wanted.tenant, is_in_loop=True)
                        await self._clock.sleep(rest)
                        began = self._clock.ticks()
        finally:
            del self._waiting[wanted]

    async def _resolve(
        self, instance_id: str, order: ResolveChild, deployed: Deployed | Failure, tenant: str
    ) -> None:
        found = deployed
        if isinstance(deployed, Deployed):
            try:
                found = await self.refusal(deployed, order.input, tenant) or deployed
            except Exception as error:  # of this order alone, whatever it is
                log.exception("an input of %s could not be checked", order.workflow_id)
                found = Failure(code=NOT_AVAILABLE, message=repr(error), retryable=False)
        place = {"node": order.node, "iteration": order.iteration}
        report: ChildResolved | TaskFailed
        if isinstance(found, Failure):
            report = TaskFailed(
                node=order.node, iteration=order.iteration, attempt=order.attempt, error=found
            )
        else:
            report = ChildResolved(**place, attempt=order.attempt, version=found.version)
        self._report(Request(instance_id, report))

    async def _found_at_last(self, wanted: _Wanted) -> Deployed | Failure:
        while True:
            try:
                return await self._found(wanted)
            except StoreUnavailable:
                await self._clock.sleep(OUTAGE_RETRY_SECONDS)

    async def _found(self, wanted: _Wanted) -> Deployed | Failure:
        try:
            return await self._plans.for_new(*wanted)
        except StoreUnavailable:
            raise
        except NotFound as error:
            return Failure(code=UNKNOWN_WORKFLOW, message=str(error), retryable=False)
        except TenutoError as error:
            return Failure(code=NOT_AVAILABLE, message=str(error), retryable=False)
        except Exception as error:  # else all that wait for this definition would wait for ever
            log.exception("workflow %s could not be read", wanted.workflow_id)
            return Failure(code=NOT_AVAILABLE, message=repr(error), retryable=True)

    async def refusal(self, deployed: Deployed, input: JSON, tenant: str) -> Failure | None:
        """Why a start with `input` would be refused; what is costly is checked in a thread."""
        id = deployed.plan.definition.id
        for task_id, step in deployed.plan.tasks.items():
            if self._is_missing(task_id):
                message = f"{id}: no task is called {task_id!r}, which step {step} uses"
                return Failure(code=UNKNOWN_TASK, message=message, retryable=False)
        if self._is_accepted(deployed, input):
            return None
        plan, limits = deployed.plan, self._limits
        problems = await self._plans.inputs.problems(plan, input, limits, tenant=tenant)
        if problems:
            listed: list[JSON] = [
                {"code": each.code, "path": each.path, "message": each.message} for each in problems
            ]
            return Failure(
                code=TOO_LARGE if problems[0].code == TOO_MANY_BYTES else INVALID_INPUT,
                message=f"the input does not fit {id}: {problems[0].path}: {problems[0].message}",
                details={"problems": listed},
                retryable=False,
            )
        self._accepted = deployed, input
        return None

    def _is_accepted(self, deployed: Deployed, input: JSON) -> bool:
        if self._accepted is None:
            return False
        known, accepted = self._accepted
        return known.plan is deployed.plan and accepted is input
