"""`child`: another workflow as a step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, overload

from msgspec.structs import replace

from tenuto.python_form.recorder import Recording, Signed, current
from tenuto.python_form.trace import Given, Told
from tenuto.tasks.context import Context
from tenuto.tasks.retry import Length, Retry
from tenuto.tasks.step_call import FirstOf, Mapped, OnItemError, Prepared, set_ones

if TYPE_CHECKING:
    from tenuto.python_form.future import FutureValue
    from tenuto.python_form.workflow import WorkflowFunction

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Child:
    """Starts another workflow and waits for its output: by its function, or by its id.

    `child(parcel, order)`, `child("parcel", order)`, `child.map(parcel, items, at_most=5)`. Options
    of the step stand before the call, as for tasks: `child.after(paid)(parcel, order)`.
    """

    def __init__(self, said: Prepared = Prepared()) -> None:  # noqa: B008 - it is immutable
        self._said = said

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

    def after(self, *values: object) -> Child:
        """Begin once all of these steps have completed, although none of their data is used."""
        return self._with(replace(self._said, after=(*self._said.after, *values)))

    def after_any(self, *values: object, at_least: int = 1, cancel_rest: bool = False) -> Child:
        """Begin once the first of these steps has completed, or `at_least` so many.

        With `cancel_rest`, the others are cancelled then.
        """
        some = FirstOf(values, at_least, cancel_rest)
        return self._with(replace(self._said, after_any=(*self._said.after_any, some)))

    def named(self, name: str) -> Child:
        """Give the step an id of its own, instead of that of the variable that holds it."""
        return self._with(replace(self._said, name=name))

    def on_error(self, handler: Callable[..., object]) -> Child:
        """Do this when the child fails or is cancelled; steps that depend on it are skipped."""
        return self._with(replace(self._said, on_error=handler))

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

    def _with(self, said: Prepared) -> Child:
        trace = self._used("child")
        made = Child(said)
        told = Told(
            "`child` is not called here: options alone make no step", "Call it: `child(…)`."
        )
        trace.unused[made] = told, trace.here()
        return made

    def _used(self, what: str) -> Recording:
        trace = current(what)
        trace.unused.pop(self, None)
        return trace

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
