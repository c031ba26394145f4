"""The definition of a test run: the same graph, with mocks for tasks and sub-workflows."""

from __future__ import annotations

from datetime import timedelta
from itertools import islice

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from tenuto.core import Plan
from tenuto.model.effects import StartAttempt
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.graph import Definition, Executed, Node, SubWorkflow, Task
from tenuto.model.inputs import TaskFailed, TaskSucceeded
from tenuto.model.json import JSON
from tenuto.model.policy import ONCE
from tenuto.model.test_run import NOT_RUN, PREFIX, Mock, TestRunSpec

_MOST_NAMED = 20
"""So many steps are named in the advice of each problem."""
_MOST_PROBLEMS = 100
_GRACE = timedelta(seconds=1)
"""The longest timeout of tasks in a test run."""


class Stored(Struct, frozen=True, kw_only=True):
    """The document of a test run, as the store keeps it."""

    definition: JSON
    rehearsal: TestRunSpec


_decode = msgspec.json.Decoder(Stored).decode


def read_stored(content: bytes) -> Stored:
    """Read the stored document of a test run."""
    return _decode(content)


def definition_of_test_run(definition: Definition, instance_id: str) -> Definition:
    """The definition that is run: its own id, and steps that start workflows as tasks.

    A step that starts a workflow is always mocked: the child would be a real instance.
    """
    nodes = tuple(_node(each) for each in definition.graph.nodes)
    grace = min(definition.options.cancel_grace, _GRACE)
    return replace(
        definition,
        id=f"{PREFIX}{instance_id}",
        graph=replace(definition.graph, nodes=nodes),
        options=replace(definition.options, cancel_grace=grace),
    )


def with_mocks(definition: Definition, rehearsal: TestRunSpec) -> TestRunSpec:
    """Add an empty output for each step that never runs and has no mock."""
    never = {
        node.id: NOT_RUN
        for node in definition.graph.nodes
        if isinstance(node.config, SubWorkflow) and node.id not in rehearsal.mocks
    }
    return replace(rehearsal, mocks={**rehearsal.mocks, **never})


def _node(node: Node) -> Node:
    match node.config:
        case SubWorkflow() as config:
            task = Task(task_id=config.workflow_id, input=config.input, has_input=config.has_input)
            return replace(node, config=task, retry=node.retry or ONCE)
        case _:
            return node


def mocked(order: StartAttempt, mock: Mock) -> TaskSucceeded | TaskFailed:
    """The report of a mocked attempt."""
    node, iteration, attempt = order.node, order.iteration, order.attempt
    if mock.error is not None:
        return TaskFailed(node=node, iteration=iteration, attempt=attempt, error=mock.error)
    output = None if mock.output is UNSET else mock.output
    return TaskSucceeded(node=node, iteration=iteration, attempt=attempt, output=output)


def refuse_bad_mocks(definition: Definition, rehearsal: TestRunSpec) -> None:
    """InvalidInput where a mock is for no step that is run, or has no or several outcomes."""
    mockable = {
        node.id
        for node in definition.graph.nodes
        if isinstance(node.config, Executed | SubWorkflow)
    } | {step.step_id for step in definition.compensation_steps}
    known = _listed(mockable)
    found = (
        Problem(code="TEN-2613", path=f"$.mocks.{name}", message=message, advice=advice)
        for name, mock in rehearsal.mocks.items()
        for message, advice in _wrong(name, mock, mockable, known)
    )
    # A body has room for thousands of mocks of a workflow with thousands of steps.
    problems = [*islice(found, _MOST_PROBLEMS)]
    if problems:
        raise InvalidInput("the mocks do not fit the workflow", problems)


def _listed(mockable: set[str]) -> str:
    """Steps that can be mocked, in words."""
    named = sorted(mockable)
    more = f" and {len(named) - _MOST_NAMED:,} more" if len(named) > _MOST_NAMED else ""
    return ", ".join(named[:_MOST_NAMED]) + more or "none"


def _wrong(name: str, mock: Mock, mockable: set[str], known: str) -> list[tuple[str, str]]:
    if name not in mockable:
        return [(f"{name} is no step that is run", f"Mock one of these: {known}.")]
    if (mock.output is UNSET) == (mock.error is None):
        return [("a mock has an output or an error", "Write `{output}` or `{error}`.")]
    return []


def not_run(plan: Plan) -> list[str]:
    """Steps that are neither mocked nor run: their output is an empty object."""
    return [
        node.id
        for node in plan.definition.graph.nodes
        if isinstance(node.config, Executed) and plan.mock_of(node.id) is NOT_RUN
    ]
