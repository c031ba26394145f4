"""The nodes of a syntax tree: the closed list of everything an expression can be.

Nodes are frozen and compare by what they say, not by where they stand, so that the same text twice
is one value. Each knows its size and depth from its children, which is how the bounds are checked
while a tree grows and without walking it again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from tenuto.expr.values import Undefined

ALL_ROOTS: Final = frozenset({"ctx", "workflow", "steps", "event", "item", "index", "secrets"})
"""The names through which an expression sees anything at all."""


@dataclass(frozen=True, slots=True)
class _Node:
    start: int = field(compare=False, kw_only=True)
    end: int = field(compare=False, kw_only=True)
    size: int = field(init=False, compare=False, repr=False)
    depth: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        below = children(self)
        object.__setattr__(self, "size", 1 + sum(child.size for child in below))
        object.__setattr__(self, "depth", 1 + max((child.depth for child in below), default=0))


@dataclass(frozen=True, slots=True)
class Literal(_Node):
    """A constant."""

    value: None | bool | int | float | str | Undefined

    def __eq__(self, other: object) -> bool:
        # In Python 1 equals True and -0.0 equals 0, and neither is the same constant.
        return type(other) is Literal and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[type, str]:
        return type(self.value), repr(self.value)


@dataclass(frozen=True, slots=True)
class Path(_Node):
    """A root and the names after it: `ctx.order.id`."""

    root: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Local(_Node):
    """A parameter of an arrow function, by the slot that holds it."""

    slot: int
    name: str


@dataclass(frozen=True, slots=True)
class Captured(_Node):
    """A part that was evaluated earlier. Never parsed: only splitting a condition makes one."""

    index: int


@dataclass(frozen=True, slots=True)
class Member(_Node):
    """`value.name`."""

    value: Node
    name: str
    optional: bool


@dataclass(frozen=True, slots=True)
class Subscript(_Node):
    """`value[key]`."""

    value: Node
    key: Node
    optional: bool


@dataclass(frozen=True, slots=True)
class Method(_Node):
    """`value.name(arguments)`."""

    value: Node
    name: str
    arguments: tuple[Argument, ...]
    optional: bool


@dataclass(frozen=True, slots=True)
class Chain(_Node):
    """A chain of links with a `?.` in it: where that meets nothing, all of it is undefined."""

    links: Node


@dataclass(frozen=True, slots=True)
class Call(_Node):
    """A function of the library: `Math.max(arguments)`."""

    function: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Unary(_Node):
    """`!operand` and its kind."""

    operator: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary(_Node):
    """`left operator right`, both sides always evaluated."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Logical(_Node):
    """`&&`, `||` or `??` between two or more operands, evaluated as far as needed."""

    operator: str
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Conditional(_Node):
    """`test ? yes : no`."""

    test: Node
    yes: Node
    no: Node


@dataclass(frozen=True, slots=True)
class ArrayLiteral(_Node):
    """`[a, ...b]`."""

    elements: tuple[Node | Spread, ...]


@dataclass(frozen=True, slots=True)
class Pair(_Node):
    """`key: value` in an object literal."""

    key: Node
    value: Node


@dataclass(frozen=True, slots=True)
class ObjectLiteral(_Node):
    """`{key: value, ...rest}`."""

    entries: tuple[Pair | Spread, ...]


@dataclass(frozen=True, slots=True)
class Spread(_Node):
    """`...value`."""

    value: Node


@dataclass(frozen=True, slots=True)
class Arrow(_Node):
    """`(a, [b, c]) => body`. A parameter is a slot, or those of the parts of an array."""

    parameters: tuple[int | tuple[int, ...], ...]
    body: Node


Node: TypeAlias = (
    Literal
    | Path
    | Local
    | Captured
    | Member
    | Subscript
    | Method
    | Chain
    | Call
    | Unary
    | Binary
    | Logical
    | Conditional
    | ArrayLiteral
    | ObjectLiteral
)
Argument: TypeAlias = Node | Spread | Arrow
AnyNode: TypeAlias = Node | Spread | Arrow | Pair


def children(node: _Node) -> tuple[AnyNode, ...]:
    """The nodes directly below."""
    found: list[Any] = []
    # The positional fields: all but place, size and depth.
    names: tuple[str, ...] = node.__match_args__
    for name in names:
        value = getattr(node, name)
        if isinstance(value, _Node):
            found.append(value)
        elif isinstance(value, tuple):
            found.extend(item for item in value if isinstance(item, _Node))
    return tuple(found)


def as_path(node: Node) -> Path | None:
    """The path that a chain of names is, if it is one: in mere names a `?.` changes nothing."""
    names: list[str] = []
    end = node.end
    while isinstance(node, Member):
        names.append(node.name)
        node = node.value
    if not isinstance(node, Path):
        return None
    return replace(node, names=(*node.names, *reversed(names)), end=end)
