"""Saying which parts of a condition an event failed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tenuto.expr.coerce import truthy
from tenuto.expr.errors import ExpressionError
from tenuto.expr.evaluators import evaluator
from tenuto.expr.frame import Frame
from tenuto.expr.links import Evaluator
from tenuto.expr.results import leave
from tenuto.expr.syntax import Binary, Logical, Node
from tenuto.expr.values import Operand, Undefined, Value


@dataclass(frozen=True, slots=True)
class Miss:
    """A part that was false, with both its sides where it compares two; undefined shows as null."""

    expression: str
    left: Value = None
    right: Value = None
    error: str | None = None
    operator: str | None = None
    """By which it compares its sides, where it has two."""


@dataclass(frozen=True, slots=True)
class Part:
    """One of the parts of a condition that all have to hold."""

    source: str
    _whole: Evaluator = field(repr=False, compare=False)
    _sides: tuple[Evaluator, Evaluator] | None = field(repr=False, compare=False)
    _operator: str | None = field(repr=False, compare=False)

    def miss(self, frame: Frame) -> Miss | None:
        """Why this part fails, or None if it holds."""
        try:
            if truthy(self._whole(frame)):
                return None
            if self._sides is None:
                return Miss(self.source)
            left, right = self._sides
            return Miss(
                self.source,
                _shown(frame, left(frame)),
                _shown(frame, right(frame)),
                operator=self._operator,
            )
        except ExpressionError as error:
            return Miss(self.source, error=error.message)


def _shown(frame: Frame, side: Operand) -> Value:
    value, _ = leave(frame, side)
    return None if isinstance(value, Undefined) else value


def parts_of(tree: Node, source: str) -> Iterator[Part]:
    """The parts of `tree` that are joined by `&&` at the top."""
    if isinstance(tree, Logical) and tree.operator == "&&":
        for operand in tree.operands:
            yield from parts_of(operand, source)
        return
    sides: tuple[Evaluator, Evaluator] | None = None
    operator: str | None = None
    if isinstance(tree, Binary):
        sides = evaluator(tree.left), evaluator(tree.right)
        operator = tree.operator
    yield Part(source[tree.start : tree.end], evaluator(tree), sides, operator)
