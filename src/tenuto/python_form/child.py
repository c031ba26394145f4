"""`child`: another workflow as a step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, overload

from msgspec.structs import replace

from tenuto.python_form.recorder import Recording, Signed
from tenuto.python_form.step_options import StepOptions
from tenuto.python_form.trace import Given
from tenuto.tasks.context import Context
from tenuto.tasks.retry import Length, Retry
from tenuto.tasks.step_call import Mapped, OnItemError, Prepared, set_ones

if TYPE_CHECKING:
    from tenuto.python_form.future import FutureValue
    from tenuto.python_form.workflow import WorkflowFunction

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Child(StepOptions):
    """Starts another workflow and waits for its output: by its function, or by its id.

    `child(parcel, order)`, `child("parcel", order)`, `child.map(parcel, items, at_most=5)`. Options
    of the step stand before the call, as for tasks: `child.after(paid)(parcel, order)`.
    """

    _word = "child"

    @overload
    def __call__(
        self,
        flow: WorkflowFunction[Concatenate[Context, P], R],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> R: ...

    @overload
    def __call__(self, flow: WorkflowFunction[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @overload
    def __call__(self, flow: str, input: object = ..., /) -> Any: ...  # noqa: ANN401 - known by its id alone

    def __call__(
        self, flow: WorkflowFunction[..., Any] | str, /, *args: object, **kwargs: object
    ) -> Any:
        """Start another workflow and wait for its output; by its id, or by its function."""
        trace = self._used("child")
        if isinstance(flow, str):
            given = Given(args[0]) if args else None
        else:
            given = trace.arguments(_signed(flow), args, kwargs)
        return self._step(trace, flow, given, self._said)

    @overload
    def map(
        self,
        flow: WorkflowFunction[[T], R],
        items: Iterable[T],
        /,
        *,
        at_most: int | None = None,
        on_error: OnItemError = "fail",
    ) -> list[R]: ...

    # Of several parameters one may be the context, as for tasks.

    @overload
    def map(
        self,
        flow: WorkflowFunction[Concatenate[Any, Any, ...], R],
        items: Iterable[Mapping[str, object]],
        /,
        *,
        at_most: int | None = None,
        on_error: OnItemError = "fail",
        **fixed: object,
    ) -> list[R]: ...

    @overload
    def map(
        self,
        flow: WorkflowFunction[Concatenate[T, Any, ...], R],
        items: Iterable[T],
        /,
        *,
        at_most: int | None = None,
        on_error: OnItemError = "fail",
        **fixed: object,
    ) -> list[R]: ...

    @overload
    def map(
        self,
        flow: WorkflowFunction[Concatenate[Any, T, ...], R],
        items: Iterable[T],
        /,
        *,
        at_most: int | None = None,
        on_error: OnItemError = "fail",
        **fixed: object,
    ) -> list[R]: ...

    @overload
    def map(
        self,
        flow: WorkflowFunction[Concatenate[Any, Any, Any, ...], R],
        items: Iterable[object],
        /,
        *,
        at_most: int | None = None,
        on_error: OnItemError = "fail",
        **fixed: object,
    ) -> list[R]: ...

    @overload
    def map(
        self,
        flow: str,
        items: Iterable[object],
        /,
        *,
        at_most: int | None = None,
        on_error: OnItemError = "fail",
    ) -> list[Any]: ...

    def map(
        self,
        flow: WorkflowFunction[..., Any] | str,
        items: Iterable[object],
        /,
        *,
        at_most: int | None = None,
        on_error: OnItemError = "fail",
        **fixed: object,
    ) -> Any:
        """Start a workflow for each item, `at_most` so many at a time; the outputs keep the order.

        A parameter given by name is the same for every item; the one left gets the item. Without
        any, several parameters are bound by name from the item.
        """
        trace = self._used("child.map")
        base = flow if isinstance(flow, str) else flow.id
        mapped = Mapped(at_most, on_error, fixed)
        loop, item = trace.loop_over(items, mapped, base, "`child.map`")
        # What begins after other steps, or handles an error, is the loop; the rest is of each step.
        trace.prepare(loop, replace(self._said, settings={}))
        if isinstance(flow, str):
            given: Given | None = Given(item.value)
        else:
            given = trace.given_item(_signed(flow), item, fixed)
        with trace.inside(item.body):
            self._step(trace, flow, given, Prepared(settings=self._said.settings))
        return trace.value_of(loop, f"the outputs of workflow `{base}` for each item")

    def options(  # noqa: PLR0913 - one for each thing that can be said
        self,
        *,
        version: int | None = None,
        retry: Retry | None = None,
        timeout: Length | None = None,
        calendar: str | None = None,
        sla: Mapping[str, str] | None = None,
        mutex: object = None,
        when: object = None,
        cancels: object = None,
        completes: object = None,
        fail_workflow: bool = False,
        title: str | None = None,
        description: str | None = None,
    ) -> Child:
        """Set options of the step; `version` is that of the workflow, by default the newest.

        The others are those of a task. Without `retry` a child is started once.
        """
        given = {
            "version": version,
            "retry": retry,
            "timeout": timeout,
            "calendar": calendar,
            "sla": sla,
            "mutex": mutex,
            "when": when,
            "cancels": cancels,
            "completes": completes,
            "fail_workflow": fail_workflow or None,
            "title": title,
            "description": description,
        }
        settings: Mapping[str, object] = {**self._said.settings, **set_ones(given)}
        return self._with(replace(self._said, settings=settings))

    def _step(
        self,
        trace: Recording,
        flow: WorkflowFunction[..., Any] | str,
        given: Given | None,
        said: Prepared,
    ) -> FutureValue:
        id = flow if isinstance(flow, str) else flow.id
        config: dict[str, object] = {"workflowId": id}
        if given is not None:
            config["input"] = trace.traceable(given.value, f"the input of `{id}`")
        if not isinstance(flow, str):
            trace.children.append(flow)
        step = trace.record("subWorkflow", id, config, has_output=True)
        trace.prepare(step, said)
        return trace.value_of(step, f"the output of workflow `{id}`")


def _signed(flow: WorkflowFunction[..., Any]) -> Signed:
    return Signed(f"workflow `{flow.id}`", flow.__name__, str(flow.place), flow.data)


child = Child()
"""Starts another workflow as a step."""
