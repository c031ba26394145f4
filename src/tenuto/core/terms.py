"""The place of a subscription in the index: which properties of an event it compares, with what."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tenuto.expr import SplitCondition, Steps, canonical, is_fixed
from tenuto.model.json import JSON

_encode = msgspec.json.Encoder().encode

INDEXED_BYTES = 1_000
"""So many the terms of a wait may take in the index: PostgreSQL bounds the length of its rows."""


def indexed_terms(
    condition: SplitCondition | None,
    captures: Sequence[JSON],
    steps: Steps,
    correlation_id: str | None = None,
) -> tuple[str, str]:
    """The terms of a condition, as an index has them: paths, and what they must equal.

    A correlation id is one more of them, which an event has as `event.correlationId`. What it takes
    to write values as text is added to `steps`.
    """
    paths: list[str] = []
    values: list[str] = []
    if correlation_id is not None:
        # Above all others: by it, most often, an event finds the one wait that it is for.
        paths.append("correlationId")
        values.append(canonical(correlation_id))
    if condition is not None and condition.term_paths:
        terms = condition.term_values(list(captures), steps) or ()
        paths += condition.term_paths[: len(terms)]
        values += terms
    return _bounded(paths, values)


def fixed_terms(
    condition: SplitCondition | None, captures: Sequence[JSON], steps: Steps
) -> tuple[str, str]:
    """Those of them whose other side never changes while the instance lives."""
    if condition is None:
        return "", ""
    fixed = condition.keeping(is_fixed(condition))
    return indexed_terms(fixed, captures, steps)


def _bounded(paths: Sequence[str], values: Sequence[str]) -> tuple[str, str]:
    for count in range(len(values), 0, -1):
        listed, wanted = _encode(paths[:count]), _encode(values[:count])
        # With fewer terms an event finds more waits than it fits, and the whole condition decides.
        if len(listed) + len(wanted) <= INDEXED_BYTES:
            return listed.decode(), wanted.decode()
    return "", ""
