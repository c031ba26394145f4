"""The recorder of the workflow that is being described, which receives calls of tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from tenuto.tasks.step_call import Mapped, Order, StepCall


class Recorder(Protocol):
    """Records the calls of a workflow function instead of running them."""

    def call(
        self, order: Order, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> object: ...

    def map(self, order: Order, items: object, mapped: Mapped) -> object: ...

    def said(self, step: StepCall[..., Any]) -> None:
        """A step got an option and has still to be called."""

    def used(self, step: StepCall[..., Any]) -> None:
        """The step was called, or got another option."""


RECORDER: Final[ContextVar[Recorder | None]] = ContextVar("tenuto_recorder", default=None)
"""Set while a workflow function is called to describe its workflow."""
