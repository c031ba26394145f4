"""How functions and methods of the library receive what they are called with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tenuto.expr.frame import Frame
from tenuto.expr.values import UNDEFINED, Operand

Arguments: TypeAlias = Sequence[Operand]
Function: TypeAlias = Callable[[Frame, Arguments], Operand]
# Any stands for the receiver: each table lists methods of one type of receiver only.
MethodOf: TypeAlias = Callable[[Frame, Any, Arguments], Operand]
Callback: TypeAlias = Callable[..., Operand]
IterationOf: TypeAlias = Callable[[Frame, Any, Callback, Arguments], Operand]


def argument(arguments: Arguments, index: int) -> Operand:
    """The argument at `index`; one that was not given is undefined."""
    return arguments[index] if index < len(arguments) else UNDEFINED


def span(length: int, start: int, end: int) -> tuple[int, int]:
    """The bounds of a slice, where negative positions count from the end."""
    start = max(0, length + start) if start < 0 else min(start, length)
    end = max(0, length + end) if end < 0 else min(end, length)
    return start, end
