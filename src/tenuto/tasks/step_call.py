"""Options of a step, set before its task is called: `charge.after(held)(order)`.

They come before the call because the call itself is typed as the task's result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import EllipsisType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    TypeVar,
    overload,
)

from msgspec import Struct
from msgspec.structs import replace

from tenuto.model.errors import TenutoError
from tenuto.tasks.context import Context
from tenuto.tasks.recorder import RECORDER, Recorder
from tenuto.tasks.retry import Length, Retry

if TYPE_CHECKING:
    from tenuto.tasks.function import TaskFunction

OUT_OF_PLACE = "TEN-1113"
"""An object that is only usable while a workflow is described."""

P = ParamSpec("P")
Q = ParamSpec("Q")
R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")
T = TypeVar("T")

OnItemError = Literal["fail", "continue"]
Undoer = Callable[..., object]
"""A task, or a function that calls one."""


class Reversal(Struct, frozen=True, eq=False):
    """The compensation of a step."""

    by: Undoer | EllipsisType | None = ...
    """A task, or a function that is called with the output and calls one; None: nothing does;
    `...`: what the task declares."""
    when: object = None
    """The condition of the compensation: text, a future value, or a function of the output."""


class FirstOf(Struct, frozen=True, eq=False):
    """Several steps, of which some are enough."""

    values: tuple[object, ...]
    at_least: int = 1
    cancel_rest: bool = False


class Prepared(Struct, frozen=True, eq=False, kw_only=True):
    """The options of a step."""

    after: tuple[object, ...] = ()
    after_any: tuple[FirstOf, ...] = ()
    name: str | None = None
    on_error: Callable[..., object] | None = None
    settings: Mapping[str, object] = {}
    """Settings of a step, by their names in `options`."""


class Order(Prepared, frozen=True, eq=False):
    """A task, and the options of the step that will call it."""

    task: TaskFunction[..., Any]
    undo: Reversal | None = None
    """None: as the task was declared."""


class Mapped(Struct, frozen=True, eq=False):
    """How a task is called for each of many items."""

    at_most: int | None = None
    on_error: OnItemError = "fail"
    fixed: Mapping[str, object] = {}
    """Arguments that are the same for every item."""


class TakesContext(Protocol[P, R_co]):
    """For the type checker: a task whose first parameter is the context."""

    @property
    def _written(self) -> Callable[Concatenate[Context, P], R_co]: ...


class NotATask(Protocol):
    """For the type checker: any result of a task, but not the task itself.

    Every object has this method, and `Callables` is declared not to.
    """

    def __dir__(self) -> Iterable[str]: ...


class Callables(Generic[P, R_co]):
    """The options that may be set between a task and its call in a workflow.

    `P` are the parameters as written; `R_co` is the result, of a coroutine the awaited one, which
    is the type of a call in a workflow.
    """

    if TYPE_CHECKING:
        __dir__: None  # type: ignore[assignment]

    def _order(self) -> Order:
        raise NotImplementedError

    @property
    def _written(self) -> Callable[P, R_co]:
        return self._order().task.fn

    def _called(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
        raise NotImplementedError

    # In a workflow the context is not passed: it is added when the task runs.

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    @overload
    def __call__(self: TakesContext[Q, R], *args: Q.args, **kwargs: Q.kwargs) -> R: ...

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Make it a step; outside a workflow, a task is its function."""
        return self._called(args, kwargs)

    def after(self, *values: NotATask | None) -> StepCall[P, R_co]:
        """Begin once all of these steps have completed, although none of their data is used."""
        order = self._order()
        return StepCall(replace(order, after=(*order.after, *values)))

    def after_any(
        self, *values: NotATask | None, at_least: int = 1, cancel_rest: bool = False
    ) -> StepCall[P, R_co]:
        """Begin once the first of these steps has completed, or `at_least` so many.

        With `cancel_rest`, the others are cancelled then.
        """
        order = self._order()
        some = FirstOf(values, at_least, cancel_rest)
        return StepCall(replace(order, after_any=(*order.after_any, some)))

    def named(self, name: str) -> StepCall[P, R_co]:
        """Give the step an id of its own, instead of that of the variable that holds it."""
        return StepCall(replace(self._order(), name=name))

    def on_error(
        self, handler: Callables[..., object] | Callable[..., object]
    ) -> StepCall[P, R_co]:
        """Do this when the step fails for good; steps that depend on it are skipped.

        A task with a parameter gets the error, `{code, message, details, attempts}`; a function
        is called with the error and describes any number of steps.
        """
        return StepCall(replace(self._order(), on_error=handler))

    def options(  # noqa: PLR0913 - one for each thing that can be said
        self,
        *,
        retry: Retry | None = None,
        timeout: Length | None = None,
        calendar: str | None = None,
        sla: Mapping[str, str] | None = None,
        heartbeat_timeout: Length | None = None,
        mutex: object = None,
        when: object = None,
        cancels: object = None,
        completes: object = None,
        fail_workflow: bool = False,
        title: str | None = None,
        description: str | None = None,
    ) -> StepCall[P, R_co]:
        """Set options of this step alone, in place of those of the task.

        With `calendar`, `timeout` counts the working time of that calendar. `sla` is
        `{"warnAfter": …, "breachAfter": …, "calendar": …}`. `mutex` is a text that no two steps
        hold at once. If `when` is false then, the step is passed over and gives null. When the step
        completes, it cancels the steps `cancels` and ends the loops `completes` with the results
        that they have. `fail_workflow`: its failure fails the workflow at once, while other
        branches are under way.
        """
        order = self._order()
        given = {
            "retry": retry,
            "timeout": timeout,
            "calendar": calendar,
            "sla": sla,
            "heartbeat_timeout": heartbeat_timeout,
            "mutex": mutex,
            "when": when,
            "cancels": cancels,
            "completes": completes,
            "fail_workflow": fail_workflow or None,
            "title": title,
            "description": description,
        }
        return StepCall(replace(order, settings={**order.settings, **set_ones(given)}))

    @overload
    def map(
        self: Callable[[T], R],
        items: Iterable[T],
        *,
        at_most: int | None = None,
        on_error: OnItemError = "fail",
    ) -> list[R]: ...

    # Of several parameters one may be the context; an item is another one, or has them by name. Of
    # a task with more than two parameters, the type of the items is not checked.

    @overload
    def map(
        self: Callable[Concatenate[Any, Any, ...], R],
        items: Iterable[Mapping[str, object]],
        *,
        at_most: int | None = None,
        on_error: OnItemError = "fail",
        **fixed: object,
    ) -> list[R]: ...

    @overload
    def map(
        self: Callable[Concatenate[T, Any, ...], R],
        items: Iterable[T],
        *,
        at_most: int | None = None,
        on_error: OnItemError = "fail",
        **fixed: object,
    ) -> list[R]: ...

    @overload
    def map(
        self: Callable[Concatenate[Any, T, ...], R],
        items: Iterable[T],
        *,
        at_most: int | None = None,
        on_error: OnItemError = "fail",
        **fixed: object,
    ) -> list[R]: ...

    @overload
    def map(
        self: Callable[Concatenate[Any, Any, Any, ...], R],
        items: Iterable[object],
        *,
        at_most: int | None = None,
        on_error: OnItemError = "fail",
        **fixed: object,
    ) -> list[R]: ...

    def map(
        self,
        items: Iterable[object],
        *,
        at_most: int | None = None,
        on_error: OnItemError = "fail",
        **fixed: object,
    ) -> Any:
        """Call the task for each item, `at_most` so many at a time; the results keep the order.

        A parameter given by name is the same for every item; the one left gets the item. Without
        any, several parameters are bound by name from the item.
        """
        recorder = recording(f"{self._order().task.name}.map(…)")
        return recorder.map(self._order(), items, Mapped(at_most, on_error, fixed))


