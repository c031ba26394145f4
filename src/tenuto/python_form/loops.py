"""Blocks that are repeated when the workflow runs: `for_each` and `repeat_while`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, cast

from tenuto.python_form import formula
from tenuto.python_form.blocks import Opened
from tenuto.python_form.events import EventRule
from tenuto.python_form.future import FutureValue
from tenuto.python_form.recorder import Item, Recording, current
from tenuto.python_form.step import Block, Step
from tenuto.python_form.trace import Told, Trace
from tenuto.tasks.step_call import OUT_OF_PLACE, Mapped, OnItemError

T = TypeVar("T")


class LoopBlock(Opened):
    """The body of a loop, and its values."""

    def __init__(self, trace: Trace, word: str, head: Step, body: Block) -> None:
        super().__init__(trace, word, head, body)
        self.head = head

    @property
    def index(self) -> Any:  # noqa: ANN401 - known when the workflow runs
        """The number of the iteration, from 0."""
        self._refuse_outside("index", 'Count its results: `"{{ctx.rounds.length}}"`.')
        return self._brought("index", "the number of a round")

    @property
    def results(self) -> Any:  # noqa: ANN401 - known when the workflow runs
        """The results of all iterations, for use behind the block."""
        if self._is_open:
            self._trace.refuse(
                "TEN-1116",
                "the results of a loop are there when it has ended, and not inside",
                self._inside_instead,
            )
        return self._trace.value_of(self.head, "the results of a loop")

    def gives(self, value: object) -> None:
        """Set the result of an iteration; by default it is the result of its last step."""
        result = self._trace.traceable(value, "the result of a loop")
        result = self._trace.seen_from(self._block, result)
        self.head.config["result"] = result
        self.head.waits_for += [
            step for step in self._trace.waits_for(result) if self._block not in step.block.around
        ]

    _inside_instead = "Use the results of the steps of this iteration."

    @property
    def _is_open(self) -> bool:
        return self._block in self._trace.block.around

    def _brought(self, name: str, about: str) -> FutureValue:
        """A value that the iteration brings."""
        what = formula.of_iteration(name, self._block) if self._is_open else formula.plain("null")
        return FutureValue(self._trace, what, about)

    def _refuse_outside(self, what: str, advice: str) -> None:
        if not self._is_open:
            self._trace.refuse("TEN-1116", f"`{what}` of a loop exists only inside", advice)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._refuse_readers(self._leave(), self._told)
        if self._block.is_empty and kind is None:
            self._trace.refuse(
                OUT_OF_PLACE,
                "the loop has no step in it",
                f"Call a task in the block of `with {self._word}(…):`.",
                self.head.place,
            )

    def _told(self, name: str, before: object) -> Told:
        raise NotImplementedError


class Repetition(LoopBlock):
    """The body of a loop with a test, and its values."""

    _inside_instead = "Use what the round before gave: `rounds.last`."

    @property
    def last(self) -> Any:  # noqa: ANN401 - known when the workflow runs
        """The result of the previous iteration; null in the first."""
        self._refuse_outside("last", "Use its results, which are a list: `rounds.results[-1]`.")
        return self._brought("last", "the result before")

    def __enter__(self) -> Self:
        self._enter()
        return self

    def _told(self, name: str, _: object) -> Told:
        return Told(
            f"`{name}` is given another value in each round, but the rounds are described once: "
            "each begins with what was there before the loop",
            "Use what the round before gave, `rounds.last`, and say with `rounds.gives(…)` what a "
            "round gives; behind the loop use `rounds.results`.",
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
    test = trace.expression(condition, "repeat_while")
    config: dict[str, object] = {"while": test}
    if at_most is not None:
        config["maxIterations"] = at_most
    head = trace.record("loop", "repeat_while", config, handle="done", has_output=True)
    body = Block(trace.block, head, "loop", is_loop=True)
    # The test sees the number of its own round, as the body does.
    head.config["while"] = trace.seen_from(body, test)
    head.waits_for += trace.waits_for(head.config["while"])
    return Repetition(trace, "repeat_while", head, body)


class ForEach(LoopBlock, Generic[T]):
    """The body of a loop over items; `with` gives the item."""

    def __init__(self, trace: Trace, head: Step, item: Item) -> None:
        super().__init__(trace, "for_each", head, item.body)
        self._item = item

    def __enter__(self) -> T:
        self._enter()
        return cast("T", self._item.value)

    def _told(self, name: str, _: object) -> Told:
        return Told(
            f"`{name}` is given another value for each item, but the block is described once",
            "Say with `.gives(…)` what an item gives, and use the list `.results` behind the loop: "
            "`boxes = for_each(…)`, `with boxes as item:`, `boxes.results`.",
        )


def for_each(
    items: Iterable[T],
    *,
    at_most: int | None = None,
    on_error: OnItemError = "fail",
    enough: int | str | Callable[[Any], object] | None = None,
    more: EventRule | None = None,
) -> ForEach[T]:
    """Steps that run for each item, for `at_most` so many items at a time (10).

    `with for_each(order["items"]) as item:`. For the results, give the loop a name first:
    `boxes = for_each(…)`, `with boxes as item:`, and behind it `boxes.results`, in the order of the
    items. `enough` ends it early: a number of results, or a test of the results so far, a list of
    `{index, result}`. Events of the rule `more` append items while it is under way.
    """
    trace = current("for_each")
    loop, item = trace.loop_over(items, Mapped(at_most, on_error), "for_each", "`for_each`")
    settings: dict[str, object] = {}
    if enough is not None:
        settings["enough"] = _enough(trace, enough)
    if more is not None:
        settings["more"] = more.appending()
    loop.config.update(cast("dict[str, object]", trace.seen_from(loop.block, settings)))
    loop.waits_for += trace.waits_for(settings)
    return ForEach(trace, loop, item)


def _enough(trace: Recording, enough: int | str | Callable[[Any], object]) -> object:
    if isinstance(enough, int):
        return enough
    if callable(enough):
        results = FutureValue(trace, formula.plain("ctx.results"), "the results so far")
        return trace.expression(enough(results), "enough")
    return trace.expression(enough, "enough")
