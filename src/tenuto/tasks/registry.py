"""Tasks by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, ParamSpec, TypeVar, overload

from tenuto.model.errors import TenutoError
from tenuto.model.policy import RetryPolicy, TaskPolicy
from tenuto.model.task_definition import TaskLimits
from tenuto.tasks.function import Declare, Isolation, TaskFunction, names_around
from tenuto.tasks.retry import Length, Retry

NAME_TAKEN = "TEN-1801"
"""Two functions are registered under one name."""

P = ParamSpec("P")
R = TypeVar("R")


class Registry:
    """Tasks by name; names that it does not have are looked up in `behind`."""

    def __init__(self, behind: Registry | None = None) -> None:
        self._tasks: dict[str, TaskFunction[..., Any]] = {}
        self._behind = behind
        self._added = 0

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        """Every name that can be looked up, in order."""
        names = set(self._tasks)
        if self._behind is not None:
            names.update(self._behind)
        return iter(sorted(names))

    def get(self, name: str) -> TaskFunction[..., Any] | None:
        found = self._tasks.get(name)
        if found is None and self._behind is not None:
            return self._behind.get(name)
        return found

    @property
    def revision(self) -> int:
        """Another number whenever a task was added."""
        return self._added if self._behind is None else self._added + self._behind.revision

    def policies(self) -> dict[str, TaskPolicy]:
        """How each task wants to be tried, where a step does not say."""
        behind = {} if self._behind is None else self._behind.policies()
        return behind | {name: task.policy for name, task in self._tasks.items()}

    def add(self, task: TaskFunction[..., Any]) -> None:
        """Register a task; a second function under one name is refused.

        A function from the same place in the same file is the same one, loaded again: it replaces
        the old one. Its compensation is registered too, now or when it is declared.
        """
        other = self._tasks.get(task.name)
        if other is not None and other.fn is not task.fn and other.location != task.location:
            raise TenutoError(
                f"two functions are registered as task {task.name!r}: "
                f"{other.location} and {task.location}",
                code=NAME_TAKEN,
                advice='Give one of them another name: @task(name="…").',
            )
        self._tasks[task.name] = task
        self._added += 1
        task.homes.add(self)
        if task.undone_by is not None:
            self.add(task.undone_by)

    def nearest(self, name: str) -> list[str]:
        """Registered names that `name` may be a misspelling of, the likeliest first."""
        spelled = {candidate.lower(): candidate for candidate in self}
        close = difflib.get_close_matches(name.lower(), spelled, n=3)
        return [spelled[candidate] for candidate in close]

    @overload
    def task(self, fn: Callable[P, Coroutine[Any, Any, R]], /) -> TaskFunction[P, R]: ...

    @overload
    def task(self, fn: Callable[P, R], /) -> TaskFunction[P, R]: ...

    @overload
    def task(
        self,
        *,
        name: str | None = None,
        retry: Retry | RetryPolicy | None = None,
        timeout: Length | None = None,
        heartbeat_timeout: Length | None = None,
        isolation: Isolation = None,
        limits: TaskLimits | None = None,
        at_most: int | None = None,
    ) -> Declare: ...

    def task(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        name: str | None = None,
        retry: Retry | RetryPolicy | None = None,
        timeout: Length | None = None,
        heartbeat_timeout: Length | None = None,
        isolation: Isolation = None,
        limits: TaskLimits | None = None,
        at_most: int | None = None,
    ) -> Any:
        """Make a function a task: `@task`, or `@task(timeout="PT20S")`.

        Its name is that of the function, or `name`. `timeout` is for one attempt;
        `heartbeat_timeout` for the time between two calls of `ctx.heartbeat()`;
        `isolation="process"` runs it in a child process. `limits` hold for its attempts in all
        processes and workers together, for each tenant; `at_most` is for this process alone: what
        is over it waits, and does not begin. `app.task` does the same for one app.
        """
        around = names_around(1)

        def register(fn: Callable[..., Any]) -> TaskFunction[..., Any]:
            made: TaskFunction[..., Any] = TaskFunction(
                fn.fn if isinstance(fn, TaskFunction) else fn,
                name=name,
                retry=retry,
                timeout=timeout,
                heartbeat_timeout=heartbeat_timeout,
                isolation=isolation,
                limits=limits,
                at_most=at_most,
                names_around=around,
            )
            self.add(made)
            return made

        if fn is None:
            return register
        if isinstance(fn, TaskFunction):
            # A task of another registry is registered unchanged.
            self.add(fn)
            return fn
        return register(fn)


DEFAULT_REGISTRY = Registry()
"""The registry of the whole process, which `@task` fills."""

task = DEFAULT_REGISTRY.task
