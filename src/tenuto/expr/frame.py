"""What one evaluation carries along: its scope, its fuel, its arrow parameters, its captures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenuto.expr.bounds import CHARACTERS_PER_STEP, FUEL, TEMPLATE_BYTES, TEMPLATE_FUEL
from tenuto.expr.errors import ExpressionError
from tenuto.expr.values import Operand

NOTHING_CAPTURED: tuple[Any, ...] = ()


class Meter:
    """What the expressions of one template may still take together."""

    __slots__ = ("_fuel", "_of", "_room")

    def __init__(self, of: str = "template") -> None:
        self._of = of
        self._fuel = TEMPLATE_FUEL
        self._room = TEMPLATE_BYTES

    def pay(self, steps: int, size: int) -> None:
        """Use up steps, and bytes of results."""
        self._fuel -= steps
        self._room -= size
        if self._fuel < 0:
            raise ExpressionError(f"the {self._of} needs more than {TEMPLATE_FUEL:,} steps")
        if self._room < 0:
            raise ExpressionError(f"the {self._of} gives more than {TEMPLATE_BYTES:,} bytes")


class Steps:
    """Counts the steps of several evaluations."""

    __slots__ = ("taken",)

    def __init__(self) -> None:
        self.taken = 0


class CountedScope(dict[str, Any]):
    """A scope whose expressions share a budget, as those of a template do."""

    __slots__ = ("_fuel", "_room", "_steps")

    def __init__(self, roots: Mapping[str, Any], steps: Steps) -> None:
        """What is taken is added to `steps`, too."""
        super().__init__(roots)
        self._fuel = TEMPLATE_FUEL
        self._room = TEMPLATE_BYTES
        self._steps = steps

    def count(self, steps: int) -> None:
        """Count what was taken without a result, and what costs time and no fuel."""
        self._steps.taken += steps

    def pay(self, steps: int, values: int, size: int) -> None:
        """Count what an evaluation took; the values of its result take time, and no fuel."""
        self._steps.taken += steps + values
        self._fuel -= steps
        self._room -= size
        if self._fuel < 0:
            raise ExpressionError(
                f"the expressions of one step need more than {TEMPLATE_FUEL:,} steps"
            )
        if self._room < 0:
            raise ExpressionError(
                f"the expressions of one step give more than {TEMPLATE_BYTES:,} bytes"
            )


class Frame:
    """Mutable on purpose and private to one evaluation: a counter that everything pays into."""

    __slots__ = ("captured", "fuel", "scope", "slots", "values")

    def __init__(
        self,
        scope: Mapping[str, Any],
        slots: int = 0,
        fuel: int = FUEL,
        captured: Sequence[Any] = NOTHING_CAPTURED,
    ) -> None:
        self.scope = scope
        self.fuel = fuel
        self.slots: list[Operand] = [None] * slots
        self.captured = captured
        self.values = 0
        """Items and fields of the result that were looked at: that takes time, and no fuel."""

    def pay(self, steps: int) -> None:
        """Use up `steps` of the fuel."""
        self.fuel -= steps
        if self.fuel < 0:
            raise ExpressionError(f"the expression needs more than {FUEL:,} steps")

    @property
    def taken(self) -> int:
        """The steps that were taken, those of the result among them."""
        return FUEL - max(self.fuel, 0) + self.values

    def settle(self, size: int = 0) -> None:
        """Count what was taken where the scope counts, and the bytes of the result."""
        if type(self.scope) is CountedScope:
            taken, values = FUEL - max(self.fuel, 0), self.values
            self.fuel, self.values = FUEL, 0
            self.scope.pay(taken, values, size)

    def fail(self) -> None:
        """Count what was taken in vain: it took as long."""
        if type(self.scope) is CountedScope:
            self.scope.count(self.taken)

    def pay_text(self, characters: int) -> None:
        """Use up what reading or building so many characters costs. Pay before building."""
        if characters >= CHARACTERS_PER_STEP:
            self.pay(characters // CHARACTERS_PER_STEP)

    def afford_text(self, characters: int) -> None:
        """Fail where so many characters could not be paid for.

        For text that is paid for once its size is known: nothing is built that costs more.
        """
        if characters // CHARACTERS_PER_STEP > self.fuel:
            self.pay_text(characters)
