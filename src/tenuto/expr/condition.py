"""Conditions of waits, split into the instance's part and the event's part.

The instance's side is evaluated once, when the wait opens, and kept as JSON. Equality terms that
the whole condition requires (`event.payload.orderId === ctx.orderId && …`) become texts for an
index, so that an event finds its waits without trying each. The promise of the index: whenever
`matches` is true, `event_values` equals `term_values`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, TypeGuard

from tenuto.expr.bounds import FUEL, NODES_PER_STEP
from tenuto.expr.cache import kept
from tenuto.expr.capture import decoded
from tenuto.expr.coerce import truthy
from tenuto.expr.errors import ExpressionError
from tenuto.expr.evaluators import evaluator
from tenuto.expr.expression import Expression, from_tree, paths_in
from tenuto.expr.frame import Frame, Meter, Steps
from tenuto.expr.index_text import LOOSE, event_term_values, term_text
from tenuto.expr.links import Evaluator
from tenuto.expr.near_miss import Miss, Part, parts_of
from tenuto.expr.parser import parse
from tenuto.expr.syntax import (
    ALL_ROOTS,
    AnyNode,
    Arrow,
    Binary,
    Captured,
    Literal,
    Local,
    Logical,
    Node,
    Pair,
    Path,
    Spread,
    children,
)
from tenuto.expr.values import UNDEFINED, Operand

_LITERAL_SIDE: Final = -1
_UNDEFINED_LITERAL: Final = Literal(UNDEFINED, start=0, end=0)


@dataclass(frozen=True, slots=True)
class Term:
    """An equality that must hold for the condition to hold."""

    path: str
    """Names within the event, `payload.orderId`; a term with `==` is marked as such."""
    capture: int
    """Which capture is the other side, or -1 for a literal."""
    literal: Operand = UNDEFINED

    @property
    def is_loose(self) -> bool:
        return self.path.endswith(LOOSE)


@dataclass(frozen=True, slots=True)
class SplitCondition:
    """A condition over an event, split; frozen and shared."""

    source: str
    terms: tuple[Term, ...]
    captures: tuple[Expression, ...]
    """The largest parts that do not need the event."""
    over: str
    _evaluate: Evaluator = field(repr=False, compare=False)
    _parts: tuple[Part, ...] = field(repr=False, compare=False)
    _slots: int = field(repr=False, compare=False)
    _fuel: int = field(repr=False, compare=False)

    @property
    def term_paths(self) -> tuple[str, ...]:
        """The first column of the index."""
        return tuple(term.path for term in self.terms)

    def capture(self, scope: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The instance's side as JSON. An error is kept too, and raised where it is used."""
        found: list[dict[str, Any]] = []
        meter = Meter("condition")
        for expression in self.captures:
            try:
                found.append(expression.captured(scope, meter))
            except ExpressionError as error:
                found.append({"e": error.message})
        return found

    def term_values(self, captured: Sequence[Any], steps: Steps) -> tuple[str, ...] | None:
        """The instance's side of the terms; None if one has no value that can be indexed."""
        found: list[str] = []
        for term in self.terms:
            try:
                value = (
                    term.literal
                    if term.capture == _LITERAL_SIDE
                    else decoded(captured[term.capture])
                )
            except ExpressionError:
                return None
            if value is UNDEFINED:
                return None
            found.append(term_text(value, steps, is_loose=term.is_loose))
        return tuple(found)

    def keeping(self, captures: Sequence[bool]) -> SplitCondition:
        """The same with fewer terms: those whose other side is a literal or one of `captures`."""
        kept = (
            term for term in self.terms if term.capture == _LITERAL_SIDE or captures[term.capture]
        )
        return replace(self, terms=tuple(kept))

    def event_values(self, event: Mapping[str, Any], steps: Steps) -> tuple[str, ...]:
        """The event's side of the same terms."""
        return event_term_values(event, self.term_paths, steps)

    def matches(self, event: Mapping[str, Any], captured: Sequence[Any], steps: Steps) -> bool:
        """Whether the condition holds, with the captures in their places; `steps` are counted."""
        frame = self._frame(event, captured)
        try:
            return truthy(self._evaluate(frame))
        except ExpressionError as error:
            error.within(self.source)
            raise
        finally:
            steps.taken += frame.taken

    def misses(self, event: Mapping[str, Any], captured: Sequence[Any], steps: Steps) -> list[Miss]:
        """The parts of the condition that this event fails, counted; none when it matches."""
        found: list[Miss] = []
        for part in self._parts:
            frame = self._frame(event, captured)
            miss = part.miss(frame)
            steps.taken += frame.taken
            if miss is not None:
                found.append(miss)
        return found

    def relates(self, event: Mapping[str, Any], captured: Sequence[Any], steps: Steps) -> bool:
        """Whether the event has a value of the instance where the condition compares the two."""
        values = self.term_values(captured, steps) or ()
        return any(
            mine == theirs and term.capture != _LITERAL_SIDE
            for term, mine, theirs in zip(
                self.terms, values, self.event_values(event, steps), strict=False
            )
        )

    def _frame(self, event: Mapping[str, Any], captured: Sequence[Any]) -> Frame:
        plain = event if type(event) is dict else dict(event)
        return Frame({self.over: plain}, self._slots, self._fuel, captured)


