"""The context of a task: facts about its attempt, and heartbeats."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from msgspec import Struct, to_builtins

from tenuto.model.graph import BuiltIn
from tenuto.model.json import Object
from tenuto.tasks.undo import Undo, UndoFacts


class Cancelled(BaseException):
    """Raised by `heartbeat` in an attempt that was asked to stop, or has timed out.

    Not an `Exception`, so that a task's own `except Exception` does not swallow it.
    """


class BuiltInFacts(Struct, frozen=True, gc=False, kw_only=True):
    """What a built-in task needs to know beside its order."""

    tenant: str
    config: BuiltIn
    scope: Callable[[tuple[str, ...]], Object]
    """The named ones of `ctx` and `steps`, as expressions see them."""


class Facts(Struct, frozen=True, gc=False, kw_only=True):
    """The facts about its instance that an attempt may see, beside its order."""

    tenant: str = ""
    correlation_id: str | None = None
    deadline: datetime | None = None
    previous_outputs: Callable[[], Object] = dict
    """Outputs of completed steps by id; called when a task asks, in the thread that it runs in."""
    traceparent: str | None = None
    """The attempt's own place in the trace that its instance was started in."""
    undo: UndoFacts | None = None
    """Facts for an attempt that undoes a step."""
    built_in: BuiltInFacts | None = None
    """Facts for an attempt of a built-in task."""


class Link(Protocol):
    """The connection of a running task to its runner."""

    @property
    def is_told_to_stop(self) -> bool: ...

    def beat(self, details: object) -> None: ...

    def previous_outputs(self) -> Object: ...

    def undo(self) -> Undo | None: ...


class Context:
    """The `ctx` of a task; the same in the event loop, in a thread and in a child process."""

    __slots__ = (
        "_link",
        "_outputs",
        "_undo",
        "attempt",
        "correlation_id",
        "deadline",
        "idempotency_key",
        "instance_id",
        "step_id",
        "traceparent",
    )

    def __init__(  # noqa: PLR0913 - one for each thing that a task may know
        self,
        *,
        instance_id: str = "",
        step_id: str = "",
        attempt: int = 1,
        idempotency_key: str = "",
        correlation_id: str | None = None,
        deadline: datetime | None = None,
        traceparent: str | None = None,
        undo: Undo | None = None,
        link: Link | None = None,
    ) -> None:
        self.instance_id = instance_id
        """The id of the instance."""
        self.step_id = step_id
        """The id of the step."""
        self.attempt = attempt
        """The number of this attempt, from 1; lost ones are counted too."""
        self.idempotency_key = idempotency_key
        """The same for every attempt of one step: pass it to services that must act only once."""
        self.correlation_id = correlation_id
        """The `correlation_id` of the start."""
        self.deadline = deadline
        """The deadline of the instance, when it is cancelled."""
        self.traceparent = traceparent
        """The header `traceparent` (W3C) for calls in the trace of the start; None: no trace."""
        self._link = link
        self._outputs: Object | None = None
        self._undo = undo

    @property
    def cancelled(self) -> bool:
        """Whether the attempt was asked to stop, or has timed out."""
        return self._link is not None and self._link.is_told_to_stop

    @property
    def previous_outputs(self) -> Object:
        """The outputs of the steps completed so far, by step id; a copy, made when asked for."""
        if self._outputs is None:
            outputs = {} if self._link is None else self._link.previous_outputs()
            self._outputs = to_builtins(outputs)
        return self._outputs

    @property
    def undo(self) -> Undo | None:
        """The step that is undone, and why, in a function that undoes a step; else None."""
        if self._undo is None and self._link is not None:
            self._undo = self._link.undo()
        return self._undo

    def heartbeat(self, details: object = None) -> None:
        """Report that the task is alive, from any thread; raises Cancelled once it should stop."""
        if self._link is not None:
            self._link.beat(details)
            if self._link.is_told_to_stop:
                raise Cancelled
