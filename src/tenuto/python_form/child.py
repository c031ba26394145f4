"""`child`: another workflow as a step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, overload

from tenuto.python_form.recorder import Signed, current
from tenuto.tasks.context import Context

if TYPE_CHECKING:
    from tenuto.python_form.workflow import WorkflowFunction

P = ParamSpec("P")
R = TypeVar("R")


@overload
def child(
    flow: WorkflowFunction[Concatenate[Context, P], R], /, *args: P.args, **kwargs: P.kwargs
) -> R: ...


@overload
def child(flow: WorkflowFunction[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R: ...


@overload
def child(flow: str, input: object = ..., /) -> Any: ...  # noqa: ANN401 - known by its id alone


def child(flow: WorkflowFunction[..., Any] | str, /, *args: object, **kwargs: object) -> Any:
    """Start another workflow and wait for its output; by its id, or by its function."""
    trace = current("child")
    if isinstance(flow, str):
        workflow_id = flow
        config: dict[str, object] = {"workflowId": flow}
        if args:
            config["input"] = trace.traceable(args[0], f"the input of `{flow}`")
    else:
        workflow_id = flow.id
        config = {"workflowId": flow.id}
        called = Signed(f"workflow `{flow.id}`", flow.__name__, str(flow.place), flow.data)
        given = trace.arguments(called, args, kwargs)
        if given is not None:
            config["input"] = trace.traceable(given.value, f"the input of `{flow.id}`")
        trace.children.append(flow)
    step = trace.record("subWorkflow", workflow_id, config, has_output=True)
    return trace.value_of(step, f"the output of workflow `{workflow_id}`")
