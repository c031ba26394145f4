"""Targets of schedules: the definition that a tick starts, and whether it takes the input."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import NamedTuple

import msgspec

from tenuto.definition.lone_task import RUNS, workflow_of
from tenuto.egress import private_problem, url_problem
from tenuto.engine.definitions.declared_tasks import with_registered
from tenuto.engine.definitions.definitions import Definitions
from tenuto.engine.definitions.plans import Deployed
from tenuto.engine.schedules.callbacks import callback_input, workflow_of_callback
from tenuto.engine.schedules.documents import TickInput
from tenuto.engine.shared import Shared
from tenuto.expr import ExpressionError
from tenuto.model.durations import iso
from tenuto.model.errors import InvalidInput, NotFound, Problem, StoreUnavailable, TenutoError
from tenuto.model.json import JSON, Object
from tenuto.model.own_names import CALLBACK_TASK, is_callback
from tenuto.model.task_definition import TaskDefinition
from tenuto.model.test_run import is_test_run
from tenuto.schedules import CallbackTarget, Schedule, TaskTarget, WorkflowTarget

_ADVICE = "Save the workflow or declare the task first, or correct its name."
_LONGEST = 1_000
_decode = msgspec.json.Decoder(TaskDefinition).decode


class Target(NamedTuple):
    """A definition that can be started."""

    id: str
    deployed: Deployed


class Targets:
    """Finds the definitions that ticks start."""

    def __init__(self, shared: Shared, definitions: Definitions) -> None:
        self._shared = shared
        self._plans = definitions.plans
        self._tasks = definitions.declared_tasks
        self._saved: dict[tuple[str, str], tuple[Object, Deployed]] = {}
        """Workflows of one step that were saved here: by tenant and id."""

    async def find(self, tenant: str, schedule: Schedule) -> Target | Problem:
        """What a schedule starts, or why it cannot be started."""
        match schedule.target:
            case WorkflowTarget(workflow_id=id, version=version):
                return await self._workflow(tenant, id, version)
            case TaskTarget(task_id=id):
                document = self._lone_workflow(tenant, id)
                if document is None:
                    return _missing("$.target.taskId", f"there is no task {id}", self._near(id))
                return await self._lone(tenant, document)
            case CallbackTarget() as target:
                if CALLBACK_TASK not in self._shared.registry:
                    message = "this process sends no requests"
                    return _missing("$.target.callbackUrl", message, "Use one that does.")
                return await self._lone(tenant, workflow_of_callback(target.retry), is_own=True)

    def problems(self, tenant: str, schedule: Schedule) -> list[Problem]:
        """What is wrong with the address of a callback."""
        target = schedule.target
        if not isinstance(target, CallbackTarget):
            return []
        path, advice = "$.target.callbackUrl", "Write it as https://HOST/PATH."
        problem = url_problem(target.callback_url)
        if problem is None:
            settings = self._shared.settings
            allowance = settings.allowances(is_all=settings.private_webhooks).of(tenant)
            problem = private_problem(target.callback_url, allowance)
            advice = "Name a public address, or allow private ones: `engine.private_webhooks`."
        if problem is None:
            return []
        return [Problem(code="TEN-2301", path=path, message=problem, advice=advice)]

    def workflow_id(self, schedule: Schedule) -> str:
        """The id of the workflow that a schedule starts."""
        match schedule.target:
            case WorkflowTarget(workflow_id=id):
                return id
            case TaskTarget(task_id=id):
                return f"{RUNS}{id}"
            case CallbackTarget(retry=retry):
                return str(workflow_of_callback(retry)["id"])

    async def input_of(
        self, tenant: str, of_tick: TickInput, target: Target, nominal: datetime, now: datetime
    ) -> tuple[JSON, str | None]:
        """The input of a tick, or why it is refused."""
        schedule = of_tick.schedule
        try:
            input = await self._plans.values.read(
                of_tick.cost, partial(of_tick.at, nominal), tenant=tenant, may_refuse=False
            )
        except ExpressionError as error:
            return None, f"its input: {error}"[:_LONGEST]
        if isinstance(schedule.target, CallbackTarget):
            return callback_input(schedule.target, schedule.id, iso(now), input), None
        problems = await self.misfits(tenant, target, input)
        if problems:
            found = "; ".join(f"{each.path}: {each.message}" for each in problems)
            return None, f"the input does not fit {target.id}: {found}"[:_LONGEST]
        return input, None

    async def misfits(self, tenant: str, target: Target, input: JSON) -> list[Problem]:
        """Why an input is not one for a target."""
        plan = target.deployed.plan
        settings, registry = self._shared.settings, self._shared.registry
        try:
            await self._plans.inputs.refuse_unfit(plan, input, settings, registry, tenant=tenant)
        except InvalidInput as error:
            return list(error.problems)
        return []

    async def _workflow(self, tenant: str, id: str, version: int | None) -> Target | Problem:
        path = "$.target.workflowId" if version is None else "$.target.version"
        if is_test_run(id) or is_callback(id):
            return _missing(path, f"there is no workflow {id}", _ADVICE)
        try:
            deployed = await self._plans.for_new(tenant, id, version)
        except StoreUnavailable:
            raise
        except NotFound as error:
            return _missing(path, error.message, error.advice or _ADVICE)
        except TenutoError as error:
            return _missing(path, f"{id} cannot be started: {error}"[:_LONGEST], error.advice)
        return Target(id, deployed)

    async def _lone(
        self, tenant: str, document: Object, *, is_own: bool = False
    ) -> Target | Problem:
        """A workflow of one step, saved; one that `is_own` may have a name that users cannot."""
        id = str(document["id"])
        kept = self._saved.get((tenant, id))
        is_kept = kept is not None and kept[0] == document
        if kept is not None and is_kept and not self._plans.was_hidden(tenant, id):
            return Target(id, kept[1])
        try:
            plan = self._plans.compile(document, is_saved=True) if is_own else None
            deployed = await self._plans.save(tenant, document, plan=plan)
        except StoreUnavailable:
            raise
        except TenutoError as error:
            return _missing("$.target", f"{id} cannot be started: {error}"[:_LONGEST], None)
        self._saved[tenant, id] = (document, deployed)
        return Target(id, deployed)

    def _lone_workflow(self, tenant: str, id: str) -> Object | None:
        """The workflow of one step that runs a task; None if there is no such task."""
        function = self._shared.registry.get(id)
        row = self._tasks.row(tenant, id)
        task: TaskDefinition
        if row is not None:
            task = with_registered(_decode(row.document))
        elif function is not None:
            task = TaskDefinition(id=id, kind="pull")
        else:
            return None
        of_function = None if function is None else function.input_schema
        return workflow_of(
            msgspec.structs.replace(task, input_schema=task.input_schema or of_function)
        )

    def _near(self, id: str) -> str:
        near = self._shared.registry.nearest(id)
        return f"Did you mean {' or '.join(near)}?" if near else _ADVICE


def _missing(path: str, message: str, advice: str | None) -> Problem:
    return Problem(code="TEN-2730", path=path, message=message, advice=advice or _ADVICE)
