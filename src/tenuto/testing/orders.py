"""Every order in which the results of parallel tasks can arrive, each in a world of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import TYPE_CHECKING

from tenuto.model.json import Given
from tenuto.testing.calls import Call
from tenuto.testing.driving import Driver, Scripted
from tenuto.testing.timeline import named

if TYPE_CHECKING:
    from tenuto.testing.engine import Engine, Workflow
    from tenuto.testing.instance import Instance

__tracebackhide__ = True
"""pytest hides the frames of this module in tracebacks."""

ALL_UP_TO = 5
"""So many results under way at once, and every order is tried."""


class Gate:
    """Holds the results of tasks back until they are called for."""

    def __init__(self) -> None:
        self._held: list[tuple[str, asyncio.Future[None]]] = []

    async def __call__(self, call: Call) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._held.append((named(call.step, call.iteration), future))
        await future

    @property
    def waiting(self) -> int:
        """How many results are held back."""
        self._held = [each for each in self._held if not each[1].done()]
        return len(self._held)

    def release(self, number: int) -> str:
        """Let one result arrive; returns its step."""
        step, future = self._held.pop(number)
        future.set_result(None)
        return step


class OrderedDriver(Driver):
    """Lets the results arrive one at a time, in an order that is chosen from outside."""

    def __init__(
        self, engine: Engine, events: Sequence[Scripted], choose: Callable[[int], int]
    ) -> None:
        super().__init__(engine, events)
        self._gate = Gate()
        self._choose = choose
        self.engine.tasks.gate = self._gate
        self.arrived: list[str] = []

    def advance(self, is_reached: Callable[[], bool]) -> bool:
        while not is_reached():
            self.engine.lives.settle()
            waiting = self._gate.waiting
            if waiting:
                self.arrived.append(self._gate.release(self._choose(waiting)))
            elif not super().advance(lambda: is_reached() or self._gate.waiting > 0):
                return is_reached()
        return True


class Choices:
    """Follows a list of choices, then takes the first each time; notes how many there were."""

    def __init__(self, given: Sequence[int]) -> None:
        self.taken: list[int] = []
        self.widths: list[int] = []
        self._given = given

    def __call__(self, width: int) -> int:
        place = len(self.taken)
        chosen = self._given[place] if place < len(self._given) else 0
        self.taken.append(chosen)
        self.widths.append(width)
        return chosen

    @property
    def widest(self) -> int:
        """How many results were under way at most."""
        return max(self.widths, default=1)

    def following(self) -> list[int] | None:
        """The choices that come next in order; None after the last."""
        for place in reversed(range(len(self.taken))):
            if self.taken[place] + 1 < self.widths[place]:
                return [*self.taken[:place], self.taken[place] + 1]
        return None


def orders(
    engine: Engine,
    workflow: Workflow,
    input: Given,
    *,
    events: Sequence[Scripted],
    most: int,
    seed: int,
) -> Iterator[Instance]:
    """The finished instance of each order."""

    def run(choose: Callable[[int], int]) -> Instance:
        world = engine.twin()
        driver = OrderedDriver(world, events, choose)
        instance = driver.drive(world.start(workflow, input))
        instance.arrivals = driver.arrived
        world.lives.end()
        _refuse_endless(instance)
        return instance

    following: list[int] | None = []
    while following is not None:
        choices = Choices(following)
        instance = run(choices)
        if choices.widest > ALL_UP_TO:
            for number in range(most):
                yield run(Random(f"{seed} {number}").randrange)
            return
        yield instance
        following = choices.following()


def _refuse_endless(run: Instance) -> None:
    if not run.status.is_final:
        order = ", ".join(run.arrivals)
        raise AssertionError(
            f"it does not end when results arrive as {order or 'none'}: {run.why_it_rests}\n"
            f"What it waits for can be passed: orders(…, events=[(pattern, payload)]).\n\n"
            f"{run.timeline}"
        )


__all__ = ["ALL_UP_TO", "orders"]
