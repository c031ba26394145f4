"""Blocks that are decided when the workflow runs: `when` and `otherwise`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import cast

from tenuto.model.graph import ELSE
from tenuto.python_form.control_flow import WithBlock, with_block
from tenuto.python_form.future import FutureValue, formula_of, step_of
from tenuto.python_form.json_values import Expression
from tenuto.python_form.places import Place, callers, place_of
from tenuto.python_form.recorder import current
from tenuto.python_form.step import Block, Step
from tenuto.python_form.trace import Told, Trace, only_the_last
from tenuto.tasks.step_call import OUT_OF_PLACE


class Opened:
    """A block that `with` opens, and what its statement does in Python."""

    def __init__(self, trace: Trace, word: str, head: Step, block: Block) -> None:
        self._trace = trace
        self._word = word
        self._head = head
        self._block = block
        self._statement: WithBlock | None = None
        self._before: dict[str, object] = {}
        told = Told(
            f"`{word}` is not entered, so nothing depends on it",
            f"Put the steps into its block: `with {word}(…):`.",
        )
        trace.unused[self] = told, trace.here()

    def __bool__(self) -> bool:
        self._trace.unused.pop(self, None)
        self._trace.refuse(
            OUT_OF_PLACE,
            f"`{self._word}` is no value to decide on: it opens a block",
            f"Write `with {self._word}(…):`.",
        )
        return False

    def _enter(self) -> None:
        self._trace.unused.pop(self, None)
        frame = next(callers())
        self._before = dict(frame.f_locals)
        self._statement = with_block(frame)
        self._trace.block = self._block
        if self._statement is not None:
            for each in self._statement.ways_out():
                word, place = type(each).__name__.lower(), Place(place_of(frame).file, each.lineno)
                self._trace.refuse(
                    "TEN-1119",
                    f"`{word}` in the block of `{self._word}` is not decided when the workflow "
                    "runs: the function is called once, and would end here",
                    _INSTEAD_OF_LEAVING[word],
                    place,
                )

    def _leave(self) -> Mapping[str, object]:
        """The variables that have another value now, with the one before."""
        assert self._block.parent is not None
        self._trace.block = self._block.parent
        now = next(callers()).f_locals
        return {
            name: before
            for name, before in self._before.items()
            if name in now and now[name] is not before
        }

    def _refuse_readers(
        self, names: Mapping[str, object], tell: Callable[[str, object], Told]
    ) -> None:
        """Refuse code behind the block that reads one of these variables."""
        if self._statement is None or not names:
            return
        read = self._statement.read_behind(is_repeated=self._block.is_loop)
        file = place_of(next(callers())).file
        for name, before in names.items():
            if name in read:
                self._trace.refuse("TEN-1107", *tell(name, before), Place(file, read[name]))


_INSTEAD_OF_LEAVING = {
    "return": "Give the results names, and `return one_of(first, second)` behind the blocks; to "
    "end the workflow there, write `terminate(output=…)`.",
    "break": "Write the loop as `with repeat_while(…):`, with the test of when it goes on, or end "
    "`with for_each(…):` with `enough=…`.",
    "continue": "Put what follows into `with otherwise():`.",
    "raise": 'Write `terminate("FAILED", reason="…")`, or raise TaskError in a task.',
}


class Side(Opened):
    """One side of a decision: the steps in it run if it is taken."""

    def __enter__(self) -> None:
        self._enter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        changed = self._leave()
        now = next(callers()).f_locals
        for name, before in changed.items():
            step, other = _step(now[name]), _step(before)
            if step is not None and other is not None and self._is_beside(other):
                # Reported where text names it, too.
                step.hidden = (name, other)
        self._refuse_readers(changed, self._told)

    def _told(self, name: str, before: object) -> Told:
        if isinstance(before, FutureValue):
            beside = [each for each in formula_of(before).waits_for if self._is_beside(each)]
            if beside:
                return only_the_last(name, beside[0])
        return Told(
            f"`{name}` is given another value in the block of `{self._word}`, which may not run: "
            "behind it there is only that one",
            "Give each value a step and a name of its own, one in `with when(…):` and one in "
            "`with otherwise():`, and use `one_of(first, second)`; or make the value in a task.",
        )

    def _is_beside(self, step: Step) -> bool:
        """Whether a step stands in another side of the same decision."""
        return any(
            block in self._head.branches and block is not self._block for block in step.block.around
        )


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
    return _side(trace, "when", head, test)


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
        _add_side(trace, head, trace.expression("true", "when"))
    if condition is not None:
        return _side(trace, "otherwise", head, trace.expression(condition, "otherwise"))
    trace.block.decision = None
    block = Block(trace.block, head, ELSE)
    head.branches.append(block)
    return Side(trace, "otherwise", head, block)


def _side(trace: Trace, word: str, head: Step, test: Expression) -> Side:
    return Side(trace, word, head, _add_side(trace, head, test))


def _add_side(trace: Trace, head: Step, test: Expression) -> Block:
    number = len(head.branches) + 1
    handle = "then" if number == 1 else f"then_{number}"
    branches = head.config["branches"]
    assert isinstance(branches, list)
    test = cast("Expression", trace.seen_from(head.block, test))
    branches.append({"id": handle, "when": test})
    head.waits_for += test.formula.waits_for
    block = Block(trace.block, head, handle)
    head.branches.append(block)
    return block


def _step(value: object) -> Step | None:
    return step_of(value) if isinstance(value, FutureValue) else None
