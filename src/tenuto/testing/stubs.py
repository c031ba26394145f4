"""The outcomes of a stubbed task, one after the other."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeGuard

from tenuto.model.json import JSON
from tenuto.tasks.context import Context
from tenuto.tasks.function import TaskFunction


class Stub:
    """Outcomes in order, of which the last one stays: values, exceptions, and functions to call."""

    def __init__(
        self, outcomes: tuple[object, ...], takes: timedelta, *, undoes: str | None = None
    ) -> None:
        self._outcomes = [_callable(each, undoes) for each in outcomes] or [None]
        self._takes = takes.total_seconds()
        self._played = 0

    def again(self) -> Stub:
        """The same from the beginning."""
        fresh = Stub((), timedelta(seconds=self._takes))
        fresh._outcomes = self._outcomes
        return fresh

    async def play(self, ctx: Context, given: JSON) -> object:
        outcome = self._outcomes[min(self._played, len(self._outcomes) - 1)]
        self._played += 1
        if self._takes:
            await asyncio.sleep(self._takes)
        if isinstance(outcome, BaseException) or is_exception_class(outcome):
            raise outcome
        if isinstance(outcome, TaskFunction):
            return await called(outcome, ctx, given)
        return outcome


async def called(task: TaskFunction[..., Any], ctx: Context, given: JSON) -> object:
    """The result of a task, run in the caller's thread; arguments are bound as usual."""
    binding = task.binding
    value = binding.call(ctx if binding.takes_context else None, given)
    return await value if inspect.isawaitable(value) else value


def _callable(outcome: object, undoes: str | None) -> object:
    if isinstance(outcome, TaskFunction) or is_exception_class(outcome) or not callable(outcome):
        return outcome
    function: Callable[..., object] = outcome
    return TaskFunction(function, undoes=undoes)


def is_exception_class(outcome: object) -> TypeGuard[type[BaseException]]:
    return isinstance(outcome, type) and issubclass(outcome, BaseException)
