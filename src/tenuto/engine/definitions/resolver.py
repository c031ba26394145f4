"""Resolves sub-workflows: the version, and whether it accepts the step's input."""

from __future__ import annotations

from collections.abc import Callable

from tenuto.engine.definitions.plans import Deployed, Plans
from tenuto.engine.definitions.start_checks import TOO_MANY_BYTES, bad_input
from tenuto.engine.turns.requests import Request
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


class Resolver:
    """Reports the version of a sub-workflow, or the failure of the step that starts it."""

    def __init__(
        self,
        *,
        plans: Plans,
        clock: Clock,
        report: Callable[[Request], None],
        is_missing: Callable[[str], bool],
        limits: Limits,
    ) -> None:
        self._plans = plans
        self._clock = clock
        self._report = report
        self._is_missing = is_missing
        """Whether no process will ever run a task."""
        self._limits = limits
        self._accepted: tuple[Deployed, JSON] | None = None
        """The last input that was checked, and fits: each child of a loop may have the same one."""

    async def resolve(self, instance_id: str, tenant: str, order: ResolveChild) -> None:
        """Report `ChildResolved`, or `TaskFailed`; waits for an unavailable store."""
        found = await self._found_at_last(tenant, order)
        place = {"node": order.node, "iteration": order.iteration}
        report: ChildResolved | TaskFailed
        if isinstance(found, Failure):
            report = TaskFailed(
                node=order.node, iteration=order.iteration, attempt=order.attempt, error=found
            )
        else:
            report = ChildResolved(**place, attempt=order.attempt, version=found)
        self._report(Request(instance_id, report))

    async def _found_at_last(self, tenant: str, order: ResolveChild) -> int | Failure:
        while True:
            try:
                return await self._found(tenant, order)
            except StoreUnavailable:
                await self._clock.sleep(OUTAGE_RETRY_SECONDS)

    async def _found(self, tenant: str, order: ResolveChild) -> int | Failure:
        try:
            deployed = await self._plans.for_new(tenant, order.workflow_id, order.version)
        except StoreUnavailable:
            raise
        except NotFound as error:
            return Failure(code=UNKNOWN_WORKFLOW, message=str(error), retryable=False)
        except TenutoError as error:
            return Failure(code=NOT_AVAILABLE, message=str(error), retryable=False)
        return self.refusal(deployed, order.input) or deployed.version

    def refusal(self, deployed: Deployed, input: JSON) -> Failure | None:
        """Why a start with `input` would be refused."""
        id = deployed.plan.definition.id
        for task_id, step in deployed.plan.tasks.items():
            if self._is_missing(task_id):
                message = f"{id}: no task is called {task_id!r}, which step {step} uses"
                return Failure(code=UNKNOWN_TASK, message=message, retryable=False)
        if self._is_accepted(deployed, input):
            return None
        problems = bad_input(deployed.plan, input, self._limits)
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
