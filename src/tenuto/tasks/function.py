"""A function that is known as a task."""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import timedelta
from types import EllipsisType
from typing import Any, Literal, NoReturn, ParamSpec, Protocol, TypeVar, overload
from weakref import WeakSet

import msgspec
from msgspec import UNSET, UnsetType

from tenuto.model.errors import TenutoError
from tenuto.model.json import Object
from tenuto.model.json_words import in_json_words
from tenuto.model.own_names import is_built_in
from tenuto.model.policy import Check, RetryPolicy, TaskPolicy
from tenuto.model.task_definition import TaskLimits
from tenuto.tasks.binding import Binding, bind
from tenuto.tasks.recorder import RECORDER
from tenuto.tasks.retry import BAD_OPTION, Length, Retry, read_length
from tenuto.tasks.step_call import Callables, Order, Reversal, StepCall, Undoer
from tenuto.tasks.undo import UNDO

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

Isolation = Literal["process"] | None
MOST_AT_ONCE = 10_000
"""The highest bound on attempts of a task in one process."""


class Home(Protocol):
    """A registry of tasks and their compensations."""

    def add(self, task: TaskFunction[..., Any]) -> None: ...


class Declare(Protocol):
    """Makes a function a task; the result of a coroutine is the result of the task."""

    @overload
    def __call__(self, fn: Callable[P, Coroutine[Any, Any, R]], /) -> TaskFunction[P, R]: ...

    @overload
    def __call__(self, fn: Callable[P, R], /) -> TaskFunction[P, R]: ...