def split_condition(source: str, over: str = "event") -> SplitCondition:
    """Parse `source` and split it at the root `over`."""
    return _split(source, over)


@kept
def _split(source: str, over: str) -> SplitCondition:
    tree, slots = parse(source, ALL_ROOTS | {over})
    splitting = _Splitting(source, over, slots)
    rest = splitting.rest(tree)
    return SplitCondition(
        source=source,
        terms=tuple(splitting.terms(tree)),
        captures=tuple(splitting.captures.values()),
        over=over,
        _evaluate=evaluator(rest),
        _parts=tuple(parts_of(rest, source)),
        _slots=slots,
        _fuel=FUEL - tree.size // NODES_PER_STEP,
    )


class _Splitting:
    """One walk over one tree, which gathers the captures. Equal parts are one capture."""

    def __init__(self, source: str, over: str, slots: int) -> None:
        self.source = source
        self.over = over
        self.slots = slots
        self.captures: dict[Node, Expression] = {}

    def rest(self, node: Node) -> Node:
        """The tree in which every part that does not need the event is a capture."""
        if isinstance(node, Literal):
            return node
        if self._stands_alone(node):
            return Captured(self._index(node), start=node.start, end=node.end)
        rebuilt: Node = self._rebuilt(node)
        return rebuilt

    def terms(self, tree: Node) -> Iterator[Term]:
        """The equality terms that are joined by `&&` at the top."""
        if isinstance(tree, Logical) and tree.operator == "&&":
            for operand in tree.operands:
                yield from self.terms(operand)
        elif isinstance(tree, Binary) and tree.operator in ("===", "=="):
            for mine, other in ((tree.left, tree.right), (tree.right, tree.left)):
                # Undefined cannot be looked up, so a literal one would only spoil the other terms.
                if other == _UNDEFINED_LITERAL:
                    continue
                if self._is_event_path(mine) and self._stands_alone(other):
                    yield self._term(mine, other, loose=tree.operator == "==")
                    return

    def _term(self, mine: Path, other: Node, *, loose: bool) -> Term:
        path = ".".join(mine.names) + (LOOSE if loose else "")
        if isinstance(other, Literal):
            return Term(path, _LITERAL_SIDE, other.value)
        return Term(path, list(self.captures).index(other))

    def _index(self, node: Node) -> int:
        if node not in self.captures:
            part = self.source[node.start : node.end]
            self.captures[node] = from_tree(part, node, self.slots)
        return list(self.captures).index(node)

    def _stands_alone(self, node: Node) -> bool:
        """Whether a part needs neither the event nor a parameter of an arrow around it."""
        uses_event = any(path.root == self.over for path in paths_in(node))
        return not uses_event and not (_locals_used(node) - _locals_made(node))

    def _is_event_path(self, node: Node) -> TypeGuard[Path]:
        return (
            isinstance(node, Path)
            and node.root == self.over
            and bool(node.names)
            and all(name.isidentifier() for name in node.names)
        )

    def _rebuilt(self, node: Any) -> Any:  # noqa: ANN401
        """The same node over rebuilt children."""
        changed: dict[str, Any] = {}
        for part in fields(node):
            value = getattr(node, part.name)
            if isinstance(value, tuple):
                changed[part.name] = tuple(map(self._rebuilt_child, value))
            else:
                changed[part.name] = self._rebuilt_child(value)
        return replace(node, **{n: v for n, v in changed.items() if v is not getattr(node, n)})

    def _rebuilt_child(self, value: Any) -> Any:  # noqa: ANN401
        if isinstance(value, Arrow | Spread | Pair):
            return self._rebuilt(value)
        return self.rest(value) if isinstance(value, Node) else value


def _locals_used(node: AnyNode) -> set[int]:
    used = {node.slot} if isinstance(node, Local) else set()
    return used.union(*map(_locals_used, children(node)))


def _locals_made(node: AnyNode) -> set[int]:
    made: set[int] = set()
    if isinstance(node, Arrow):
        for parameter in node.parameters:
            made |= {parameter} if isinstance(parameter, int) else set(parameter)
    return made.union(*map(_locals_made, children(node)))
