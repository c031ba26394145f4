"""Which parts of an instance stay what they are from its first entry to its last."""

from __future__ import annotations

from tenuto.expr.condition import SplitCondition

_NEVER_CHANGES = (
    ("ctx", "input"),
    ("workflow", "input"),
    ("workflow", "instance", "id"),
    ("workflow", "instance", "input"),
    ("workflow", "instance", "correlationId"),
)
"""As expressions spell them."""


def is_fixed(condition: SplitCondition) -> tuple[bool, ...]:
    """Of each capture, whether it stays what it is: it follows from the input, or from nothing."""
    return tuple(all(map(_never_changes, capture.paths)) for capture in condition.captures)


def _never_changes(path: tuple[str, ...]) -> bool:
    return any(path[: len(fixed)] == fixed for fixed in _NEVER_CHANGES)
