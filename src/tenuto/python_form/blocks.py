"""Blocks that are decided when the workflow runs: `when`, `otherwise`, `repeat_while`."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from tenuto.model.graph import ELSE
from tenuto.python_form import formula
from tenuto.python_form.future import FutureValue, step_of
from tenuto.python_form.step import Block, Step
from tenuto.python_form.trace import Trace, current
from tenuto.python_form.written import Expression
from tenuto.tasks.step_call import OUT_OF_PLACE


class Side:
    """One side of a decision: the steps in it run if it is taken."""

    def __init__(self, trace: Trace, head: Step, block: Block) -> None:
        self._trace = trace
        self._head = head
        self._block = block
        self._before: dict[str, Step] = {}

    def __enter__(self) -> None:
        self._before = _held(self._trace)
        self._trace.block = self._block

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._block.parent is not None
        self._trace.block = self._block.parent
        siblings = [each for each in self._head.branches if each is not self._block]
        for name, step in _held(self._trace).items():
            before = self._before.get(name)
            if before is not None and before is not step and before.block in siblings:
                step.hidden = (name, before)


def when(condition: object, *, name: str | None = None) -> Side:
    """Steps that run only if `condition` is true then: a future value, or text.

    `with when(paid["amount"] > 1000):`
    """
    trace = current("when")
    test = trace.expression(condition, "when")
    base = "when" if name is None else re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
    head = trace.record("condition", base or "when", {"branches": []})
    head.title = name
    trace.block.decision = head
    return _side(trace, head, test)


def otherwise(condition: object = None) -> Side:
    """Steps that run if none of the sides before is taken, and `condition`, if given, is true."""
    trace = current("otherwise")
    head = trace.block.decision
    if head is None:
        trace.refuse(
            OUT_OF_PLACE,
            "`otherwise` follows no `when`",
            "Put it directly behind the block of `with when(…):`.",
        )
        head = trace.record("condition", "when", {"branches": []})
        _side(trace, head, trace.expression("true", "when"))
    if condition is not None:
        return _side(trace, head, trace.expression(condition, "otherwise"))
    trace.block.decision = None
    block = Block(trace.block, head, ELSE)
    head.branches.append(block)
    return Side(trace, head, block)


def _side(trace: Trace, head: Step, test: Expression) -> Side:
    number = len(head.branches) + 1
    handle = "then" if number == 1 else f"then_{number}"
    branches = head.config["branches"]
    assert isinstance(branches, list)
    branches.append({"id": handle, "when": test})
    head.waits_for += test.formula.waits_for
    block = Block(trace.block, head, handle)
    head.branches.append(block)
    return Side(trace, head, block)


def _held(trace: Trace) -> dict[str, Step]:
    """The variables that hold the result of a step."""
    held = {}
    for name, value in dict(trace.variables()).items():
        step = step_of(value) if isinstance(value, FutureValue) else None
        if step is not None:
            held[name] = step
    return held


class Repetition:
    """The body of a loop, and what it knows of itself."""

    def __init__(self, trace: Trace, head: Step) -> None:
        self._trace = trace
        self.head = head
        self._block = Block(trace.block, head, "loop", is_loop=True)
        self.last: Any = FutureValue(trace, formula.plain("ctx.last"), "the result before")
        """What the iteration before gave; null in the first."""
        self.index: Any = FutureValue(trace, formula.plain("ctx.index"), "the number of a round")
        """The number of the iteration, from 0."""
        self.results: Any = trace.value_of(head, "the results of a loop")
        """What every iteration gave, for use behind the block."""

    def gives(self, value: object) -> None:
        """Say what an iteration gives; without it, that is the result of its last step."""
        self.head.config["result"] = self._trace.traceable(value, "the result of a loop")

    def __enter__(self) -> Self:
        self._trace.block = self._block
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._block.parent is not None
        self._trace.block = self._block.parent
        if self._block.is_empty and kind is None:
            self._trace.refuse(
                OUT_OF_PLACE,
                "the loop has no step in it",
                "Call a task in the block of `with repeat_while(…):`.",
                self.head.place,
            )


def repeat_while(
    condition: str | Callable[[Any], object] | object, *, at_most: int | None = None
) -> Repetition:
    """Steps that are repeated while `condition` is true, tested before each round.

    It is text or a function of the result before, which is null at first; after `at_most` rounds
    (1,000) the loop fails. `with repeat_while("ctx.last?.more ?? true") as pages:`
    """
    trace = current("repeat_while")
    if callable(condition) and not isinstance(condition, FutureValue):
        last = FutureValue(trace, formula.plain("ctx.last"), "the result before")
        condition = condition(last)
    config: dict[str, object] = {"while": trace.expression(condition, "repeat_while")}
    if at_most is not None:
        config["maxIterations"] = at_most
    head = trace.record("loop", "repeat_while", config, handle="done", has_output=True)
    test = config["while"]
    assert isinstance(test, Expression)
    head.waits_for += test.formula.waits_for
    return Repetition(trace, head)
