"""Where a call of a task goes: to its function, or to whoever is describing a workflow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from tenuto.tasks.step_call import Mapped, Order, StepCall


class Recorder(Protocol):
    """Takes down what a workflow function says instead of doing it."""

    def call(
        self, order: Order, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> object: ...

    def map(self, order: Order, items: object, mapped: Mapped) -> object: ...

    def said(self, step: StepCall[..., Any]) -> None:
        """Something was said about a step that has still to be called."""

    def used(self, step: StepCall[..., Any]) -> None:
        """It was called, or more was said about it."""


RECORDER: Final[ContextVar[Recorder | None]] = ContextVar("tenuto_recorder", default=None)
"""Set while a workflow function is called to describe its workflow."""
