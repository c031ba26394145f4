"""A function that is known as a task."""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, NoReturn, ParamSpec, Protocol, TypeVar

from tenuto.model.errors import TenutoError
from tenuto.model.policy import RetryPolicy, TaskPolicy
from tenuto.tasks.binding import Binding, bind
from tenuto.tasks.recorder import RECORDER
from tenuto.tasks.retry import BAD_OPTION, Length, Retry, read_length
from tenuto.tasks.step_call import Callables, Order

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)

Isolation = Literal["process"] | None


class Home(Protocol):
    """Where a task was declared, and what undoes it is declared too."""

    def task(self, fn: Callable[..., Any], /) -> TaskFunction[..., Any]: ...


class TaskFunction(Callables[P, R_co]):
    """A task: called like its function, with what the engine needs to know beside it."""

    def __init__(
        self,
        fn: Callable[P, R_co],
        *,
        name: str | None = None,
        retry: Retry | RetryPolicy | None = None,
        timeout: Length | None = None,
        heartbeat_timeout: Length | None = None,
        isolation: Isolation = None,
        names_around: Mapping[str, Any] | None = None,
        home: Home | None = None,
    ) -> None:
        _check_function(fn)
        self.fn: Callable[..., Any] = fn
        """The function as it was written."""
        self.name = name if name is not None else getattr(fn, "__name__", type(fn).__name__)
        if not isinstance(self.name, str) or not self.name or "\0" in self.name:
            _refuse(f"{self.name!r} is not a name for a task", "Write some text.")
        self.retry = _policy(retry)
        self.timeout = _length("timeout", timeout)
        self.heartbeat_timeout = _length("heartbeat_timeout", heartbeat_timeout)
        self.policy = TaskPolicy(
            retry=self.retry, timeout=self.timeout, heartbeat_timeout=self.heartbeat_timeout
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
        self.undone_by: TaskFunction[..., Any] | None = None
        """The task that takes back what this one did."""
        self._home = home
        self._binding: Binding | None = None
        self._names_around = _mentioned(fn, names_around or {})
        functools.update_wrapper(self, fn, updated=())

    def _called(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
        recorder = RECORDER.get()
        if recorder is None:
            return self.fn(*args, **kwargs)
        return recorder.call(self._order(), args, kwargs)

    def _order(self) -> Order:
        return Order(self)

    def undo(self, fn: Callable[..., Any]) -> TaskFunction[..., Any]:
        """Declare what takes this task back; it gets what this one gave."""
        if self.undone_by is not None and self.undone_by.fn is not fn:
            _refuse(
                f"{self.name!r} is undone by {self.undone_by!r} already",
                "Keep one of the two: a task has one compensation.",
            )
        if isinstance(fn, TaskFunction):
            self.undone_by = fn
        elif self._home is None:
            self.undone_by = TaskFunction(fn)
        else:
            self.undone_by = self._home.task(fn)
        return self.undone_by

    def __repr__(self) -> str:
        return f"<task {self.name!r} at {self.location}>"

    @property
    def binding(self) -> Binding:
        """How it is called with an input.

        Worked out when it first runs: what annotations name may be defined after the function.
        """
        if self._binding is None:
            self._binding = bind(self.fn, self._names_around)
            self._names_around = {}
        return self._binding

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


def _mentioned(fn: Callable[..., object], names: Mapping[str, Any]) -> dict[str, Any]:
    """Those of `names` that the annotations of `fn` speak of; the rest need not be kept alive."""
    texts = [
        parameter.annotation
        for parameter in inspect.signature(fn).parameters.values()
        if isinstance(parameter.annotation, str)
    ]
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


def _policy(retry: Retry | RetryPolicy | None) -> RetryPolicy | None:
    if isinstance(retry, Retry):
        return retry.policy
    if retry is not None and not isinstance(retry, RetryPolicy):
        _refuse(f"retry={retry!r} is not a Retry", "Write Retry(attempts=5).")
    return retry


def _length(option: str, value: Length | None) -> timedelta | None:
    return None if value is None else read_length(option, value, may_be_zero=False)


def _refuse(message: str, advice: str) -> NoReturn:
    raise TenutoError(message, code=BAD_OPTION, advice=advice)
