"""What tenants have declared of their tasks, at hand for every decision.

What a step says for itself comes first, then what is declared of its task, then what the function
behind it says. A declaration that changes counts for whatever is decided after this process has
heard of it: at once where it was made, elsewhere with the next beat of the heart.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

import msgspec

from tenuto.core.plan import TaskPolicies
from tenuto.definition import compile_definition
from tenuto.definition.lone_task import workflow_of
from tenuto.definition.schemas import task_input_problems, task_output_problems
from tenuto.model.errors import Problem, TenutoError
from tenuto.model.failure import INVALID_INPUT, INVALID_OUTPUT, Failure
from tenuto.model.graph import Task
from tenuto.model.json import JSON
from tenuto.model.policy import NO_POLICY, Check, TaskPolicy
from tenuto.model.task_definition import TaskDefinition
from tenuto.store.parts.tasks import TaskRow, TasksMark
from tenuto.store.protocol import Store
from tenuto.store.task_columns import mark_of

log = logging.getLogger("tenuto.engine")

_PAGE = 1_000
_decode = msgspec.json.Decoder(TaskDefinition).decode


class DeclaredTasks:
    """The declared tasks of all tenants, as this process knows them."""

    def __init__(self, store: Store, functions: TaskPolicies) -> None:
        """`functions`: what the tasks of this process say of themselves."""
        self._store = store
        self._functions = functions
        self._tenants: dict[str, _OfTenant] = {}
        self._mark = TasksMark()

    def of(self, tenant: str) -> TaskPolicies:
        """How the tasks of a tenant want to be tried; it goes on to say so as that changes."""
        found = self._tenants.get(tenant)
        if found is None:
            found = self._tenants[tenant] = _OfTenant(self._functions)
        return found

    async def read(self) -> None:
        """Read them all."""
        rows: list[TaskRow] = []
        after = ("", "")
        while page := await self._store.tasks.every(after=after, limit=_PAGE):
            rows += page
            after = (page[-1].tenant, page[-1].id)
            if len(page) < _PAGE:
                break
        found: dict[str, dict[str, TaskRow]] = {}
        for row in rows:
            found.setdefault(row.tenant, {})[row.id] = row
        for tenant in self._tenants.keys() | found.keys():
            self._known(tenant).replace(found.get(tenant, {}))
        self._mark = mark_of(rows)

    async def heard(self, mark: TasksMark | None) -> None:
        """Read them again where they are not those that this process knows."""
        if mark is not None and mark != self._mark:
            await self.read()

    def put(self, row: TaskRow) -> None:
        """This process has declared a task."""
        self._known(row.tenant).put(row)

    def remove(self, tenant: str, id: str) -> None:
        """This process has forgotten a task."""
        self._known(tenant).remove(id)

    def _known(self, tenant: str) -> _OfTenant:
        self.of(tenant)
        return self._tenants[tenant]


class _OfTenant:
    """The tasks of one tenant; what is declared of one is read when it is first asked for."""

    def __init__(self, functions: TaskPolicies) -> None:
        self._functions = functions
        self._rows: dict[str, TaskRow] = {}
        self._policies: dict[str, TaskPolicy] = {}

    def policy(self, task_id: str) -> TaskPolicy:
        of_function = self._functions.policy(task_id)
        if task_id not in self._rows:
            return of_function
        declared = self._policies.get(task_id)
        if declared is None:
            declared = self._policies[task_id] = _policy(self._rows[task_id])
        if of_function is NO_POLICY:
            return declared
        return TaskPolicy(
            retry=declared.retry or of_function.retry,
            timeout=declared.timeout or of_function.timeout,
            heartbeat_timeout=declared.heartbeat_timeout or of_function.heartbeat_timeout,
            check_input=declared.check_input,
            check_output=declared.check_output,
        )

    def replace(self, rows: dict[str, TaskRow]) -> None:
        for id in self._rows.keys() | rows.keys():
            if self._rows.get(id) != rows.get(id):
                self._policies.pop(id, None)
        self._rows = rows

    def put(self, row: TaskRow) -> None:
        self._rows[row.id] = row
        self._policies.pop(row.id, None)

    def remove(self, id: str) -> None:
        self._rows.pop(id, None)
        self._policies.pop(id, None)


def _policy(row: TaskRow) -> TaskPolicy:
    try:
        task = _decode(row.document)
        [node] = compile_definition(workflow_of(task), is_saved=True).graph.nodes
    except (msgspec.MsgspecError, TenutoError) as error:
        log.warning("what is declared of the task %s cannot be read: %s", row.id, error)
        return NO_POLICY
    assert isinstance(node.config, Task)
    return TaskPolicy(
        retry=node.retry,
        timeout=node.timeout,
        heartbeat_timeout=node.config.heartbeat_timeout,
        check_input=_check(_input_misfit, task.input_schema),
        check_output=_check(_output_misfit, task.output_schema),
    )


def _check(misfit: Callable[[JSON, JSON], Failure | None], schema: JSON) -> Check | None:
    return None if schema is None else partial(misfit, schema)


def _input_misfit(schema: JSON, value: JSON) -> Failure | None:
    problems = task_input_problems(schema, value)
    if not problems:
        return None
    return Failure(
        code=INVALID_INPUT,
        message=f"the input does not fit the task's inputSchema: {_first(problems)}",
        details=_details(problems),
        retryable=False,
    )


def _output_misfit(schema: JSON, value: JSON) -> Failure | None:
    problems = task_output_problems(schema, value)
    if not problems:
        return None
    return Failure(
        code=INVALID_OUTPUT,
        message=f"the output does not fit the task's outputSchema: {_first(problems)}",
        details=_details(problems),
        retryable=False,
        # It returned: whatever it did is done.
        was_done=True,
    )


def _first(problems: tuple[Problem, ...]) -> str:
    return f"{problems[0].message} at {problems[0].path}"


def _details(problems: tuple[Problem, ...]) -> JSON:
    return {
        "problems": [
            {"code": each.code, "path": each.path, "message": each.message} for each in problems
        ]
    }
