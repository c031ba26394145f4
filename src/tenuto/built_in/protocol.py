"""What executes built-in tasks: a call, its result, its failure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from tenuto.model.failure import Failure
from tenuto.model.graph import BuiltIn, JavaScript
from tenuto.model.json import JSON, Object


class Log(Protocol):
    """Keeps lines of an attempt."""

    def __call__(self, level: str, text: str, seconds_ago: float = 0.0) -> None: ...


class Call(Struct, frozen=True, kw_only=True):
    """One attempt of a built-in task."""

    tenant: str
    instance_id: str
    step_id: str
    iteration: str
    attempt: int
    idempotency_key: str
    seconds: float
    """Until its time-out, from when it begins."""
    config: BuiltIn
    given: JSON
    """Its input, rendered, with secrets in their places."""
    scope: Callable[[tuple[str, ...]], Object]
    """The named ones of `ctx` and `steps`, as expressions see them: copied when it is called."""
    log: Log
    begin: Callable[[float], None]
    """The call begins: its time counts from now, and so many seconds more in which it may still
    end by itself. For executors whose calls wait (`queues`); the others have begun."""
    secret_values: tuple[str, ...] = ()
    """The values of secrets in `given`: none of them may be in a result, a failure or a line."""
    traceparent: str | None = None
    """The header `traceparent` (W3C) of the attempt; None: there is no trace."""


class Failed(Exception):
    """An attempt that has failed."""

    def __init__(self, failure: Failure, *, retry_after: timedelta | None = None) -> None:
        """`retry_after`: how long the next attempt waits at least."""
        super().__init__(failure.message)
        self.failure = failure
        self.retry_after = retry_after


class Executor(Protocol):
    """Does the work of one type of node, in the event loop."""

    @property
    def queues(self) -> bool:
        """Whether a call may wait before it begins; it then calls `call.begin` itself."""
        ...

    @property
    def calls_of_tenant(self) -> int | None:
        """So many calls of a tenant are made at once: further ones would only wait for them.

        None: any number, since what they wait for differs.
        """
        ...

    async def run(self, call: Call) -> JSON:
        """The output; `Failed`. Cancelling the coroutine cancels the work."""
        ...

    async def close(self) -> None:
        """The engine has stopped: no call follows."""
        ...


class CodeFault(Struct, frozen=True, kw_only=True):
    """Why code does not parse; its place counts from 1, where it is known."""

    message: str
    line: int | None
    column: int | None


class NotChecked(Exception):
    """Code could not be parsed, since no process of the sandbox starts; the text says why."""


@runtime_checkable
class CodeChecker(Protocol):
    """An executor that can parse code without running it."""

    async def check(self, code: str, *, tenant: str) -> Sequence[CodeFault]:
        """Why code does not parse; NotChecked."""
        ...


Executors: TypeAlias = Mapping[type, Executor]
"""By the type of the node's config: `JavaScript`, `Http`, `DataQuery`."""


def code_checker(executors: Executors) -> CodeChecker | None:
    """What can parse the code of javascript nodes, if any of them can."""
    found: object = executors.get(JavaScript)
    return found if isinstance(found, CodeChecker) else None