class StepCall(Callables[P, R_co]):
    """A task with options of its step, still to be called."""

    def __init__(self, order: Order) -> None:
        self._said = order
        if (recorder := RECORDER.get()) is not None:
            recorder.said(self)

    def __repr__(self) -> str:
        return f"<step of {self._said.task!r}>"

    def _order(self) -> Order:
        if (recorder := RECORDER.get()) is not None:
            recorder.used(self)
        return self._said

    def _called(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
        recorder = recording(f"{self._said.task.name}.after(…) and its like")
        return recorder.call(self._order(), args, kwargs)

    def undo(
        self, by: Undoer | EllipsisType | None = ..., *, when: object = None
    ) -> StepCall[P, R_co]:
        """Set the compensation of this step, and its condition, in place of `@charge.undo`.

        `by` is a task with a parameter, which receives the output of the step; a function, which
        receives it and calls one task; or None: the step has no compensation. `when` is text, a
        future value, or a function of the output: the step is undone only if it is true then.
        """
        return StepCall(replace(self._order(), undo=Reversal(by, when)))


def set_ones(given: Mapping[str, object]) -> dict[str, object]:
    """The settings that are given; a future value is compared with nothing."""
    return {name: value for name, value in given.items() if value is not None}


def recording(what: str) -> Recorder:
    """The recorder of the workflow that is being described; TenutoError if there is none."""
    recorder = RECORDER.get()
    if recorder is None:
        raise TenutoError(
            f"{what} means nothing outside a workflow function",
            code=OUT_OF_PLACE,
            advice="Put @workflow above the function around it.",
        )
    return recorder
