"""Which instances may be forgotten: whole families, or none of one."""

from __future__ import annotations

from collections.abc import Iterable

from tenuto.model.status import Status

ACTIVE = tuple(status.value for status in Status if not status.is_final)
"""Statuses of instances that have not ended."""


def erasable(members: Iterable[tuple[str, str, bool]]) -> dict[str, list[str]]:
    """Families by their root, of triples (root, member, whether it could go): all can, or none."""
    families: dict[str, list[str]] = {}
    kept: set[str] = set()
    for root, id, may_go in members:
        families.setdefault(root, []).append(id)
        if not may_go:
            kept.add(root)
    return {root: family for root, family in families.items() if root not in kept}