class TaskFunction(Callables[P, R_co]):
    """A task: a function with the options that the engine needs."""

    def __init__(  # noqa: PLR0913 - one for each option
        self,
        fn: Callable[P, R_co],
        *,
        name: str | None = None,
        retry: Retry | RetryPolicy | None = None,
        timeout: Length | None = None,
        heartbeat_timeout: Length | None = None,
        isolation: Isolation = None,
        limits: TaskLimits | None = None,
        at_most: int | None = None,
        names_around: Mapping[str, Any] | None = None,
        undoes: str | None = None,
        stands_for: TaskFunction[..., Any] | None = None,
    ) -> None:
        """`stands_for`: the task that it calls with its own input."""
        _check_function(fn)
        self.fn: Callable[..., Any] = fn
        """The function as it was written."""
        self.name = name if name is not None else getattr(fn, "__name__", type(fn).__name__)
        if not isinstance(self.name, str) or not self.name or "\0" in self.name:
            _refuse(f"{self.name!r} is not a name for a task", "Write some text.")
        if is_built_in(self.name):
            _refuse(f"{self.name!r} is the name of a built-in task", "Choose another name.")
        self.retry = _policy(retry)
        self.timeout = _length("timeout", timeout)
        self.heartbeat_timeout = _length("heartbeat_timeout", heartbeat_timeout)
        self.limits = _limits(limits)
        self.at_most = _at_most(at_most)
        """The most of its attempts that run in one process at once; None: any number."""
        self.policy = TaskPolicy(
            retry=self.retry,
            timeout=self.timeout,
            heartbeat_timeout=self.heartbeat_timeout,
            limits=self.limits,
        )
        if isolation not in {None, "process"}:
            _refuse(f"isolation={isolation!r} is unknown", 'Write "process", or leave it out.')
        self.isolation = isolation
        if isolation == "process" and "<" in getattr(fn, "__qualname__", "<"):
            _refuse(
                f"a child process cannot find {self.name!r}: it is not at the top of a module",
                'Move it out of the function around it, or leave out isolation="process".',
            )
        self.is_async = is_async(fn)
        self.undoes = undoes
        """The name of the task that this one undoes; None for any other."""
        self.undone_by: TaskFunction[..., Any] | None = None
        """The task that undoes this one."""
        self.homes: WeakSet[Home] = WeakSet()
        """The registries that know it."""
        self._binding: Binding | None = None
        self._stands_for = stands_for
        self._input_schema: Object | None | UnsetType = UNSET
        self._check_input: Check | None | UnsetType = UNSET
        self._names_around = _mentioned(fn, names_around or {})
        functools.update_wrapper(self, fn, updated=())

    def _called(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
        recorder = RECORDER.get()
        if recorder is None:
            return self.fn(*args, **kwargs)
        return recorder.call(self._order(), args, kwargs)

    def _order(self) -> Order:
        return Order(self)

    @overload
    def undo(self, fn: Callable[Q, Coroutine[Any, Any, R]], /) -> TaskFunction[Q, R]: ...

    @overload
    def undo(self, fn: Callable[Q, R], /) -> TaskFunction[Q, R]: ...

    @overload
    def undo(
        self,
        *,
        retry: Retry | RetryPolicy | None = None,
        timeout: Length | None = None,
        heartbeat_timeout: Length | None = None,
        isolation: Isolation = None,
        limits: TaskLimits | None = None,
        at_most: int | None = None,
    ) -> Declare: ...

    @overload
    def undo(self, *, by: Undoer | None, when: object = None) -> StepCall[P, R_co]: ...

    @overload
    def undo(self, *, when: object) -> StepCall[P, R_co]: ...

    def undo(  # noqa: PLR0913 - one for each option
        self,
        fn: Callable[..., Any] | None = None,
        *,
        retry: Retry | RetryPolicy | None = None,
        timeout: Length | None = None,
        heartbeat_timeout: Length | None = None,
        isolation: Isolation = None,
        limits: TaskLimits | None = None,
        at_most: int | None = None,
        by: Undoer | EllipsisType | None = ...,
        when: object = None,
    ) -> Any:
        """Declare the compensation of this task, `@charge.undo` or `@charge.undo(timeout=…)`.

        It becomes the task `charge.undo`, known wherever this one is. It receives the output of
        this task: one parameter gets all of it, several get the parts of their names; `ctx.undo`
        has further facts. Its options are those of a task.

        In a workflow, `charge.undo(by=release, when="…")(order)` sets the compensation of one step.
        """
        is_of_step = by is not ... or when is not None
        if is_of_step or (RECORDER.get() is not None and not _is_in_module(1)):
            return StepCall(Order(self, undo=Reversal(by if fn is None else fn, when)))
        around = names_around(1)

        def declare(fn: Callable[..., Any]) -> TaskFunction[..., Any]:
            # One function may be a task, and the compensation of several others.
            known = fn if isinstance(fn, TaskFunction) else _NONE
            made: TaskFunction[..., Any] = TaskFunction(
                fn if known is _NONE else known.fn,
                name=self.name + UNDO,
                retry=known.retry if retry is None else retry,
                timeout=known.timeout if timeout is None else timeout,
                heartbeat_timeout=known.heartbeat_timeout
                if heartbeat_timeout is None
                else heartbeat_timeout,
                isolation=known.isolation if isolation is None else isolation,
                limits=known.limits if limits is None else limits,
                at_most=known.at_most if at_most is None else at_most,
                names_around=around,
                undoes=self.name,
            )
            self._declare_undone_by(made)
            return made

        return declare if fn is None else declare(fn)

    def _declare_undone_by(self, undo: TaskFunction[..., Any]) -> None:
        if self.undoes is not None:
            _refuse(
                f"{self.name!r} undoes a task, and is not undone itself",
                f"Put `.undo` behind a task: `@{self.undoes}.undo`.",
            )
        _refuse_any_number(undo)
        other = self.undone_by
        if other is not None and other.fn is not undo.fn and other.location != undo.location:
            _refuse(
                f"{self.name!r} is undone by {other.location} already, and now by {undo.location}",
                "Keep one of the two: a task has one compensation.",
            )
        for home in self.homes:
            home.add(undo)
        self.undone_by = undo

    def __repr__(self) -> str:
        return f"<task {self.name!r} at {self.location}>"

    @property
    def binding(self) -> Binding:
        """How it is called with an input.

        Analysed when it first runs: its annotations may name types defined after the function.
        """
        if self._binding is None:
            # The output of a step may have more members than its compensation needs.
            is_undo = self.undoes is not None
            self._binding = bind(self.fn, self._names_around, may_leave_out=is_undo)
            self._names_around = {}
        return self._binding

    @property
    def input_schema(self) -> Object | None:
        """What the types of its parameters say of its input; None: nothing.

        Made when it is first asked for, as the binding.
        """
        if self._stands_for is not None:
            return self._stands_for.input_schema
        if self._input_schema is UNSET:
            from tenuto.tasks.input_schemas import task_input  # noqa: PLC0415 - children need none

            made = task_input(self.binding.data, may_leave_out=self.undoes is not None)
            self._input_schema = made
        return self._input_schema

    @property
    def check_input(self) -> Check | None:
        """Whether an input fits its types; None: it has none."""
        if self._stands_for is not None:
            return self._stands_for.check_input
        if self._check_input is UNSET:
            made = None
            if self.binding.is_annotated and self.input_schema is not None:
                from tenuto.definition.task_values import check_of_code  # noqa: PLC0415 - as above

                made = check_of_code(self.input_schema, undoes=self.undoes)
            self._check_input = made
        return self._check_input

    @property
    def location(self) -> str:
        """Where it is written: `file:line`."""
        code = getattr(inspect.unwrap(self.fn), "__code__", None)
        if code is None:
            return f"{getattr(self.fn, '__module__', '?')}.{self.name}"
        return f"{os.path.relpath(code.co_filename)}:{code.co_firstlineno}"


def is_async(fn: Callable[..., object]) -> bool:
    """Whether calling `fn` gives a coroutine, also for partials and objects with `__call__`."""
    inner = fn
    while isinstance(inner, functools.partial):
        inner = inner.func
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(
        getattr(inner, "__call__", None)  # noqa: B004 - asks what kind it is, not whether it is there
    )


def names_around(depth: int) -> dict[str, Any]:
    """The local names `depth` frames up, where a task is declared inside a function."""
    frame = sys._getframe(depth + 1)  # noqa: SLF001 - the documented way to a caller's names
    return {} if frame.f_locals is frame.f_globals else dict(frame.f_locals)


def _is_in_module(depth: int) -> bool:
    """Whether the code `depth` frames up is that of a module, which a workflow may import."""
    return sys._getframe(depth + 1).f_code.co_name == "<module>"  # noqa: SLF001 - as above


def _mentioned(fn: Callable[..., object], names: Mapping[str, Any]) -> dict[str, Any]:
    """Those of `names` that the annotations of `fn` use; the rest need not be kept alive."""
    texts = [
        parameter.annotation
        for parameter in inspect.signature(fn).parameters.values()
        if isinstance(parameter.annotation, str)
    ]
    gives = inspect.signature(fn).return_annotation
    texts += [gives] if isinstance(gives, str) else []
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    return {name: names[name] for name in words & names.keys()}


def _check_function(fn: object) -> None:
    if not callable(fn) or inspect.isclass(fn):
        _refuse(f"{fn!r} is not a function", "Put @task above a function.")
    if inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
        _refuse(f"{fn!r} is a generator", "A task returns one value: write `return`, not `yield`.")
    try:
        inspect.signature(fn)
    except ValueError:
        _refuse(f"the parameters of {fn!r} cannot be read", "Write a function that calls it.")


def _refuse_any_number(undo: TaskFunction[..., Any]) -> None:
    for each in inspect.signature(undo.fn).parameters.values():
        if each.kind is each.VAR_POSITIONAL:
            _refuse(
                f"`*{each.name}` of {undo.location} gets nothing: what {undo.undoes!r} gave is one "
                "value",
                "Take it in one parameter, or its parts in several of their names.",
            )


def _policy(retry: Retry | RetryPolicy | None) -> RetryPolicy | None:
    if isinstance(retry, Retry):
        return retry.policy
    if retry is not None and not isinstance(retry, RetryPolicy):
        _refuse(f"retry={retry!r} is not a Retry", "Write Retry(attempts=5).")
    return retry


def _limits(limits: TaskLimits | None) -> TaskLimits | None:
    if limits is None:
        return None
    if not isinstance(limits, TaskLimits):
        _refuse(f"limits={limits!r} are no limits", "Write TaskLimits(concurrency=5).")
    try:
        checked = msgspec.convert(msgspec.to_builtins(limits), TaskLimits)
    except msgspec.MsgspecError as error:
        _refuse(f"limits={limits!r}: {in_json_words(error)}", "Correct the limit.")
    return checked or None


def _at_most(at_most: int | None) -> int | None:
    if at_most is not None and (type(at_most) is not int or not 1 <= at_most <= MOST_AT_ONCE):
        _refuse(
            f"at_most={at_most!r} is not a number of attempts",
            f"Write a whole number from 1 to {MOST_AT_ONCE:,}.",
        )
    return at_most


def _length(option: str, value: Length | None) -> timedelta | None:
    return None if value is None else read_length(option, value, may_be_zero=False)


def _refuse(message: str, advice: str) -> NoReturn:
    raise TenutoError(message, code=BAD_OPTION, advice=advice)


def _none() -> None:
    """The placeholder for a task without options of its own."""


_NONE: TaskFunction[..., Any] = TaskFunction(_none)
