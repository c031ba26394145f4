"""Compiled expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tenuto.expr.bounds import FUEL, NODES_PER_STEP
from tenuto.expr.cache import kept
from tenuto.expr.capture import encoded
from tenuto.expr.coerce import truthy
from tenuto.expr.errors import ExpressionError
from tenuto.expr.evaluators import evaluator
from tenuto.expr.frame import Frame, Meter
from tenuto.expr.links import Evaluator
from tenuto.expr.parser import parse
from tenuto.expr.results import leave, set_aside
from tenuto.expr.syntax import ALL_ROOTS, AnyNode, Member, Node, Path, as_path, children
from tenuto.expr.values import Undefined, Value
from tenuto.model.pauses import between_parts


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression that was parsed, checked and made ready to run. Holds no state between runs."""

    source: str
    roots: frozenset[str]
    """The roots that it uses."""
    paths: tuple[tuple[str, ...], ...]
    """The static paths that it uses, each as long as it goes: `("ctx", "order", "id")`."""
    _evaluate: Evaluator = field(repr=False, compare=False)
    _slots: int = field(repr=False, compare=False)
    _fuel: int = field(repr=False, compare=False)

    def evaluate(self, scope: Mapping[str, Any]) -> Value | Undefined:
        """The value as JSON, or UNDEFINED."""
        frame = Frame(scope, self._slots, self._fuel)
        try:
            value, size = leave(frame, self._evaluate(frame))
            frame.settle(size)
        except ExpressionError as error:
            frame.fail()
            error.within(self.source)
            raise
        return value

    def metered(self, scope: Mapping[str, Any], meter: Meter) -> Value | Undefined:
        """The value as JSON, or UNDEFINED, at the cost of the template that it is part of."""
        frame = Frame(scope, self._slots, self._fuel)
        try:
            value, size = leave(frame, self._evaluate(frame))
            meter.pay(FUEL - frame.fuel, size)
            frame.settle(size)
        except ExpressionError as error:
            frame.fail()
            error.within(self.source)
            raise
        return value

    def truthy(self, scope: Mapping[str, Any]) -> bool:
        """Whether the value counts as true in JavaScript."""
        frame = Frame(scope, self._slots, self._fuel)
        try:
            value = self._evaluate(frame)
            frame.settle()
            return value if type(value) is bool else truthy(value)
        except ExpressionError as error:
            frame.fail()
            error.within(self.source)
            raise

    def captured(self, scope: Mapping[str, Any], meter: Meter) -> dict[str, Any]:
        """The value for use in another expression later, at the cost of what it is part of.

        As JSON, with the places where it holds undefined or NaN.
        """
        frame = Frame(scope, self._slots, self._fuel)
        try:
            aside = set_aside(frame, self._evaluate(frame))
            found = encoded(frame, aside.value, aside.plain)
            meter.pay(FUEL - frame.fuel, aside.size)
            frame.settle(aside.size)
        except ExpressionError as error:
            frame.fail()
            error.within(self.source)
            raise
        return found


def compile_expression(source: str, *, roots: frozenset[str] = ALL_ROOTS) -> Expression:
    """Parse and check `source`; whatever is wrong with it is an `ExpressionSyntaxError`."""
    return _compiled(source, roots)


def from_tree(source: str, tree: Node, slots: int) -> Expression:
    """The expression of a tree that was parsed from `source`."""
    paths = tuple(dict.fromkeys((each.root, *each.names) for each in paths_in(tree)))
    return Expression(
        source=source,
        roots=frozenset(path[0] for path in paths),
        paths=paths,
        _evaluate=evaluator(tree),
        _slots=slots,
        _fuel=FUEL - tree.size // NODES_PER_STEP,
    )


def paths_in(node: AnyNode) -> Iterator[Path]:
    """Every path in a tree, in the order of the source."""
    path = as_path(node) if isinstance(node, Path | Member) else None
    if path is not None:
        yield path
        return
    for child in children(node):
        yield from paths_in(child)


@kept
def _compiled(source: str, roots: frozenset[str]) -> Expression:
    between_parts()
    tree, slots = parse(source, roots)
    return from_tree(source, tree, slots)
