"""Paths written alone: into an event's payload, and in the input of a compensation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from tenuto.expr.errors import ExpressionSyntaxError
from tenuto.expr.parser import parse
from tenuto.expr.syntax import Literal, Node, Path, Subscript
from tenuto.expr.values import UNDEFINED, Lazy, Operand

_STEP: Final = re.compile(
    r"""(?P<dot>\.)?(?P<name>[^.\[\]'"\s]+)|\[(?P<index>[0-9]{1,9})\]|\[(?:'(?P<one>[^']*)'|"(?P<two>[^"]*)")\]"""
)
_RESOLVED_ROOTS: Final = frozenset({"workflow", "ctx", "steps"})
_LONGEST: Final = 1024


@lru_cache(maxsize=4096)
def parse_path(path: str) -> tuple[str | int, ...]:
    """The keys and indexes of a path such as `a.b[0]` or `items[0]['unit price']`."""
    found: list[str | int] = []
    position = 0
    while position < len(path):
        step = _STEP.match(path, position)
        # The first name has no dot before it, every later one has.
        if step is None or (step["name"] and bool(step["dot"]) != bool(found)):
            break
        if step["index"]:
            found.append(int(step["index"]))
        else:
            quoted = step["one"] if step["one"] is not None else step["two"]
            found.append(step["name"] if quoted is None else quoted)
        position = step.end()
    if position < len(path) or not found or len(path) > _LONGEST:
        raise ExpressionSyntaxError(
            f"`{path[:80]}` is not a path",
            source=path[:_LONGEST],
            position=position,
            advice="Write names and indexes, such as `customer.orders[0].id`.",
        )
    return tuple(found)


def look_up(value: Any, path: str | Sequence[str | int]) -> Any:  # noqa: ANN401
    """The value at `path` within `value`; None where something on the way is missing."""
    for key in parse_path(path) if isinstance(path, str) else path:
        value = _step_into(value, key)
        if value is None or value is UNDEFINED:
            return None
    return value


def _step_into(value: Operand, key: str | int) -> Operand:
    if type(value) is list and isinstance(key, int):
        return value[key] if 0 <= key < len(value) else None
    if type(value) is dict:
        found: Operand = value.get(str(key))
        return found
    if isinstance(value, Lazy):
        return value.get(str(key))
    return None


def is_rooted_path(text: str) -> bool:
    """Whether all of `text` is a path from `workflow`, `ctx` or `steps` with at least one name."""
    if not text.startswith(("workflow", "ctx", "steps")) or text != text.strip() or "?" in text:
        return False
    try:
        node, _ = parse(text, _RESOLVED_ROOTS)
    except ExpressionSyntaxError:
        return False
    return _is_path(node)


def _is_path(node: Node) -> bool:
    while isinstance(node, Subscript) and isinstance(node.key, Literal):
        node = node.value
    return isinstance(node, Path) and bool(node.names)
