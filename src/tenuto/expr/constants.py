"""The parts of an instance that never change."""

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
    """Whether each capture never changes: it depends only on the input, or on nothing."""
    return tuple(all(map(_never_changes, capture.paths)) for capture in condition.captures)


def _never_changes(path: tuple[str, ...]) -> bool:
    return any(path[: len(fixed)] == fixed for fixed in _NEVER_CHANGES)
