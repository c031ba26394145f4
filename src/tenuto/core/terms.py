"""The place of a subscription in the index: which properties of an event it compares, with what."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tenuto.expr import SplitCondition
from tenuto.model.json import JSON

_encode = msgspec.json.Encoder().encode

INDEXED_BYTES = 1_000
"""So many the terms of a wait may take in the index: PostgreSQL bounds the length of its rows."""


def indexed_terms(condition: SplitCondition | None, captures: Sequence[JSON]) -> tuple[str, str]:
    """The terms of a condition, as an index has them: paths, and what they must equal."""
    if condition is None or not condition.term_paths:
        return "", ""
    return _bounded(condition.term_paths, condition.term_values(list(captures)) or ())


def fixed_terms(condition: SplitCondition | None, captures: Sequence[JSON]) -> tuple[str, str]:
    """Those of them whose other side never changes while the instance lives."""
    if condition is None:
        return "", ""
    fixed = condition.keeping(is_fixed(condition))
    return indexed_terms(fixed, captures)


def is_fixed(condition: SplitCondition) -> tuple[bool, ...]:
    """Of each capture, whether it stays what it is: it follows from the input, or from nothing."""
    return tuple(all(map(_never_changes, capture.paths)) for capture in condition.captures)


_NEVER_CHANGES = (
    ("ctx", "input"),
    ("workflow", "input"),
    ("workflow", "instance", "id"),
    ("workflow", "instance", "input"),
    ("workflow", "instance", "correlationId"),
)
"""What an instance has from its first entry to its last, as expressions spell it."""


def _never_changes(path: tuple[str, ...]) -> bool:
    return any(path[: len(fixed)] == fixed for fixed in _NEVER_CHANGES)


def _bounded(paths: Sequence[str], values: Sequence[str]) -> tuple[str, str]:
    for count in range(len(values), 0, -1):
        listed, wanted = _encode(paths[:count]), _encode(values[:count])
        # With fewer terms an event finds more waits than it fits, and the whole condition decides.
        if len(listed) + len(wanted) <= INDEXED_BYTES:
            return listed.decode(), wanted.decode()
    return "", ""
