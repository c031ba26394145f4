"""Facts for a function that undoes a step."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, to_builtins

from tenuto.model.json import JSON, Object

UNDO = ".undo"
"""The suffix of the name of a task that undoes another."""


class Undo(Struct, frozen=True, kw_only=True):
    """The undone step and the reason: `ctx.undo` in a function that undoes a step."""

    step_id: str
    """The id of the step that is undone; `ctx.step_id` is the id of the compensation."""
    iteration: str = ""
    """Which iteration of a loop is undone, "2/0" in a nested one; empty outside of loops."""
    original_output: JSON = None
    """The output of the step."""
    workflow_input: JSON = None
    """The input of the workflow."""
    workflow_state: Object = {}
    """The instance's `{input, variables, steps, …}` when its compensation began."""
    cancellation: Object | None = None
    """Who cancelled the instance, why and when; None if it failed."""

    @property
    def reason(self) -> str | None:
        """The reason that a cancellation gave."""
        found = None if self.cancellation is None else self.cancellation.get("reason")
        return found if isinstance(found, str) else None


class UndoFacts(Struct, frozen=True, gc=False, kw_only=True):
    """The context of an attempt that undoes a step, beside its order."""

    step_id: str
    """The step that is undone."""
    has_input: bool
    """Whether the definition gives its input; otherwise it is `everything`."""
    output: JSON
    """The output of the step, which may be None."""
    everything: Callable[[], Object]
    """`{originalOutput, workflowInput, workflowState, cancellation}`; called when a task asks."""

    def given(self, input: JSON) -> JSON:
        """The argument of the function: the step's output, unless the definition gives another."""
        return input if self.has_input else self.output

    def undo(self, iteration: str) -> Undo:
        """All facts, in a copy that a task may change."""
        found: Object = to_builtins(self.everything())
        state, cancellation = found.get("workflowState"), found.get("cancellation")
        return Undo(
            step_id=self.step_id,
            iteration=iteration,
            original_output=to_builtins(self.output),
            workflow_input=found.get("workflowInput"),
            workflow_state=state if isinstance(state, dict) else {},
            cancellation=cancellation if isinstance(cancellation, dict) else None,
        )
